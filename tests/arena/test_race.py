from __future__ import annotations

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from race_world import SOURCE, RaceWorld, change_manifest, make_market, make_world, use_paper_judge

from autoquant import cli, files, process
from autoquant.arena import command, doctor, launch, protected, race
from autoquant.arena.choice import choose_race
from autoquant.arena.isolation import walls_here
from autoquant.arena.roster.load import load_roster
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.show.status import find_race, holder, status_of
from autoquant.arena.show.table import plain_table
from autoquant.errors import AutoQuantError, DataError, LedgerError, UserError, Violation
from autoquant.harness import Availability, Competitor, harness_of
from autoquant.harness.command import CommandHarness
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger, read_records
from autoquant.ledger.races import race_names
from autoquant.ledger.views import RaceView
from autoquant.market import FIELDS, load_panel, save_panel
from autoquant.market.manifest import FilePin, load_manifest, panel_pin
from autoquant.sealing import Level

CLIMBER = "for step in range(3): submit(0.11 + step / 10)"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaceWorld:
    made = make_world(tmp_path)
    use_paper_judge(monkeypatch, made)
    return made


def close_lockbox(world: RaceWorld, name: str) -> None:
    """Write the records of an opened lockbox."""
    ledger = Ledger.open(world.layout(name).ledger)
    entry = r.LockboxEntry("seed", None, 0, ledger.view.created.seed_strategy)
    for body in (
        r.LockboxReserved((entry,)),
        r.LockboxFetched({}, False),
        r.LockboxScored("seed", "0" * 64, 0.1, "insufficient evidence", 0.6),
        r.LockboxClosed(),
    ):
        ledger.append(body, "2026-11-30T00:00:00Z")


def test_a_race_runs_every_competitor_to_exactly_its_budget(world: RaceWorld):
    world.racer("a", CLIMBER)
    world.racer("b", "submit(0.05); submit(0.9); submit(1.9)")
    finish = world.start(budget=3)
    assert ("finished", 0) == (finish.reason, finish.exit_code)
    for racer in finish.view.competitors.values():
        assert ("done", 3) == (racer.ended, len(racer.attempts))
    assert ["archive", "search", "search"] == [a.status for a in finish.view.competitors["a"].attempts]
    assert ["discard", "keep", "keep"] == [a.status for a in finish.view.competitors["b"].attempts]
    assert "next: arena.py lockbox" in finish.next_step
    assert '"confirmed_promotions": 2' in finish.layout.metrics.read_text()


def test_the_first_record_pins_everything_a_result_depends_on(world: RaceWorld):
    world.racer("a", CLIMBER)
    created = world.start(race="autumn").view.created
    manifest = load_manifest(world.data)
    assert ("autumn", "race", SOURCE, 2) == (created.race, created.kind, created.allow_source, created.budget)
    assert (manifest.digest, manifest.splits["valid"].digest) == (created.data.manifest, created.data.valid)
    assert protected.load(world.home) == created.protected
    assert (0.3, 1000) == (created.noise_floor, created.noise_floor_samples)
    layout = world.layout("autumn")
    assert 32 == len(race.read_secret(layout, world.view("autumn")))
    assert 0o600 == layout.secret.stat().st_mode & 0o777
    assert (world.home / "strategy.py").read_bytes() == layout.blob(created.seed_strategy).read_bytes()


def test_a_race_gets_a_readable_name_and_a_second_one_the_next_number(world: RaceWorld):
    world.racer("a", CLIMBER)
    names = [world.start(budget=1).layout.race, world.start(budget=1).layout.race]
    assert ["1", "2"] == [name.rsplit("-", 1)[1] for name in names]
    assert names == list(race_names(world.state))
    assert names[1] == find_race(world.state, None).race


def test_after_the_lockbox_a_new_competitor_extends_the_race_and_touches_nothing(world: RaceWorld):
    world.racer("a", CLIMBER)
    name = world.start(budget=1).layout.race
    close_lockbox(world, name)
    before = world.layout(name).ledger.read_bytes()
    world.racer("b", CLIMBER)
    finish = world.start("b", budget=2)
    assert name == finish.layout.race
    assert world.layout(name).ledger.read_bytes().startswith(before)
    late = finish.view.competitors["b"]
    assert (True, 2, "done", 2) == (late.joined.extension, late.joined.budget, late.ended, len(late.attempts))
    with pytest.raises(UserError, match="b has already raced in race"):
        world.start("b", race=name)
    world.racer("c", CLIMBER)
    with pytest.raises(UserError, match="b cannot race twice"):
        world.start("b,c", race=name)
    assert name != world.start("b,c", budget=1).layout.race


def test_an_interrupted_extension_goes_on_with_its_own_budget(world: RaceWorld):
    world.racer("a", CLIMBER)
    name = world.start(budget=1).layout.race
    close_lockbox(world, name)
    world.racer("b", CLIMBER)
    ledger = Ledger.open(world.layout(name).ledger)
    ledger.append(r.CompetitorJoined("b", "command", "paper", None, "#112233", 2, None, True), "2026-11-30T00:00:00Z")
    assert 2 == len(world.start("b", budget=2).view.competitors["b"].attempts)


def test_an_unfinished_race_is_resumed_and_its_budget_stands(world: RaceWorld):
    world.racer("a", "submit(0.2)\nif start == ['1']: time.sleep(600)\nsubmit(0.3)")
    pauser = threading.Thread(target=_request_stop_after_first_attempt, args=(world,))
    pauser.start()
    first = world.start(race="autumn")
    pauser.join()
    assert ("stop requested", 0) == (first.reason, first.exit_code)
    with pytest.raises(UserError, match="a joined race autumn with 2 experiments, not 5"):
        world.start(budget=5)
    second = world.start(budget=None)
    assert ("autumn", "finished") == (second.layout.race, second.reason)
    assert 2 == len(second.view.competitors["a"].attempts)


def test_a_competitor_has_its_own_budget_and_the_start_says_that_budgets_differ(world: RaceWorld):
    world.racer("a", CLIMBER, budget="1")
    world.racer("b", CLIMBER)
    finish = world.start(budget=None, race="autumn")
    assert 50 == finish.view.created.budget
    assert {"a": (1, 1), "b": (50, 3)} == {
        name: (racer.joined.budget, len(racer.attempts)) for name, racer in finish.view.competitors.items()
    }
    notice = "budgets differ (1: a; 50: b): only equal budgets compare"
    assert f"race autumn: {notice}" in world.said
    assert notice in plain_table(status_of(finish.view, None))


def test_max_experiments_goes_before_every_competitors_own_budget(world: RaceWorld):
    world.racer("a", CLIMBER, budget="1")
    world.racer("b", CLIMBER)
    finish = world.start(budget=2)
    assert {"a": 2, "b": 2} == {name: racer.joined.budget for name, racer in finish.view.competitors.items()}
    assert not [line for line in [*world.said, plain_table(status_of(finish.view, None))] if "differ" in line]


def test_a_budget_that_all_starters_share_is_the_races(world: RaceWorld):
    world.racer("a", CLIMBER, budget="1")
    world.racer("b", CLIMBER, budget="1")
    view = world.start(budget=None).view
    assert (1, [1, 1]) == (view.created.budget, [len(racer.attempts) for racer in view.competitors.values()])


def test_an_extension_may_have_its_own_budget_from_the_roster(world: RaceWorld):
    world.racer("a", CLIMBER)
    name = world.start(budget=1).layout.race
    close_lockbox(world, name)
    world.racer("b", CLIMBER, budget="2")
    late = world.start("b", budget=None).view.competitors["b"]
    assert (True, 2, 2) == (late.joined.extension, late.joined.budget, len(late.attempts))


@pytest.fixture
def paused(world: RaceWorld) -> RaceWorld:
    """Race autumn, which grants 2 experiments; `a` has joined and nothing runs."""
    world.racer("a", CLIMBER)
    _joined(world)
    return world


def test_nobodys_budget_changes_after_joining(paused: RaceWorld):
    paused.racers.clear()
    paused.racer("a", CLIMBER, budget="3")
    with pytest.raises(UserError, match="a joined race autumn with 2 experiments, not 3") as caught:
        paused.start(budget=None)
    assert "put budget back in the roster" in caught.value.hint
    assert 2 == len(paused.start(budget=2).view.competitors["a"].attempts)


def test_a_newcomer_gets_what_the_race_grants_or_what_the_roster_says(paused: RaceWorld):
    paused.racer("b", CLIMBER)
    with pytest.raises(UserError, match="race autumn grants 2 experiments, not 5"):
        paused.start("b", budget=5)
    paused.racer("c", CLIMBER, budget="1")
    view = paused.start("b,c", budget=None).view
    assert {"a": 2, "b": 2, "c": 1} == {name: racer.joined.budget for name, racer in view.competitors.items()}


def test_the_record_says_how_a_competitor_was_set_up(world: RaceWorld):
    world.racer("a", "", args='["--fast"]', replicates="2")
    agent = Competitor("b", "opencode", "m", "", "#112233", base_url="http://127.0.0.1:8000/v1", budget=7)
    view = _joined(world, *load_roster(world.roster), agent)
    joined = {name: racer.joined for name, racer in view.competitors.items()}
    assert ["a-1", "a-2", "b"] == list(joined)
    assert ("a", ("--fast",), "", 2) == (
        joined["a-2"].group,
        joined["a-2"].args,
        joined["a-2"].endpoint,
        joined["a-2"].budget,
    )
    assert ("", "http://127.0.0.1:8000/v1", 7) == (joined["b"].group, joined["b"].endpoint, joined["b"].budget)
    assert harness_of(agent).settings == joined["b"].settings != ()


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        ({"args": '["-x"]'}, {"args": '["-y"]'}, r"a joined race autumn with args \['-x'\], now it is \['-y'\]"),
        ({"args": '["-x"]'}, {}, r"with args \['-x'\], now it is \[\]"),
        ({"effort": '"high"'}, {"effort": '"low"'}, "with effort 'high', now it is 'low'"),
    ],
)
def test_a_competitor_that_joined_is_still_the_same(
    world: RaceWorld, before: dict[str, str], now: dict[str, str], word: str
):
    world.racer("a", "", **before)
    view = _joined(world)
    world.racers.clear()
    world.racer("a", "", **now)
    with pytest.raises(UserError, match=word):
        choose_race(world.state, load_roster(world.roster), None, _clock().now())
    assert view == world.view("autumn")


def test_another_endpoint_or_another_group_is_another_competitor(world: RaceWorld):
    first = Competitor("a-1", "opencode", "m", "", "#112233", base_url="http://one/v1", group="a")
    _joined(world, first)
    for changed, word in (
        (dataclasses.replace(first, base_url="http://two/v1"), "base_url 'http://one/v1', now it is 'http://two/v1'"),
        (dataclasses.replace(first, group=""), "group 'a', now it is ''"),
    ):
        with pytest.raises(UserError, match=word):
            choose_race(world.state, [changed], None, _clock().now())
    assert (first,) == choose_race(world.state, [first], None, _clock().now()).running


def _joined(world: RaceWorld, *competitors: Competitor) -> RaceView:
    """Race autumn, joined by `competitors` or the whole roster."""
    ground = race.survey(world.home, world.data_root)
    ledger = race.create(
        world.layout("autumn"),
        ground,
        kind="race",
        budget=2,
        allow_source=SOURCE,
        isolation="sealed",
        secret=bytes(32),
        clock=_clock(),
    )
    race.join(ledger, competitors or load_roster(world.roster), 2, _clock())
    return ledger.view


def test_replicates_race_apart_with_names_shades_and_budgets_of_their_own(world: RaceWorld):
    world.racer("a", CLIMBER, budget="1")
    world.racer("b", CLIMBER)
    finish = world.start("a", replicates=3, budget=None, race="autumn")
    racers = finish.view.competitors
    assert {"a-1": ("a", 1, "done"), "a-2": ("a", 1, "done"), "a-3": ("a", 1, "done")} == {
        name: (racer.joined.group, len(racer.attempts), racer.ended) for name, racer in racers.items()
    }
    assert 3 == len({racer.joined.colour for racer in racers.values()})
    assert 3 == len({str(world.layout("autumn").worktree(name)) for name in racers})


def test_the_same_command_resumes_replicates_and_another_number_is_told_apart(world: RaceWorld):
    world.racer("a", "submit(0.2)\nif start == ['1']: time.sleep(600)\nsubmit(0.3)")
    pauser = threading.Thread(target=_request_stop_after_first_attempt, args=(world,))
    pauser.start()
    assert "stop requested" == world.start(race="autumn", replicates=2).reason
    pauser.join()
    with pytest.raises(UserError, match="a races as a-1, a-2 in race autumn") as caught:
        world.start()
    assert "--replicates 2" in caught.value.hint
    view = world.start(replicates=2).view
    assert {"a-1": 2, "a-2": 2} == {name: len(racer.attempts) for name, racer in view.competitors.items()}


def test_one_that_races_alone_cannot_become_replicates_of_itself(paused: RaceWorld):
    with pytest.raises(UserError, match="a races alone in race autumn, not as replicates"):
        paused.start(replicates=2)


def test_replicates_of_one_that_has_raced_are_a_new_race_and_no_extension(world: RaceWorld):
    alone = Competitor("a", "command", "paper", "", "#112233")
    _joined(world, alone)
    Ledger.open(world.layout("autumn").ledger).append(r.CompetitorEnded("a", "done"), "2026-11-30T00:00:00Z")
    close_lockbox(world, "autumn")
    twice = [dataclasses.replace(alone, name=f"a-{n}", group="a") for n in (1, 2)]
    assert "create" == choose_race(world.state, twice, None, _clock().now()).action
    assert "extend" == choose_race(world.state, [dataclasses.replace(alone, name="b")], None, _clock().now()).action
    with pytest.raises(UserError, match="a races alone in race autumn"):
        choose_race(world.state, twice, "autumn", _clock().now())


def test_start_with_replicates_answers_in_json(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    world.racer("a", CLIMBER)
    monkeypatch.setattr(cli, "HOME", world.home)
    places = ["--data-dir", str(world.data_root), "--state-dir", str(world.state), "--roster", str(world.roster)]
    asked = ["--competitors", "a", "--replicates", "2", "--max-experiments", "1", "--allow-source", SOURCE]
    assert 0 == command.main(["start", *places, *asked, "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert [("a-1", "a", "done"), ("a-2", "a", "done")] == [
        (racer["name"], racer["group"], racer["state"]) for racer in answer["competitors"]
    ]
    assert 2 == command.main(["start", *places, *asked, "--replicates", "21", "--json"])
    assert "error: --replicates 21: at most 20\n" == capsys.readouterr().err


def test_a_race_that_must_be_sealed_is_refused_without_bubblewrap_and_nothing_is_made(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch
):
    """INV-42."""
    world.racer("a", CLIMBER)
    monkeypatch.setattr(launch, "walls_here", walls_here)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    with pytest.raises(UserError, match=r"--require sealed: .* tamper-evident .*agents: bubblewrap is not installed"):
        world.start(race="autumn", require=Level.SEALED)
    assert not (world.state / "races" / "autumn" / "ledger.jsonl").exists()


def test_a_start_puts_on_record_what_doctor_found(world: RaceWorld):
    """INV-29."""
    world.racer("a", CLIMBER)
    world.racer("b", "", argv='["no-such-cli"]')
    view = world.start(skip_missing=True, race="autumn").view
    (checked,) = view.readiness
    assert checked is not None
    assert (True, (), ("b: no-such-cli not found",)) == (
        checked.manifest_verified,
        checked.problems,
        checked.left_out,
    )
    assert "source: not the public archive" in checked.warnings
    assert ("a",) == view.starts[0].competitors
    assert view.created.isolation == checked.isolation == view.isolation
    assert (checked.isolation == "sealed") == (checked.unsealed == ())


def test_an_archive_that_differs_and_a_full_disk_stop_no_race_and_stand_in_its_record(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch
):
    """INV-29."""
    change_manifest(world, files=(FilePin("klines/A.zip", "http://x/A.zip", 16, "0" * 64, 3, True),))
    monkeypatch.setattr(doctor, "RACE_BYTES", 10**18)
    world.racer("a", CLIMBER)
    (checked,) = world.start(race="autumn").view.readiness
    assert checked is not None
    assert not checked.manifest_verified
    assert ("data: 127.0.0.1-8777/raw/klines/A.zip: missing", "disk: ") == (
        checked.problems[0],
        checked.problems[1][:6],
    )
    assert str(world.root) not in repr(checked)
    assert "doctor: data: 127.0.0.1-8777/raw/klines/A.zip: missing" in world.said


def test_a_time_limit_pauses_the_race_and_the_same_command_goes_on(world: RaceWorld):
    world.racer("a", "submit(0.2)\nif not pathlib.Path('scratch/go on').exists(): time.sleep(600)\nsubmit(0.3)")
    first = world.start(race="autumn", max_hours=2 / 3600)
    assert ("time limit", 0) == (first.reason, first.exit_code)
    assert "next: race autumn is paused (time limit); the same command goes on" == first.next_step
    (world.layout("autumn").worktree("a") / "scratch" / "go on").touch()
    assert "finished" == world.start().reason


def test_only_so_many_sessions_hold_one_account_at_a_time(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(CommandHarness, "check", lambda self, competitor, machine: Availability(True, account="one"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    busy = (  # the loopback is what sealed sessions share
        f"import socket; alone = socket.socket(); alone.bind(('127.0.0.1', {port}))\n"
        "submit(0.2 + len(mine) / 10); alone.close()"
    )
    for name in ("a", "bb", "ccc"):
        world.racer(name, busy)
    view = world.start(budget=1, parallel_per_account=1).view
    assert [("done", 1)] * 3 == [(racer.ended, len(racer.sessions)) for racer in view.competitors.values()]


def _request_stop_after_first_attempt(world: RaceWorld) -> None:
    layout = world.layout("autumn")
    for _ in range(2000):
        if any(isinstance(x.body, r.AttemptClosed) for x in read_records(layout.ledger)):
            layout.stop_request.touch()
            return
        time.sleep(0.01)


def _subprocess(world: RaceWorld) -> subprocess.Popen[bytes]:
    """An arena of its own process on the same race, judging on paper."""
    program = (
        "import sys; from contextlib import contextmanager; from pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import race_world\n"
        "from autoquant.arena import launch\n"
        f"world = race_world.RaceWorld(Path({str(world.root)!r}), Path({str(world.home)!r}))\n"
        "launch.judge_of = contextmanager(lambda *_: (yield world.judge))\n"
        "raise SystemExit(world.start(race='autumn', budget=6).exit_code)\n"
    )
    return subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)


def _wait_for_attempts(world: RaceWorld, count: int) -> None:
    for _ in range(3000):
        records = read_records(world.layout("autumn").ledger)
        if sum(isinstance(x.body, r.AttemptClosed) for x in records) >= count:
            return
        time.sleep(0.01)
    raise AssertionError("no progress")


SLOW_RACER = "for step in range(9):\n    submit(0.1 + step / 7 + int(start[0]) / 1000); time.sleep(0.1)\n"


def test_a_killed_arena_is_resumed_with_every_attempt_once(world: RaceWorld):
    world.racer("a", SLOW_RACER)
    world.racer("b", SLOW_RACER)
    arena = _subprocess(world)
    _wait_for_attempts(world, 3)
    arena.kill()
    arena.wait()
    before = read_records(world.layout("autumn").ledger)
    # A child between fork and exec holds the lock for a moment longer.
    deadline = time.monotonic() + 30
    while holder(world.layout("autumn")) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    finish = world.start(budget=6)
    assert ("autumn", "finished") == (finish.layout.race, finish.reason)
    assert before == read_records(finish.layout.ledger)[: len(before)]
    for name, racer in finish.view.competitors.items():
        assert list(range(1, 7)) == [a.attempt for a in racer.attempts]
        assert "lost" in [s.reason for s in racer.sessions]
        assert [] == process.marked(run_mark(finish.layout, name))


def test_a_second_arena_is_refused_and_told_of_the_first_and_ctrl_c_pauses(world: RaceWorld):
    world.racer("a", SLOW_RACER)
    arena = _subprocess(world)
    _wait_for_attempts(world, 1)
    with pytest.raises(UserError, match=f"held by arena process {arena.pid} on "):
        world.start(budget=6)
    arena.send_signal(signal.SIGINT)
    assert 130 == arena.wait(timeout=20)
    view = world.view("autumn")
    assert "interrupted" == view.stopped
    assert "paused" == view.competitors["a"].sessions[-1].reason
    assert [] == process.marked(run_mark(world.layout("autumn"), "a"))


@pytest.mark.parametrize(
    ("break_it", "word"),
    [
        (lambda w: change_manifest(w, source="synthetic", synthetic_seed=1), "no real race can run on them"),
        (lambda w: (w.data / "calibration.json").unlink(), "not calibrated"),
        (lambda w: w.calibrate(protocol="other"), "made for another protocol"),
        (lambda w: w.calibrate(data="other"), "made for other data"),
        (lambda w: w.calibrate(strategy="other"), "another strategy.py"),
        (lambda w: (w.data / "calibration.json").write_text("{"), "not valid JSON"),
        (lambda w: (w.data / "valid.npy").unlink(), "valid"),
        (lambda w: (w.data_root / "current").unlink(), "no market data"),
        (
            lambda w: (w.home / "autoquant" / "clock.py").write_text("x"),
            "autoquant/clock.py: protected file is changed",
        ),
        (lambda w: (w.home / "strategy.py").unlink(), "strategy.py: not found"),
        (lambda w: w.racer("b", "", argv='["no-such-cli"]'), "cannot run b: no-such-cli not found"),
        (lambda w: w.racer("b", "", harness='"codex"', argv="[]"), "argv belongs to"),
    ],
)
def test_what_would_spoil_a_race_is_refused_before_anything_is_written(world: RaceWorld, break_it, word: str):
    world.racer("a", CLIMBER)
    break_it(world)
    with pytest.raises(AutoQuantError, match=word):
        world.start()
    assert () == race_names(world.state)


@pytest.mark.parametrize(
    ("allow", "kind", "word"),
    [
        (None, "race", "not from the public archive"),
        ("mirror", "race", "the data are from http://127.0.0.1:8777"),
        (SOURCE, "demo", "a demo runs on synthetic data only"),
    ],
)
def test_another_source_races_only_when_named(world: RaceWorld, allow: str | None, kind: str, word: str):
    world.racer("a", CLIMBER)
    with pytest.raises(DataError, match=word):
        world.start(allow_source=allow, kind=kind)


def test_the_public_archive_needs_no_permission_and_synthetic_data_give_a_demo(tmp_path: Path):
    real = load_manifest(make_market(tmp_path, "binance-archive"))
    assert race.admit(real, "race", None) is None
    assert race.admit(real, "race", "binance-archive") is None
    made_up = load_manifest(make_market(tmp_path, "synthetic"))
    assert race.admit(made_up, "demo", None) is None
    with pytest.raises(DataError, match="synthetic"):
        race.admit(made_up, "race", "synthetic")


def test_one_search_under_two_names_starts_no_race(world: RaceWorld):
    for name in ("a", "b"):
        world.racer(name, "", harness='"control"', model='"random"', argv="")
    with pytest.raises(UserError, match="a and b are one search: random, seed 0"):
        world.start()
    assert () == tuple(race_names(world.state))


def test_who_cannot_run_is_left_out_only_when_told(world: RaceWorld):
    world.racer("a", CLIMBER)
    world.racer("b", "", argv='["no-such-cli"]')
    finish = world.start(skip_missing=True)
    assert ["a"] == list(finish.view.competitors)
    assert "left out: b: no-such-cli not found" in world.said


def test_those_with_one_problem_are_named_together_and_asked_on_one_machine(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch
):
    machines = []

    def check(self: object, competitor: Competitor, machine: Machine) -> Availability:
        machines.append(machine)
        return Availability(competitor.name == "a", problem="not logged in", hint="log in")

    monkeypatch.setattr(CommandHarness, "check", check)
    world.racer("a", CLIMBER)
    world.racer("b", "", replicates="2")
    with pytest.raises(UserError, match="cannot run b-1, b-2: not logged in") as caught:
        world.start()
    assert "--skip-missing, or --competitors a" == caught.value.hint
    with pytest.raises(UserError, match="cannot run b-1, b-2: not logged in") as caught:
        world.start("b")
    assert "log in" == caught.value.hint
    assert (5, 2) == (len(machines), len({id(machine) for machine in machines}))


def test_a_race_goes_on_only_with_what_it_began_with(world: RaceWorld):
    world.racer("a", "submit(0.2); time.sleep(600)")
    pauser = threading.Thread(target=_request_stop_after_first_attempt, args=(world,))
    pauser.start()
    world.start(race="autumn")
    pauser.join()
    for break_it, mend, error, word in (
        (
            lambda: change_manifest(world, bar_hours=8),
            lambda: change_manifest(world, bar_hours=4),
            DataError,
            "runs on data of",
        ),
        (
            lambda: world.roster.write_text(world.racers[0].replace('"paper"', '"other"')),
            lambda: world.roster.write_text(world.racers[0]),
            UserError,
            "joined race autumn with model 'paper', now it is 'other'",
        ),
        (
            lambda: _rewrite(world.home, "program.md", "new"),
            lambda: None,
            UserError,
            "program.md: changed since race autumn began",
        ),
    ):
        break_it()
        with pytest.raises(error, match=word):
            world.start()
        mend()


def _rewrite(home: Path, name: str, text: str) -> None:
    """A change somebody meant: recorded in protected.sha256."""
    (home / name).write_text(text)
    files.atomic_write(home / protected.NAME, protected.render(protected.compute(home)))


def test_two_unfinished_races_have_to_be_told_apart(world: RaceWorld):
    world.racer("a", "")
    created = None
    for name in ("one", "two"):
        ground = race.survey(world.home, world.data_root)
        created = race.create(
            world.layout(name),
            ground,
            kind="race",
            budget=2,
            allow_source=SOURCE,
            isolation="sealed",
            secret=bytes(32),
            clock=_clock(),
        )
    assert created is not None
    with pytest.raises(UserError, match="races one, two are unfinished"):
        world.start()


def _clock():
    from autoquant.clock import SystemClock

    return SystemClock()


@pytest.mark.parametrize("name", ["../x", "A", "a b", ""])
def test_a_race_name_that_is_no_file_name_is_refused(world: RaceWorld, name: str):
    world.racer("a", "")
    with pytest.raises(UserError, match="cannot be used"):
        world.start(race=name)


def test_a_lost_secret_is_said_and_not_replaced(world: RaceWorld):
    world.racer("a", CLIMBER)
    layout = world.start(race="autumn").layout
    layout.secret.write_text("00" * 32)
    with pytest.raises(LedgerError, match="differs from the digest"):
        race.read_secret(layout, world.view("autumn"))


def test_a_seed_without_a_score_starts_no_race(world: RaceWorld):
    (world.home / "strategy.py").write_text("OUTCOME = crash\n")
    world.calibrate()
    world.racer("a", CLIMBER)
    with pytest.raises(UserError, match=r"the seed gets no score, it is crash \(KeyError, line 3\)"):
        world.start()


def test_a_changed_checkout_is_a_violation_named_with_its_file(world: RaceWorld):
    os.remove(world.home / "run.py")
    with pytest.raises(Violation, match=r"run\.py: protected file is missing"):
        race.survey(world.home, world.data_root)


def test_a_race_refuses_a_missing_bar_that_the_manifest_does_not_list(world: RaceWorld):
    """INV-03."""
    world.racer("a", "submit(0.2)")
    panel = load_panel(world.data, "valid")
    cube = panel.cube.copy()
    cube[: len(FIELDS), 30, 0] = float("nan")
    holed = dataclasses.replace(panel, cube=cube)
    for split in ("train", "valid"):
        save_panel(holed, world.data, split)
    change_manifest(world, splits={split: panel_pin(holed) for split in ("train", "valid")})
    with pytest.raises(DataError, match="1 bars missing that no gap lists, first at 2022-12-06T00:00:00Z"):
        world.start()
