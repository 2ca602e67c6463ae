"""Which stored placebo races a race may be held against."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from autoquant import codec
from autoquant.ledger.placebos import (
    PLAN_FILE,
    REFERENCES,
    PlaceboRun,
    Placebos,
    Plan,
    cache_of,
    fitting_placebos,
    stored_plans,
)

PLAN = Plan("protocol", "code", "data", "seed", 0.3, 50)
SEARCHERS = ("random", "hillclimb")


def store(state: Path, plan: Plan = PLAN, runs: int = 3, searchers: tuple[str, ...] = SEARCHERS) -> Path:
    """Run k of every searcher on every market keeps k tenths."""
    cache = cache_of(state, plan)
    cache.describe(plan, SEARCHERS)
    for reference in REFERENCES:
        for run in range(1, runs + 1):
            for searcher in searchers:
                cache.write(
                    PlaceboRun(plan.digest, reference, searcher, run, 0.0, run / 10, run / 5, ("keep",), (run / 10,))
                )
    return cache.folder


def fitting(state: Path, **other: object) -> Placebos | None:
    wanted = {"protocol": "protocol", "data": "data", "seed_strategy": "seed", "noise_floor": 0.3, "budget": 50}
    return fitting_placebos(state, **(wanted | other))  # type: ignore[arg-type]


def test_runs_come_back_in_the_order_of_markets_and_numbers(tmp_path: Path):
    store(tmp_path)
    found = fitting(tmp_path)
    assert found is not None
    assert (PLAN, SEARCHERS) == (found.plan, found.searchers)
    expected = [(reference, run, name) for reference in REFERENCES for run in (1, 2, 3) for name in SEARCHERS]
    assert expected == [(run.reference, run.run, run.searcher) for run in found.runs]


@pytest.mark.parametrize(
    "other", [{"protocol": "p"}, {"data": "d"}, {"seed_strategy": "s"}, {"noise_floor": 0.31}, {"budget": 49}]
)
def test_another_contest_is_no_measure(tmp_path: Path, other: dict[str, object]):
    store(tmp_path)
    assert fitting(tmp_path, **other) is None


def test_of_two_versions_of_the_code_the_one_with_more_whole_runs_is_taken(tmp_path: Path):
    store(tmp_path, replace(PLAN, code="old"), runs=5)
    store(tmp_path, runs=2)
    found = fitting(tmp_path)
    assert found is not None
    assert "old" == found.plan.code


def test_a_market_that_not_every_searcher_has_raced_on_is_not_counted(tmp_path: Path):
    folder = store(tmp_path)
    (folder / "flip-random-0002.json").unlink()
    (folder / "real-hillclimb-0003.json").write_text("{")
    found = fitting(tmp_path)
    assert found is not None
    kept = {(run.reference, run.run) for run in found.runs}
    every = {(reference, run) for reference in REFERENCES for run in (1, 2, 3)}
    assert every - {("flip", 2), ("real", 3)} == kept
    store(tmp_path / "half", searchers=("random",))
    assert fitting(tmp_path / "half") is None


def test_no_folder_no_plan_and_damaged_plans_are_no_plan(tmp_path: Path):
    assert () == stored_plans(tmp_path)
    folder = store(tmp_path)
    (plan,) = stored_plans(tmp_path)
    for text in (
        "{", "[]", codec.dumps(replace(plan, plan=replace(PLAN, budget=7))),
        codec.dumps(replace(plan, searchers=("../../races/x",))), codec.dumps(replace(plan, searchers=())),
    ):  # fmt: skip
        (folder / PLAN_FILE).write_text(text)
        assert () == stored_plans(tmp_path)


def test_a_pipe_in_the_place_of_a_file_stops_nobody(tmp_path: Path):
    folder = store(tmp_path)
    for name in ("flip-random-0002.json", "real-hillclimb-0003.json"):
        (folder / name).unlink()
        os.mkfifo(folder / name)  # who opens one to read waits for somebody to write
    found = fitting(tmp_path)
    assert found is not None
    assert len(SEARCHERS) * (len(REFERENCES) * 3 - 2) == len(found.runs)
    (folder / PLAN_FILE).unlink()
    os.mkfifo(folder / PLAN_FILE)
    assert () == stored_plans(tmp_path)


def test_a_folder_describes_its_own_plan_alone(tmp_path: Path):
    with pytest.raises(ValueError, match="is not that of"):
        cache_of(tmp_path, PLAN).describe(replace(PLAN, budget=7), SEARCHERS)


def test_the_digest_of_the_runs_changes_with_any_of_them(tmp_path: Path):
    folder = store(tmp_path)
    before = fitting(tmp_path)
    path = folder / "flip-random-0001.json"
    path.write_text(path.read_text().replace('"champion":0.1', '"champion":0.7'))
    after = fitting(tmp_path)
    assert before is not None
    assert after is not None
    assert before.digest != after.digest
