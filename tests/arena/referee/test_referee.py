"""The referee, with a judge that reads scores off the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from referee_world import SEED_TEXT, World, answer, ask, submit, text

from autoquant import files
from autoquant.arena.referee.mailbox import ClientMailbox, ReplyKind, Request, RequestKind, new_id
from autoquant.arena.referee.referee import Referee
from autoquant.errors import EvaluationCut, InfrastructureFault
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger


def test_an_improvement_is_kept_committed_and_left_in_place(world: World, referee: Referee):
    reply = submit(referee, world.worktree, text(0.9), "momentum")
    assert (ReplyKind.VERDICT, "keep", 1) == (reply.kind, world.last().status, reply.working)
    assert text(0.9) == (world.worktree / "strategy.py").read_bytes()
    assert world.last().commit == reply.score["decision"]["next"]["commit"]


def test_a_worse_strategy_is_discarded_and_the_working_parent_put_back(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    reply = submit(referee, world.worktree, text(0.2))
    assert "discard" == world.last().status
    assert text(0.9) == (world.worktree / "strategy.py").read_bytes()
    assert "strategy.py is back at attempt 1" in reply.message
    assert world.racer().attempts[0].commit == reply.score["decision"]["next"]["commit"]


def test_results_and_score_are_copies_of_the_record(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9), "first\tidea")
    header, row = (world.worktree / "results.tsv").read_text().splitlines()
    assert dict(zip(header.split("\t"), row.split("\t"), strict=True))["commit"] == world.last().commit
    stored = world.layout.score("alice", 1).read_bytes()
    assert stored == (world.worktree / "score.json").read_bytes()
    assert files.sha256_bytes(stored) == world.last().score_file


def test_nothing_of_a_fault_but_class_and_line_reaches_the_worktree(world: World, referee: Referee):
    """INV-17."""
    reply = submit(referee, world.worktree, text(0.9, "OUTCOME = crash"))
    assert "crash" == world.last().status
    assert {"kind": "KeyError", "line": 3, "message": None} == reply.score["fault"]
    everything = b"".join(p.read_bytes() for p in world.worktree.rglob("*.json")) + reply.message.encode()
    assert b"27123" not in everything
    assert b"1,204" not in everything


def test_a_leak_found_by_the_deep_check_leaves_no_score(world: World, referee: Referee):
    """INV-13."""
    reply = submit(referee, world.worktree, text(0.9, "LEAK = 1"))
    assert ("gate", None) == (world.last().status, reply.score["score"])
    assert SEED_TEXT == (world.worktree / "strategy.py").read_bytes()


def test_identical_bytes_are_answered_from_the_record(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.2))
    reply = submit(referee, world.worktree, text(0.2))
    assert (ReplyKind.RECORD, 1, 1) == (reply.kind, reply.attempts, reply.score["attempt"])
    assert 1 == len(world.racer().attempts)
    assert [1] == world.judge.screened


def test_the_seed_is_answered_from_the_record(world: World, referee: Referee):
    reply = submit(referee, world.worktree, SEED_TEXT)
    assert (ReplyKind.RECORD, 0) == (reply.kind, len(world.racer().attempts))


def test_the_budget_is_exact_and_a_request_behind_it_is_free(world: World, referee: Referee):
    for number in range(5):
        submit(referee, world.worktree, text(0.1, f"N = {number}"))
    reply = submit(referee, world.worktree, text(0.1, "N = 99"))
    assert (ReplyKind.BUDGET, 5, 5) == (reply.kind, reply.attempts, len(world.racer().attempts))


def test_a_text_changed_after_the_request_is_not_judged(world: World, referee: Referee):
    request = ask(world.worktree, text(0.5))
    (world.worktree / "strategy.py").write_bytes(text(0.6))
    referee.poll("alice")
    assert ReplyKind.REFUSED == answer(world.worktree, request).kind
    assert () == world.racer().attempts


def test_a_missing_strategy_comes_back_and_costs_nothing(world: World, referee: Referee):
    (world.worktree / "strategy.py").unlink()
    reply = submit(referee, world.worktree, None)
    assert (ReplyKind.REFUSED, 0) == (reply.kind, reply.attempts)
    assert SEED_TEXT == (world.worktree / "strategy.py").read_bytes()


def test_a_restore_brings_an_archive_tip_and_its_lineage_is_recorded(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9, "SPREAD = 0.5"))
    request = Request(new_id(), RequestKind.RESTORE, lineage="stable")
    ClientMailbox(world.worktree).send(request)
    referee.poll("alice")
    assert ReplyKind.RESTORED == answer(world.worktree, request).kind
    assert SEED_TEXT == (world.worktree / "strategy.py").read_bytes()
    submit(referee, world.worktree, text(0.3))
    assert ("stable", 1) == (world.last().lineage, world.last().parent)
    submit(referee, world.worktree, text(0.31))
    assert world.last().lineage is None


def test_an_empty_lineage_is_refused(world: World, referee: Referee):
    request = Request(new_id(), RequestKind.RESTORE, lineage="distinct")
    ClientMailbox(world.worktree).send(request)
    referee.poll("alice")
    assert ReplyKind.REFUSED == answer(world.worktree, request).kind


def test_a_fault_of_the_machine_is_tried_again_and_never_counted(world: World, referee: Referee):
    """INV-12."""
    failures = [InfrastructureFault("disk"), InfrastructureFault("disk")]

    def fail(attempt: int, source: bytes) -> None:
        if failures:
            raise failures.pop()

    world.judge.before = fail
    submit(referee, world.worktree, text(0.9))
    racer = world.racer()
    assert ("keep", 3, 2) == (racer.attempts[0].status, racer.attempts[0].tries, len(racer.faults))


def test_a_lasting_fault_leaves_the_attempt_open_and_it_goes_on_later(world: World, referee: Referee):
    def fail(attempt: int, source: bytes) -> None:
        raise InfrastructureFault("disk")

    world.judge.before = fail
    request = ask(world.worktree, text(0.9))
    with pytest.raises(InfrastructureFault):
        referee.poll("alice")
    assert world.last().is_open
    world.judge.before = lambda attempt, source: None
    assert referee.poll("alice")
    assert ("keep", 1) == (world.last().status, len(world.racer().attempts))
    assert ReplyKind.VERDICT == answer(world.worktree, request).kind


def test_an_evaluation_cut_three_times_is_a_crash_and_counts(world: World, referee: Referee):
    def cut(attempt: int, source: bytes) -> None:
        raise EvaluationCut("killed during a call")

    world.judge.before = cut
    reply = submit(referee, world.worktree, text(0.9))
    assert ("crash", 3) == (world.last().status, world.last().tries)
    assert "EvaluationCut" == reply.score["fault"]["kind"]


def test_an_arena_killed_in_three_evaluations_counts_a_crash(world: World):
    request = ""
    for start in range(4):
        world.judge = type(world.judge)()
        ledger = Ledger.open(world.layout.ledger)

        def die(attempt: int, source: bytes) -> None:
            raise KeyboardInterrupt

        world.judge.before = die
        with world.referee(ledger) as referee:
            referee.prepare("alice")
            try:
                referee.recover()
                if start == 0:
                    request = ask(world.worktree, text(0.9)).id
                    referee.poll("alice")
            except KeyboardInterrupt:
                continue
    assert ("crash", 3, request) == (world.last().status, world.last().tries, world.last().request)


def test_a_repeated_request_id_is_answered_with_its_own_attempt(world: World, referee: Referee):
    request = ask(world.worktree, text(0.9))
    referee.poll("alice")
    ask(world.worktree, text(0.95), request=request.id)
    referee.poll("alice")
    reply = answer(world.worktree, request)
    assert (ReplyKind.RECORD, 1) == (reply.kind, len(world.racer().attempts))


def test_a_lost_reply_is_written_again_by_recover(world: World, referee: Referee):
    request = ask(world.worktree, text(0.9))
    referee.poll("alice")
    (world.worktree / ".autoquant" / "replies" / f"{request.id}.json").unlink()
    with world.referee() as again:
        again.recover()
    assert ReplyKind.VERDICT == answer(world.worktree, request).kind


def test_the_lineage_of_an_attempt_that_a_kill_cut_short_is_not_the_next_ones(world: World, referee: Referee):
    source = text(0.9)
    files.atomic_write(world.layout.blob(files.sha256_bytes(source)), source)
    files.atomic_write(world.layout.root / "lineages" / "alice", "best")  # it is taken away after the record
    charged = r.AttemptOpened("alice", 1, new_id(), files.sha256_bytes(source), "", 0, lineage="best")
    Ledger.open(world.layout.ledger).append(charged, "2026-11-30T00:00:00Z")
    with world.referee() as again:
        again.recover()
        submit(again, world.worktree, text(0.95))
    assert ["best", None] == [attempt.lineage for attempt in world.racer().attempts]


def test_a_full_disk_keeps_no_evidence_and_a_change_is_put_back_and_told_all_the_same(
    world: World, referee: Referee, monkeypatch: pytest.MonkeyPatch
):
    def write(path: Path, data: str | bytes) -> None:
        if path.parent.name == "evidence":
            raise InfrastructureFault(f"{path}: No space left on device")
        plainly(path, data)

    plainly = files.atomic_write
    monkeypatch.setattr(files, "atomic_write", write)
    (world.worktree / "run.py").unlink()
    (world.worktree / "run.py").write_text("print('keep')\n")
    assert ["run.py"] == [violation.path for violation in referee.audit("alice", None)]
    assert (world.home / "run.py").read_bytes() == (world.worktree / "run.py").read_bytes()


def test_recover_leaves_an_edit_alone_once_the_reply_was_given(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    (world.worktree / "strategy.py").write_bytes(text(1.5))
    with world.referee() as again:
        again.recover()
        again.prepare("alice")
    assert text(1.5) == (world.worktree / "strategy.py").read_bytes()


def test_a_submission_with_a_changed_protected_file_counts_and_earns_nothing(world: World, referee: Referee):
    (world.worktree / "run.py").unlink()
    (world.worktree / "run.py").write_text("print('keep')\n")
    reply = submit(referee, world.worktree, text(0.9))
    assert ("violation", []) == (world.last().status, world.judge.screened)
    assert "run.py" in reply.message
    assert (world.home / "run.py").read_bytes() == (world.worktree / "run.py").read_bytes()
    submit(referee, world.worktree, text(0.9))
    assert "keep" == world.last().status


def test_a_changed_checkout_is_an_incident_and_stops_judging(world: World, referee: Referee, home: Path):
    target = home / "autoquant" / "clock.py"
    before = target.read_bytes()
    try:
        target.write_bytes(before + b"# touched\n")
        ask(world.worktree, text(0.9))
        for _ in range(2):
            with pytest.raises(InfrastructureFault, match=r"clock\.py"):
                referee.poll("alice")
    finally:
        target.write_bytes(before)
    view = Ledger.open(world.layout.ledger).view
    assert (1, 0) == (len(view.incidents), len(view.competitors["alice"].attempts))
    referee.poll("alice")
    assert "keep" == world.last().status


def test_eight_competitors_are_served_at_once(world: World, tmp_path: Path):
    from concurrent.futures import ThreadPoolExecutor

    names = tuple(f"racer-{n}" for n in range(8))
    crowd = World(tmp_path / "crowd", world.home, world.data, competitors=names).create()

    def race(name: str) -> None:
        tree = referee.prepare(name)
        for sharpe in (0.5, 0.2, 1.8):
            submit(referee, tree, text(sharpe))

    with crowd.referee() as referee, ThreadPoolExecutor(8) as pool:
        list(pool.map(race, names))
    assert {("keep", "discard", "keep")} == {tuple(str(a.status) for a in crowd.racer(n).attempts) for n in names}


def test_the_state_read_from_the_record_equals_the_state_as_settled(world: World, referee: Referee):
    from autoquant.arena.referee.standing import Standing
    from autoquant.ratchet.decide import propose, settle
    from autoquant.ratchet.state import RatchetState

    state: RatchetState | None = None
    for sharpe in (0.15, 0.5, 0.52, 0.3, 0.9):
        standing = Standing(world.layout, Ledger.open(world.layout.ledger).view, "alice")
        state = state or standing.state()
        submit(referee, world.worktree, text(sharpe))
        standing = Standing(world.layout, Ledger.open(world.layout.ledger).view, "alice")
        trial = standing.trial(len(standing.racer.attempts))
        proposal = propose(state, trial, noise_floor=0.3)
        confirmation = None
        if proposal.needs_confirmation:
            confirmation = world.judge.confirm(text(sharpe), trial.attempt, referee._judge.screen(text(sharpe), 0))
        _, state = settle(state, trial, proposal, confirmation, noise_floor=0.3, budget=5)
        assert state == standing.state()


def test_the_stored_detail_stays_with_the_arena(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    detail = json.loads(world.layout.evaluation("alice", 1).with_suffix(".detail.json").read_text())
    assert "cut at bar 1,204" == detail["judgement"]["causality_detail"]
    assert isinstance(world.last().decision, r.DecisionSummary)
