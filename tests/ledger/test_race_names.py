"""Which races are found below a state folder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from ledger_cases import UTC, created

from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.races import race_names, require_races


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


def test_records_of_the_graded_track_are_refused_where_races_are_meant(tmp_path: Path):
    require_races(tmp_path)
    race(tmp_path, "autumn")
    RaceLayout(tmp_path, "damaged").root.mkdir()
    RaceLayout(tmp_path, "damaged").ledger.write_text("{}\n")
    require_races(tmp_path)
    layout = RaceLayout(tmp_path / "tasks", "graded")
    layout.root.mkdir(parents=True)
    Ledger.open(layout.ledger).append(replace(created(race="graded"), kind="tasks"), UTC)
    with pytest.raises(UserError, match="holds records of the graded track, not races"):
        require_races(tmp_path / "tasks")
