"""The doors hold, files stay short, and each way of touching the machine has one home."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from autoquant import process

COMMANDS = ("arena.py", "run.py", "evaluate.py", "dashboard.py", "setup_data.py")


def modules(repository: Path) -> list[Path]:
    return sorted((repository / "autoquant").rglob("*.py"))


def test_the_doors_between_rooms_hold(repository: Path) -> None:
    """INV-23."""
    linter = Path(sys.executable).with_name("lint-imports")
    done = process.run([str(linter), "--no-cache"], cwd=repository, timeout_seconds=120)
    assert done.returncode == 0, done.stdout.decode()


def test_no_module_is_over_600_lines_and_no_command_over_80(repository: Path) -> None:
    long = [str(path) for path in modules(repository) if len(path.read_text().splitlines()) > 600]
    assert long == []
    assert [] == [name for name in COMMANDS if len((repository / name).read_text().splitlines()) > 80]


@pytest.mark.parametrize(
    ("pattern", "homes"),
    [
        (r"\bfsync\(", {"files.py"}),
        (r"\bsubprocess\.(run|Popen|call|check_\w+)\(", {"process.py"}),
        (r"\bos\.(fork|posix_spawn|system)\(", {"sandbox/server.py"}),
        (r"\bopen\([^)]*[\"'][wax]b?\+?[\"']", {"files.py"}),
        (r"\.write_(text|bytes)\(", {"files.py"}),
        (r"datetime\.now\(|\btime\.time\(", {"clock.py"}),
        (r"import scipy\.stats|from scipy import stats|from scipy\.stats", set()),
    ],
)
def test_each_way_of_touching_the_machine_has_one_home(repository: Path, pattern: str, homes: set[str]) -> None:
    package = repository / "autoquant"
    found = {str(p.relative_to(package)) for p in modules(repository) if re.search(pattern, p.read_text())}
    assert found <= homes
