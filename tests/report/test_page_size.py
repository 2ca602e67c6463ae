"""A page of five competitors with 150 attempts each, files as long as real ones, stays a file one can send."""

from __future__ import annotations

import sys
from pathlib import Path

from autoquant.report import render_report

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # not first: it has a run.py too

from big_race import write_race


def test_five_times_150_attempts_are_under_a_megabyte_and_a_half(tmp_path: Path):
    layout = write_race(tmp_path / "state", competitors=5, attempts=150)
    page = render_report(tmp_path / "state", layout.race, tmp_path / "page.html", home=tmp_path).path
    text = page.read_text()
    assert all(f'id="attempt-{racer}-150"' in text or f"id=attempt-{racer}-150" in text for racer in range(5))
    assert len(text.encode()) < 1_500_000
