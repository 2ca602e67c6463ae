from __future__ import annotations

from pathlib import Path

import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, searched, shifted

from autoquant.clock import SystemClock
from autoquant.errors import UserError
from autoquant.ledger.views import results_tsv
from autoquant.report.journal import read_journal
from autoquant.report.page import page
from autoquant.report.watch import SECONDS, redraw


def journalled(home: Path) -> str:
    """results.tsv as the ledger room writes it."""
    case = RaceCase(home / "other")
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 0.5), description="=cmd()|x </td><b>")
    searched(case, "a", 6, 4)
    text = results_tsv(case.ledger.view, "a")
    (home / "results.tsv").write_text(text)
    return text


def test_no_file_and_no_row_are_no_journal(tmp_path: Path):
    assert read_journal(tmp_path, None) is None
    (tmp_path / "results.tsv").write_text("attempt\tutc\n")
    assert read_journal(tmp_path, None) is None


def test_every_row_of_the_ledgers_own_table_is_read(tmp_path: Path):
    rows = journalled(tmp_path).splitlines()[1:]
    journal = read_journal(tmp_path, "binance-archive")
    assert journal is not None
    assert [row.split("\t")[2] for row in rows] == [a.status for a in journal.entrant.attempts]
    assert 0 == journal.refused
    assert round(journal.entrant.attempts[0].score or 0.0, 4) == float(rows[0].split("\t")[3])


def test_a_line_that_is_no_row_is_counted_and_left_out(tmp_path: Path):
    (tmp_path / "results.tsv").write_text(
        "attempt\tstatus\tscore\n1\tkeep\t0.5\n2\tkeep\n-1\tkeep\t1\nx\tkeep\t1\n3\tsplendid\t9\n4\tcrash\tnan\n"
    )
    journal = read_journal(tmp_path, None)
    assert journal is not None
    assert [1, 4] == [a.number for a in journal.entrant.attempts]
    assert 4 == journal.refused
    assert journal.entrant.attempts[1].score is None


def test_a_linked_journal_is_not_followed(tmp_path: Path):
    (tmp_path / "elsewhere").write_text("attempt\tstatus\tscore\n1\tkeep\t0.5\n")
    (tmp_path / "results.tsv").symlink_to(tmp_path / "elsewhere")
    assert read_journal(tmp_path, None) is None


@pytest.mark.parametrize(
    ("source", "words"),
    [("synthetic", "No score on this page is a market result"), (None, "read none as a market result")],
)
def test_a_journal_never_passes_for_a_market_result(source: str | None, words: str, tmp_path: Path):
    journalled(tmp_path)
    reading = read(page(tmp_path / "none", None, home=tmp_path, source=source))
    assert [] == reading.problems
    assert words in reading.text
    assert "publishable: no , because this is no race" in reading.text


def test_descriptions_in_a_journal_stay_text(tmp_path: Path):
    journalled(tmp_path)
    reading = read(page(tmp_path / "none", None, home=tmp_path))
    assert "'=cmd()|x </td><b>" in reading.text


def test_a_race_comes_before_the_journal(tmp_path: Path):
    (tmp_path / "results.tsv").write_text("attempt\tstatus\tscore\n1\tkeep\t0.5\n")
    RaceCase(tmp_path / "state")
    assert "standalone" not in read(page(tmp_path / "state", None, home=tmp_path)).text


class _Clock(SystemClock):
    """Counts the waiting instead of doing it."""

    def __init__(self) -> None:
        object.__setattr__(self, "slept", [])

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)  # type: ignore[attr-defined]


def test_watching_draws_every_minute_and_survives_a_failed_drawing(tmp_path: Path):
    clock, notes, drawn = _Clock(), [], []

    def draw() -> None:
        drawn.append(len(drawn))
        if len(drawn) == 2:
            raise UserError("disk full")
        if len(drawn) == 3:
            (tmp_path / "ledger.jsonl").read_bytes()

    redraw(draw, clock, notes.append, rounds=4)
    assert [0, 1, 2, 3] == drawn
    assert [SECONDS, SECONDS, SECONDS] == clock.slept  # type: ignore[attr-defined]
    assert ["page not renewed: disk full", "page not renewed: No such file or directory"] == notes


def test_watching_ends_at_once_when_the_first_drawing_fails():
    def draw() -> None:
        raise UserError("no race 'x'")

    with pytest.raises(UserError):
        redraw(draw, _Clock(), print, rounds=3)
