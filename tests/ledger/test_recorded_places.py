"""The record's texts do not say where on this machine things stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledger_cases import UTC, created, joined, opened

from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger, read_records


def test_what_programs_and_disks_say_is_recorded_without_this_machines_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """INV-35."""
    monkeypatch.setenv("HOME", "/home/zebulon")
    ledger = Ledger.open(tmp_path / "state" / "races" / "autumn" / "ledger.jsonl")
    ledger.path.parent.mkdir(parents=True)
    said = f"{tmp_path}/state/arena.git: No space; and /home/zebulon/x/y"
    for body in (
        created(),
        joined(),
        r.FaultSeen("random", None, "disk", said),
        r.IncidentSeen(said),
        r.ReadinessChecked(True, (said,), (said,), (said,)),
        opened(1, description=said),
    ):
        returned = ledger.append(body, UTC)
        assert returned == read_records(ledger.path)[-1]
    text = ledger.path.read_text()
    assert "zebulon" not in text
    assert str(tmp_path) not in text
    assert 6 == text.count("state/arena.git: No space; and ~/x/y")
    assert Ledger.open(ledger.path).view == ledger.view
