"""Finished races of any size for benches and tests: real ledger lines, evaluations of real length, digests that hold.

    layout = write_race(state, competitors=50, attempts=1000)

The ledger's own `seal` chains the lines and one write puts them down, since an fsync for each would take for ever. Each
competitor climbs on its own paths of daily returns, which all share a market. Files are as long as real ones: about
20 kB an evaluation, 41 kB the detail of an accepted one (the only details that are written), 4 kB a strategy. The same
arguments write the same bytes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from autoquant import codec
from autoquant.files import sha256_bytes
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.lines import seal
from autoquant.ledger.replay import Replayer
from autoquant.oracle.records import Digests, Evaluation, Fault, FoldScore, GateResult, Outcome, ShiftedScore, Stress
from autoquant.protocol import PROTOCOL
from autoquant.report.reading import wanted

START = dt.datetime(2026, 11, 1, 8)
FOLDS, DAYS, PATHS = 6, 122, 24
SESSION = 50
"""Attempts of a session."""
FLOOR = 0.35
COLOURS = ("#1D9BF0", "#10A37F", "#D97757", "#8B5CF6", "#BE185D", "#B45309", "#0F766E", "#6B7280")
IDEAS = ("shorter momentum window", "inverse volatility weights", "drop the newest listing", "funding tilt",
         "volatility target 15 %", "slower rebalance in nine tranches", "trend filter on the basket")  # fmt: skip
HEX = "ab" * 32
CREATED = r.RaceCreated(
    race="big", kind="race", protocol=PROTOCOL.digest, protected={f"file{n}.py": HEX for n in range(150)}, code=HEX,
    data=r.DataPin("binance-archive", HEX, HEX, HEX), noise_floor=FLOOR, noise_floor_samples=1000,
    noise_floor_digest=HEX, secret_digest=HEX, seed_strategy=HEX, budget=50, allow_source=None,
    isolation="tamper-evident",
)  # fmt: skip
"""The first record but for race, seed and budget."""
GATES = (
    GateResult("import", True), GateResult("output", True), GateResult("causality", True),
    GateResult("leverage", True, 1.0, 1.000000001, 1e-9, 1, "sum of absolute weights 1, at most 1"),
    GateResult("drawdown", True, 0.1507, 0.25, 0.0993, None, "drawdown of the chained path 0.1507, at most 0.25"),
    GateResult("turnover", True, 34.39, 40.0, 5.61, None, "yearly turnover per gross 34.39, at most 40"),
    GateResult("trades", True, 8739.0, 20.0, 8719.0, None, "trades in total 8739, at least 20"),
    GateResult("exposure", True, 0.1593, 0.05, 0.1093, 3, "volatility 0.1593, at least 0.05"),
)  # fmt: skip


def write_race(
    state: Path, competitors: int, attempts: int, name: str = "big", *, sparse: bool = False
) -> RaceLayout:  # fmt: skip
    """Write a whole race with an opened lockbox below `state`; about four records and 30 kB of files per attempt.

    A `sparse` one lacks the files of attempts that a page of it does not open; its ledger is the same.
    """
    layout = RaceLayout(state, name)
    book = _Book(layout, sparse)
    market = np.random.default_rng(0).normal(0.0004, 0.009, (FOLDS, DAYS))
    racers = [Climber(f"agent-{index:02d}", index, market, book) for index in range(competitors)]
    seed = racers[0].answer(racers[0].best)
    digest = book.blob(partial(strategy_text, np.zeros(60, dtype=int)))
    book.add(replace(CREATED, race=name, seed_strategy=digest, budget=attempts))
    book.add(r.SeedScored(book.write(layout.evaluation("seed", 0), seed.text), seed.evaluation.score))
    for racer in racers:
        colour = COLOURS[racer.index % len(COLOURS)]
        book.add(r.CompetitorJoined(racer.name, "command", "paper-1", "high", colour, attempts))
    book.add(r.ReadinessChecked(manifest_verified=True))
    book.add(r.ArenaStarted(4711, "host"))
    for number in range(1, attempts + 1):
        for racer in racers:
            book.add_all(racer.attempt(number, last=number == attempts))
    for racer in racers:
        book.add(r.CompetitorEnded(racer.name, "done"))
    book.add(r.ArenaStopped("finished"))
    _open_lockbox(book, racers)
    book.close()
    return layout


@dataclass
class _Answer:
    """An evaluation whose folds are plain values and whose daily returns are texts already, one per fold."""

    evaluation: Evaluation
    folds: list[Any]
    days: list[str]

    def text(self) -> str:
        plain = codec.encode(replace(self.evaluation, gates=()))
        text = codec.canonical(plain | {"folds": self.folds, "gates": _encoded(self.evaluation.gates)})
        return text.replace('"daily_returns":[]', f'"daily_returns":[{",".join(self.days)}]', 1)


@cache
def _encoded(gates: tuple[GateResult, ...]) -> Any:
    """A race has a handful of different ones."""
    return codec.encode(gates)


class _Book:
    """The chain of lines, held until `close`, and the files they name, of a sparse race held as well."""

    def __init__(self, layout: RaceLayout, sparse: bool) -> None:
        self.layout = layout
        self._replayer = Replayer()
        self._lines: list[str] = []
        self._head = r.GENESIS
        self._later: dict[tuple[str, int], list[tuple[Path, Callable[[], str]]]] | None = {} if sparse else None
        for folder in (layout.root / "evaluations", layout.root / "blobs", layout.lockbox / "evaluations"):
            folder.mkdir(parents=True)

    def add(self, body: r.RecordBody) -> None:
        """One more record, five seconds later."""
        seq = len(self._lines) + 1
        utc = f"{START + dt.timedelta(seconds=5 * seq):%Y-%m-%dT%H:%M:%SZ}"
        record, line = seal(body, seq=seq, utc=utc, previous=self._head)
        self._replayer.apply(record)
        self._lines.append(line)
        self._head = record.digest

    def add_all(self, bodies: Iterator[r.RecordBody]) -> None:
        for body in bodies:
            self.add(body)

    def write(self, path: Path, text: Callable[[], str], owner: tuple[str, int] | None = None) -> str:
        """A file of an attempt, or of nobody's; its digest."""
        data = text().encode()
        self._keep(path, data, text, owner)
        return sha256_bytes(data)

    def blob(self, text: Callable[[], str], owner: tuple[str, int] | None = None) -> str:
        data = text().encode()
        digest = sha256_bytes(data)
        self._keep(self.layout.blob(digest), data, text, owner)
        return digest

    def _keep(self, path: Path, data: bytes, text: Callable[[], str], owner: tuple[str, int] | None) -> None:
        if self._later is None or owner is None:
            _put(path, data)
        else:
            self._later.setdefault(owner, []).append((path, text))

    def close(self) -> None:
        self.layout.ledger.write_text("".join(line + "\n" for line in self._lines))
        if self._later:
            for name, some in wanted(self._replayer.view().competitors).items():
                for number in some.answers | some.returns:
                    for path, text in self._later[name, number]:
                        _put(path, text().encode())


def _put(path: Path, data: bytes) -> None:
    with suppress(FileExistsError):
        path.parent.mkdir()
    path.write_bytes(data)


class Climber:
    """One competitor: a choice of one path per fold, changed fold by fold; what is better becomes the parent."""

    def __init__(self, name: str, index: int, market: np.ndarray, book: _Book) -> None:
        self.name, self.index, self._book = name, index, book
        self._rng = np.random.default_rng([1, index])
        own = self._rng.normal(0, 0.006, (FOLDS, 1, DAYS)) + market[:, None]
        paths = own + self._rng.normal(0, 0.004, (FOLDS, PATHS, DAYS)) + self._rng.normal(0, 5e-4, (FOLDS, PATHS, 1))
        self._sharpes = paths.mean(axis=2) / paths.std(axis=2, ddof=1) * np.sqrt(365)
        self._folds = [[codec.encode(_fold(n, float(s))) for s in fold] for n, fold in enumerate(self._sharpes)]
        self._texts = [["[" + ",".join(map(repr, path.tolist())) + "]" for path in fold] for fold in paths]
        self.best = np.argsort(self._sharpes, axis=1)[:, PATHS // 3]
        """(FOLDS,) index of the working parent's path in each fold."""
        self._values = np.zeros(60, dtype=int)
        self._official = self._score(self.best)
        self.champion = self._working = 0
        self._archive: dict[str, int | None] = {"best": 0, "cost_robust": 0, "distinct": None, "stable": 0}

    def attempt(self, number: int, last: bool) -> Iterator[r.RecordBody]:
        """The records of one attempt, its files written before each names them."""
        session, place = divmod(number - 1, SESSION)
        if place == 0:
            yield r.SessionStarted(self.name, session + 1, "paper 1.0", None if session == 0 else f"c-{session}")
        values, choice = self._values.copy(), self.best.copy()
        changed = self._rng.integers(60, size=2)
        values[changed] += self._rng.integers(1, 9, size=2)
        choice[self._rng.integers(FOLDS, size=2)] = self._rng.integers(PATHS, size=2)
        idea = f"{IDEAS[int(changed[0]) % len(IDEAS)]}; p{changed[0]:02d} and p{changed[1]:02d} moved, attempt {number}"
        text = partial(strategy_text, values, f"{self.name} {number}")
        strategy = self._book.blob(text, (self.name, number))
        yield r.AttemptOpened(self.name, number, f"{self.index:08x}{number:024x}", strategy, idea, self._working)
        yield r.EvaluationStarted(self.name, number, 1)
        yield self._closed(number, choice, values)
        yield r.UsageCounted(self.name, session + 1, number, 7, 48_000 + 31 * number, 40_000, 2_900, 1_400, 0.1875,
                             "2026-11-30", "paper-1")  # fmt: skip
        if self._accepted:
            yield r.AttemptCommitted(self.name, number, f"{number:040x}")
        if place == SESSION - 1 or last:
            yield r.SessionEnded(self.name, session + 1, "exited", 0, 3_600.5, "early stop", f"c-{session}", "", 900.25)
        if number % 97 == 0:
            yield r.FaultSeen(self.name, None, "RateLimited", "429 twice, waited a minute")

    def answer(self, choice: np.ndarray) -> _Answer:
        """The oracle's answer for a choice of paths."""
        sharpes = [float(value) for value in self._sharpes[np.arange(FOLDS), choice]]
        double, late = tuple(s - 0.2134567 for s in sharpes), tuple(s - 0.0312345 for s in sharpes)
        evaluation = Evaluation(
            Outcome.SCORED, Digests(PROTOCOL.digest, HEX, HEX, HEX), self._score(choice), (), GATES,
            self._score(choice) - 0.2134567, double, self._score(choice) - 0.0312345, late, 0.15071889480247622,
            34.007028819339396, 34.39347704653378, 8739,
        )  # fmt: skip
        places = list(enumerate(choice.tolist()))
        return _Answer(evaluation, [self._folds[n][p] for n, p in places], [self._texts[n][p] for n, p in places])

    def _closed(self, number: int, choice: np.ndarray, values: np.ndarray) -> r.AttemptClosed:
        kind, layout, owner = self._rng.random(), self._book.layout, (self.name, number)
        self._accepted = False
        if kind < 0.06:
            fault = Evaluation(
                Outcome.CRASH, Digests(PROTOCOL.digest, HEX, HEX, HEX), fault=Fault("ZeroDivisionError", 41)
            )
            digest = self._book.write(layout.evaluation(self.name, number), _Answer(fault, [], []).text, owner)
            return r.AttemptClosed(self.name, number, "crash", None, None, digest, None)
        answer = self.answer(choice)
        score, delta = self._score(choice), self._score(choice) - self._score(self.best)
        status = "gate" if kind < 0.15 else self._status(score, delta, kind)
        if status == "gate":
            failed = replace(GATES[5], passed=False, value=51.25, headroom=-11.25)
            answer.evaluation = replace(answer.evaluation, outcome=Outcome.GATE, gates=(*GATES[:5], failed, *GATES[6:]))
        digest = self._book.write(layout.evaluation(self.name, number), answer.text, owner)
        better = int((self._sharpes[np.arange(FOLDS), choice] > self._sharpes[np.arange(FOLDS), self.best]).sum())
        self._accepted = status in r.ACCEPTED
        more = partial(_detail, answer)
        detail = self._book.write(layout.detail(self.name, number), more, owner) if self._accepted else None
        if status in ("keep", "search"):
            self.best, self._values, self._working = choice, values, number
        if status == "keep":
            self._official, self.champion = score, number
        slots = ("distinct",) if status == "archive" else ("best",) if self._accepted else ()
        self._archive |= dict.fromkeys(slots, number)
        decision = r.DecisionSummary(
            reason=f"search asks for Δscore > 0.0200 (got {delta:.4f}), better folds ≥ 4 (got {better}), "
            f"Δscore at 2× costs > 0.0000 (got {delta - 0.01:.4f})",
            delta=delta, folds_better=better, slots=slots, champion=self.champion, working=self._working,
            archive=dict(self._archive), drawdown=0.06543089121556461, turnover=28.05049876152766, trades=10886,
            beyond_error=bool(delta > 0.1) if self._accepted else None, gate="turnover" if status == "gate" else None,
            mask_dependent=False if self._accepted else None,
            timings={"accounting": 0.0310515, "causality": 0.79275914, "strategy": 0.34418495, "total": 1.16799563},
        )  # fmt: skip
        return r.AttemptClosed(
            self.name, number, status, score, score - 0.2134567, digest, HEX, decision, detail
        )  # fmt: skip

    def _status(self, score: float, delta: float, kind: float) -> str:
        if score - self._official > FLOOR:
            return "keep"
        if delta > 0.02:
            return "search"
        return "archive" if kind > 0.95 else "discard"

    def _score(self, choice: np.ndarray) -> float:
        sharpes = self._sharpes[np.arange(FOLDS), choice]
        return float(sharpes.mean() - PROTOCOL.score_std_weight * sharpes.std())


def strategy_text(values: np.ndarray, note: str = "the seed") -> str:
    """About 4 kB of Python that differ from another's where its values do."""
    lines = map(_parameter, range(len(values)), values.tolist())
    return "\n".join((f'"""A basket that follows trends: {note}."""', "", *lines, "", *["# as ever"] * 50, ""))


@cache
def _parameter(place: int, value: int) -> str:
    return f"P{place:02d} = {value}  # look-back or weight number {place}, in bars"


def _fold(place: int, sharpe: float) -> FoldScore:
    growth = sharpe * 0.0612345678
    return FoldScore(
        f"202{3 + place // 2}-0{1 + place}-22T00:00:00Z", f"202{3 + place // 2}-0{5 + place // 2}-24T00:00:00Z", sharpe,
        0.08902860569502241, 33.559117974117314, 1482, 0.9857431921131211, 0.16775843008280386, growth,
        0.00586868276590395, 0.0053679543206838825, 0.005084197899979876, -0.011949341150198665, growth + 0.0283, False,
    )  # fmt: skip


def _detail(answer: _Answer) -> str:
    """As the referee stores it: the judgement, a second evaluation and the stress."""
    days = tuple(ShiftedScore(days, (answer.evaluation.score or 0.0) - days / 100) for days in (3, 7, 14, 21))
    stress = codec.dumps(Stress(days, 0.07692008967564011, 3.2207216587551595, 1.8468351242183407, 4.594608193291978))
    confirmation = (
        f'{{"causality_detail":"","causality_passed":true,"failure":null,"mask_gap":2.4868995751603507e-14,'
        f'"second":{answer.text()},"seconds":10.9642,"stress":{stress}}}'
    )
    judgement = f'{{"causality_detail":"","evaluation":{answer.text()},"timings":{{"total":3.5052283}}}}'
    return f'{{"confirmation":{confirmation},"judgement":{judgement},"schema_version":1}}'


def _open_lockbox(book: _Book, racers: list[Climber]) -> None:
    entries = [r.LockboxEntry("seed", None, 0, HEX)]
    entries += [r.LockboxEntry(racer.name, racer.name, racer.champion, HEX) for racer in racers]
    book.add(r.LockboxReserved(tuple(entries)))
    book.add(r.LockboxFetched({"archives": 12}, accept_changed=False))
    for place, entry in enumerate(entries):
        year = np.random.default_rng([2, place]).normal(0.0006, 0.012, 365)
        sharpe = float(year.mean() / year.std(ddof=1) * np.sqrt(365))
        answer = _Answer(
            Evaluation(Outcome.SCORED, Digests(PROTOCOL.digest, HEX, HEX, HEX), sharpe, (), GATES,
                       max_drawdown=0.15, split="lockbox"),
            [codec.encode(_fold(0, sharpe))],
            ["[" + ",".join(map(repr, year.tolist())) + "]"],
        )  # fmt: skip
        digest = book.write(book.layout.lockbox_evaluation(entry.name), answer.text)
        verdict = "confirmed" if sharpe > 1.6 else "rejected" if sharpe < 0 else "insufficient evidence"
        book.add(r.LockboxScored(entry.name, digest, sharpe, verdict, 0.5 + 0.45 * float(np.tanh(sharpe))))
    book.add(r.LockboxClosed())
