"""Every CLI that installs, for real, through every fault of a model server and every tool that will not end.

Two racers for each CLI and a third for Gemini, all in one race, judged on paper; the rest of the arena is as always:

* `down` meets faults that do not pass, each in a session of its own: no quota, a rate limit, a broken server, no login.
* `rough` meets faults that pass, a model that says it is done, one that never answers, and tools that will not end.
* `patient` (Gemini alone) has the time for that CLI's own waits of up to half a minute after a rate limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from cli_world import clis_folder, require_cli
from fault_world import Met, ScriptedModel, living, load_fake_models, serve, sign_of, write_step

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "arena"))

from race_world import make_world, use_paper_judge, walls_once

from autoquant.arena import launch
from autoquant.arena.isolation import Side
from autoquant.arena.launch import Finish, start
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.sessions.policy import INFRASTRUCTURE, REMEDIES, Outcome
from autoquant.arena.sessions.supervisor import Pace
from autoquant.arena.show.voice import Voice
from autoquant.ledger import records as r
from autoquant.ledger.ledger import read_records
from autoquant.ledger.views import CompetitorView
from autoquant.sealing import Level

RACE = "faults"
PACE = Pace(poll=0.05, tick=0.2, farewell=5.0, hopeless=2.0, waits=0.0, listen=0.2, sample=1.0)
SILENT = 6.0
"""Seconds of silence after which a session is ended, the shortest a roster may ask for."""
AT_A_TIME = 9
"""Sessions. Most of them wait most of the time; the quick ones follow where a place gets free."""
MINUTES = 8
"""When the arena pauses whatever happens; on an idle machine all of it takes one."""

DOWN = (Met(("402@1-",)), Met(("429@2-",)), Met(("500@2-",)), Met(("401@1-",)))
"""Two of them hit a session's first request, two hit one that has made an attempt."""
ROUGH = (Met(("429@2-3", "cut@5", "empty@7"), satisfied_at=8), Met(("hang@2-",)))
"""Claude and Grok ask again after an empty answer; the others take it for the end of the turn."""
AGAIN = ("codex", "claude", "grok")
"""CLIs that start quickly: only they are raced on after their login was mended."""


@dataclass(frozen=True)
class Cli:
    """One CLI: how it is entered in the roster, and what differs from the others."""

    kind: str
    model: str
    path: str = ""
    """Of the base URL."""
    impatience: dict[str, Any] = field(default_factory=dict)
    """Roster keys that cut its own retries short, for faults that do not pass."""
    hangs_on_held_output: bool = False
    """A background child that holds its tool's output keeps it from going on."""


CLIS = (
    Cli("opencode", "fake-model", "/v1", hangs_on_held_output=True),
    Cli("gemini", "gemini-3.6-flash", hangs_on_held_output=True),
    Cli("claude", "claude-opus-4-5", impatience={"env": {"CLAUDE_CODE_MAX_RETRIES": "2"}}),
    Cli("codex", "gpt-5.6-luna", "/v1", {"quiet_minutes": 0.3}),  # it tries 55 times, and says so each time
    Cli("grok", "grok-4.5", "/v1", {"env": {"GROK_MAX_RETRIES": "2", "GROK_TURN_TRANSIENT_RETRY": "0"}}),
)
"""The slowest first, so that they do not run on alone at the end."""


@dataclass
class Night:
    """The race as it was left: by the arena that met the faults, and by the one that was started after them."""

    folder: Path
    first: Finish
    second: Finish
    models: dict[str, ScriptedModel]
    left_running: list[list[str]]
    """Command lines of processes that were alive after each arena."""

    def bodies(self, racer: str, kind: type) -> list[Any]:
        """Bodies of one kind in a racer's record."""
        bodies = (record.body for record in read_records(self.first.layout.ledger))
        return [body for body in bodies if isinstance(body, kind) and body.competitor == racer]

    def racer(self, name: str) -> CompetitorView:
        return self.second.view.competitors[name]


def search_path() -> str:
    """PATH with the CLIs in it."""
    return f"{clis_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}"


def quick_opencode(folder: Path) -> Path:
    """A folder with an opencode that does not read its long list of vendors' models: a second of processor time."""
    models, program = folder / "models.json", folder / "bin" / "opencode"
    models.write_text("{}")
    program.parent.mkdir()
    if real := shutil.which("opencode", path=search_path()):
        words = f"OPENCODE_MODELS_PATH={shlex.quote(str(models))} exec {shlex.quote(real)}"
        program.write_text(f'#!/bin/sh\n{words} "$@"\n')
        program.chmod(0o755)
    return program.parent


def key_of(racer: str) -> str:
    """A key of its own for each: one rate limit must not hold the others back."""
    return f"AUTOQUANT_KEY_{racer.upper().replace('-', '_')}"


@dataclass(frozen=True)
class Plan:
    """One racer's night."""

    racer: str
    cli: Cli
    meets: tuple[Met, ...]
    budget: int
    keys: dict[str, Any] = field(default_factory=dict)
    """Of its roster entry, beside those of all."""
    acts: dict[int, str] = field(default_factory=dict)
    """What happens in its steps beside the experiment."""


def entry(plan: Plan, url: str) -> str:
    """A racer's part of the roster."""
    facts = {
        "name": plan.racer,
        "harness": plan.cli.kind,
        "model": plan.cli.model,
        "effort": "high",
        "colour": "#112233",
        "base_url": url + plan.cli.path,
        "api_key_env": key_of(plan.racer),
        "budget": plan.budget,
    } | plan.keys
    env = facts.pop("env", {})
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in facts.items()]
    return "[[competitor]]\n" + "".join(lines) + "".join(f"env.{k} = {json.dumps(v)}\n" for k, v in env.items())


def rough(cli: Cli) -> Plan:
    """Where held output stops the CLI, the stubborn tool is what holds it, in the session of the last attempt."""
    meets = (Met(satisfied_at=4), *ROUGH[1:]) if cli.kind == "gemini" else ROUGH
    if cli.hangs_on_held_output:
        return Plan(f"rough-{cli.kind}", cli, meets, 5, {"silent_minutes": SILENT / 60}, {5: "hold stubborn"})
    return Plan(f"rough-{cli.kind}", cli, meets, 6, {"silent_minutes": SILENT / 60}, {5: "hold", 6: "stubborn"})


def plans() -> list[Plan]:
    """Everybody's, of those that are installed. Those who wait most begin first."""
    here = [cli for cli in CLIS if shutil.which(cli.kind, path=search_path())]
    down = [Plan(f"down-{c.kind}", c, DOWN, 3, {"silent_minutes": SILENT / 60} | c.impatience) for c in here]
    patient = [Plan("patient-gemini", c, (Met(("429@2-3",)),), 2) for c in here if c.kind == "gemini"]
    return [*map(rough, here), *down, *patient]


@pytest.fixture
def night(shared: Path, tmp_path: Path) -> Iterator[Night]:
    """All of it. What is claimed below is read off the record."""
    folder = tmp_path
    world = make_world(folder)
    layout = world.layout(RACE)
    models: dict[str, ScriptedModel] = {}
    roster = []
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        use_paper_judge(patch, world)
        open_walls = replace(
            walls_once(), bubblewrap="", agents=Side(Level.EVIDENT, "steps are files that a seal hides")
        )
        patch.setattr(launch, "walls_here", lambda machine, secret: open_walls)
        patch.setenv("PATH", f"{quick_opencode(folder)}{os.pathsep}{search_path()}")
        for plan in plans():
            name, module = plan.racer, load_fake_models(shared)
            patch.setenv(key_of(name), f"key of {name}")
            server = stack.enter_context(serve(module))
            server.a = models[name] = ScriptedModel(
                module,
                name,
                layout.ledger,
                model=plan.cli.model,
                meets=plan.meets,
                step=write_step(folder, name, plan.acts),
                budget=plan.budget,
                log=folder / f"{name}.requests",
            )
            roster.append(entry(plan, f"http://127.0.0.1:{server.server_address[1]}"))
        if not roster:
            pytest.skip("no CLI is installed: .ci/clis installs them")
        world.roster.write_text("\n".join(roster))
        voice = Voice(world.said.append)
        options = {"race": RACE, "budget": None, "parallel": AT_A_TIME, "max_hours": MINUTES / 60}
        marks = {run_mark(layout, name) for name in models}
        first = start(world.options(**options), voice, pace=PACE)
        left_running = [living(folder, marks)]
        again = ",".join(f"down-{kind}" for kind in AGAIN if f"down-{kind}" in models)
        second = start(world.options(again, **options), voice, pace=PACE) if again else first
        left_running.append(living(folder, marks))
        yield Night(folder, first, second, models, left_running)


def scores(racer: CompetitorView) -> list[float | None]:
    return [attempt.score for attempt in racer.attempts]


def each_fault_that_does_not_pass_ends_a_session_in_its_class(kind: str, night: Night) -> None:
    name = f"down-{kind}"
    down = night.first.view.competitors[name]
    assert {"402", "429", "500", "401"} == set(night.models[name].served())
    assert ["quota", "rate limit", "server error", "auth"] == [session.outcome for session in down.sessions]
    assert all(session.detail for session in down.sessions)
    assert (None, [1, 2]) == (down.ended, scores(down))
    assert "harness faults" == night.first.reason


def a_lost_login_is_a_fault_that_says_what_to_do(kind: str, night: Night) -> None:
    [fault] = night.first.view.competitors[f"down-{kind}"].faults
    assert ("auth", None) == (fault.kind, fault.attempt)
    assert "log in" in REMEDIES[Outcome.AUTH]
    assert fault.message.startswith(f"left alone after auth ({REMEDIES[Outcome.AUTH]}): ")


def a_conversation_is_gone_on_with_after_a_providers_fault(kind: str, night: Night) -> None:
    """Unless there is none: Gemini keeps no conversation in which nothing was answered, and refuses to resume it."""
    sessions = night.first.view.competitors[f"down-{kind}"].sessions
    assert (kind == "gemini") == (sessions[0].conversation is None)
    assert [None, *(session.conversation for session in sessions[:-1])] == [session.resumes for session in sessions]
    assert 1 == len({session.conversation for session in sessions[1:]})


def a_racer_that_was_left_alone_races_to_its_budget_once_its_login_is_mended(kind: str, night: Night) -> None:
    racer = night.racer(f"down-{kind}")
    assert ("done", "done", [1, 2, 3]) == (racer.ended, racer.sessions[-1].outcome, scores(racer))
    assert 5 == len(racer.sessions)
    assert racer.sessions[3].conversation == racer.sessions[4].resumes


def faults_that_pass_and_tools_that_do_not_end_take_nothing_from_the_budget(kind: str, night: Night) -> None:
    racer = night.racer(f"rough-{kind}")
    held = kind in ("opencode", "gemini")
    served = night.models[racer.name].served()
    assert ((0, 0, 0) if kind == "gemini" else (2, 1, 1)) == (served["429"], served["cut"], served["empty"])
    assert 1 <= served["hang"]
    assert ["early stop", "stall", *([] if held else ["stall"]), "done"] == [s.outcome for s in racer.sessions]
    assert [None, racer.sessions[0].conversation, *[None] * (1 if held else 2)] == [s.resumes for s in racer.sessions]
    assert ([1, 2, 3, 4, 5] if held else [1, 2, 3, 4, 5, 7]) == scores(racer)
    assert ("done", ()) == (racer.ended, racer.faults)
    assert [True, not held] == [sign_of(night.folder, racer.name, step).exists() for step in (5, 6)]


def gemini_gets_over_two_rate_limits_if_it_is_given_the_time(kind: str, night: Night) -> None:
    racer = night.racer(f"patient-{kind}")
    assert 2 == night.models[racer.name].served()["429"]
    assert (["done"], [1, 2], "done") == ([s.outcome for s in racer.sessions], scores(racer), racer.ended)


def no_attempt_is_lost_or_counted_twice_and_no_fault_has_a_score(night: Night) -> None:
    for name, racer in night.second.view.competitors.items():
        numbers = list(range(1, len(racer.attempts) + 1))
        opened, closed = night.bodies(name, r.AttemptOpened), night.bodies(name, r.AttemptClosed)
        assert numbers == [body.attempt for body in opened] == [body.attempt for body in closed]
        assert numbers == [body.attempt for body in night.bodies(name, r.EvaluationStarted)]
        assert len(numbers) == len({body.request for body in opened}) == len({body.strategy for body in opened})
        assert {True} == {body.evaluation is not None and body.score is not None for body in closed}


def what_a_fault_took_is_not_the_agents_time(night: Night) -> None:
    for racer in night.second.view.competitors.values():
        for session in racer.sessions:
            assert session.seconds is not None
            agents = session.seconds - session.judging_seconds - session.lost_seconds
            assert agents > -0.01
            assert (session.lost_seconds > 0) == (session.outcome in INFRASTRUCTURE)
            if session.reason == "silent":
                assert session.lost_seconds > SILENT / 2
            if session.outcome in ("quota", "auth"):  # these hit the first request of a session
                assert agents < 0.5
        assert (racer.infrastructure_seconds > 0) == (racer.name != "patient-gemini")


def nothing_survives(night: Night) -> None:
    assert [[], []] == night.left_running


OF_A_CLI = (
    each_fault_that_does_not_pass_ends_a_session_in_its_class,
    a_lost_login_is_a_fault_that_says_what_to_do,
    a_conversation_is_gone_on_with_after_a_providers_fault,
    faults_that_pass_and_tools_that_do_not_end_take_nothing_from_the_budget,
)
OF_ALL = (
    no_attempt_is_lost_or_counted_twice_and_no_fault_has_a_score,
    what_a_fault_took_is_not_the_agents_time,
    nothing_survives,
)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.xdist_group("clis")
def test_the_fault_matrix(night: Night, subtests: pytest.Subtests) -> None:
    """One test, because all of it stands on one race."""
    for claim in OF_ALL:
        with subtests.test(claim.__name__):
            claim(night)
    for cli in CLIS:
        claims = list(OF_A_CLI)
        if cli.kind in AGAIN:
            claims.append(a_racer_that_was_left_alone_races_to_its_budget_once_its_login_is_mended)
        if cli.kind == "gemini":
            claims.append(gemini_gets_over_two_rate_limits_if_it_is_given_the_time)
        for each in claims:
            with subtests.test(each.__name__, kind=cli.kind):
                require_cli(cli.kind)
                each(cli.kind, night)
