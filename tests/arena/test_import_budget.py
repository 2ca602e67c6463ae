"""What commands that must answer at once may load. No time is measured: what is not imported costs none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from autoquant import cli
from autoquant.arena.command import main
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger

UTC, HEX = "2026-12-01T00:00:00Z", "ab" * 32
HEAVY = {"asyncio", "concurrent", "email", "http", "logging", "multiprocessing", "socket", "ssl", "subprocess", "xml"}
"""Of the standard library."""
HELP = {"autoquant", "autoquant.cli", "autoquant.errors"}
OPTIONS = HELP | {"autoquant.lazy", "autoquant.protocol", "autoquant.scale", "autoquant.scale.options"}
COMMAND = OPTIONS | {
    "autoquant.arena", "autoquant.arena.command", "autoquant.arena.taskrace", "autoquant.arena.taskrace.command",
    "autoquant.sealing", "autoquant.tasks", "autoquant.tasks.command", "autoquant.verify", "autoquant.verify.command",
    "autoquant.verify.private",
}  # fmt: skip
STATUS = COMMAND | {
    "autoquant.amounts", "autoquant.arena.plain_text", "autoquant.arena.roster", "autoquant.arena.roster.budgets",
    "autoquant.arena.show", "autoquant.arena.show.climb", "autoquant.arena.show.status", "autoquant.arena.show.table",
    "autoquant.arena.show.trouble", "autoquant.bulk", "autoquant.codec", "autoquant.files", "autoquant.ledger",
    "autoquant.ledger.chain", "autoquant.ledger.course", "autoquant.ledger.layout", "autoquant.ledger.ledger",
    "autoquant.ledger.lines", "autoquant.ledger.places", "autoquant.ledger.races",
    "autoquant.ledger.records", "autoquant.ledger.replay",
    "autoquant.ledger.views", "autoquant.report", "autoquant.report.kept", "autoquant.report.leaderboard",
    "autoquant.report.text", "autoquant.stats", "autoquant.stats.recursion",
}  # fmt: skip


def loaded(script: str, *arguments: str) -> set[str]:
    """Names of all modules that were loaded when a command ended well."""
    code = (
        "import runpy, sys\n"
        f"sys.argv = {[script, *arguments]!r}\n"
        "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "import json; print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=cli.HOME, capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "autoquant"}


def foreign(modules: set[str]) -> set[str]:
    """Packages that are neither ours nor the standard library's, and what is heavy of that."""
    roots = {name.partition(".")[0] for name in modules}
    at_start = {name.partition(".")[0] for name in json.loads(AT_START)}
    return {name for name in roots - at_start - {"autoquant"} if name not in sys.stdlib_module_names or name in HEAVY}


AT_START = subprocess.run(
    [sys.executable, "-c", "import json, sys; print(json.dumps(sorted(sys.modules)))"],
    capture_output=True, text=True, check=True,
).stdout  # fmt: skip
"""What an interpreter of this environment loads for itself."""


@pytest.mark.parametrize(("script", "allowed"), [("run.py", HELP), ("evaluate.py", OPTIONS), ("arena.py", COMMAND)])
def test_help_loads_the_options_and_nothing_more(script: str, allowed: set[str]) -> None:
    modules = loaded(script, "--help")
    assert set() == own(modules) - allowed
    assert set() == foreign(modules)


def test_a_second_look_at_a_race_loads_no_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layout = RaceLayout(tmp_path, "autumn")
    layout.root.mkdir(parents=True)
    ledger = Ledger.open(layout.ledger)
    ledger.append(
        r.RaceCreated("autumn", "race", HEX, {"run.py": HEX}, HEX, r.DataPin("binance-archive", HEX, HEX, HEX), 0.3,
                      1000, HEX, HEX, HEX, 3, None, "sealed"), UTC,
    )  # fmt: skip
    ledger.append(r.CompetitorJoined("random", "control", None, None, "#888888", 3, seed=7), UTC)
    assert 0 == main(["status", "--state-dir", str(tmp_path)])
    assert "random" in capsys.readouterr().out
    modules = loaded("arena.py", "status", "--state-dir", str(tmp_path))
    assert set() == own(modules) - STATUS
    assert {"orjson"} == foreign(modules)
