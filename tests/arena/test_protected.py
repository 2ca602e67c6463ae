"""The protected set and its digests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from autoquant import files
from autoquant.arena import protected
from autoquant.errors import ConfigError, UserError, Violation


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in (*protected.COMMANDS, *protected.TEXTS, "autoquant/__init__.py", "autoquant/report/page.html.j2"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "strategy.py").write_text("mine")
    assert 0 == protected.main(["--write", "--home", str(tmp_path)])
    return tmp_path


def test_the_set_is_package_commands_program_and_project(checkout: Path):
    names = {*protected.COMMANDS, *protected.TEXTS, "autoquant/__init__.py", "autoquant/report/page.html.j2"}
    assert names == set(protected.load(checkout))
    assert () == protected.verify(checkout)
    protected.require(checkout)


def test_the_file_is_what_sha256sum_checks(checkout: Path):
    subprocess.run(["sha256sum", "--quiet", "-c", protected.NAME], cwd=checkout, check=True)


@pytest.mark.parametrize(
    ("change", "path", "kind"),
    [
        (lambda c: (c / "run.py").write_text("x"), "run.py", "changed"),
        (lambda c: (c / "arena.py").unlink(), "arena.py", "missing"),
        (lambda c: (c / "autoquant/__init__.py").unlink(), "autoquant/__init__.py", "missing"),
        (lambda c: (c / "autoquant/numpy.py").write_text(""), "autoquant/numpy.py", "extra"),
        (lambda c: (c / "autoquant/link.py").symlink_to("/etc/hostname"), "autoquant/link.py", "missing"),
    ],
)
def test_a_difference_is_named(checkout: Path, change, path: str, kind: str):
    change(checkout)
    if path == "autoquant/link.py":
        assert "" == protected.compute(checkout)[path]
        return
    (difference,) = protected.verify(checkout)
    assert (path, kind) == (difference.path, difference.kind)
    with pytest.raises(Violation, match=rf"{path}: protected file is {kind}"):
        protected.require(checkout)
    assert 3 == protected.main(["--check", "--home", str(checkout)])


@pytest.mark.parametrize(
    "name",
    [
        "autoquant/__pycache__/x.cpython-311.pyc", "autoquant/.cli.py.swp", "autoquant/cli.py~", "autoquant/#cli.py#",
        "autoquant/.#cli.py", "autoquant/4913", "autoquant/.DS_Store", "results.tsv", "scratch/a.py", "docs/x.md",
        "data/x", "state/x", "notes.md", "strategy.py",
    ],
)  # fmt: skip
def test_what_is_nobodys_business_raises_no_alarm(checkout: Path, name: str):
    (checkout / name).parent.mkdir(parents=True, exist_ok=True)
    (checkout / name).write_text("anything")
    assert () == protected.verify(checkout)


def test_a_worktree_is_held_against_its_own_part_only(checkout: Path, tmp_path_factory: pytest.TempPathFactory):
    tree = tmp_path_factory.mktemp("tree")
    only = ("run.py", "autoquant/__init__.py")
    for name in (*only, protected.NAME):
        files.atomic_write(tree / name, (checkout / name).read_bytes())
    assert () == protected.verify(tree, only=only)
    (tree / "run.py").unlink()
    assert ["run.py"] == [d.path for d in protected.verify(tree, only=only)]
    with pytest.raises(Violation) as caught:
        protected.require(tree, only=only)
    assert "git checkout -- run.py" == caught.value.hint


def test_the_code_digest_names_the_whole_set(checkout: Path):
    before = protected.code_digest(checkout)
    assert files.sha256_file(checkout / protected.NAME) == before
    (checkout / "run.py").write_text("x")
    protected.main(["--write", "--home", str(checkout)])
    assert before != protected.code_digest(checkout)


@pytest.mark.parametrize(
    "text", ["", "zz  run.py\n", "0" * 64 + "  /etc/passwd\n", "0" * 64 + "  ../x\n", ("0" * 64 + "  a\n") * 2]
)
def test_a_damaged_record_names_file_and_line(text: str):
    with pytest.raises(ConfigError, match=r"protected\.sha256:\d:"):
        protected.parse(text)


def test_a_missing_record_says_how_to_make_it(tmp_path: Path):
    with pytest.raises(UserError) as caught:
        protected.load(tmp_path)
    assert "--write" in caught.value.hint


def test_a_second_name_for_a_file_changes_nothing(checkout: Path, tmp_path: Path):
    """A backup made of hard links (`cp -al`) must not stop its owner's races."""
    os.link(checkout / "run.py", checkout / "copy")
    assert () == protected.verify(checkout)
