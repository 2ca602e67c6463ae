"""kill -9 between any two writes: nothing promised is lost, nothing happens twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from killing import every_death
from ledger_cases import UTC, closed, created, joined, opened

from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger, read_records


def script() -> list[r.RecordBody]:
    bodies: list[r.RecordBody] = [created(), r.SeedScored("0c" * 32, 0.4), joined(), r.ArenaStarted(1, "host")]
    for attempt in (1, 2):
        bodies += [
            opened(attempt),
            r.EvaluationStarted("random", attempt, 1),
            closed(attempt),
            r.AttemptCommitted("random", attempt, f"{attempt:040x}"),
        ]
    return [*bodies, r.CompetitorEnded("random", "done")]


def race(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """Append what is missing of the script; acknowledge each record that `append` returned."""
    ledger = Ledger.open(folder / "ledger.jsonl")
    for body in script()[ledger.length :]:
        acknowledge(ledger.append(body, UTC).digest)


def nobody(text: str) -> None:
    """Take no promise."""


@pytest.mark.slow
def test_a_ledger_killed_at_any_write_keeps_each_promised_record_once(tmp_path: Path) -> None:
    deaths = 0
    for death in every_death(__file__, "race", tmp_path):
        path = death.folder / "ledger.jsonl"
        ledger = Ledger.open(path)
        digests = [record.digest for record in read_records(ledger.path)]
        assert list(death.acknowledged) == digests[: len(death.acknowledged)]
        assert len(digests) <= len(death.acknowledged) + 1, "at most the record in hand is there unpromised"
        race(death.folder, nobody)
        after = Ledger.open(path)
        assert script() == [record.body for record in read_records(after.path)]
        assert digests == [record.digest for record in read_records(after.path)][: len(digests)]
        assert (1, 2) == (after.view.competitors["random"].left, len(after.view.competitors["random"].closed))
        deaths += death.moment != "survived"
    # each record is one write and one fsync, the first also a folder sync; three moments each
    assert 3 * (2 * len(script()) + 1) == deaths


def test_a_ledger_killed_while_it_mends_its_end_is_mended_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "torn"
    folder.mkdir()
    path = folder / "ledger.jsonl"
    race(folder, nobody)
    whole = path.read_bytes()
    for name, damage in {"torn": whole + b'{"body":{"pid"', "no newline": whole[:-1]}.items():
        path.write_bytes(damage)
        for death in every_death(__file__, "race", tmp_path / name, start=folder):
            race(death.folder, nobody)
            assert whole == (death.folder / "ledger.jsonl").read_bytes()


def test_a_ledger_that_dies_again_and_again_still_ends(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    for life in range(20):
        lives = every_death(__file__, "race", tmp_path / str(life), start=start, moments=("half",), first=8, keep=True)
        death = next(lives)
        lives.close()
        start = death.folder
        if death.moment == "survived":
            break
    assert "survived" == death.moment
    assert script() == [record.body for record in read_records(start / "ledger.jsonl")]
