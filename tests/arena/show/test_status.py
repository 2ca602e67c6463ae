from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from referee_world import World, submit, text
from rich.console import Console

from autoquant import codec, files
from autoquant.arena.client.verdict_text import verdict_text
from autoquant.arena.referee.mailbox import Reply, ReplyKind
from autoquant.arena.sessions.prompts import prompt_for
from autoquant.arena.show import display
from autoquant.arena.show.status import (
    Last,
    RaceStatus,
    VerdictStatus,
    find_race,
    holder,
    race_status,
    read_view,
    status_of,
)
from autoquant.arena.show.table import lockbox_lines, plain_table, table_rows
from autoquant.arena.show.voice import Voice
from autoquant.arena.stop import stop
from autoquant.arena.watch import watch
from autoquant.clock import SystemClock
from autoquant.errors import LedgerError, UserError
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import UsageTotal

UTC = "2026-11-30T00:00:00Z"


@pytest.fixture
def raced(world: World) -> World:
    """Three attempts: a keep, a discard, a crash; then one fault and one violation."""
    with world.referee() as referee:
        worktree = referee.prepare("alice")
        for source in (text(0.9), text(0.5), text(0.1, "OUTCOME = crash")):
            submit(referee, worktree, source)
    ledger = Ledger.open(world.layout.ledger)
    ledger.append(r.FaultSeen("alice", 3, "EvaluationCut", "gone"), UTC)
    ledger.append(r.ViolationFound("alice", None, "run.py", "a", "b"), UTC)
    return world


def test_a_row_says_where_a_competitor_stands(raced: World):
    (row,) = race_status(raced.layout).competitors
    assert ("alice", "racing", 3, 5, None) == (row.name, row.state, row.attempts, row.budget, row.evaluating)
    assert (1, 0.9, pytest.approx(0.8)) == (row.champion.attempt, row.champion.score, row.champion.gain)
    assert (3, "crash", None) == (row.last.attempt, row.last.status, row.last.score) if row.last else None
    assert (1, 1) == (row.faults, row.violations)


def test_json_reads_back_and_holds_no_nan(raced: World):
    status = race_status(raced.layout)
    assert status == codec.loads(RaceStatus, codec.dumps(status, indent=1))


def test_a_torn_last_line_is_overlooked_and_left_alone(raced: World):
    before = race_status(raced.layout)
    with raced.layout.ledger.open("ab") as ledger:
        ledger.write(b'{"body":{"competitor":"ali')
    size = raced.layout.ledger.stat().st_size
    assert before == race_status(raced.layout)
    assert size == raced.layout.ledger.stat().st_size


def test_the_table_is_plain_text_with_one_line_per_competitor(raced: World):
    lines = plain_table(race_status(raced.layout)).splitlines()
    assert lines[0].split() == ["race", "autumn", "attempts", "champion", "working", "last", "tokens", "cost"]
    assert lines[1].split() == ["alice", "3/5", "0.90", "▲0.80", "0.90", "#3", "crash", "–", "–"]
    assert lines[2].startswith("paused · 1 fault · 1 violation")
    assert ["faults", "  2026-11-30 00:00 UTC  alice #3  EvaluationCut: gone"] == lines[3:5]
    assert ["violations"] == lines[5:6]
    assert lines[6].endswith("changed (a → b)")


def test_a_sealed_verdict_says_whose_line_is_the_seeds(raced: World):
    status = race_status(raced.layout)
    sealed = (VerdictStatus("seed", 1.5, "confirmed", 0.96), VerdictStatus("alice", 1.5, "confirmed", 0.96))
    (alice,) = status.competitors
    opened = replace(status, lockbox=sealed)
    unmoved = replace(opened, competitors=(replace(alice, champion=replace(alice.champion, attempt=0)),))
    assert "  alice  confirmed  Sharpe 1.50  PSR 0.960" == lockbox_lines(opened)[2]
    assert "  alice  confirmed  Sharpe 1.50  PSR 0.960  kept the seed" == lockbox_lines(unmoved)[2]


def test_the_live_table_shows_the_same_cells(raced: World):
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(display.render(race_status(raced.layout), ["2 h 14 m"]))
    shown = console.export_text()
    assert "● alice" in shown
    assert "0.90 ▲0.80" in shown
    assert "2 h 14 m" in shown
    console.file.close()


def test_the_state_is_running_while_somebody_holds_the_lock(raced: World):
    assert holder(raced.layout) is None
    with files.exclusive_lock(raced.layout.lock, "arena process 7 on here"):
        status = race_status(raced.layout)
        assert ("running", "arena process 7 on here") == (status.state, status.arena)
    assert holder(raced.layout) is None


def test_a_killed_race_is_interrupted_a_stopped_one_paused_a_finished_one_terminal(world: World):
    ledger = Ledger.open(world.layout.ledger)
    states = []
    for body in (r.ArenaStarted(1, "h"), r.ArenaStopped("interrupted"), r.CompetitorEnded("alice", "done")):
        ledger.append(body, UTC)
        states.append(status_of(ledger.view, None).state)
    assert ["interrupted", "paused", "terminal"] == states


def test_a_finished_race_is_not_running_and_an_opening_lockbox_is_said(world: World):
    ledger = Ledger.open(world.layout.ledger)
    ledger.append(r.CompetitorEnded("alice", "done"), UTC)
    assert "terminal" == status_of(ledger.view, "arena process 7 on here").state
    ledger.append(r.LockboxReserved((r.LockboxEntry("seed", None, 0, "0" * 64),)), UTC)
    assert "opening the lockbox" == status_of(ledger.view, "arena process 7 on here").state
    assert "terminal" == status_of(ledger.view, None).state


def test_the_last_verdict_stays_while_the_next_attempt_is_judged(raced: World):
    ledger = Ledger.open(raced.layout.ledger)
    ledger.append(r.AttemptOpened("alice", 4, "q", "0" * 64, "", 1), UTC)
    assert "#3 crash, judging #4" == table_rows(status_of(ledger.view, "me"))[0][4]


def test_on_a_narrow_terminal_only_the_last_column_gives_way(raced: World):
    console = Console(width=64, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    status = race_status(raced.layout)
    last = replace(status.competitors[0].last, gate="a gate with a long name") if status.competitors[0].last else None
    console.print(display.render(replace(status, competitors=(replace(status.competitors[0], last=last),)), []))
    row = console.export_text().splitlines()[1]
    assert "● alice        3/5       0.90 ▲0.80  0.90     #3 …       –     –" == row.rstrip()
    console.file.close()


@pytest.mark.parametrize(("watching", "tip"), [(False, display.PAUSES), (True, display.LEAVES)])
def test_ctrl_c_is_described_as_what_it_does_here(raced: World, watching: bool, tip: str):
    with display.LiveTable(watching=watching) as table:
        table.show(replace(race_status(raced.layout), state="running", arena="me"), 75.0)
        lines = [str(line) for line in table._live.get_renderable().renderables[1:]]  # type: ignore[union-attr]
        assert tip in lines
        assert watching == ("1 m 15 s" not in lines[0])
        table.show(race_status(raced.layout), 75.0)
        assert tip not in [str(line) for line in table._live.get_renderable().renderables]  # type: ignore[union-attr]


def counted(name: str, session: int, tokens: int, cost: float | None, attempt: int | None = 1) -> r.UsageCounted:
    return r.UsageCounted(name, session, attempt, 2, tokens, tokens // 2, 100, 50, cost, "cli")


def test_a_row_says_what_was_spent_and_how_sessions_ended(raced: World):
    ledger = Ledger.open(raced.layout.ledger)
    before = status_of(ledger.view, None).competitors[0]
    assert (None, None, None, 0.0) == (
        before.usage,
        before.cost_per_keep_usd,
        before.last_outcome,
        before.agent_seconds,
    )
    ledger.append(r.SessionStarted("alice", 1, "paper 1.0"), UTC)
    ledger.append(counted("alice", 1, 1_200_000, 3.0), UTC)
    ledger.append(counted("alice", 1, 0, 0.1), UTC)
    end = r.SessionEnded("alice", 1, "exited", 1, 100.0, "rate limit", judging_seconds=30.0, lost_seconds=20.0)
    ledger.append(end, UTC)
    ledger.append(r.BackedOff("alice", 60.0, "rate limit"), UTC)
    status = status_of(ledger.view, None)
    (row,) = status.competitors
    assert row.usage is not None
    assert (4, 1_200_000, 600_000, 200, 100) == (
        row.usage.requests, row.usage.input, row.usage.cached, row.usage.output, row.usage.reasoning,
    )  # fmt: skip
    assert (pytest.approx(3.1), pytest.approx(3.1)) == (row.usage.cost_usd, row.cost_per_keep_usd)
    assert (50.0, 80.0, "rate limit") == (row.agent_seconds, row.infrastructure_seconds, row.last_outcome)
    assert status == codec.loads(RaceStatus, codec.dumps(status))
    lines = plain_table(status).splitlines()
    assert ["1.2", "M", "$3.10"] == lines[1].split()[-3:]
    assert "cost per keep: alice $3.10" in lines


def test_table_prompt_and_verdict_write_a_stretch_of_time_alike(raced: World):
    view = Ledger.open(raced.layout.ledger).view
    for seconds, words in ((8_040, "2 h 14 m"), (75, "1 m 15 s"), (-1, "0 s")):
        told = f"This session may last {words} more."
        for resumed in (False, True):
            assert told in prompt_for(view.competitors["alice"], view, resumed=resumed, seconds_left=seconds)
        assert told in verdict_text(Reply("q", ReplyKind.VERDICT, "keep", 1, 5, 0, "0" * 64, {}, seconds_left=seconds))
        with display.LiveTable() as table:
            table.show(race_status(raced.layout), seconds)
            assert words in str(table._live.get_renderable().renderables[1])  # type: ignore[union-attr]


def test_an_unknown_cost_is_a_dash_beside_known_tokens(raced: World):
    ledger = Ledger.open(raced.layout.ledger)
    ledger.append(r.SessionStarted("alice", 1), UTC)
    ledger.append(counted("alice", 1, 340_000, None), UTC)
    status = status_of(ledger.view, None)
    assert ("340 k", "–") == table_rows(status)[0][-2:]
    assert "cost per keep" not in plain_table(status)
    assert (None, None) == (status.competitors[0].usage and status.competitors[0].usage.cost_usd,
                            status.competitors[0].cost_per_keep_usd)  # fmt: skip


def test_five_competitors_of_a_real_race_fit_into_100_columns(raced: World):
    status = race_status(raced.layout)
    last = Last(17, "search", 0.7, 0.091, 5)
    racer = replace(
        status.competitors[0], attempts=17, budget=50, last=last,
        usage=UsageTotal(400, 12_300_000, 11_000_000, 700_000, 1, 123.4),
    )  # fmt: skip
    names = ("grok-4.5-high", "codex-luna-high", "codex-terra-high", "codex-sol-high", "gemini-3.6-flash-high")
    rows = [replace(racer, name=name, evaluating=18 if name < "g" else None) for name in names]
    many = replace(status, competitors=tuple(rows))
    assert max(len(line) for line in plain_table(many).splitlines()[:6]) <= 100
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(display.render(many, []))
    shown = console.export_text()
    console.file.close()
    assert 3 == shown.count("#17 search, judging #18")
    assert 2 == shown.count("#17 search +0.09 5/6")
    assert 5 == shown.count("$123.40")


def test_the_live_table_shows_what_a_running_session_says_last(raced: World):
    heard = {"alice": "> shell: python run.py \x1b[31m" + "x" * 300}
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(display.render(race_status(raced.layout), [], "", heard))
    lines = console.export_text().splitlines()
    console.file.close()
    assert "alice: > shell: python run.py" in lines[2]
    assert lines[2].endswith("…")
    assert "\x1b" not in lines[2]
    asked = []
    with display.LiveTable(watching=True, hear=lambda name: asked.append(name) or "hello") as table:
        table.show(replace(race_status(raced.layout), state="running", arena="me"), 1.0)
        said = [str(part) for part in table._live.get_renderable().renderables[1:]]  # type: ignore[union-attr]
    assert ["alice"] == asked
    assert "alice: hello" in said


def test_the_newest_race_is_shown_and_an_unknown_one_refused(raced: World):
    state = raced.layout.state
    assert "autumn" == find_race(state, None).race
    with pytest.raises(UserError, match="no race 'winter'"):
        find_race(state, "winter")
    with pytest.raises(UserError, match="there is no race in"):
        find_race(state / "elsewhere", None)


def test_a_folder_without_a_whole_record_is_no_race(tmp_path: Path):
    layout = RaceLayout(tmp_path, "empty")
    layout.root.mkdir(parents=True)
    layout.ledger.write_bytes(b'{"half')
    with pytest.raises(UserError, match="there is no race in"):
        find_race(tmp_path, None)


def test_lines_tell_each_verdict_and_end_once(raced: World):
    said: list[str] = []
    ledger = Ledger.open(raced.layout.ledger)
    with display.Lines(said.append) as lines:
        lines.show(status_of(ledger.view, "me"), 0.0)
        ledger.append(r.AttemptOpened("alice", 4, "q", "0" * 64, "", 1), UTC)
        ledger.append(r.AttemptClosed("alice", 4, "timeout", None, None, None, None), UTC)
        ledger.append(r.CompetitorEnded("alice", "stalled"), UTC)
        for _ in range(2):
            lines.show(status_of(ledger.view, "me"), 1.0)
    assert [
        "race autumn: 1 competitor, 2 experiments left",
        "alice #4 timeout (4/5)",
        "alice stalled, 4 of 5 attempts",
    ] == said


def test_hostile_text_in_a_row_cannot_steer_the_terminal(raced: World):
    status = race_status(raced.layout)
    hostile = replace(status, competitors=(replace(status.competitors[0], name="a\x1b[31m\x07"),))
    group = display.render(hostile, [])
    table = group.renderables[0]
    assert "\x1b" not in str(table.columns[0]._cells[0])  # type: ignore[union-attr]


def test_watching_ends_when_nobody_runs_the_race(raced: World, capfd: pytest.CaptureFixture[str]):
    watch(raced.layout, Voice(), as_json=True, seconds=0.0)
    assert "autumn" == json.loads(capfd.readouterr().out)["race"]


def test_stop_asks_the_running_arena_and_waits_until_it_lets_go(raced: World):
    release = threading.Event()

    def arena() -> None:
        with files.exclusive_lock(raced.layout.lock, "arena process 7 on here"):
            held.set()
            while not raced.layout.stop_request.exists():
                release.wait(0.01)

    held = threading.Event()
    thread = threading.Thread(target=arena)
    thread.start()
    held.wait(5)
    assert "autumn" == stop(raced.layout.state, None, SystemClock()).race
    thread.join()


def test_stopping_what_does_not_run_is_said_in_one_line(raced: World):
    with pytest.raises(UserError, match="no race is running"):
        stop(raced.layout.state, None)
    with pytest.raises(UserError, match="race autumn is not running"):
        stop(raced.layout.state, "autumn")


def test_a_broken_ledger_troubles_nobody_but_its_own_readers(raced: World):
    broken = raced.layout.state / "races" / "old" / "ledger.jsonl"
    broken.parent.mkdir()
    broken.write_text("no record\n")
    assert raced.layout.race == find_race(raced.layout.state, None).race
    with pytest.raises(LedgerError, match=r"ledger\.jsonl:1: not a line"):
        read_view(find_race(raced.layout.state, "old"))
