"""The referee of the graded track: each step counted once, the hidden bars at the end alone, nothing told of them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from graded_cases import HIDDEN_TELLERS, HONEST, NEAR, Secrets, quoting
from task_cases import single
from taskrace_world import TaskWorld, answer, ask, submit

from autoquant import codec, files
from autoquant.arena.client.submit import Answers, answer_text
from autoquant.arena.referee.desk import FAULT_TRIES
from autoquant.arena.referee.mailbox import ClientMailbox, Reply, ReplyKind, Request, RequestKind, new_id
from autoquant.arena.taskrace.referee import TaskReferee
from autoquant.errors import EvaluationCut, InfrastructureFault, LedgerError, UserError
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger, read_records
from autoquant.sandbox import WarmParent
from autoquant.tasks.grade import Grade
from autoquant.verify.export import export
from autoquant.verify.private import Private
from autoquant.verify.verify import VerifyOptions, verify_bundle

EASY = NEAR["easy"]
FLAT = single("return pd.DataFrame({'bar': [1], 'position': [0]})")


@pytest.fixture
def easy(tasks: TaskWorld) -> Path:
    return tasks.worktree("easy")


def words(reply: Reply) -> str:
    return answer_text(Answers(None, reply, graded=True))


def test_a_backtest_is_one_step_with_its_rung_and_the_agents_own_figures(referee, tasks, easy) -> None:
    reply = submit(referee, easy, EASY)
    assert (ReplyKind.VERDICT, 1, 4) == (reply.kind, reply.attempts, reply.budget)
    text = words(reply)
    assert "step 1 of 4   backtest on the shown bars: score 0.90, best backtest 0.90" in text
    assert "NO   trades, pnl, drawdown and Sharpe ratio are all within their tolerances\n" in text
    assert "figures   trades 116 · entries 0 · pnl -1,074.96 · " in text
    assert "next      3 steps left, run.py --final among them." in text
    last = tasks.last()
    assert ("graded", 0.9, False) == (last.status, last.score, last.final)
    assert last.decision.reason.startswith("for 1.00: trades, pnl, drawdown")


def test_the_best_backtest_stays_in_sight_and_the_final_submission_ends_the_task(referee, tasks, easy) -> None:
    submit(referee, easy, EASY)
    assert "score 0.30, best backtest 0.90" in words(submit(referee, easy, FLAT))
    reply = submit(referee, easy, None, final=True)
    assert "step 3 of 4   final submission: score 0.30\n" in words(reply)
    assert words(reply).endswith("next      The task is over: you are done.")
    assert (ReplyKind.VERDICT, 4, True) == (reply.kind, reply.attempts, tasks.last().final)
    for final in (False, True):
        reply = submit(referee, easy, EASY, final=final)
        assert (ReplyKind.BUDGET, None) == (reply.kind, reply.score)
        assert "the task is over; nothing was graded or charged" in words(reply)
    assert (3, 0) == (len(tasks.racer().attempts), tasks.racer().left)


def test_the_same_bytes_again_are_free_of_charge_but_for_the_final_submission(referee, tasks, easy) -> None:
    submit(referee, easy, EASY)
    submit(referee, easy, FLAT)
    reply = submit(referee, easy, EASY)
    assert (ReplyKind.RECORD, 2, 2) == (reply.kind, reply.attempts, tasks.gradings)
    assert "this very file was step 1; nothing was charged.\nstep 1 of 4" in words(reply)
    assert words(reply).endswith("2 steps left, run.py --final among them.")
    final = submit(referee, easy, EASY, final=True)
    assert (ReplyKind.VERDICT, 0.9) == (final.kind, final.score["final_score"])
    assert 3 == len(tasks.racer().attempts)


def test_a_request_that_comes_twice_is_charged_once(referee, tasks, easy) -> None:
    """INV-11."""
    name = new_id()
    first = submit(referee, easy, EASY, request=name)
    again = submit(referee, easy, FLAT, request=name)
    assert (ReplyKind.RECORD, "this request was step 1") == (again.kind, again.message)
    assert first.score == again.score
    assert (1, 1) == (len(tasks.racer().attempts), tasks.gradings)


def test_after_the_last_step_nothing_is_graded(referee, tasks, easy) -> None:
    replies = [submit(referee, easy, FLAT + b"#" * number) for number in range(4)]
    assert words(replies[2]).endswith("next      1 step left: run.py --final, or a last backtest.")
    reply = replies[3]
    assert words(reply).endswith("No steps left: you are done. The best backtest counts.")
    assert ReplyKind.BUDGET == submit(referee, easy, EASY, final=True).kind
    assert 4 == tasks.gradings


def test_a_file_that_changed_after_run_py_read_it_is_not_graded(referee, tasks, easy) -> None:
    request = ask(easy, EASY)
    (easy / "solution.py").write_bytes(FLAT)
    referee.poll("alice-easy")
    reply = answer(easy, request)
    assert ReplyKind.REFUSED == reply.kind
    assert "changed after run.py read it" in words(reply)
    assert ((), 0) == (tasks.racer().attempts, tasks.gradings)


def remove(solution: Path) -> None:
    solution.unlink()


def link(solution: Path) -> None:
    other = solution.with_name("other.py")
    other.write_bytes(EASY)
    solution.unlink()
    solution.symlink_to(other)


def folder(solution: Path) -> None:
    solution.unlink()
    solution.mkdir()


def pipe(solution: Path) -> None:
    solution.unlink()
    os.mkfifo(solution)


def oversized(solution: Path) -> None:
    solution.write_bytes(b"#" * (1 << 20))


@pytest.mark.parametrize("make", [remove, link, folder, pipe, oversized])
def test_what_is_no_plain_file_is_refused_and_costs_nothing(
    referee: TaskReferee, tasks: TaskWorld, easy: Path, make: Callable[[Path], None]
) -> None:
    make(easy / "solution.py")
    reply = submit(referee, easy, None)
    assert ReplyKind.REFUSED == reply.kind
    assert "is missing" in reply.message if make is remove else "is no plain file of a fitting size" in reply.message
    assert "nothing was graded or charged" in words(reply)
    assert () == tasks.racer().attempts


def test_there_is_no_archive_to_restore_from(referee, tasks, easy) -> None:
    request = Request(new_id(), RequestKind.RESTORE, lineage="best")
    ClientMailbox(easy).send(request)
    referee.poll("alice-easy")
    assert ReplyKind.REFUSED == answer(easy, request).kind
    assert () == tasks.racer().attempts


@pytest.mark.parametrize("name", ["program.md", "load.py", "data/bars.npy", "run.py", "autoquant/cli.py"])
def test_a_changed_file_is_put_back_and_the_change_is_on_record(referee, tasks, easy, name) -> None:
    before = (easy / name).read_bytes()
    (easy / name).unlink()
    (easy / name).write_bytes(b"# mine\n")
    assert ReplyKind.VERDICT == submit(referee, easy, FLAT).kind
    assert before == (easy / name).read_bytes()
    assert [(name, 1)] == [(one.path, one.attempt) for one in tasks.racer().violations]


def test_what_is_put_beside_the_package_is_taken_away(referee, tasks, easy) -> None:
    (easy / "autoquant" / "tasks_answers.py").write_text("x = 1\n")
    submit(referee, easy, FLAT)
    assert not (easy / "autoquant" / "tasks_answers.py").exists()
    assert ["autoquant/tasks_answers.py"] == [one.path for one in tasks.racer().violations]


class Killed(BaseException):
    """The arena, by the kernel."""


class Mortal(Ledger):
    """A ledger whose process is gone before or after it writes a record of some kind."""

    kind: type = r.AttemptOpened
    after = True

    def append(self, body: r.RecordBody, utc: str) -> None:
        if isinstance(body, self.kind) and not self.after:
            raise Killed
        super().append(body, utc)
        if isinstance(body, self.kind):
            raise Killed


def dies(tasks: TaskWorld, kind: type, *, after: bool, wanted: Callable[[TaskReferee], object]) -> None:
    """Let an arena work until it is killed at a record of that kind."""
    ledger = Mortal.open(tasks.layout.ledger)
    assert isinstance(ledger, Mortal)
    ledger.kind, ledger.after = kind, after
    with tasks.referee(ledger) as referee, contextlib.suppress(Killed):
        wanted(referee)
        raise AssertionError("it lived")


DEATHS = {
    "when the step is charged": (r.AttemptOpened, True),
    "when the grading begins": (r.EvaluationStarted, True),
    "when the grade is stored": (r.AttemptClosed, False),
    "before the reply": (r.AttemptClosed, True),
}


@pytest.mark.parametrize("final", [False, True])
@pytest.mark.parametrize("death", DEATHS)
def test_killed_between_charge_and_reply_it_grades_the_stored_bytes_under_the_same_number(
    tasks: TaskWorld, easy: Path, death: str, final: bool
) -> None:
    """INV-11, INV-32."""
    kind, after = DEATHS[death]
    with tasks.referee() as first:
        first.prepare("alice-easy")
    request = ask(easy, EASY, final=final)
    dies(tasks, kind, after=after, wanted=lambda referee: referee.poll("alice-easy"))
    (easy / "solution.py").write_bytes(FLAT)
    with tasks.referee() as again:
        again.recover()
        assert not again.poll("alice-easy")
    reply = answer(easy, request)
    assert (ReplyKind.VERDICT, 0.9) == (reply.kind, reply.score["score"])
    bodies = [record.body for record in read_records(tasks.layout.ledger)]
    assert [1] == [body.attempt for body in bodies if isinstance(body, r.AttemptOpened)]
    assert [(1, 0.9)] == [(body.attempt, body.score) for body in bodies if isinstance(body, r.AttemptClosed)]
    assert FLAT == (easy / "solution.py").read_bytes(), "the agent's newer file is its own"


def test_killed_before_the_charge_it_takes_the_request_as_if_nothing_was(tasks: TaskWorld, easy: Path) -> None:
    with tasks.referee() as first:
        first.prepare("alice-easy")
    request = ask(easy, EASY)
    dies(tasks, r.AttemptOpened, after=False, wanted=lambda referee: referee.poll("alice-easy"))
    with tasks.referee() as again:
        again.recover()
        assert again.poll("alice-easy")
    assert 1 == answer(easy, request).attempts


@pytest.mark.parametrize("final", [False, True])
def test_a_solution_that_kills_the_arena_three_times_gets_nothing(tasks: TaskWorld, easy: Path, final: bool) -> None:
    with tasks.referee() as first:
        first.prepare("alice-easy")
    request = ask(easy, EASY, final=final)
    dies(tasks, r.EvaluationStarted, after=True, wanted=lambda referee: referee.poll("alice-easy"))
    for _ in range(2):
        dies(tasks, r.EvaluationStarted, after=True, wanted=lambda referee: referee.recover())
    with tasks.referee() as last:
        last.recover()
    assert 0 == tasks.gradings
    assert (0.0, 3, final) == (tasks.last().score, tasks.last().tries, tasks.last().final)
    assert "it was cut down from outside three times" == tasks.last().decision.reason
    assert 0.0 == answer(easy, request).score["score"]
    stored = codec.loads(Grade, tasks.layout.evaluation("alice-easy", 1).read_bytes(), "grade")
    assert final == stored.final


def failing(tasks: TaskWorld, *errors: type[InfrastructureFault]) -> Callable[[], contextlib.AbstractContextManager]:
    coming = list(errors)

    @contextlib.contextmanager
    def give() -> Iterator[WarmParent]:
        if coming:
            raise coming.pop(0)("no process could be started")
        tasks.gradings += 1
        yield tasks.parent

    return give


def test_a_fault_of_the_machine_is_on_record_and_tried_again_under_the_same_number(tasks, easy) -> None:
    """INV-12."""
    with tasks.referee(parent=failing(tasks, InfrastructureFault, EvaluationCut)) as referee:
        referee.prepare("alice-easy")
        assert 0.9 == submit(referee, easy, EASY).score["score"]
    racer = tasks.racer()
    assert ["InfrastructureFault", "EvaluationCut"] == [fault.kind for fault in racer.faults]
    assert (1, 3, 1) == (len(racer.attempts), racer.attempts[0].tries, tasks.gradings)


def test_a_machine_that_keeps_failing_leaves_the_step_open_for_a_better_day(tasks, easy) -> None:
    """INV-12."""
    with tasks.referee(parent=failing(tasks, *[InfrastructureFault] * FAULT_TRIES)) as referee:
        referee.prepare("alice-easy")
        request = ask(easy, EASY)
        with pytest.raises(InfrastructureFault):
            referee.poll("alice-easy")
        assert tasks.last().is_open
        assert referee.poll("alice-easy")
    assert (0.9, 1) == (answer(easy, request).score["score"], len(tasks.racer().attempts))


def test_a_disk_that_refuses_a_grade_is_told_and_never_counted_as_a_kill(tasks, easy, monkeypatch) -> None:
    """INV-12."""
    refusing = True

    def write(path: Path, data: str | bytes) -> None:
        if refusing and path == tasks.layout.score("alice-easy", 1):
            raise InfrastructureFault(f"{path}: No space left on device")
        plainly(path, data)

    plainly = files.atomic_write
    monkeypatch.setattr(files, "atomic_write", write)
    with tasks.referee() as referee:
        referee.prepare("alice-easy")
        request = ask(easy, EASY)
        with pytest.raises(InfrastructureFault):
            referee.poll("alice-easy")
        for _ in range(3):
            with pytest.raises(InfrastructureFault):
                referee.recover()
        refusing = False
        referee.recover()
    assert 0.9 == answer(easy, request).score["score"]
    assert ["InfrastructureFault"] * 4 == [fault.kind for fault in tasks.racer().faults]


def test_what_a_kill_left_stored_for_no_step_is_taken_away(referee, tasks, easy) -> None:
    """INV-33: else no export would be possible for ever, since no line names it."""
    submit(referee, easy, EASY)
    kept = tasks.layout.blob(tasks.last().strategy)
    for name in (f".{'ab' * 32}.7.xyz.tmp", "ab" * 32):
        tasks.layout.blob(name).write_bytes(b"half")
    referee.recover()
    assert [kept] == list(kept.parent.iterdir())


def test_the_arenas_own_damaged_checkout_grades_nobody(tasks: TaskWorld, easy: Path, home: Path) -> None:
    tasks.home = tasks.root / "own"
    shutil.copytree(home, tasks.home)
    with tasks.referee() as referee:
        referee.prepare("alice-easy")
        (tasks.home / "autoquant" / "cli.py").write_text("changed\n")
        ask(easy, EASY)
        with pytest.raises(InfrastructureFault, match="the arena's own file"):
            referee.poll("alice-easy")
    assert () == tasks.racer().attempts


def test_a_lost_observation_is_left_out_of_the_answer(referee, tasks, easy) -> None:
    name = new_id()
    submit(referee, easy, EASY, request=name)
    tasks.layout.score("alice-easy", 1).write_text("{}")
    reply = submit(referee, easy, None, request=name)
    assert (ReplyKind.RECORD, None) == (reply.kind, reply.score)
    assert "this request was step 1" in words(reply)


def test_the_hidden_bars_are_run_by_the_final_submission_alone(tasks: TaskWorld) -> None:
    """INV-32: whatever is backtested, what differs on hidden bars alone shows in the final step and in no other."""
    hard = tasks.worktree("hard")
    with tasks.referee() as referee:
        referee.prepare("alice-hard")
        backtests = [submit(referee, hard, source) for source in (HIDDEN_TELLERS[0], HONEST)]
        assert {0.3} == {reply.score["score"] for reply in backtests}
        grades = [tasks.layout.evaluation("alice-hard", number).read_bytes() for number in (1, 2)]
        assert [None, None] == [codec.loads(Grade, grade, "").hidden for grade in grades]
        final = submit(referee, hard, None, final=True)
        assert (1.0, 1.0) == (final.score["final_score"], tasks.last("hard").score)
        assert ReplyKind.BUDGET == submit(referee, hard, HONEST, final=True).kind


def all_text(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix not in (".npy", ".pyc"):
            yield f"/{path.relative_to(folder)}\n{path.read_bytes().decode(errors='replace')}"


@pytest.mark.parametrize("name", ["easy", "medium", "hard"])
def test_nothing_hidden_reaches_the_folder(tasks: TaskWorld, kept: Secrets, name: str) -> None:
    """INV-31: replies, heartbeats, program text; the ledger and the stored grade know more and stand elsewhere."""
    worktree = tasks.worktree(name)
    with tasks.referee() as referee:
        referee.prepare(f"alice-{name}")
        said = [submit(referee, worktree, source) for source in (quoting(name), NEAR[name])]
        said += [submit(referee, worktree, HIDDEN_TELLERS[1] if name == "hard" else None, final=True)]
    kept = kept.without(NEAR[name] + HIDDEN_TELLERS[1])
    mailbox = "\n".join(all_text(worktree / ".autoquant"))
    assert 3 == mailbox.count('"final_score"')
    assert [] == kept.found_in(mailbox)
    assert [] == [hit for reply in said for hit in kept.found_in(words(reply))]
    texts = "\n".join(text for text in all_text(worktree) if "/autoquant/" not in text.split("\n")[0])
    assert [] == kept.found_in(texts)


def test_the_ledger_takes_no_step_behind_a_final_one_and_no_race_status_for_a_task(referee, tasks, easy) -> None:
    submit(referee, easy, EASY, final=True)
    ledger = Ledger.open(tasks.layout.ledger)
    opened = r.AttemptOpened("alice-easy", 2, new_id(), files.sha256_bytes(b""), "", 1)
    with pytest.raises(LedgerError, match="attempt 2 behind a final submission"):
        ledger.append(opened, "2026-11-30T01:00:00Z")
    ledger.append(r.AttemptOpened("alice-hard", 1, new_id(), files.sha256_bytes(b""), "", 0), "2026-11-30T01:00:00Z")
    ledger.append(r.EvaluationStarted("alice-hard", 1, 1), "2026-11-30T01:00:00Z")
    for status in ("keep", "discard", "crash"):
        with pytest.raises(LedgerError, match="does not exist"):
            ledger.append(r.AttemptClosed("alice-hard", 1, status, 0.5, None, None, None), "2026-11-30T01:00:00Z")
    ledger.append(r.AttemptClosed("alice-hard", 1, "graded", 0.5, None, None, None), "2026-11-30T01:00:00Z")


def test_a_record_of_the_graded_track_leaves_and_verifies_as_far_as_it_can(referee, tasks, easy, tmp_path) -> None:
    """INV-33: record, files and scores are checked; that grades are not made again here is said, with what does it."""
    submit(referee, easy, EASY)
    submit(referee, easy, None, final=True)
    private, bundle = Private({}, (), ""), tmp_path / "tasks.zip"
    with pytest.raises(UserError, match="alice-easy, alice-medium, alice-hard may still race"):
        export(tasks.layout, bundle, home=tasks.home, data_root=tasks.data, private=private)
    ledger = Ledger.open(tasks.layout.ledger)
    for name in ("easy", "medium", "hard"):
        ledger.append(r.CompetitorEnded(f"alice-{name}", "done"), "2026-11-30T00:00:00Z")
    export(tasks.layout, bundle, home=tasks.home, data_root=tasks.data, private=private)
    answer_of = verify_bundle(bundle, VerifyOptions(tasks.home, tmp_path))
    states = {check.name: (check.state.value, check.text) for check in answer_of.checks}
    assert ["grading again"] == [name for name, (state, _) in states.items() if state != "ok" and name != "code"]
    assert "arena.py tasks grade" in states["grading again"][1]
    assert "2 steps have the score of their grade" == states["grades"][1]
    assert 2 == answer_of.exit_code
