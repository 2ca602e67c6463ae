"""Which races are found below a state folder."""

from __future__ import annotations

import os
from pathlib import Path

from ledger_cases import UTC, created

from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.races import race_names


def race(state: Path, name: str, utc: str = UTC) -> RaceLayout:
    layout = RaceLayout(state, name)
    layout.root.mkdir(parents=True)
    Ledger.open(layout.ledger).append(created(race=name), utc)
    return layout


def test_races_come_in_the_order_they_were_created(tmp_path: Path):
    race(tmp_path, "b", "2026-11-30T12:00:00Z")
    race(tmp_path, "a", "2026-12-01T12:00:00Z")
    race(tmp_path, "c", "2026-11-29T12:00:00Z")
    assert ("c", "b", "a") == race_names(tmp_path)


def test_what_cannot_be_read_troubles_only_its_own_readers(tmp_path: Path):
    race(tmp_path, "good")
    for name in ("folder", "pipe", "gone", "damaged", "torn"):
        RaceLayout(tmp_path, name).root.mkdir()
    RaceLayout(tmp_path, "folder").ledger.mkdir()
    os.mkfifo(RaceLayout(tmp_path, "pipe").ledger)  # who opens it to read waits for somebody to write
    RaceLayout(tmp_path, "gone").ledger.symlink_to("nowhere")
    RaceLayout(tmp_path, "damaged").ledger.write_text("{}\n")
    RaceLayout(tmp_path, "torn").ledger.write_text('{"utc":"2026')
    assert ("damaged", "good") == race_names(tmp_path)
