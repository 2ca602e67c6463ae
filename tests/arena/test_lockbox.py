from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from referee_world import SEED_TEXT, World, evaluate, submit, text

from autoquant import codec, files
from autoquant.arena import opening, race
from autoquant.arena.lockbox import Opening, open_once, require_openable, scored, warning
from autoquant.arena.opening import LockboxOptions, open_lockbox_of
from autoquant.arena.show.voice import Voice
from autoquant.clock import SystemClock
from autoquant.environment import environment_here
from autoquant.errors import DataError, InfrastructureFault, UserError
from autoquant.ledger import records as r
from autoquant.ledger.judged import sealed_set
from autoquant.ledger.ledger import Ledger, read_records
from autoquant.ledger.views import RaceView
from autoquant.oracle.records import Evaluation, GateResult, Outcome
from autoquant.protocol import PROTOCOL

UTC = "2026-11-30T00:00:00Z"


@dataclass(frozen=True)
class FakeRecord:
    panel: str = "p"


@dataclass(frozen=True)
class FakeData:
    record: FakeRecord = FakeRecord()


@dataclass
class FakeSealed:
    """Counts what is fetched and judged; may fail once before an entry."""

    ledger: Ledger
    fetches: int = 0
    judged: list[str] = field(default_factory=list)
    referred: list[str] = field(default_factory=list)
    fail_at: str | None = None

    def fetch(self) -> FakeData:
        self.fetches += 1
        assert self.ledger.view.lockbox.is_reserved
        return FakeData()

    def judge(self, source: bytes, data: FakeData, entry: r.LockboxEntry) -> Evaluation:
        if entry.name == self.fail_at:
            self.fail_at = None
            raise InfrastructureFault("disk: full")
        self.judged.append(entry.name)
        evaluation = evaluate(source)
        return replace(evaluation, folds=evaluation.folds[:1], daily_returns=evaluation.daily_returns[:1])

    def refer(self, data: FakeData) -> Evaluation:
        if self.fail_at == "market":
            self.fail_at = None
            raise InfrastructureFault("disk: full")
        self.referred.append("market")
        return evaluate(text(0.4))

    def opening(self) -> Opening:
        return Opening(self.fetch, self.judge, {"market": self.refer}, False)  # type: ignore[arg-type, dict-item]


@pytest.fixture
def ended(tmp_path: Path, home: Path, data: Path) -> World:
    """Alice is a control that kept; bob is a control that has kept the seed."""
    world = World(tmp_path, home, data, competitors=("alice", "bob")).create()
    with world.referee() as referee:
        submit(referee, referee.prepare("alice"), text(0.9))
    ledger = Ledger.open(world.layout.ledger)
    for name in ("alice", "bob"):
        ledger.append(r.CompetitorEnded(name, "done"), UTC)
    return world


def open_it(world: World, prepare: Callable[[FakeSealed], None] = lambda sealed: None) -> tuple[RaceView, FakeSealed]:
    ledger = Ledger.open(world.layout.ledger)
    sealed = FakeSealed(ledger)
    prepare(sealed)
    return open_once(world.layout, ledger, sealed.opening(), SystemClock()), sealed


def test_the_set_is_the_seed_every_champion_and_every_control(ended: World):
    view = Ledger.open(ended.layout.ledger).view
    assert [("seed", None, 0), ("alice", "alice", 1), ("bob", "bob", 0)] == [
        (entry.name, entry.competitor, entry.attempt) for entry in sealed_set(view)
    ]
    assert "for 0 champions, the seed and 2 controls" in warning(view)
    assert "2025-07 … 2026-06" in warning(view)


def test_an_agent_without_a_champion_is_not_in_the_set(world: World):
    ledger = Ledger.open(world.layout.ledger)
    view = ledger.view
    agent = replace(view.competitors["alice"], joined=replace(view.competitors["alice"].joined, harness="codex"))
    assert ["seed"] == [entry.name for entry in sealed_set(replace(view, competitors={"alice": agent}))]


def test_it_stays_shut_while_somebody_may_race(world: World):
    with pytest.raises(UserError, match="alice may still race"):
        open_it(world)


def test_the_set_is_reserved_before_anything_is_fetched_and_each_verdict_recorded(ended: World):
    view, sealed = open_it(ended)
    kinds = [record.kind for record in read_records(ended.layout.ledger)][-7:]
    judged = ["lockbox_reference", *["lockbox_scored"] * 3, "lockbox_closed"]
    assert ["lockbox_reserved", "lockbox_fetched", *judged] == kinds
    assert view.lockbox.is_closed
    assert view.lockbox.scores is not None
    assert {"seed", "alice", "bob"} == set(view.lockbox.scores)
    digest = files.sha256_bytes(ended.layout.lockbox_evaluation("alice").read_bytes())
    assert digest == view.lockbox.scores["alice"].evaluation
    assert ["seed", "alice"] == sealed.judged  # bob's text and mask are the seed's


def test_a_second_opening_is_refused_and_says_when_it_was_opened(ended: World):
    view, _ = open_it(ended)
    with pytest.raises(UserError, match=f"was opened on {view.lockbox.reserved_utc}; it opens once") as caught:
        open_it(ended)
    assert 2 == caught.value.exit_code


def test_an_opening_cut_short_goes_on_with_the_same_set_entry_by_entry(ended: World):
    with pytest.raises(InfrastructureFault):
        open_it(ended, lambda sealed: setattr(sealed, "fail_at", "alice"))
    half = Ledger.open(ended.layout.ledger).view
    assert ["alice", "bob"] == [entry.name for entry in half.lockbox.pending]
    view, sealed = open_it(ended)
    assert ["alice"] == sealed.judged
    assert half.lockbox.entries == view.lockbox.entries
    assert view.lockbox.is_closed


def test_the_market_is_drawn_beside_the_entries_and_judged_by_nobody(ended: World):
    """INV-28."""
    view, _ = open_it(ended)
    (reference,) = view.lockbox.references
    path = ended.layout.lockbox_reference("market")
    assert ("market", files.sha256_bytes(path.read_bytes())) == (reference.name, reference.evaluation)
    assert "market" not in {entry.name for entry in view.lockbox.entries or ()} | set(view.lockbox.scores or {})


def test_a_competitor_may_be_called_as_a_reference_is(ended: World):
    assert ended.layout.lockbox_reference("market") != ended.layout.lockbox_evaluation("market")


@pytest.mark.parametrize(("fail_at", "then"), [("market", ["market"]), ("seed", []), ("alice", [])])
def test_an_opening_cut_short_anywhere_has_its_reference_once(ended: World, fail_at: str, then: list[str]):
    with pytest.raises(InfrastructureFault):
        open_it(ended, lambda sealed: setattr(sealed, "fail_at", fail_at))
    view, sealed = open_it(ended)
    assert (then, 1, True) == (sealed.referred, len(view.lockbox.references), view.lockbox.is_closed)


@pytest.mark.parametrize("kept", range(1, 8))
def test_an_opening_killed_after_any_of_its_records_ends_with_the_same_records(ended: World, kept: int):
    """INV-28: cut after any line, the rest comes out as it was, byte for byte but for times and the chain."""
    before = Ledger.open(ended.layout.ledger).length
    open_it(ended)
    whole = [record.body for record in read_records(ended.layout.ledger)]
    lines = ended.layout.ledger.read_bytes().splitlines(keepends=True)
    assert before + 7 == len(lines)
    ended.layout.ledger.write_bytes(b"".join(lines[: before + kept - 1]))
    open_it(ended)
    assert whole == [record.body for record in read_records(ended.layout.ledger)]


def test_an_opening_whose_folder_was_deleted_midway_judges_again_what_it_needs(ended: World):
    with pytest.raises(InfrastructureFault):
        open_it(ended, lambda sealed: setattr(sealed, "fail_at", "alice"))
    shutil.rmtree(ended.layout.lockbox)
    view, sealed = open_it(ended)
    assert ["alice", "bob"] == sealed.judged
    assert view.lockbox.is_closed


def test_a_fetch_that_fails_leaves_the_set_reserved(ended: World):
    def refuse() -> FakeData:
        raise DataError("BTCUSDT: archive changed")

    with pytest.raises(DataError):
        open_it(ended, lambda sealed: setattr(sealed, "fetch", refuse))
    view = Ledger.open(ended.layout.ledger).view
    assert (True, None) == (view.lockbox.is_reserved, view.lockbox.fetched)
    require_openable(view)


@pytest.mark.parametrize(
    ("mean", "sharpe", "gate", "expected"),
    [
        (0.004, 2.0, True, "confirmed"),
        (0.0002, 0.2, True, "insufficient evidence"),
        (0.004, 2.0, False, "rejected"),
        (-0.001, -0.5, True, "rejected"),
        (0.0, 0.0, True, "rejected"),
    ],
)
def test_a_verdict_needs_gates_a_positive_sharpe_and_evidence(mean: float, sharpe: float, gate: bool, expected: str):
    stream = np.random.default_rng(1).normal(0.0, 0.02, 365)
    returns = tuple(float(x) for x in stream - stream.mean() + mean)
    base = evaluate(text(sharpe))
    evaluation = replace(
        base, folds=base.folds[:1], daily_returns=(returns,), gates=(GateResult("drawdown", passed=gate),)
    )
    verdict = scored("x", evaluation, "d")
    assert (expected, sharpe) == (verdict.verdict, verdict.sharpe)


def test_a_strategy_that_does_not_run_on_the_sealed_year_is_rejected_without_a_number():
    verdict = scored("x", evaluate(text(0.1, "OUTCOME = crash")), "d")
    assert ("rejected", None, None) == (verdict.verdict, verdict.sharpe, verdict.probability)
    causal = Evaluation(Outcome.GATE, evaluate(SEED_TEXT).digests, gates=(GateResult("causality", passed=False),))
    assert "rejected" == scored("x", causal, "d").verdict


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_races_name_has_to_be_typed(ended: World, monkeypatch: pytest.MonkeyPatch):
    view = Ledger.open(ended.layout.ledger).view
    monkeypatch.setattr("sys.stderr", Terminal())
    monkeypatch.setattr("sys.stdin", Terminal("winter\n"))
    with pytest.raises(UserError, match="not the race's name"):
        opening._ask(view, False, Voice())
    monkeypatch.setattr("sys.stdin", Terminal("autumn\n"))
    opening._ask(view, False, Voice())
    monkeypatch.setattr("sys.stdin", Terminal(""))
    opening._ask(view, True, Voice())


def test_without_a_terminal_it_stays_shut_unless_yes_was_said_or_it_was_begun(
    ended: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(UserError, match="nobody can be asked here") as refused:
        opening._ask(Ledger.open(ended.layout.ledger).view, False, Voice())
    assert "--yes" in refused.value.hint
    opening._ask(Ledger.open(ended.layout.ledger).view, True, Voice())
    open_it(ended)
    opening._ask(Ledger.open(ended.layout.ledger).view, False, Voice())


def test_what_was_fetched_stands_in_the_record_as_plain_json(ended: World):
    view, _ = open_it(ended)
    assert view.lockbox.fetched is not None
    assert {"panel": "p"} == json.loads(codec.dumps(view.lockbox.fetched.data))


def test_the_command_holds_the_races_lock_and_says_which_program_it_is(ended: World, monkeypatch: pytest.MonkeyPatch):
    """INV-15, INV-37: who comes second is told in one line, whatever has been written so far."""
    ground = SimpleNamespace(manifest=SimpleNamespace(is_synthetic=False), code="c0de")
    monkeypatch.setattr(race, "survey", lambda home, data_root: ground)
    monkeypatch.setattr(race, "require_same_ground", lambda view, ground: None)
    sealed = FakeSealed(Ledger.open(ended.layout.ledger))
    monkeypatch.setattr(opening, "_fetch", lambda *_: FakeData())
    monkeypatch.setattr(opening, "_Judge", lambda *_: sealed.judge)
    monkeypatch.setattr(opening, "_pins", lambda *_: None)
    monkeypatch.setattr(opening, "buy_and_hold", lambda *_, **__: evaluate(text(0.4)))
    monkeypatch.setattr(FakeData, "panel", None, raising=False)
    options = LockboxOptions(ended.home, ended.data, ended.layout.root.parents[1], "autumn", yes=True)
    before = ended.layout.ledger.read_bytes()
    with files.exclusive_lock(ended.layout.lock, "another arena"), pytest.raises(UserError, match="another arena"):
        open_lockbox_of(options, Voice())
    assert before == ended.layout.ledger.read_bytes()
    assert "alice" in open_lockbox_of(options, Voice())
    (reserved,) = (one.body for one in read_records(ended.layout.ledger) if isinstance(one.body, r.LockboxReserved))
    assert r.OpenedBy(PROTOCOL.digest, "c0de", environment_here()) == reserved.by
    with pytest.raises(UserError, match="it opens once"):
        open_lockbox_of(options, Voice())
