from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from race_world import RaceWorld, change_manifest, make_world

from autoquant import codec, files
from autoquant.arena import doctor
from autoquant.arena.doctor import Check, Diagnosis, Health, diagnose, readiness, show
from autoquant.arena.isolation import Isolation, Side, Walls
from autoquant.arena.roster.load import load_roster
from autoquant.arena.sessions.confinement import Confinement
from autoquant.harness import ADAPTERS, Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.machine import Machine
from autoquant.market.manifest import FilePin
from autoquant.sealing import Level

STRONG = Side(Level.SEALED, "bubblewrap 0.8.0")
WALLS = Walls(STRONG, STRONG, Confinement("PID namespace (bubblewrap 0.8.0)", ("bwrap", "--")), "/usr/bin/bwrap")
NONE = Side(Level.EVIDENT, "bubblewrap is not installed")


@dataclass
class Answers:
    """Stands for an agent CLI's adapter: what its check says, by competitor."""

    by_name: dict[str, Availability]

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        return self.by_name[competitor.name]

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        return SessionPlan((sys.executable,), request.workspace)


def give(monkeypatch: pytest.MonkeyPatch, walls: Walls) -> None:
    """Let doctor find these walls on the machine."""
    monkeypatch.setattr(doctor, "walls_here", lambda machine, secret: walls)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaceWorld:
    give(monkeypatch, WALLS)
    return make_world(tmp_path)


def ask(world: RaceWorld, *, skip: bool = True, require: Level = Level.EVIDENT) -> Diagnosis:
    racers = load_roster(world.roster) if world.racers else ()
    machine = Machine(dict(os.environ), world.root, is_root=False)
    return diagnose(world.home, world.data_root, world.state, racers, machine, skip_harnesses=skip, require=require)


def ask_about(world: RaceWorld, monkeypatch: pytest.MonkeyPatch, **answers: Availability) -> dict[str, Check]:
    """The lines of `codex` competitors with these answers, and of everything else, by name."""
    for name in answers:
        world.racer(name, "", harness='"codex"', effort='"high"', argv="")
    monkeypatch.setitem(ADAPTERS, "codex", Answers(answers))  # type: ignore[arg-type]
    return {check.name: check for check in ask(world, skip=False).checks}


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


def test_an_archive_that_differs_from_the_manifest_is_a_problem(world: RaceWorld):
    archive = world.data / "raw" / "klines" / "A.zip"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"as it was packed")
    pin = FilePin("klines/A.zip", "http://x/A.zip", 16, files.sha256_file(archive), 3, True)
    change_manifest(world, files=(pin,))
    assert Health.OK == health(ask(world))["data"]
    archive.write_bytes(b"as it is here...")
    assert "A.zip: differs from the manifest's checksum" in show(ask(world))
    archive.unlink()
    assert Health.PROBLEM == health(ask(world))["data"]


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


def test_who_can_run_is_told_with_version_login_and_effort(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    ready = Availability(True, "codex 0.171.0", "API key (OPENAI_API_KEY)", "codex/1")
    line = ask_about(world, monkeypatch, a=ready)["a"]
    assert (Health.OK, "codex 0.171.0, API key (OPENAI_API_KEY), effort high") == (line.health, line.text)
    assert ("codex 0.171.0", "API key (OPENAI_API_KEY)", "") == (line.version, line.login, line.note)


def test_another_endpoint_than_the_vendors_is_said(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ADAPTERS, "codex", Answers({"a": Availability(True, "codex 1")}))  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        world.racer("a", "", harness='"codex"', base_url=f'"http://{place}/v1"', argv="")
        line = ask(world, skip=False).checks[-1]
    assert (Health.OK, f"codex 1, endpoint http://{place}/v1") == (line.health, line.text)
    line = ask(world, skip=False).checks[-1]
    assert Health.WARNING == line.health
    assert line.text.endswith(f"/v1, nothing answers at {place} (Connection refused)")


def test_a_note_is_a_warning_and_the_race_can_start(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    lines = ask_about(world, monkeypatch, a=Availability(True, "codex 0.172.0", note="proved with 0.171.0"))
    line = lines["a"]
    assert (Health.WARNING, "codex 0.172.0, effort high, proved with 0.171.0") == (line.health, line.text)
    assert "proved with 0.171.0" == line.note


def test_who_cannot_run_is_told_with_the_way_to_mend_it(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    refused = Availability(False, "codex 0.171.0", problem="not logged in", hint="codex login")
    line = ask_about(world, monkeypatch, a=refused)["a"]
    assert (Health.PROBLEM, "not logged in", "codex login") == (line.health, line.text, line.hint)
    assert "codex 0.171.0" == line.version


def test_three_racers_of_one_program_start_it_once(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    program, log = world.root / "cli", world.root / "asked"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> '{log}'\necho cli 1.0\n")
    program.chmod(0o755)

    class Asks(Answers):
        def check(self, competitor: Competitor, machine: Machine) -> Availability:
            answer = machine.ask((str(program), "--version"))
            return Availability(True, answer.stdout.strip() if answer else None)

    world.racer("a", "", harness='"codex"', replicates="3", argv="")
    monkeypatch.setitem(ADAPTERS, "codex", Asks({}))  # type: ignore[arg-type]
    assert ["cli 1.0"] * 3 == [check.text for check in ask(world, skip=False).checks if check.competitor]
    assert "--version\n" == log.read_text()


def test_racers_that_share_an_account_are_named_together(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    shared = Availability(True, "codex 1", "API key (K)", "codex/K/1")
    unfit = Availability(False, account="codex/K/1", problem="no model")
    other = Availability(True, "codex 1", "API key (L)", "codex/L/2")
    line = ask_about(world, monkeypatch, a=shared, b=shared, c=unfit, d=other)["account"]
    assert (Health.OK, "a, b share one and its limits: API key (K)") == (line.health, line.text)
    assert "--parallel-per-account" in line.hint


def test_without_an_account_nothing_is_shared(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    assert "account" not in ask_about(world, monkeypatch, a=Availability(True), b=Availability(True))


def test_a_machine_where_both_sides_are_sealed_is_ok(world: RaceWorld):
    answer = ask(world)
    assert (Health.OK, "sealed", ()) == (health(answer)["isolation"], answer.isolation.level, answer.isolation.lacks)
    assert "sealed; agents: bubblewrap 0.8.0; strategy code: bubblewrap 0.8.0" in show(answer)


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_the_seal_is_judged_with_the_certificates_that_sessions_are_shown(world: RaceWorld, name: str):
    secret = world.data_root.parent
    world.racer("a", "", env=f'{{ {name} = "/nowhere:{secret}" }}')
    answer = ask(world, skip=False)
    assert "evident" == answer.isolation.level
    assert f"cannot be sealed: {secret}, which it needs, holds {world.state}" in show(answer)


@pytest.mark.parametrize("side", ["strategy", "agents"])
def test_one_open_side_makes_it_evident_and_says_which_and_why(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch, side: str
):
    bubblewrap = "" if side == "agents" else WALLS.bubblewrap
    give(monkeypatch, replace(WALLS, bubblewrap=bubblewrap, **{side: NONE}))
    answer = ask(world)
    assert (True, Health.WARNING) == (answer.can_start, health(answer)["isolation"])
    assert ("evident", "tamper-evident") == (answer.isolation.level, answer.isolation.recorded)
    who = "agents" if side == "agents" else "strategies"
    assert (f"{who}: bubblewrap is not installed",) == answer.isolation.lacks
    assert "install the package bubblewrap" in show(answer) or sys.platform != "linux"


def test_a_race_that_would_not_be_sealed_cannot_start_where_that_is_required(
    world: RaceWorld, monkeypatch: pytest.MonkeyPatch
):
    assert ask(world, require=Level.SEALED).can_start
    give(monkeypatch, replace(WALLS, bubblewrap="", agents=NONE))
    answer = ask(world, require=Level.SEALED)
    assert (False, Health.PROBLEM) == (answer.can_start, health(answer)["isolation"])
    assert "--require sealed is not met" in show(answer)


def test_what_stays_open_behind_a_seal_is_said(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    give(monkeypatch, replace(WALLS, note="abstract sockets are reachable"))
    assert "; abstract sockets are reachable" in show(ask(world))


def test_what_stays_open_behind_a_seal_stands_in_the_record_of_a_start(world: RaceWorld):
    isolation = Isolation(replace(WALLS, note="abstract sockets are reachable"), WALLS.namespace)
    machine = Machine(dict(os.environ), world.root, is_root=False)
    checked = readiness(world.home, world.data_root, world.state, machine, isolation, {}, {})
    assert ("sealed", True) == (
        checked.isolation,
        "isolation: abstract sockets are reachable" in checked.warnings,
    )


def test_a_full_disk_is_a_problem(world: RaceWorld, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(doctor, "RACE_BYTES", 10**18)
    assert Health.PROBLEM == health(ask(world))["disk"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_state_folder_that_may_not_be_written_is_a_problem(world: RaceWorld):
    world.state.mkdir()
    world.state.chmod(0o500)
    assert Health.PROBLEM == health(ask(world))["disk"]


def test_it_changes_nothing_and_its_json_reads_back(world: RaceWorld):
    before = sorted(str(path) for path in world.root.rglob("*") if "__pycache__" not in path.parts)
    world.racer("a", "")
    before.append(str(world.roster))
    before.append(str(world.root / "a.py"))
    answer = ask(world, skip=False)
    assert answer == codec.loads(Diagnosis, codec.dumps(answer))
    assert sorted(before) == sorted(str(path) for path in world.root.rglob("*") if "__pycache__" not in path.parts)
