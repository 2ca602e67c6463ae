"""The supervisor against fake CLIs: small programs that misbehave the way real ones do."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from stand import QUICK, SUBMIT, UTC, Stand, make_stand, until

from autoquant import heap, process
from autoquant.arena.sessions.accounts import Accounts
from autoquant.arena.sessions.confinement import pid_namespace
from autoquant.arena.sessions.place import home_of, prompt_of, run_mark
from autoquant.arena.sessions.supervisor import Pace
from autoquant.arena.sessions.time_left import TimeLeft
from autoquant.arena.sessions.watchdogs import Limits
from autoquant.clock import SystemClock
from autoquant.errors import InfrastructureFault
from autoquant.harness import Availability, Competitor
from autoquant.harness.machine import Machine
from autoquant.ledger import records as r
from autoquant.ledger.ledger import read_records


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return make_stand(tmp_path)


def test_a_session_that_uses_its_budget_and_leaves_is_done(stand: Stand):
    stand.join("a", "submit(); submit()")
    assert "finished" == stand.supervisor().run()
    assert {"a": "done"} == stand.ended()
    assert [("exited", 0)] == stand.ends()
    assert ["recover", "prepare a", "audit a unattended", "audit a"] == stand.referee.calls
    assert ["finished"] == [body.reason for body in stand.bodies(r.ArenaStopped) if isinstance(body, r.ArenaStopped)]


def test_a_session_that_stops_early_is_followed_by_another_until_the_budget_is_used(stand: Stand):
    stand.join("a", "submit(); raise SystemExit(7)", budget=4)
    stand.supervisor().run()
    assert {"a": "done"} == stand.ended()
    assert [("exited", 7)] * 4 == stand.ends()
    assert ["crash", "crash", "crash", "done"] == stand.outcomes()


def test_a_program_that_only_crashes_is_left_to_be_resumed_and_the_next_start_tries_again(stand: Stand):
    stand.join("a", "raise SystemExit(7)")
    assert "harness faults" == stand.supervisor().run()
    assert {"a": None} == stand.ended()
    assert ["crash"] * 5 == stand.outcomes()
    assert ["left alone after crash"] == [f.message for f in stand.ledger.view.competitors["a"].faults]
    (stand.layout.root / "a.py").write_text(SUBMIT + "submit(); submit()")
    assert "finished" == stand.supervisor().run()
    assert {"a": "done"} == stand.ended()


def test_three_sessions_without_an_attempt_are_a_stall(stand: Stand):
    stand.join("a", "import sys\nif sys.argv[2] == '2': submit()", budget=9)
    stand.supervisor().run()
    assert {"a": "stalled"} == stand.ended()
    assert [("exited", 0)] * 5 == stand.ends()


def test_a_session_that_goes_on_after_its_budget_is_ended_though_it_ignores_sigterm(stand: Stand):
    stand.join("a", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: submit()")
    stand.supervisor().run()
    assert {"a": "done"} == stand.ended()
    assert [("budget used", None)] == stand.ends()
    assert 2 == len(stand.ledger.view.competitors["a"].attempts)


def test_a_background_child_in_its_own_session_dies_with_the_session_and_holds_nothing_up(stand: Stand):
    """INV-24."""
    sleep = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    child = f"import subprocess, sys\nsubprocess.Popen({sleep}, start_new_session=True)\n"
    stand.join("a", child + "submit(); submit()")
    stand.supervisor().run()
    assert [("exited", 0)] == stand.ends()
    assert [] == process.marked(run_mark(stand.layout, "a"))


def test_half_a_line_and_silence_is_ended_for_lack_of_progress(stand: Stand):
    program = "import sys\nsys.stdout.write('{\"type\": ')\nsys.stdout.flush()\ntime.sleep(600)"
    stand.join("a", program, quiet_minutes=0.01)
    stand.supervisor().run()
    assert {"a": "stalled"} == stand.ended()
    assert [("no progress", None)] * 3 == stand.ends()
    assert ["stall"] * 3 == stand.outcomes()
    assert '{"type": ' == (stand.layout.logs / "a" / "0001.stdout").read_text()


def test_a_session_past_its_time_is_ended_and_the_next_one_goes_on(stand: Stand):
    stand.join("a", "submit(); time.sleep(600)", session_minutes=0.01)
    stand.supervisor().run()
    assert {"a": "done"} == stand.ended()
    assert [("time limit", None), ("budget used", None)] == stand.ends()


def test_a_program_that_reads_its_standard_input_finds_it_at_its_end(stand: Stand):
    stand.join("a", "import sys\nsubmit(); submit(); print(repr(sys.stdin.read()))")
    stand.supervisor().run()
    assert "''\n" == (stand.layout.logs / "a" / "0001.stdout").read_text()


def test_output_without_end_ends_the_session_and_the_next_one_goes_on(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    for module in ("session", "watching"):
        monkeypatch.setattr(f"autoquant.arena.sessions.{module}.LOG_BYTES", 1 << 20)
    flood = "if sys.argv[2] == '1':\n    while True: print('x' * 1000)"
    stand.join("a", f"import sys\nsubmit()\n{flood}\nsubmit()")
    stand.supervisor().run()
    log = stand.layout.logs / "a" / "0001.stdout"
    assert 1 << 20 < log.stat().st_size < (1 << 20) + 100
    assert log.read_bytes().endswith(b"more bytes were dropped]\n")
    assert [("output limit", None), ("exited", 0)] == stand.ends()
    assert ["ended by us", "done"] == stand.outcomes()


def test_a_program_that_is_silent_from_the_start_is_ended_one_that_works_silently_is_not(stand: Stand):
    stand.join("a", "time.sleep(600)", silent_minutes=0.01)
    work = "end = time.monotonic() + 2\nwhile time.monotonic() < end: sum(range(10_000))\nsubmit(); submit()"
    stand.join("b", work, silent_minutes=0.01)
    stand.supervisor().run()
    assert {"a": "stalled", "b": "done"} == stand.ended()
    ends = [b for b in stand.bodies(r.SessionEnded) if isinstance(b, r.SessionEnded)]
    assert {("a", "no first output"), ("b", "exited")} == {(b.competitor, b.reason) for b in ends}


def test_time_before_a_stall_is_told_apart_from_the_agents_own(stand: Stand):
    stand.join("a", "submit(); time.sleep(600)", silent_minutes=0.02, budget=3)
    supervisor = stand.supervisor()
    supervisor.run()
    racer = stand.ledger.view.competitors["a"]
    stalls = [session for session in racer.sessions if session.outcome == "stall"]
    assert 2 == len(stalls)
    for session in stalls:
        assert 1.0 <= session.lost_seconds <= (session.seconds or 0.0)
    assert racer.infrastructure_seconds == pytest.approx(sum(s.lost_seconds for s in racer.sessions))
    assert 0 < racer.agent_seconds


def test_the_arena_pauses_at_its_deadline_and_says_what_is_left(stand: Stand):
    stand.join("a", "time.sleep(600)")
    clock = SystemClock()
    time_left = TimeLeft(clock, clock.monotonic() + 0.5)
    assert "time limit" == stand.supervisor(time_left=time_left).run()
    assert {"a": None} == stand.ended()
    assert "This session may last 0 s more." in prompt_of(stand.layout, "a").read_text()


def test_racers_of_one_account_take_turns_when_the_account_allows_one_session(stand: Stand):
    for name in ("a", "b", "c"):
        stand.join(name, "submit(); time.sleep(0.1); submit()")
    available = {name: Availability(True, account="k") for name in ("a", "b")} | {"c": Availability(True)}
    stand.supervisor(available=available, accounts=Accounts(1)).run()
    running: set[str] = set()
    for record in read_records(stand.ledger.path):
        if isinstance(record.body, r.SessionStarted):
            running.add(record.body.competitor)
        elif isinstance(record.body, r.SessionEnded):
            running.discard(record.body.competitor)
        assert not {"a", "b"} <= running
    assert {"a": "done", "b": "done", "c": "done"} == stand.ended()


@pytest.mark.parametrize("sealed", [False, True])
def test_in_a_pid_namespace_even_an_unmarked_orphan_of_an_orphan_is_gone(stand: Stand, sealed: bool):
    confinement = pid_namespace(Machine.here())
    if not confinement.prefix:
        pytest.skip(confinement.problem)
    hidden = "import os, time; os.setsid(); open('hidden', 'w').write('1'); time.sleep(600)"
    child = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {hidden!r}], env={{}})\n"
    wait = "while not os.path.exists('hidden'): time.sleep(0.01)\n"
    stand.join("a", child + wait + "submit(); submit()\nprint(os.getpid())")
    if sealed:  # its script is nowhere but in its own worktree
        confinement = replace(confinement, bubblewrap=confinement.prefix[0])
        script = stand.referee.prepare("a") / "a.py"
        (stand.layout.root / "a.py").rename(script)
        (racer,) = stand.competitors
        stand.competitors = [replace(racer, argv=(racer.argv[0], str(script), *racer.argv[2:]))]
    stand.supervisor(confinement=confinement).run()
    assert [("exited", 0)] == stand.ends()
    assert int((stand.layout.logs / "a" / "0001.stdout").read_text()) < 10
    assert [] == [p for p in psutil.process_iter(["cmdline"]) if hidden in (p.info["cmdline"] or [])]


def test_a_session_sees_a_fresh_environment_the_arenas_python_and_its_prompt(stand: Stand):
    program = (
        "import json, subprocess, sys\n"
        "inner = subprocess.check_output(['python', '-c', 'import sys, numpy; print(sys.prefix)'], text=True)\n"
        "print(json.dumps([dict(os.environ), inner, open(sys.argv[1]).read(), os.getcwd()]))\n"
        "submit(); submit()\n"
    )
    stand.join("a", program, env={"MINE": "1"}, pass_env=("KEY",))
    surroundings = {"PATH": os.environ["PATH"], "SECRET": "s", "KEY": "k", "HOME": "/root"}
    machine = Machine({**os.environ, "KEY": "k"}, Path("/"), is_root=False)
    stand.supervisor(surroundings=surroundings, machine=machine).run()
    env, prefix, prompt, cwd = json.loads((stand.layout.logs / "a" / "0001.stdout").read_text())
    assert {"PATH", "HOME", "TMPDIR", "LANG", "TERM", "MINE", "KEY", "AUTOQUANT_RUN"} == set(env) - {"LC_CTYPE"}
    assert str(stand.layout.homes / "a" / "home") == env["HOME"]
    assert sys.prefix == prefix.strip()
    assert prompt.startswith("You are in a race of quant researchers. Read program.md")
    assert "You have 2 experiments." in prompt
    assert str(stand.layout.worktree("a")) == cwd


def test_a_request_whose_sender_died_is_still_answered(stand: Stand):
    stand.join("a", "pathlib.Path('requests', '1').write_text(''); os._exit(1)", budget=1)
    stand.supervisor(Pace(poll=0.5, tick=0.02, waits=0.0)).run()
    assert {"a": "done"} == stand.ended()


def test_a_program_that_is_not_there_is_a_fault_and_no_end(stand: Stand):
    stand.join("a", "")
    stand.join("b", "submit(); submit()")
    gone = stand.competitors[0]
    stand.competitors[0] = Competitor("a", "command", "m", "", gone.colour, argv=("no-such-program",))
    assert "harness faults" == stand.supervisor().run()
    assert {"a": None, "b": "done"} == stand.ended()
    assert 1 == len(stand.ledger.view.competitors["a"].faults)


def test_a_pause_ends_the_sessions_and_the_same_command_goes_on(stand: Stand):
    program = "import sys\nsubmit()\nif sys.argv[2] == '1': time.sleep(600)\nsubmit()"
    stand.join("a", program)
    first = stand.supervisor()

    def stop_after_one_attempt() -> None:
        until(lambda: len(stand.bodies(r.AttemptClosed)) == 1)
        first.stop("interrupted")

    timer = threading.Thread(target=stop_after_one_attempt)
    timer.start()
    assert "interrupted" == first.run()
    timer.join()
    assert {"a": None} == stand.ended()
    assert "finished" == stand.supervisor().run()
    assert [("paused", None), ("exited", 0)] == stand.ends()
    assert {"a": "done"} == stand.ended()


def test_a_stop_file_pauses_and_is_taken_away(stand: Stand):
    stand.join("a", "time.sleep(600)")
    supervisor = stand.supervisor(on_tick=lambda view: stand.layout.stop_request.touch())
    assert "stop requested" == supervisor.run()
    assert not stand.layout.stop_request.exists()


def test_an_orphan_of_a_killed_arena_is_ended_before_the_race_goes_on(stand: Stand):
    stand.join("a", "submit(); submit()")
    stand.ledger.append(r.SessionStarted("a", 1), UTC)
    env = {**os.environ, process.RUN_MARK: run_mark(stand.layout, "a")}
    orphan = process.spawn([sys.executable, "-c", "import time; time.sleep(600)"], cwd=stand.layout.root, env=env)
    until(lambda: bool(process.marked(run_mark(stand.layout, "a"))))
    stand.supervisor().run()
    assert orphan.wait(timeout=1) is not None
    assert [("lost", None), ("exited", 0)] == stand.ends()


def test_no_more_competitors_run_at_once_than_asked(stand: Stand):
    for name in ("a", "b", "c"):
        stand.join(name, "submit(); time.sleep(0.1); submit()")
    stand.supervisor(parallel=1).run()
    running = 0
    for record in read_records(stand.ledger.path):
        running += isinstance(record.body, r.SessionStarted) - isinstance(record.body, r.SessionEnded)
        assert running <= 1
    assert {"a": "done", "b": "done", "c": "done"} == stand.ended()


def test_an_infrastructure_fault_pauses_everybody_and_charges_nobody(stand: Stand):
    stand.join("a", "submit()")
    stand.join("b", "time.sleep(600)")
    stand.referee.fail = InfrastructureFault("disk: full")
    with pytest.raises(InfrastructureFault, match="disk: full"):
        stand.supervisor().run()
    assert {"a": None, "b": None} == stand.ended()
    assert [] == stand.bodies(r.AttemptOpened)
    assert "failed: disk: full" == stand.ledger.view.stopped
    assert [] == [p for name in ("a", "b") for p in process.marked(run_mark(stand.layout, name))]


def test_a_competitor_the_referee_ended_is_not_run_on(stand: Stand):
    stand.join("a", "submit(); submit()")
    stand.ledger.append(r.CompetitorEnded("a", "disqualified"), UTC)
    assert "finished" == stand.supervisor().run()
    assert [] == stand.ends()


def test_a_login_shell_finds_the_arenas_python_too(stand: Stand):
    inner = "import sys, numpy; print(sys.prefix)"
    shell = f"subprocess.run(['bash', '-lc', 'python -c {chr(34)}{inner}{chr(34)}'])"
    stand.join("a", f"import subprocess\n{shell}\nsubmit(); submit()")
    stand.supervisor().run()
    assert sys.prefix == (stand.layout.logs / "a" / "0001.stdout").read_text().strip()


def test_a_command_that_outlives_its_program_counts_as_its_progress(stand: Stand):
    drop = "name = str(time.monotonic_ns())\npathlib.Path('requests', name).write_text('')\n"
    stand.join("a", drop, budget=5)
    stand.supervisor(Pace(**{**vars(QUICK), "poll": 0.5})).run()
    assert {"a": "done"} == stand.ended()


def test_a_racer_that_waits_holds_no_seat(stand: Stand):
    fail = "say('claude-2.1.332/rate-limited-to-the-end.stdout.jsonl'); raise SystemExit(1)"
    stand.join_cli("claude", "claude-opus-4-5", fail)
    stand.join("b", "submit(); submit()")
    supervisor = stand.supervisor(Pace(**{**vars(QUICK), "waits": 1000.0}), machine=stand.machine, parallel=1)
    threading.Thread(target=lambda: (until(lambda: stand.ended()["b"] == "done"), supervisor.stop("seen"))).start()
    assert "seen" == supervisor.run()
    assert {"a": None, "b": "done"} == stand.ended()


def test_a_limit_one_racer_meets_is_known_before_its_slot_is_given_on(stand: Stand):
    fail = "say('claude-2.1.332/rate-limited-to-the-end.stdout.jsonl'); raise SystemExit(1)"
    stand.join_cli("claude", "claude-opus-4-5", fail)
    stand.join("b", "time.sleep(0.5)\nsubmit()")
    available = {name: Availability(True, account="k") for name in ("a", "b")}
    supervisor = stand.supervisor(
        Pace(**{**vars(QUICK), "waits": 1000.0}), machine=stand.machine, available=available, accounts=Accounts(1)
    )

    def stop_soon() -> None:
        until(lambda: "rate limit" in stand.outcomes())
        time.sleep(1.0)
        supervisor.stop("seen")

    threading.Thread(target=stop_soon).start()
    assert "seen" == supervisor.run()
    kinds = [record.body for record in read_records(stand.ledger.path)]
    limit = next(i for i, body in enumerate(kinds) if isinstance(body, r.SessionEnded) and body.outcome == "rate limit")
    assert [] == [body for body in kinds[limit:] if isinstance(body, r.SessionStarted)]


def test_a_slow_referee_is_nobodys_silence(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    stand.join("a", "submit(); submit()", silent_minutes=0.01)
    poll = stand.referee.poll

    def slow(competitor: str) -> bool:
        answered = poll(competitor)
        if answered:
            time.sleep(1.2)
        return answered

    monkeypatch.setattr(stand.referee, "poll", slow)
    stand.supervisor().run()
    assert [("exited", 0)] == stand.ends()


def test_a_foreign_mark_protects_nobody(stand: Stand):
    if sys.platform != "linux":
        pytest.skip("only Linux hands orphans to an adopter")
    hidden = "import time; time.sleep(601)"
    fork = (
        "import sys\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
        f"        os.execve(sys.executable, [sys.executable, '-c', {hidden!r}], {{'AUTOQUANT_RUN': 'nobody/x/y'}})\n"
        "    os._exit(0)\n"
    )
    stand.join("a", fork + "time.sleep(0.3); submit(); submit()")
    stand.supervisor().run()
    assert [] == [p for p in psutil.process_iter(["cmdline"]) if hidden in (p.info["cmdline"] or [])]


def test_an_error_in_one_competitors_lane_leaves_the_others_their_night(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    stand.join("a", "submit(); submit()")
    stand.join("b", "submit(); submit()")
    audit = stand.referee.audit

    def broken(competitor: str, attempt: int | None, *, owned: bool = True) -> None:
        if competitor == "a":
            raise RuntimeError("unforeseen")
        audit(competitor, attempt, owned=owned)

    monkeypatch.setattr(stand.referee, "audit", broken)
    assert "harness faults" == stand.supervisor().run()
    assert {"a": None, "b": "done"} == stand.ended()
    assert ["RuntimeError: unforeseen"] == [f.message for f in stand.ledger.view.competitors["a"].faults]


def test_a_terminal_or_log_that_is_gone_ends_no_race(stand: Stand):
    looks: list[object] = []

    def gone(view: object) -> None:
        looks.append(view)
        raise BrokenPipeError

    stand.join("a", "submit(); submit()")
    assert "finished" == stand.supervisor(on_tick=gone).run()
    assert 1 == len(looks)
    assert {"a": "done"} == stand.ended()


def test_heaps_are_shared_before_any_racer_has_a_thread(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []

    def share_heaps() -> bool:
        asked.append([one.name for one in threading.enumerate() if one.name.startswith("competitor")])
        return True

    monkeypatch.setattr(heap, "share_heaps", share_heaps)
    stand.join("a", "submit(); submit()")
    stand.supervisor().run()
    assert [[]] == asked


def test_free_memory_goes_back_as_often_as_the_pace_says(stand: Stand, monkeypatch: pytest.MonkeyPatch):
    calls: list[bool] = []
    monkeypatch.setattr(heap, "give_back", lambda: calls.append(True))
    stand.join("a", "submit()", budget=1)
    stand.supervisor(replace(QUICK, give_back=3600.0)).run()
    assert not calls
    stand.join("b", "submit()", budget=1)
    stand.supervisor(replace(QUICK, give_back=0.0)).run()
    assert calls


def test_folders_that_are_over_the_limit_are_named_before_anything_is_started(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("autoquant.arena.sessions.lane.Limits", lambda *_: Limits(0, 0, 0, 0, disk_bytes=50_000))
    stand.join("a", "submit(); submit()")
    home = home_of(stand.layout, "a")
    home.mkdir(parents=True)
    (home / "junk").write_bytes(b"x" * 100_000)
    assert "harness faults" == stand.supervisor().run()
    (fault,) = stand.ledger.view.competitors["a"].faults
    assert "setup" == fault.kind
    assert str(home.relative_to(stand.layout.state.parent)) in fault.message  # the record names no place of the machine


def test_the_arena_that_takes_over_does_not_resume_a_conversation_that_was_given_up(stand: Stand):
    stand.join_cli("codex", "gpt-5.6-luna", "submit(); submit(); submit()")
    for body in (
        r.SessionStarted("a", 1),
        r.SessionEnded("a", 1, "exited", 1, 1.0, outcome="context full", conversation="full"),
        r.SessionStarted("a", 2),
    ):
        stand.ledger.append(body, UTC)
    folder = home_of(stand.layout, "a") / ".codex" / "sessions" / "2026" / "11" / "30"
    folder.mkdir(parents=True)
    meta = {"type": "session_meta", "payload": {"id": "full", "session_id": "full"}}
    (folder / "rollout-2026-11-30T00-00-00-full.jsonl").write_text(json.dumps(meta) + "\n")
    stand.supervisor(machine=stand.machine).run()
    begun = [body for body in stand.bodies(r.SessionStarted) if isinstance(body, r.SessionStarted)]
    assert "full" not in [body.resumes for body in begun]
