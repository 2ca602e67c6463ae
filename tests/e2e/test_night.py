"""A night with everything that goes wrong in one: five real CLIs, moody servers, an arena that is killed twice.

What must come out is what would have come out of a quiet night: every budget exact, no score and no attempt from a
fault, every token that a provider charged in the record, nothing left running.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from cli_world import Asked, ModelServer, clis_folder, model_server, require_cli
from e2e_checkout import Checkout
from night_arena import RACE
from test_real_clis import DRIVEN, KEY, Driven

from autoquant import process
from autoquant.arena.sessions.place import run_mark
from autoquant.arena.sessions.policy import INFRASTRUCTURE
from autoquant.arena.show.status import race_view
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.records import UsageCounted
from autoquant.ledger.views import CompetitorView, UsageTotal

EXPERIMENTS = int(os.environ.get("AUTOQUANT_NIGHT_EXPERIMENTS", "18"))
"""Of each competitor; below 15 there is no room for all the faults. A long night: 50."""
SEED = int(os.environ.get("AUTOQUANT_NIGHT_SEED", "1"))
KILLS = 2
HANG_SECONDS = 3
LAST_BREATH_SECONDS = 0.5
"""A session may still send something when its arena is dead, but not for long."""
IN_FLIGHT_SECONDS = 5.0
"""So long after its request an answer has been read, on the slowest of days."""
WRITTEN_SECONDS = 2.0
"""So long after an experiment was handed in, the CLI has written down what the answer that led to it cost."""
TOKENS = ("requests", "input", "cached", "output")
PER_REQUEST = {"cached": 400, "output": 40}
"""What the scripted server reports for every answer; the input depends on the conversation."""

_EDIT = "printf '%s' >> strategy.py; date +%%s%%N >> strategy.py; python run.py -m '%s' || sleep 30"
FORBIDDEN = _EDIT % ("import os  # ", "a forbidden import")
"""An experiment that costs no evaluation. Once the budget is used it waits, until the arena has waited long enough."""
COMMENT = _EDIT % ("# ", "a new comment")
"""A strategy like the one before it: it is evaluated and must get the same score, whatever happens meanwhile."""
COMMANDS = [COMMENT if number % 12 == 5 else FORBIDDEN for number in range(60)]

FAULTS = ("429", "500", "503", "cut", "empty", "hang")
ROWS = {
    "codex": [("429", 11)],
    "claude": [("429", 3), ("500", 3), ("503", 3), ("503", 3)],
    "gemini": [],
    "opencode": [("429", 6)],
    "grok": [("429", 12)],
}
"""The same fault so many times in a row that the CLI gives up; Gemini's ten tries would last minutes. A kill may come
in the middle of a row: of each class there are more than there are kills."""
QUICK = ("codex", "claude", "grok")
"""Start within a second, and get more faults for it."""
QUIET = 3
"""Good answers between two faults, if the budget is large enough."""


def fault_options(kind: str, draw: random.Random, budget: int) -> list[str]:
    """Options of a server: which of its requests fail, and how; all of them before the budget is used."""
    events = [*((fault, 1) for fault in FAULTS), *ROWS[kind]]
    if kind in QUICK:
        events += [("empty", 1), (draw.choice(FAULTS), 1)]
    draw.shuffle(events)
    good = int(budget * 0.85)
    quiet = min(QUIET, good // len(events))
    spare = sorted(draw.randint(0, good - quiet * len(events)) for _ in events)
    options, request = [], 1
    for more, (fault, length) in zip((b - a for a, b in itertools.pairwise([0, *spare])), events, strict=True):
        request += quiet + more
        options += ["--fault", f"{fault}@{request}-{request + length - 1}"]
        request += length
    return options


@dataclass(frozen=True)
class Racer:
    """One competitor and the server behind it."""

    driven: Driven
    server: ModelServer

    @property
    def name(self) -> str:
        return f"{self.driven.kind}-test"

    def asked(self) -> list[Asked]:
        """Requests of the conversation, in order."""
        return [one for one in self.server.asked() if one.has_tools]

    def is_charged(self, one: Asked) -> bool:
        """Whether the answer had the request's tokens in it.

        An empty answer has; Grok throws it away with its tokens and writes them down nowhere. Gemini's protocol has
        one event only: there is no middle in which it could be cut.
        """
        empty = one.fault == "empty" and self.driven.kind != "grok"
        return one.answered or empty or (one.fault == "cut" and self.driven.kind == "gemini")

    def entry(self) -> str:
        more = 'env = { CLAUDE_CODE_MAX_RETRIES = "2" }\n' if self.driven.kind == "claude" else ""
        return self.driven.entry(self.server.url) + more


@dataclass
class Night:
    """What happened."""

    ready: Checkout
    state: Path
    racers: list[Racer]
    kills: list[float] = field(default_factory=list)
    """Moments, seconds since 1970."""
    orphans: list[psutil.Process] = field(default_factory=list)
    """Everything below an arena when it was killed."""
    began: float = field(default_factory=time.time)

    @property
    def layout(self) -> RaceLayout:
        return RaceLayout(self.state, RACE)

    def records(self) -> list[dict[str, Any]]:
        """The ledger, as text that JSON can read."""
        return [json.loads(line) for line in self.layout.ledger.read_text().splitlines()]

    def of(self, kind: str, name: str | None = None) -> list[dict[str, Any]]:
        """Bodies of one kind of record, of one competitor."""
        bodies = [record["body"] for record in self.records() if record["kind"] == kind]
        return bodies if name is None else [body for body in bodies if body["competitor"] == name]

    def opened(self) -> int:
        """Attempts so far, also while the ledger grows."""
        if not self.layout.ledger.exists():
            return 0
        return self.layout.ledger.read_text().count('"kind":"attempt_opened"')


def run_night(night: Night, draw: random.Random, roster: Path, budget: int) -> None:
    """Start the arena, kill it at random, start it again, and let the last one come to its end."""
    program = Path(__file__).with_name("night_arena.py")
    checkout, source = str(night.ready.root), night.ready.source
    command = [str(program), checkout, str(night.state), str(roster), source, str(budget)]
    total = budget * len(night.racers)
    for number in range(KILLS):
        share = draw.uniform(number + 0.3, number + 1.0) / (KILLS + 0.5)
        delay = draw.uniform(0.0, 1.0)
        arena = night.ready.start(*command)
        try:
            deadline = time.monotonic() + 300
            while night.opened() < share * total:
                assert arena.poll() is None, "the arena ended by itself"
                assert time.monotonic() < deadline, "the arena makes no progress"
                time.sleep(0.05)
            time.sleep(delay)
            night.orphans += psutil.Process(arena.pid).children(recursive=True)
        finally:
            arena.kill()
            arena.wait()
        night.kills.append(time.time())
    assert "finished" in night.ready.run(*command)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.xdist_group("clis")
def test_a_night_of_faults_and_kills_ends_like_a_quiet_one(
    ready_checkout: Checkout, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-11: killed at any moment, refused by every provider, each attempt, number and token is there once."""
    for driven in DRIVEN:
        require_cli(driven.kind)
    monkeypatch.setenv(KEY, "none")
    monkeypatch.setenv("PATH", f"{clis_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}")
    draw = random.Random(SEED)
    with contextlib.ExitStack() as stack:
        racers = []
        for driven in DRIVEN:
            options = ("--hang", str(HANG_SECONDS), *fault_options(driven.kind, draw, EXPERIMENTS))
            folder = tmp_path / "models" / driven.kind
            racers.append(
                Racer(
                    driven,
                    stack.enter_context(model_server(shared, folder, COMMANDS, model=driven.model, options=options)),
                )
            )
        roster = tmp_path / "competitors.toml"
        roster.write_text("\n".join(racer.entry() for racer in racers))
        night = Night(ready_checkout, tmp_path / "state", racers)
        stack.callback(sweep, night)
        try:
            run_night(night, draw, roster, EXPERIMENTS)
        finally:
            print(table(night))
        check_nothing_survives(night)
        check_budgets(night)
        check_scores(night)
        check_classes(night)
        for racer in racers:
            check_usage(night, racer)
        check_status(night)


def sweep(night: Night) -> None:
    """End what a night that failed has left."""
    for racer in night.racers:
        process.end_marked(run_mark(night.layout, racer.name))


def check_nothing_survives(night: Night) -> None:
    """Neither by its run mark, nor by its parentage, nor by where it works."""
    assert night.orphans
    for racer in night.racers:
        assert [] == process.marked(run_mark(night.layout, racer.name))
    assert [] == [one for one in night.orphans if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert [] == list(living_in(night.state))


def living_in(folder: Path) -> Iterator[str]:
    """Processes that name the folder, or work in it."""
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            words = " ".join(one.cmdline())
            if str(folder) in words or Path(one.cwd()).is_relative_to(folder):
                yield f"{one.pid} {words}"


def check_budgets(night: Night) -> None:
    """Everybody used the whole budget, each number once, each request once, and each row is in the table."""
    whole = list(range(1, EXPERIMENTS + 1))
    requests = [body["request"] for body in night.of("attempt_opened")]
    assert len(requests) == len(set(requests))
    for racer in night.racers:
        assert [{"competitor": racer.name, "reason": "done"}] == night.of("competitor_ended", racer.name)
        assert whole == [body["attempt"] for body in night.of("attempt_opened", racer.name)]
        closed = night.of("attempt_closed", racer.name)
        assert whole == [body["attempt"] for body in closed]
        text = (night.layout.worktree(racer.name) / "results.tsv").read_text()
        rows = [line.split("\t") for line in text.splitlines()[1:]]
        assert [(str(body["attempt"]), body["status"]) for body in closed] == [(row[0], row[2]) for row in rows]


def check_scores(night: Night) -> None:
    """The verdict follows from the bytes alone: an import is refused, a comment scores what the seed scores."""
    (seed,) = night.of("seed_scored")
    strategies = {(body["competitor"], body["attempt"]): body["strategy"] for body in night.of("attempt_opened")}
    for body in night.of("attempt_closed"):
        strategy = night.layout.blob(strategies[body["competitor"], body["attempt"]]).read_text()
        expected = ("invalid", None) if "import os  #" in strategy else ("discard", pytest.approx(seed["score"]))
        assert expected == (body["status"], body["score"]), body
    judged = Counter(body["competitor"] for body in night.of("attempt_closed") if body["score"] is not None)
    assert {racer.name for racer in night.racers} == set(judged)
    assert [] == night.of("violation_found")


def check_classes(night: Night) -> None:
    """The faults really were there, and each left its trace in the record and nowhere else."""
    ends = Counter(body["outcome"] for body in night.of("session_ended"))
    assert ends["rate limit"] >= 1
    assert ends["server error"] >= 1
    assert ends["early stop"] >= 1
    assert ends["lost"] >= KILLS
    for racer in night.racers:
        outcomes = Counter(body["outcome"] for body in night.of("session_ended", racer.name))
        assert outcomes["lost"] <= KILLS
        seen = Counter(one.fault for one in racer.asked() if one.fault)
        assert set(FAULTS) <= set(seen), f"{racer.name}: {seen}"


def moment(utc: str) -> float:
    """Seconds since 1970; the record has whole ones, cut off."""
    return dt.datetime.fromisoformat(utc).timestamp()


def check_usage(night: Night, racer: Racer) -> None:
    """What the record counts is what the server reported, but for the requests that a kill hit, one per kill at most.

    An answer that was on its way when its reader was killed was never read. opencode tells a request's tokens once its
    tool has ended; the request whose tool was cut off is counted there without them.
    """
    charged = [one for one in racer.asked() if racer.is_charged(one)]
    unread, cut_off = hit_by_kills(night, racer, charged)
    assert max(len(unread), len(cut_off)) <= KILLS + 1
    late = cut_off if racer.driven.tells_after_the_tool else []
    possible = [
        {name: bill[name] + more[name] for name in TOKENS}
        for missing in subsets(unread)
        for untold in subsets([one for one in late if one not in missing])
        for bill in [account(charged, missing, untold)]
        for more in partly_told(racer)
    ]
    total = totals(night.of("usage_counted", racer.name))
    assert total in possible, f"{racer.name}: {total}, and {len(unread)} requests may be missing"


def hit_by_kills(night: Night, racer: Racer, charged: list[Asked]) -> tuple[list[Asked], list[Asked]]:
    """The last request before each kill: those of which nothing is known to have come, and all of them.

    The arena's own farewell to a session whose budget is used is a kill too.
    """
    kills, exited = [kill + LAST_BREATH_SECONDS for kill in night.kills], []
    for record in night.records():
        if record["kind"] == "session_ended" and record["body"]["competitor"] == racer.name:
            ended = moment(record["utc"])
            if record["body"]["reason"] == "budget used":
                kills.append(ended + 1)
            elif record["body"]["reason"] == "exited":
                exited.append(ended)
    blobs = [night.layout.blob(body["strategy"]) for body in night.of("attempt_opened", racer.name)]
    submitted = [blob.stat().st_mtime for blob in blobs]
    unread, cut_off = [], []
    for kill in kills:
        last = next((one for one in reversed(charged) if one.at <= kill), None)
        if last is None or last in cut_off or any(last.at <= end and end + 1 <= kill for end in exited):
            continue
        cut_off.append(last)
        told = any(last.at <= at <= kill - WRITTEN_SECONDS for at in submitted)
        if kill - last.at < IN_FLIGHT_SECONDS and not told:
            unread.append(last)
    return unread, cut_off


def subsets(items: Sequence[Asked]) -> list[tuple[Asked, ...]]:
    return [some for size in range(len(items) + 1) for some in itertools.combinations(items, size)]


def account(charged: Sequence[Asked], missing: Sequence[Asked] = (), untold: Sequence[Asked] = ()) -> dict[str, int]:
    """The bill without the requests nobody read, and without the tokens nobody told."""
    known = [one for one in charged if one not in missing]
    told = [one for one in known if one not in untold]
    rest = {name: each * len(told) for name, each in PER_REQUEST.items()}
    return {"requests": len(known), "input": sum(one.input_tokens for one in told), **rest}


def partly_told(racer: Racer) -> Iterator[dict[str, int]]:
    """Claude's server tells input and one token of output with the first event of an answer, also of one that is cut.

    Claude adds that to the running total of its conversation, which forgets sessions that were killed; of the output
    it may put in a guess from the letters that came (34 tokens were seen).
    """
    cuts = [one for one in racer.asked() if one.fault == "cut"] if racer.driven.kind == "claude" else []
    for some in subsets(cuts):
        tokens = {"requests": 0, "input": sum(one.input_tokens for one in some), "cached": 400 * len(some)}
        yield from ({**tokens, "output": output} for output in range(PER_REQUEST["output"] * len(some) + 1))


def totals(bodies: list[dict[str, Any]]) -> dict[str, int]:
    return {name: sum(body[name] for body in bodies) for name in TOKENS}


def check_status(night: Night) -> None:
    """`status --json` says what the ledger says; attempts and sessions add up; infrastructure time stands apart."""
    status = night.ready.answer("arena.py", "status", "--race", RACE, "--state-dir", str(night.state))
    assert ("terminal", len(night.records())) == (status["state"], status["ledger_records"])
    view = race_view(night.layout)
    rows = {row["name"]: row for row in status["competitors"]}
    assert {racer.name for racer in night.racers} == set(rows)
    for name, row in rows.items():
        ends, waits = night.of("session_ended", name), night.of("backed_off", name)
        assert ("done", EXPERIMENTS, EXPERIMENTS) == (row["state"], row["attempts"], row["budget"])
        assert (len(ends), len(night.of("session_started", name))) == (row["sessions"], row["sessions"])
        assert (len(night.of("fault_seen", name)), 0) == (row["faults"], row["violations"])
        total = totals(night.of("usage_counted", name))
        assert total == {key: row["usage"][key] for key in TOKENS}
        lost = sum(end["lost_seconds"] for end in ends)
        # The seconds of a lost session are None: nobody saw its end.
        worked = sum((end["seconds"] or 0.0) - end["judging_seconds"] for end in ends) - lost
        assert pytest.approx(lost + sum(wait["seconds"] for wait in waits)) == row["infrastructure_seconds"]
        assert pytest.approx(worked) == row["agent_seconds"]
        assert worked > 0
        if waits or any(end["outcome"] in INFRASTRUCTURE for end in ends):
            assert row["infrastructure_seconds"] > 0
        check_sums(view.competitors[name], total)


def check_sums(racer: CompetitorView, total: dict[str, int]) -> None:
    """Every token is put down to one session that was, and to one attempt or to none."""

    def added(parts: Sequence[UsageTotal]) -> dict[str, int]:
        return {name: sum(getattr(part, name) for part in parts) for name in TOKENS}

    assert total == added([racer.usage_of_session(session.number) for session in racer.sessions])
    to_none: list[UsageCounted] = [part for part in racer.spent if part.attempt is None]
    by_attempt = [racer.usage_of_attempt(attempt.attempt) for attempt in racer.attempts]
    assert total == added([*by_attempt, UsageTotal.of(to_none)])


def table(night: Night) -> str:
    """The night in a few lines, for whoever has to find out what went wrong."""
    lines = [f"night of {EXPERIMENTS} experiments, seed {SEED}: {time.time() - night.began:.0f} s"]
    lines.append(f"killed after {', '.join(f'{kill - night.began:.1f}' for kill in night.kills)} s")
    if not night.layout.ledger.exists():
        return "\n".join([*lines, "no ledger"])
    tries = Counter(body["try_number"] for body in night.of("evaluation_started"))
    lines.append(f"evaluations {tries[1]}, after a cut again {sum(tries.values()) - tries[1]}")
    for racer in night.racers:
        asked, ends = racer.asked(), night.of("session_ended", racer.name)
        charged = [one for one in asked if racer.is_charged(one)]
        outcomes = Counter(end["outcome"] for end in ends)
        lines += [
            f"{racer.name}: {len(night.of('attempt_closed', racer.name))} attempts, {len(ends)} sessions",
            f"  ends {dict(outcomes)}, lost {sum(end['lost_seconds'] for end in ends):.1f} s",
            f"  faults {dict(Counter(one.fault for one in asked if one.fault))}",
            f"  counted {totals(night.of('usage_counted', racer.name))}",
            f"  served  {account(charged)}",
        ]
    return "\n".join(lines)
