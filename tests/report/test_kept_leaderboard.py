"""The leaderboard that `arena.py status` keeps: shown only while nothing it was made from has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from evidence_cases import champions, placebos
from race_cases import RaceCase

from autoquant import cli, codec
from autoquant.arena.command import main
from autoquant.ledger import records as r
from autoquant.ledger.placebos import cache_of
from autoquant.report import kept, placing, race_leaderboard, shown_leaderboard
from autoquant.report.collect import Collected
from autoquant.report.kept import KeptLeaderboard, leaderboard_key
from autoquant.report.leaderboard import Leaderboard

UTC = "2026-12-01T00:00:00Z"


@pytest.fixture
def case(tmp_path: Path) -> RaceCase:
    return champions(tmp_path, {"a": 1.0, "b": 1.2})


def look(case: RaceCase) -> Leaderboard:
    return shown_leaderboard(case.layout.state, "autumn", case.ledger.head)


def mark(case: RaceCase) -> Leaderboard:
    """Put another leaderboard in the kept one's place, so that it shows whether it is looked at."""
    board = replace(race_leaderboard(case.layout.state, "autumn"), ranked_by="a mark")
    key = leaderboard_key(case.layout, case.ledger.head)
    case.layout.leaderboard.write_text(codec.dumps(KeptLeaderboard.of(key, board)))
    return board


def test_a_second_look_shows_what_the_first_worked_out(case: RaceCase) -> None:
    first = look(case)
    assert race_leaderboard(case.layout.state, "autumn") == first
    written = case.layout.leaderboard.stat().st_ino
    assert first == look(case)
    assert written == case.layout.leaderboard.stat().st_ino
    assert mark(case) == look(case)


def append(case: RaceCase) -> None:
    case.add(r.IncidentSeen("something"))


def alter_an_evaluation(case: RaceCase) -> None:
    path = case.layout.evaluation("a", 1)
    data = path.read_bytes()
    path.write_bytes(data[:-2] + b" " + data[-2:])


def remove_an_evaluation(case: RaceCase) -> None:
    case.layout.evaluation("b", 1).unlink()


def add_placebos(case: RaceCase) -> None:
    placebos(case, [run / 10 for run in range(1, 40)])


def damage(case: RaceCase) -> None:
    case.layout.leaderboard.write_bytes(case.layout.leaderboard.read_bytes()[:-30])


def alter_a_word(case: RaceCase) -> None:
    path = case.layout.leaderboard
    path.write_text(path.read_text().replace("a mark", "a mask"))


def of_another_version(case: RaceCase) -> None:
    plain = json.loads(case.layout.leaderboard.read_bytes())
    case.layout.leaderboard.write_text(json.dumps(plain | {"schema_version": 0}))


def in_another_shape(case: RaceCase) -> None:
    case.layout.leaderboard.write_text("[]")


@pytest.mark.parametrize(
    "change",
    [
        append,
        alter_an_evaluation,
        remove_an_evaluation,
        add_placebos,
        damage,
        alter_a_word,
        of_another_version,
        in_another_shape,
    ],
)
def test_whatever_changes_it_is_worked_out_anew(case: RaceCase, change: Callable[[RaceCase], None]) -> None:
    marked = mark(case)
    assert marked == look(case)
    change(case)
    assert marked != look(case)
    assert race_leaderboard(case.layout.state, "autumn") == look(case)
    assert "a mark" not in case.layout.leaderboard.read_text()


def test_another_program_works_it_out_anew(case: RaceCase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark(case)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "changed.py").write_text("")
    monkeypatch.setattr(kept, "PACKAGE", tmp_path / "package")
    assert "daily returns" == look(case).ranked_by


def test_another_library_works_it_out_anew(case: RaceCase, monkeypatch: pytest.MonkeyPatch) -> None:
    mark(case)
    monkeypatch.setattr(kept, "_LIBRARIES", ("numpy",))
    assert "daily returns" == look(case).ranked_by


def test_what_changed_while_it_was_worked_out_is_not_kept(case: RaceCase, monkeypatch: pytest.MonkeyPatch) -> None:
    def meanwhile(collected: Collected) -> Leaderboard:
        add_placebos(case)
        return leaderboard_before(collected)

    leaderboard_before = placing.collected_leaderboard
    monkeypatch.setattr(placing, "collected_leaderboard", meanwhile)
    look(case)
    assert not case.layout.leaderboard.exists()


def test_placebo_races_behind_a_link_are_looked_at_each_time(case: RaceCase, tmp_path: Path) -> None:
    """They are read there, and others may be put there: nothing in the state folder tells."""
    plan = cache_of(case.state, placebos(case, [run / 10 for run in range(1, 40)])).folder
    plan.rename(tmp_path / "elsewhere")
    plan.symlink_to(tmp_path / "elsewhere")
    before = look(case)
    for path in (tmp_path / "elsewhere").glob("*-0001.json"):
        path.unlink()
    assert before != look(case)
    assert race_leaderboard(case.layout.state, "autumn") == look(case)


def test_a_name_that_is_no_text_is_no_matter(case: RaceCase) -> None:
    (case.layout.root / "evaluations" / "a" / os.fsdecode(b"\xff.json")).write_text("")
    assert look(case) == look(case)
    assert mark(case) == look(case)


def test_a_folder_that_refuses_costs_nothing_but_time(case: RaceCase, capsys: pytest.CaptureFixture[str]) -> None:
    case.layout.leaderboard.mkdir()
    (case.layout.leaderboard / "in the way").write_text("")
    assert race_leaderboard(case.layout.state, "autumn") == look(case)
    assert 0 == main(["status", "--state-dir", str(case.layout.state)])
    assert "" == capsys.readouterr().err
    assert ["in the way"] == [path.name for path in case.layout.leaderboard.iterdir()]
    assert [] == list(case.layout.root.glob(".leaderboard*"))


def test_a_board_of_a_longer_record_is_not_kept_for_a_shorter_one(case: RaceCase) -> None:
    head = case.ledger.head
    append(case)
    board = shown_leaderboard(case.layout.state, "autumn", head)
    assert race_leaderboard(case.layout.state, "autumn") == board
    assert not case.layout.leaderboard.exists()


def test_no_file_of_a_race_is_read_that_the_key_does_not_cover(case: RaceCase) -> None:
    """Asked of Python itself: what is opened below the state folder while a leaderboard is worked out."""
    placebos(case, [0.1, 0.2])
    case.end("a", "b")
    case.open_lockbox({"seed": (None, 0, "insufficient evidence", 0.0002), "a": ("a", 1, "confirmed", 0.003)})
    state, root = case.layout.state, case.layout.root
    code = (
        "import sys\nfrom pathlib import Path\nfrom autoquant.report import race_leaderboard\nopened = set()\n"
        "def hear(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[0], str): opened.add(Path(arguments[0]).name)\n"
        f"sys.addaudithook(hear)\nrace_leaderboard(Path({str(state)!r}), 'autumn')\nprint('\\n'.join(opened))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=cli.HOME, capture_output=True, text=True, check=True)
    opened = set(ran.stdout.splitlines())
    places = (root / "evaluations", root / "lockbox", state / "placebo")
    covered = {Path(mark[0]).name for place in places for mark in kept._marks(str(place))}
    files = {path.name for path in state.rglob("*") if path.is_file()}
    assert {"0001.json", "plan.json", "ledger.jsonl"} <= opened
    assert {"ledger.jsonl"} == opened & files - covered
    folders = {path.name for path in root.iterdir() if path.is_dir()}
    assert {"evaluations", "lockbox"} == opened & folders
