"""How the graded track starts, goes on and is refused; what a session is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from graded_cases import NEAR, make_data
from race_world import QUICK
from referee_world import make_home
from taskrace_world import TaskWorld, submit

from autoquant import codec, files
from autoquant.arena.doctor import Health
from autoquant.arena.launch import Finish
from autoquant.arena.show.voice import Voice
from autoquant.arena.taskrace.launch import TaskOptions, held_against, prompt_for, start
from autoquant.errors import DataError, UserError
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import CompetitorEnded
from autoquant.market.indices import load_manifest
from autoquant.tasks.server import Shop
from autoquant.tasks.spec import ORDER

ROSTER = """\
[[competitor]]
name = "sleeper"
harness = "command"
model = "none"
colour = "#112233"
argv = ["sleep", "60"]

[[competitor]]
name = "random"
harness = "control"
model = "random"
seed = 1
colour = "#445566"
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> TaskOptions:
    """A record that was paused before anybody did anything."""
    root = tmp_path_factory.mktemp("launch")
    (root / "checkout").mkdir()
    home = make_home(root / "checkout")
    (root / "competitors.toml").write_text(ROSTER)
    options = TaskOptions(
        home, make_data(root / "data"), root / "state", root / "competitors.toml", "sleeper", steps=3, max_hours=1e-7
    )
    finish, _ = started(options)
    assert "time limit" == finish.reason
    return options


def started(options: TaskOptions) -> tuple[Finish, list[str]]:
    said: list[str] = []
    return start(options, Voice(said.append), pace=QUICK), said


def refused(options: TaskOptions, error: type[Exception] = UserError) -> str:
    with pytest.raises(error) as caught:
        started(options)
    return f"{caught.value.message}; {caught.value.hint}"  # type: ignore[attr-defined]


def test_each_agent_is_three_racers_with_the_steps_asked_for(begun: TaskOptions) -> None:
    finish, said = started(replace(begun, steps=None))
    view = finish.view
    assert [("sleeper-easy", "easy"), ("sleeper-medium", "medium"), ("sleeper-hard", "hard")] == [
        (racer.name, racer.joined.task) for racer in view.competitors.values()
    ]
    assert {("sleeper", 3)} == {(racer.joined.group, racer.joined.budget) for racer in view.competitors.values()}
    assert ("tasks", 3) == (view.created.kind, view.created.budget)
    assert begun.state / "tasks" == finish.layout.state
    assert any("resuming" in line for line in said)


def test_each_start_records_that_the_bars_in_memory_are_those_the_record_pins(begun: TaskOptions) -> None:
    finish, _ = started(replace(begun, steps=None))
    pin = finish.view.created.data
    shop = Shop(begun.data_root)
    grounds = [shop.ground(name) for name in ORDER]
    manifest = load_manifest(begun.data_root / "indices" / "files")
    assert (manifest.shown.digest, manifest.hidden.digest) == (pin.train, pin.valid)
    assert Health.OK is held_against(manifest, grounds).health
    assert {True} == {checked.manifest_verified for checked in finish.view.readiness if checked is not None}
    for part in ("shown", "hidden"):
        other = replace(manifest, **{part: replace(getattr(manifest, part), digest="0" * 64)})
        with pytest.raises(DataError, match="other bars than the record"):
            held_against(other, grounds)


def test_each_start_records_who_was_left_out_and_why(begun: TaskOptions) -> None:
    roster = begun.roster.with_name("missing.toml")
    absent = '\n[[competitor]]\nname = "absent"\nharness = "command"\nmodel = "none"\ncolour = "#778899"\n'
    roster.write_text(ROSTER + absent + 'argv = ["no-such-program"]\n')
    finish, _ = started(replace(begun, roster=roster, wanted="sleeper,absent", skip_missing=True, race="some"))
    finish.layout.ledger.unlink()
    (checked,) = finish.view.readiness
    assert checked is not None
    assert ["absent: no-such-program not found"] == list(checked.left_out)


def test_other_steps_other_data_and_other_code_are_refused(begun: TaskOptions, tmp_path: Path) -> None:
    assert "began with 3 steps; leave it out" in refused(replace(begun, steps=4))
    other = make_data(tmp_path / "data")
    manifest = other / "indices" / "files" / "manifest.json"
    made = load_manifest(manifest.parent)
    files.atomic_write(manifest, codec.dumps(replace(made, split="2022-12-31"), indent=1) + "\n")
    assert "runs on other index data" in refused(replace(begun, data_root=other), DataError)
    assert "no index data" in refused(replace(begun, data_root=tmp_path / "none"), DataError)
    code = begun.home / "autoquant" / "amounts.py"
    before, digests = code.read_bytes(), (begun.home / "protected.sha256").read_bytes()
    from autoquant.arena import protected

    try:
        code.write_bytes(before + b"# changed\n")
        files.atomic_write(begun.home / protected.NAME, protected.render(protected.compute(begun.home)))
        assert "the code has changed since" in refused(begun)
    finally:
        code.write_bytes(before)
        files.atomic_write(begun.home / protected.NAME, digests)


def test_controls_have_no_part_in_it(begun: TaskOptions) -> None:
    assert "controls have no part in the graded track" in refused(replace(begun, wanted="random"))
    finish, _ = started(replace(begun, wanted="all"))
    assert 3 == len(finish.view.competitors)
    assert "nobody" in refused(replace(begun, wanted="nobody"))


def test_a_name_begins_another_record_beside_the_first(begun: TaskOptions) -> None:
    finish, _ = started(replace(begun, race="second", steps=None))
    assert ("second", 20) == (finish.view.created.race, finish.view.created.budget)
    assert "are unfinished" in refused(begun)
    finish.layout.ledger.unlink()


def test_a_finished_record_points_to_its_grades_and_to_no_lockbox(begun: TaskOptions) -> None:
    finish, _ = started(replace(begun, race="over"))
    ledger = Ledger.open(finish.layout.ledger)
    for name in finish.view.competitors:
        ledger.append(CompetitorEnded(name, "done"), "2026-11-30T00:00:00Z")
    words = refused(replace(begun, race="over"))
    assert "have ended in record over; a task is handed in once; see its grades (arena.py tasks status --race" in words
    assert "lockbox" not in words
    finish.layout.ledger.unlink()


def test_a_session_is_told_its_task_its_steps_and_what_went_before(tasks: TaskWorld) -> None:
    def told(*, resumed: bool = False, seconds: float | None = None) -> str:
        view = Ledger.open(tasks.layout.ledger).view
        return prompt_for(view.competitors["alice-easy"], view, resumed=resumed, seconds_left=seconds)

    first = told(seconds=7200)
    assert "Read program.md" in first
    assert "Steps left: 4, that one included" in first
    assert "This session may last" in first
    assert "conversation that is gone" not in first
    with tasks.referee() as referee:
        referee.prepare("alice-easy")
        submit(referee, tasks.worktree("easy"), NEAR["easy"])
    again = told()
    assert "Steps left: 3," in again
    assert "Steps used in a conversation that is gone: 1, the best of them scored 0.90" in again
    resumed = told(resumed=True)
    assert "Steps used: 1, left: 3." in resumed
    assert "python run.py --final" in resumed
