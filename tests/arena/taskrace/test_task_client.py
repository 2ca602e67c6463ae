"""run.py in a folder of the graded track, against a serving referee."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from graded_cases import NEAR
from task_cases import single
from taskrace_world import TaskWorld

from autoquant import files
from autoquant.arena.client.submit import Answers, Patience, answer_text, run_experiment
from autoquant.arena.referee.mailbox import ClientMailbox, ReplyKind, Request, RequestKind, new_id
from autoquant.arena.taskrace.referee import TaskReferee
from autoquant.clock import SystemClock
from autoquant.errors import UserError

QUICK = Patience(look=0.02, silence=20.0, remind=5.0, resend=5.0)
FLAT = single("return pd.DataFrame({'bar': [1], 'position': [0]})")


@pytest.fixture
def easy(tasks: TaskWorld) -> Iterator[Path]:
    with tasks.referee() as referee:
        referee.prepare("alice-easy")
        with serving(referee):
            yield tasks.worktree("easy")


@contextmanager
def serving(referee: TaskReferee) -> Iterator[None]:
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if not referee.poll("alice-easy"):
                time.sleep(0.01)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def experiment(home: Path, said: list[str] | None = None, **more: object) -> Answers:
    facts = {"description": "d", "lineage": None, "data_root": home} | more
    say = (said if said is not None else []).append
    return run_experiment(home, say=say, clock=SystemClock(), patience=QUICK, **facts)  # type: ignore[arg-type]


def leave(home: Path, *, final: bool) -> None:
    """Drop a request as a run.py that was killed at once."""
    digest = files.sha256_bytes((home / "solution.py").read_bytes())
    ClientMailbox(home).send(Request(new_id(), RequestKind.SUBMIT, digest, "cut off", final=final))


def test_a_backtest_and_a_final_submission(tasks: TaskWorld, easy: Path) -> None:
    (easy / "solution.py").write_bytes(NEAR["easy"])
    assert (ReplyKind.VERDICT, 0) == ((first := experiment(easy, task="easy")).reply.kind, first.exit_code)
    assert 0.9 == experiment(easy, final=True).reply.score["final_score"]
    over = experiment(easy)
    assert 2 == over.exit_code
    assert [False, True] == [attempt.final for attempt in tasks.racer().attempts]


def test_a_final_submission_whose_run_py_was_cut_off_is_the_answer_of_the_next_call(
    tasks: TaskWorld, easy: Path
) -> None:
    (easy / "solution.py").write_bytes(NEAR["easy"])
    leave(easy, final=True)
    answers = experiment(easy, final=True)
    assert (None, ReplyKind.VERDICT, 0) == (answers.earlier, answers.reply.kind, answers.exit_code)
    assert 0.9 == answers.reply.score["final_score"]
    assert 1 == len(tasks.racer().attempts)


def test_a_backtest_whose_run_py_was_cut_off_is_charged_once(tasks: TaskWorld, easy: Path) -> None:
    (easy / "solution.py").write_bytes(NEAR["easy"])
    leave(easy, final=False)
    again = experiment(easy)
    assert (ReplyKind.VERDICT, ReplyKind.RECORD) == (again.earlier.kind, again.reply.kind)
    assert 1 == len(tasks.racer().attempts)
    leave(easy, final=False)
    (easy / "solution.py").write_bytes(FLAT)
    final = experiment(easy, final=True)
    assert 0.3 == final.reply.score["final_score"]
    assert answer_text(final).startswith("earlier request:\n")


def test_options_of_another_track_or_task_are_refused(easy: Path, repository: Path) -> None:
    with pytest.raises(UserError, match="this folder is for the task easy, not for hard"):
        experiment(easy, task="hard")
    with pytest.raises(UserError, match="--from belongs to the race"):
        experiment(easy, lineage="best")
    for more in ({"task": "easy"}, {"final": True}):
        with pytest.raises(UserError, match="belong to the graded track"):
            experiment(repository, **more)
