"""What a night was like can be read afterwards: who waits for what, who was left and why, which faults there were."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from autoquant import codec
from autoquant.arena import command
from autoquant.arena.launch import Finish
from autoquant.arena.sessions.policy import POLICY
from autoquant.arena.show import display
from autoquant.arena.show.status import RaceStatus, race_status, status_of
from autoquant.arena.show.table import fault_lines, plain_table, table_rows
from autoquant.arena.show.trouble import MESSAGE, NEWEST, WAITED_FOR, Pause
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger

LEFT = "left alone after auth (log in again, then the same command goes on): 401 Unauthorized"


class Night:
    """A race of sol and grok whose records come a minute after each other, from 03:00 on."""

    def __init__(self, state: Path) -> None:
        self.layout = RaceLayout(state, "autumn")
        self.layout.root.mkdir(parents=True)
        self.ledger = Ledger.open(self.layout.ledger)
        self.minute = -1
        pin = r.DataPin("binance-archive", "1", "2", "3")
        self.add(
            r.RaceCreated("autumn", "race", "p", {}, "c", pin, 0.3, 1000, "n", "s", "t", 5, None, "tamper-evident"),
            *(r.CompetitorJoined(name, "codex", "paper", "high", "#112233", 5) for name in ("sol", "grok")),
            r.ArenaStarted(1, "here"),
        )

    def add(self, *bodies: r.RecordBody) -> None:
        for body in bodies:
            self.minute += 1
            self.ledger.append(body, f"2026-11-30T{3 + self.minute // 60:02}:{self.minute % 60:02}:09Z")

    def session(self, name: str, outcome: str, reason: str = "exited") -> None:
        number = 1 + len(self.ledger.view.competitors[name].sessions)
        self.add(r.SessionStarted(name, number), r.SessionEnded(name, number, reason, 1, 9.0, outcome))

    def status(self, arena: str | None = "me") -> RaceStatus:
        return status_of(self.ledger.view, arena, self.ledger.course)

    def last(self, arena: str | None = "me") -> dict[str, str]:
        return {row[0]: row[4] for row in table_rows(self.status(arena))}


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


def test_a_competitor_between_sessions_says_what_it_waits_for_and_since_when(night: Night):
    night.session("sol", "quota")
    assert {"sol": "waits: quota since 03:05 UTC", "grok": "–"} == night.last()
    assert {"sol": "waited: quota since 03:05 UTC", "grok": "–"} == night.last(None)
    assert Pause(False, "quota", "2026-11-30T03:05:09Z") == night.status().competitors[0].pause
    night.add(r.SessionStarted("sol", 2))
    assert "–" == night.last()["sol"]


def test_a_wait_from_another_day_tells_the_day(night: Night):
    night.session("sol", "quota")
    late = replace(night.status(), updated="2026-12-01T02:00:00Z")
    assert "waits: quota since 11-30 03:05 UTC" == table_rows(late)[0][4]


def test_a_competitor_that_was_left_says_why_until_the_next_start_tries_again(night: Night):
    night.session("sol", "auth")
    assert "–" == night.last()["sol"]
    night.add(r.FaultSeen("sol", None, "auth", LEFT))
    night.session("grok", "early stop")
    assert {"sol": "left: auth since 03:06 UTC", "grok": "waits: early stop since 03:08 UTC"} == night.last()
    night.add(r.ArenaStopped("harness faults"))
    assert "left: auth since 03:06 UTC" == night.last(None)["sol"]
    night.add(r.ArenaStarted(2, "here"))
    assert {"sol": "–", "grok": "–"} == night.last()
    night.session("sol", "quota")
    assert "waits: quota since 03:12 UTC" == night.last()["sol"]


def test_who_was_left_stays_so_through_a_start_that_does_not_run_it(night: Night):
    night.session("sol", "auth")
    night.add(r.FaultSeen("sol", None, "auth", LEFT))
    night.session("grok", "early stop")
    night.add(r.ArenaStopped("harness faults"), r.ArenaStarted(2, "here", ("grok",)))
    assert {"sol": "left: auth since 03:06 UTC", "grok": "–"} == night.last()
    assert {"sol": "left", "grok": "racing"} == {racer.name: racer.state for racer in night.status().competitors}
    night.add(r.ArenaStarted(3, "here", ("grok", "sol")))
    assert {"sol": "–", "grok": "–"} == night.last()


def test_a_fault_of_an_attempt_or_of_nobody_leaves_nobody(night: Night):
    night.session("sol", "rate limit")
    night.add(r.FaultSeen("sol", 3, "EvaluationCut", "cut"), r.FaultSeen(None, None, "disk", "full"))
    assert {"sol": "waits: rate limit since 03:05 UTC", "grok": "–"} == night.last()


def test_a_program_that_cannot_be_started_is_told_as_the_fault_it_was(night: Night):
    night.add(r.SessionStarted("sol", 1), r.FaultSeen("sol", None, "harness", "codex not found"))
    assert "left: harness since 03:05 UTC" == night.last()["sol"]
    night.add(r.SessionEnded("sol", 1, "fault", None, 0.0, "setup"), r.FaultSeen("sol", None, "setup", "left alone"))
    assert "left: setup since 03:07 UTC" == night.last()["sol"]


def test_who_has_ended_or_is_judged_neither_waits_nor_was_left(night: Night):
    night.session("sol", "crash")
    night.session("grok", "stall")
    night.add(r.AttemptOpened("sol", 1, "q", "0" * 64, "", 0), r.CompetitorEnded("grok", "stalled"))
    assert {"sol": "judging #1", "grok": "stalled"} == night.last()


def test_what_is_waited_for_is_what_the_policy_answers_with_a_wait():
    assert {str(outcome) for outcome, rule in POLICY.items() if rule.first_wait or rule.idle} == WAITED_FOR


def test_the_newest_faults_stand_under_the_table_one_line_each(night: Night):
    assert "faults" not in plain_table(night.status()).splitlines()
    night.add(*(r.FaultSeen("grok", n, "EvaluationCut", "cut") for n in range(1, 5)))
    night.add(
        r.FaultSeen(None, None, "disk", "two\nlines \x1b[31m\u202e" + "x" * 500), r.FaultSeen("sol", None, "auth", LEFT)
    )
    lines = fault_lines(night.status())
    assert ["faults, the newest 5 of 6", "  2026-11-30 03:05 UTC  grok #2  EvaluationCut: cut"] == lines[:2]
    assert lines[4].startswith("  2026-11-30 03:08 UTC  the race  disk: two lines \\x1b[31m\\u202exxx")
    assert len(lines[4]) < MESSAGE + 60
    assert f"  2026-11-30 03:09 UTC  sol  auth: {LEFT}" == lines[5]
    assert 1 + NEWEST == len(lines)
    assert "\n".join(lines) in plain_table(night.status())


def test_the_live_table_names_the_faults_too(night: Night):
    night.add(r.FaultSeen("sol", None, "auth", LEFT + "x" * 80))
    with open("/dev/null", "w") as nowhere:
        console = Console(width=80, record=True, file=nowhere)
        console.print(display.render(night.status(), []))
        last = console.export_text().rstrip().splitlines()[-1]
    assert last.startswith("  2026-11-30 03:04 UTC  sol  auth: left alone after auth")
    assert last.endswith("…")


def test_the_machine_readable_status_carries_faults_pauses_and_endings(
    night: Night, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    night.session("sol", "auth")
    night.add(r.FaultSeen("sol", None, "auth", LEFT))
    assert race_status(night.layout) == codec.loads(RaceStatus, codec.dumps(race_status(night.layout)))
    assert 0 == command.main(["status", "--json", f"--state-dir={tmp_path}"])
    told = json.loads(capsys.readouterr().out)
    fault = {"utc": "2026-11-30T03:06:09Z", "competitor": "sol", "attempt": None, "kind": "auth", "message": LEFT}
    assert [fault] == told["newest_faults"]
    sol, grok = told["competitors"]
    assert {"left": True, "why": "auth", "since_utc": "2026-11-30T03:06:09Z"} == sol["pause"]
    assert ({"auth": 1}, {}, None) == (sol["endings"], grok["endings"], grok["pause"])


def test_sessions_are_counted_by_their_ends_where_one_ended_otherwise_than_done(night: Night):
    night.session("grok", "done", "budget used")
    assert "sessions ended" not in plain_table(night.status())
    for outcome in ("early stop", "rate limit", "early stop"):
        night.session("sol", outcome)
    lines = plain_table(night.status()).splitlines()
    at = lines.index("sessions ended")
    assert ["  sol  2 early stop, 1 rate limit"] == lines[at + 1 :]


def test_without_records_faults_are_counted_only(night: Night):
    night.add(r.FaultSeen("sol", None, "auth", LEFT))
    status = status_of(night.ledger.view, None)
    assert (1, (), None) == (status.faults, status.newest_faults, status.competitors[0].pause)


def test_lines_tell_each_wait_and_fault_as_it_comes(night: Night):
    said: list[str] = []
    night.add(r.FaultSeen("grok", 1, "EvaluationCut", "before the first look"))
    lines = display.Lines(said.append)
    lines.show(night.status(), 0.0)
    night.session("sol", "quota")
    lines.show(night.status(), 1.0)
    night.add(r.FaultSeen("sol", None, "quota", "left alone after quota"))
    for _ in range(2):
        lines.show(night.status(), 2.0)
    assert [
        "race autumn: 2 competitors, 10 experiments left",
        "sol waits: quota since 03:06 UTC",
        "sol left: quota since 03:07 UTC",
        "fault 2026-11-30 03:07 UTC  sol  quota: left alone after quota",
        "race autumn: 2 faults · 0 violations",
    ] == said


def test_who_was_left_is_not_waited_for(night: Night):
    night.add(r.FaultSeen("sol", None, "auth", LEFT))
    with display.LiveTable() as table:
        table.show(night.status(), 1.0)
        night.add(
            r.AttemptOpened("grok", 1, "q", "0" * 64, "", 0),
            r.AttemptClosed("grok", 1, "discard", None, None, None, None),
        )
        table.show(night.status(), 60.0)
        state = str(table._live.get_renderable().renderables[1])  # type: ignore[union-attr]
    assert state.endswith("about 4 m 0 s left")


def test_what_stays_on_the_terminal_is_of_a_race_that_does_not_run(night: Night):
    with display.LiveTable() as table:
        night.session("sol", "quota")
        table.show(night.status(), 60.0)
    shown = [str(part) for part in table._live.get_renderable().renderables[1:]]  # type: ignore[union-attr]
    assert ["paused · 0 faults · 0 violations · 1 m 0 s"] == shown
    with display.LiveTable(watching=True) as table:
        table.show(night.status(), 60.0)
    assert "running" in str(table._live.get_renderable().renderables[1])  # type: ignore[union-attr]


def test_after_faults_the_next_step_names_the_commands_that_tell_of_them(night: Night):
    step = Finish(night.layout, "harness faults", night.ledger.view).next_step
    for words in ("arena.py status --race autumn", "arena.py logs NAME --race autumn", "the same command goes on"):
        assert words in step
    assert "doctor" not in step
