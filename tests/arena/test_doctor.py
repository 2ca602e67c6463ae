from __future__ import annotations

from pathlib import Path

import pytest
from race_world import RaceWorld, change_manifest, make_world

from autoquant import codec
from autoquant.arena import doctor
from autoquant.arena.doctor import Diagnosis, Health, diagnose, show
from autoquant.arena.roster import load_roster


@pytest.fixture
def world(tmp_path: Path) -> RaceWorld:
    return make_world(tmp_path)


def ask(world: RaceWorld, *, skip: bool = True) -> Diagnosis:
    racers = load_roster(world.roster) if world.racers else ()
    return diagnose(world.home, world.data_root, world.state, racers, skip_harnesses=skip)


def health(answer: Diagnosis) -> dict[str, Health]:
    return {check.name: check.health for check in answer.checks}


def test_another_source_is_a_warning_and_a_race_can_start(world: RaceWorld):
    answer = ask(world)
    assert {"code": "ok", "data": "ok", "source": "warning", "calibration": "ok", "isolation": "ok", "disk": "ok"} == (
        health(answer)
    )
    assert (True, 0, 1) == (answer.can_start, answer.problems, answer.warnings)
    assert "1 warning. A race can start." == answer.summary


def test_synthetic_data_are_a_warning_and_only_a_demo_can_start(world: RaceWorld):
    change_manifest(world, source="synthetic", synthetic_seed=1)
    answer = ask(world)
    assert (True, Health.WARNING) == (answer.can_start, health(answer)["source"])
    assert "A demo can start" in answer.summary


def test_what_is_said_of_the_lockbox_is_true_of_these_data(world: RaceWorld):
    assert "lockbox pinned, not fetched" in show(ask(world))
    change_manifest(world, source="synthetic", synthetic_seed=1)
    assert "lockbox made when it opens" in show(ask(world))


def test_prices_that_differ_from_the_manifest_are_a_problem(world: RaceWorld):
    with (world.data / "train.npy").open("r+b") as file:
        file.seek(-8, 2)
        file.write(b"\x00" * 7 + b"\x3f")
    answer = ask(world)
    assert (False, Health.PROBLEM) == (answer.can_start, health(answer)["data"])
    assert "train.npy: content differs" in show(answer)


def test_a_short_calibration_is_a_warning(world: RaceWorld):
    path = world.data / "calibration.json"
    path.write_text(path.read_text().replace('"samples":1000', '"samples":40'))
    answer = ask(world)
    assert (True, Health.WARNING) == (answer.can_start, health(answer)["calibration"])


def test_each_thing_that_stops_every_race_is_a_problem(world: RaceWorld):
    (world.home / "program.md").write_text("changed")
    (world.data / "calibration.json").unlink()
    answer = ask(world)
    assert (Health.PROBLEM, Health.PROBLEM) == (health(answer)["code"], health(answer)["calibration"])
    assert (False, "2 problems, 1 warning. No race can start.") == (answer.can_start, answer.summary)


def test_without_data_it_says_how_to_get_them(world: RaceWorld):
    (world.data_root / "current").unlink()
    answer = ask(world)
    assert not answer.can_start
    assert "setup_data.py" in next(check.hint for check in answer.checks if check.name == "data")


def test_a_competitor_that_cannot_run_is_named_and_the_others_can_start(world: RaceWorld):
    world.racer("a", "")
    world.racer("b", "", argv='["no-such-cli"]')
    answer = ask(world, skip=False)
    assert (True, 1) == (answer.can_start, answer.problems)
    assert "b  " in show(answer)
    assert "no-such-cli not found" in show(answer)
    assert answer.summary.endswith("A race with the other 1 can start.")


def test_with_nobody_fit_no_race_can_start(world: RaceWorld):
    world.racer("b", "", argv='["no-such-cli"]')
    assert not ask(world, skip=False).can_start


def test_a_full_disk_is_a_problem(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "RACE_BYTES", 10**18)
    assert Health.PROBLEM == health(ask(world))["disk"]


def test_it_changes_nothing_and_its_json_reads_back(world: RaceWorld):
    before = sorted(str(path) for path in world.root.rglob("*") if "__pycache__" not in path.parts)
    answer = ask(world)
    assert answer == codec.loads(Diagnosis, codec.dumps(answer))
    assert before == sorted(str(path) for path in world.root.rglob("*") if "__pycache__" not in path.parts)
