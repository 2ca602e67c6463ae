"""run.py in a folder of the graded track, against a serving referee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from graded_cases import NEAR
from referee_world import serving
from task_cases import single
from taskrace_world import TaskWorld

from autoquant import files
from autoquant.arena.client.submit import Answers, Patience, answer_text, run_experiment
from autoquant.arena.referee.mailbox import ClientMailbox, ReplyKind, Request, RequestKind, new_id
from autoquant.clock import SystemClock
from autoquant.errors import UserError

QUICK = Patience(look=0.02, silence=20.0, remind=5.0, resend=5.0)
FLAT = single("return pd.DataFrame({'bar': [1], 'position': [0]})")


@pytest.fixture
def easy(tasks: TaskWorld) -> Iterator[Path]:
    with tasks.referee() as referee:
        referee.prepare("alice-easy")
        with serving(referee, "alice-easy"):
            yield tasks.worktree("easy")


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
    assert answer_text(over).endswith("nothing was graded or charged.\nnext      The task is over: you are done.")
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


def test_a_refusal_speaks_of_the_solution_and_never_of_attempts(tasks: TaskWorld, easy: Path) -> None:
    (easy / "solution.py").unlink()
    refused = experiment(easy)
    assert (3, "solution.py is missing; nothing was graded or charged.") == (refused.exit_code, answer_text(refused))
    assert not tasks.racer().attempts


def test_options_of_another_track_or_task_are_refused(easy: Path, repository: Path) -> None:
    with pytest.raises(UserError, match="this folder is for the task easy, not for hard"):
        experiment(easy, task="hard")
    with pytest.raises(UserError, match="--from belongs to the race"):
        experiment(easy, lineage="best")
    for more in ({"task": "easy"}, {"final": True}):
        with pytest.raises(UserError, match="belong to the graded track"):
            experiment(repository, **more)
