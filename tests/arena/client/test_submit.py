"""run.py as an agent calls it, against a serving referee."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from referee_world import PaperJudge, World, ask, make_home, serving, text

from autoquant import codec, files
from autoquant.arena.client.submit import Answers, Patience, answer_text, run_experiment
from autoquant.arena.referee.mailbox import ClientMailbox, ReplyKind, Request, RequestKind, new_id
from autoquant.arena.referee.referee import RaceFacts, Referee
from autoquant.clock import SystemClock
from autoquant.errors import InfrastructureFault, UserError, Violation
from autoquant.ratchet.score_file import ScoreFile

QUICK = Patience(look=0.02, silence=1.0, remind=5.0, resend=0.3)


@pytest.fixture
def live(world: World) -> Iterator[Referee]:
    """A referee with a real clock and a quick heartbeat."""
    from autoquant.ledger.ledger import Ledger

    facts = RaceFacts(noise_floor=0.3, data_directory=world.data, heartbeat_seconds=0.1)
    ledger = Ledger.open(world.layout.ledger)
    with Referee(world.layout, ledger, world.judge, facts, SystemClock(), world.home) as referee:
        referee.prepare("alice")
        yield referee


def experiment(world: World, source: bytes | None = None, lineage: str | None = None, patience=QUICK) -> Answers:
    if source is not None:
        files.atomic_write(world.worktree / "strategy.py", source)
    said: list[str] = []
    return run_experiment(
        world.worktree,
        description="an idea",
        lineage=lineage,
        data_root=world.worktree / "data",
        say=said.append,
        patience=patience,
    )


def test_a_verdict_is_printed_with_what_comes_next(world: World, live: Referee):
    with serving(live):
        kept = answer_text(experiment(world, text(0.9)))
        answers = experiment(world, text(0.2))
    shown = answer_text(answers)
    assert 0 == answers.exit_code
    assert kept.startswith("attempt 1 of 5 ")
    assert "score 0.1000 → 0.9000   Δ +0.8000" in kept
    assert "score 0.9000 → 0.2000   Δ −0.7000" in shown
    assert "Δ folds   −0.70 −0.70 −0.70 −0.70 −0.70 −0.70   better in 0 of 6" in shown
    assert "gates     all pass · drawdown 10.0 % of 25 % · 2× cost 0.1500" in shown
    assert "decision  discard: search asks for" in shown
    assert "strategy.py is back at attempt 1." in shown
    assert "next      3 attempts left." in shown
    assert "Archive: best #1" in shown


def test_a_crash_names_class_and_line(world: World, live: Referee):
    with serving(live):
        shown = answer_text(experiment(world, text(0.2, "OUTCOME = crash")))
    assert "no score: crash (KeyError at line 3 of strategy.py)" in shown
    assert "27123" not in shown


def test_the_last_attempt_says_that_it_was_the_last(world: World, live: Referee):
    with serving(live):
        answers = [experiment(world, text(0.2, f"N = {n}")) for n in range(6)]
    assert "No attempts left: you are done." in answer_text(answers[4])
    assert (ReplyKind.BUDGET, 2) == (answers[5].reply.kind, answers[5].exit_code)


def test_a_restore_says_so(world: World, live: Referee):
    with serving(live):
        answers = experiment(world, lineage="stable")
    assert "strategy.py now holds stable (the seed). Judged against the seed." in answer_text(answers)
    with pytest.raises(UserError, match="no such lineage"):
        experiment(world, lineage="newest")


def test_a_changed_protected_file_is_named_before_anything_is_sent(world: World, live: Referee):
    (world.worktree / "autoquant" / "cli.py").unlink()
    (world.worktree / "autoquant" / "cli.py").write_text("x")
    with pytest.raises(Violation, match=r"autoquant/cli\.py: protected file is changed"):
        experiment(world, text(0.9))
    assert not list((world.worktree / ".autoquant" / "requests").iterdir())


def test_without_an_arena_it_ends_and_the_next_call_attaches(world: World, live: Referee):
    live.close()
    with pytest.raises(InfrastructureFault, match="no arena is serving"):
        experiment(world, text(0.9))
    with world.referee() as again:
        again.prepare("alice")
        again.poll("alice")
    answers = experiment(world)
    assert (ReplyKind.VERDICT, None) == (answers.reply.kind, answers.earlier)
    assert 1 == len(world.racer().attempts)


def test_an_edit_after_a_cut_off_call_is_submitted_behind_the_earlier_verdict(world: World, live: Referee):
    ask(world.worktree, text(0.2))
    live.poll("alice")
    with serving(live):
        answers = experiment(world, text(0.9))
    assert answers.earlier is not None
    assert (1, 2) == (answers.earlier.score["attempt"], answers.reply.score["attempt"])
    assert answer_text(answers).startswith("earlier request:\nattempt 1 of 5")


def test_an_interrupted_call_attaches_to_its_request(world: World, live: Referee):
    started, go_on = threading.Event(), threading.Event()

    def slow(attempt: int, source: bytes) -> None:
        started.set()
        assert go_on.wait(20)

    world.judge.before = slow
    files.atomic_write(world.worktree / "strategy.py", text(0.9))
    command = [sys.executable, "run.py", "-m", "slow one"]
    with serving(live):
        first = subprocess.Popen(command, cwd=world.worktree, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert started.wait(20)
        first.send_signal(signal.SIGINT)
        assert b"" == first.communicate(timeout=20)[0]
        assert 130 == first.returncode
        second = subprocess.Popen(command, cwd=world.worktree, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.3)
        go_on.set()
        out, err = second.communicate(timeout=20)
    assert out.decode().startswith("attempt 1 of 5")
    assert b"waiting for that one first" in err
    assert 1 == len(world.racer().attempts)


def test_a_request_lost_on_the_way_is_sent_again(world: World, live: Referee):
    item = Request(new_id(), RequestKind.SUBMIT, files.sha256_bytes(text(0.9)))
    files.atomic_write(world.worktree / "strategy.py", text(0.9))
    ClientMailbox(world.worktree).send(item)
    (world.worktree / ".autoquant" / "requests" / f"{item.id}.json").unlink()
    with serving(live):
        answers = experiment(world, patience=replace(QUICK, silence=10.0))
    assert (ReplyKind.VERDICT, item.id) == (answers.reply.kind, answers.reply.id)


def test_json_is_one_record_on_stdout(world: World, live: Referee):
    files.atomic_write(world.worktree / "strategy.py", text(0.9))
    with serving(live):
        done = subprocess.run(
            [sys.executable, "run.py", "--json"], cwd=world.worktree, capture_output=True, text=True, check=True
        )
    answer = json.loads(done.stdout)
    assert ("verdict", 0.9, 4) == (
        answer["kind"],
        answer["score"]["score"],
        answer["score"]["decision"]["attempts_left"],
    )


@pytest.mark.parametrize("arguments", [["--from", "newest"], ["strategy.py"], ["--mess", "x"]])
def test_a_wrong_command_line_exits_2(arguments: list[str]):
    repository = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "run.py", *arguments], cwd=repository, capture_output=True, check=False)
    assert 2 == done.returncode


def test_help_imports_neither_numpy_nor_the_arena():
    repository = Path(__file__).resolve().parents[3]
    script = (
        "import sys, run\n"
        "try: run.main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'pandas', 'autoquant.arena', 'git'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], cwd=repository, check=True, stdout=subprocess.DEVNULL)


class TestStandalone:
    """Outside a race, with the paper judge in the oracle's place."""

    @pytest.fixture
    def checkout(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        from autoquant.arena.client import standalone

        home = tmp_path / "home"
        home.mkdir()
        make_home(home)

        class InPlace(PaperJudge):
            """With the context and pins of the real judge."""

            @property
            def pins(self):  # type: ignore[no-untyped-def]
                return self

            def of(self, source: bytes):  # type: ignore[no-untyped-def]
                return self.screen(source, 0).evaluation.digests

            def __enter__(self) -> InPlace:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        monkeypatch.setattr(standalone, "open_judge", lambda *a, **k: (InPlace(), "synthetic"))
        monkeypatch.setattr(standalone, "_noise_floor", lambda *a: 0.3)
        return home

    def run(self, home: Path, source: bytes | None = None, lineage: str | None = None, idea: str = "") -> Answers:
        if source is not None:
            files.atomic_write(home / "strategy.py", source)
        return run_experiment(home, description=idea, lineage=lineage, data_root=home / "data", say=lambda line: None)

    def statuses(self, home: Path) -> list[str]:
        header, *rows = (home / "results.tsv").read_text().splitlines()
        return [dict(zip(header.split("\t"), row.split("\t"), strict=True))["status"] for row in rows]

    def test_the_first_run_is_the_baseline_and_later_ones_are_held_against_it(self, checkout: Path):
        assert "the baseline" in answer_text(self.run(checkout))
        assert "Δ −0.0500" in answer_text(self.run(checkout, text(0.05)))
        self.run(checkout, text(0.9))
        assert "Δ +0.0100" in answer_text(self.run(checkout, text(0.91)))
        assert ["keep", "discard", "keep", "archive"] == self.statuses(checkout)
        assert text(0.91) == (checkout / "strategy.py").read_bytes()

    def test_a_failing_first_run_is_no_baseline(self, checkout: Path):
        self.run(checkout, text(0.5, "OUTCOME = gate"))
        self.run(checkout, text(0.4))
        assert ["gate", "keep"] == self.statuses(checkout)

    def test_an_identical_strategy_adds_no_row(self, checkout: Path):
        self.run(checkout)
        assert ReplyKind.RECORD == self.run(checkout).reply.kind
        assert ["keep"] == self.statuses(checkout)

    def test_everything_about_a_fault_is_shown(self, checkout: Path):
        shown = answer_text(self.run(checkout, text(0.5, "OUTCOME = crash")))
        assert "KeyError at line 3 of strategy.py: price was 27123.5" in shown

    def test_the_place_of_a_fault_is_said_once(self, checkout: Path):
        from autoquant.arena.client import standalone

        reply = self.run(checkout, text(0.5, "OUTCOME = crash")).reply
        score = codec.loads(ScoreFile, (checkout / "score.json").read_bytes(), "score.json")
        assert score.fault is not None
        told = replace(score, fault=replace(score.fault, message="strategy.py line 3: imports os"))
        answer = answer_text(Answers(None, replace(reply, score=standalone.shown(told))))
        assert "at line 3 of strategy.py: imports os)" in answer

    def test_a_strategy_that_is_no_plain_file_is_refused_with_what_it_has_to_be(self, checkout: Path):
        (checkout / "strategy.py").unlink()
        (checkout / "strategy.py").symlink_to("/dev/zero")
        with pytest.raises(UserError) as refused:
            self.run(checkout)
        assert "strategy.py has to be one plain file of at most 256 KiB, no link" == refused.value.hint

    def test_a_lineage_is_restored_but_an_unjudged_text_is_not_lost(self, checkout: Path):
        with pytest.raises(UserError, match="nothing in this lineage"):
            self.run(checkout, lineage="best")
        self.run(checkout)
        self.run(checkout, text(0.05))
        assert ReplyKind.RESTORED == self.run(checkout, lineage="best").reply.kind
        assert text(0.1) == (checkout / "strategy.py").read_bytes()
        (checkout / "strategy.py").write_bytes(text(0.7))
        with pytest.raises(UserError, match="would lose it"):
            self.run(checkout, lineage="best")

    def test_a_hostile_description_stays_one_cell(self, checkout: Path):
        self.run(checkout, idea="=1+1\t\n\x1b[31m</script>")
        (row,) = (checkout / "results.tsv").read_text().splitlines()[1:]
        assert "'=1+1 \\x1b[31m</script>" == row.split("\t")[-1]

    def test_a_changed_protected_file_is_named(self, checkout: Path):
        (checkout / "evaluate.py").write_text("x")
        with pytest.raises(Violation, match=r"evaluate\.py"):
            self.run(checkout)

    def test_an_irregular_strategy_is_refused(self, checkout: Path):
        (checkout / "strategy.py").unlink()
        with pytest.raises(UserError, match="not found"):
            self.run(checkout)
        os.mkfifo(checkout / "strategy.py")
        with pytest.raises(UserError, match="regular"):
            self.run(checkout)
