"""What a program is known to need is its own package and interpreter, and never a folder that holds more."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from autoquant.harness.machine import Machine
from autoquant.harness.programs import program_files


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    place(tmp_path / "tools" / "node")
    return Machine({"PATH": str(tmp_path / "tools")}, tmp_path, is_root=False)


def place(path: Path, text: str = "binary") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_script_behind_links_brings_its_package_and_its_interpreter(tmp_path: Path, machine: Machine):
    script = place(tmp_path / "lib" / "node_modules" / "@maker" / "cli" / "cli.js", "#!/usr/bin/env -S node --quiet\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cli").symlink_to(script)
    found = program_files(str(tmp_path / "bin" / "cli"), machine)
    assert {
        tmp_path / "bin" / "cli",
        tmp_path / "lib" / "node_modules",
        Path("/usr/bin/env"),
        tmp_path / "tools" / "node",
    } == set(found)


def test_a_program_of_a_python_environment_brings_that_and_what_it_was_made_from(tmp_path: Path, machine: Machine):
    base = place(tmp_path / "pythons" / "3.12" / "bin" / "python3.12")
    place(tmp_path / "pythons" / "3.12" / "lib" / "python3.12" / "os.py")
    tool = tmp_path / "tools" / "mini"
    place(tool / "pyvenv.cfg", f"home = {base.parent}\n")
    (tool / "bin").mkdir()
    (tool / "bin" / "python").symlink_to(base)
    place(tool / "bin" / "mini", f"#!{tool}/bin/python\n")
    found = program_files(str(tool / "bin" / "mini"), machine)
    assert {tool, base.parent.parent} == {path for path in found if path.is_dir()}


@pytest.mark.parametrize("folder", [".local/bin", "bin"])
def test_a_program_beside_others_brings_itself_alone(tmp_path: Path, machine: Machine, folder: str):
    program = place(tmp_path / folder / "claude")
    place(tmp_path / ".local" / "lib" / "python3.11" / "os.py")
    assert (program,) == program_files(str(program), machine)


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/env"])
def test_a_script_of_the_systems_shell_does_not_bring_the_whole_machine(tmp_path: Path, machine: Machine, shell: str):
    script = place(tmp_path / "agent.sh", f"#!{shell}\n")
    assert {script, Path(shell)} == set(program_files(str(script), machine))


def test_shims_bring_the_folder_of_their_version_manager(tmp_path: Path, machine: Machine):
    shim = place(tmp_path / "pyenv" / "shims" / "python3", "#!/usr/bin/env bash\n")
    assert tmp_path / "pyenv" in program_files(str(shim), machine)


def test_the_own_interpreter_is_among_what_it_needs():
    machine = Machine.here()
    assert Path(sys.prefix) in program_files(sys.executable, machine)
