"""The interval beside a score is the resampled one, around the record's own score."""

from __future__ import annotations

from pathlib import Path

import pytest
from evidence_cases import champions, market, path

from autoquant.report.collect import collect
from autoquant.report.evidence import standing_evidence
from autoquant.report.evidence_effort import effort, generator
from autoquant.report.evidence_scores import SCORES
from autoquant.stats.standings import standings


def test_the_interval_is_that_of_the_resamples_around_the_recorded_score(tmp_path: Path):
    champions(tmp_path, {"a": 1.4})
    collected = collect(tmp_path, "autumn")
    (found,) = standing_evidence(collected).scores
    folds = [fold[:, None] for fold in path(1, 1.4, market())]
    (expected,) = standings(folds, generator(SCORES), samples=effort([1]).resamples)
    assert collected.race.entrants[0].score == pytest.approx(expected.score)
    assert (expected.low, expected.high) == pytest.approx((found.low, found.high))
    assert (expected.high - expected.low) / 2 == pytest.approx(found.half)
    assert 1.0 == found.best
