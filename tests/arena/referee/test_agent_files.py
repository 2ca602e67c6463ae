"""I/O in a folder that somebody else changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autoquant import files
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.errors import InfrastructureFault
from autoquant.files import NotRegularFile


@pytest.fixture
def folder(tmp_path: Path) -> AgentFolder:
    (tmp_path / "trees" / "alice").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_bytes(b"secret")
    return AgentFolder(tmp_path / "trees", "alice")


def test_a_write_is_read_back_and_has_its_mode(folder: AgentFolder):
    folder.write("a/b/c.txt", b"text", 0o444)
    assert b"text" == folder.read("a/b/c.txt")
    assert 0o444 == (folder.path / "a/b/c.txt").stat().st_mode & 0o777
    folder.write("a/b/c.txt", b"more", 0o444)
    assert ["c.txt"] == folder.names("a/b")


def test_a_large_file_is_copied_whole_also_when_its_folder_vanished_in_the_middle(
    folder: AgentFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    source = tmp_path / "panel"
    source.write_bytes(os.urandom(1 << 20) * 3 + b"end")
    rename, tries = AgentFolder._rename_over, []

    def renamed(*arguments: object) -> None:
        tries.append(arguments)
        if len(tries) == 1:
            raise FileNotFoundError
        rename(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(AgentFolder, "_rename_over", staticmethod(renamed))
    folder.write("data/panel", source, 0o444)
    assert (2, source.read_bytes()) == (len(tries), folder.read("data/panel"))
    assert files.sha256_file(source) == folder.digest("data/panel")


@pytest.mark.parametrize("source", ["/proc/self/mem", "/nowhere/panel"])
def test_a_source_that_cannot_be_read_is_named_and_not_the_folder(folder: AgentFolder, source: str):
    if sys.platform != "linux" and source.startswith("/proc"):
        pytest.skip("no /proc here")
    with pytest.raises(InfrastructureFault, match=f"^{source}: "):
        folder.write("data/panel", Path(source))
    assert [] == folder.names("data")


def test_a_link_in_place_of_a_file_is_replaced_and_its_target_left(folder: AgentFolder, tmp_path: Path):
    (folder.path / "f").symlink_to(tmp_path / "outside" / "secret")
    with pytest.raises(NotRegularFile):
        folder.read("f")
    folder.write("f", b"new")
    assert (b"new", b"secret") == (folder.read("f"), (tmp_path / "outside" / "secret").read_bytes())


def test_a_link_in_place_of_a_folder_is_moved_aside(folder: AgentFolder, tmp_path: Path):
    (folder.path / "d").symlink_to(tmp_path / "outside")
    assert [] == folder.names("d")
    assert "" == folder.digest("d/secret")
    folder.write("d/secret", b"new")
    assert b"secret" == (tmp_path / "outside" / "secret").read_bytes()
    assert b"new" == folder.read("d/secret")


def test_a_link_in_place_of_the_whole_worktree_leads_nowhere(folder: AgentFolder, tmp_path: Path):
    folder.path.rmdir()
    folder.path.symlink_to(tmp_path / "outside")
    assert "" == folder.digest("secret")
    assert not folder.remove("secret")
    folder.write("secret", b"new")
    assert b"secret" == (tmp_path / "outside" / "secret").read_bytes()


def test_a_folder_in_place_of_a_file_is_moved_aside_with_its_content(folder: AgentFolder):
    (folder.path / "f").mkdir()
    (folder.path / "f" / "kept").write_bytes(b"kept")
    folder.write("f", b"new")
    aside = next(name for name in folder.names() if name.endswith(".aside"))
    assert (b"new", b"kept") == (folder.read("f"), folder.read(f"{aside}/kept"))


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda p: os.link(__file__, p) if False else Path(p).symlink_to("/dev/zero")]
)
def test_a_pipe_or_device_is_refused_without_waiting(folder: AgentFolder, make):
    make(str(folder.path / "f"))
    with pytest.raises(NotRegularFile):
        folder.read("f")
    folder.write("f", b"new")
    assert b"new" == folder.read("f")


def test_a_hard_link_and_a_large_file_are_refused(folder: AgentFolder, tmp_path: Path):
    os.link(tmp_path / "outside" / "secret", folder.path / "f")
    with pytest.raises(NotRegularFile, match="f: has 2 hard links"):
        folder.read("f")
    with (folder.path / "large").open("wb") as sparse:
        sparse.truncate(1 << 30)
    with pytest.raises(NotRegularFile, match="at most 100"):
        folder.read("large", 100)


def test_removing_takes_files_links_and_pipes_and_moves_folders(folder: AgentFolder, tmp_path: Path):
    (folder.path / "link").symlink_to(tmp_path / "outside")
    os.mkfifo(folder.path / "pipe")
    (folder.path / "dir").mkdir()
    assert (True, True, True, False) == tuple(folder.remove(name) for name in ("link", "pipe", "dir", "none"))
    assert (tmp_path / "outside" / "secret").exists()


@pytest.mark.parametrize("closed", [".", "a", "a/b"])
@pytest.mark.parametrize("mode", [0o000, 0o555])
def test_a_folder_closed_by_its_owner_is_moved_aside(tmp_path: Path, closed: str, mode: int):
    tmp_path.chmod(0o777)
    for above in list(tmp_path.parents)[:3]:
        above.chmod(above.stat().st_mode | 0o055)
    script = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[3])!r})
from pathlib import Path
from autoquant.arena.referee.agent_files import AgentFolder
if os.geteuid() == 0:
    os.setuid(65534)
folder = AgentFolder(Path({str(tmp_path)!r}), "alice")
folder.write("a/b/f", b"old", 0o444)
(folder.path / {closed!r}).chmod({mode})
assert folder.names("a/b") in ([], ["f"])
folder.write("a/b/f", b"new", 0o444)
assert b"new" == folder.read("a/b/f")
(folder.path / "a/b").chmod(0o555)
assert folder.remove("a/b/f")
assert not folder.remove("a/b/f")
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_no_path_climbs_out(folder: AgentFolder):
    with pytest.raises(InfrastructureFault):
        folder.write("../outside/f", b"")
    with pytest.raises(NotRegularFile):
        folder.read("../outside/secret")


def test_walking_shows_links_and_does_not_follow_them(folder: AgentFolder, tmp_path: Path):
    folder.write("p/a.py", b"")
    folder.write("p/__pycache__/a.pyc", b"")
    (folder.path / "p" / "out").symlink_to(tmp_path / "outside")
    assert ["p/a.py", "p/out"] == folder.walk("p", frozenset({"__pycache__"}))
