"""A small race for referee tests: a real checkout copy, real git, real ledger; the judge reads scores off the text.

A strategy text is lines of `NAME = value`: `SHARPE` (every fold's), `SPREAD` (of the first and last), `OUTCOME` (an
`Outcome`), `PATH` (which daily returns), `LEAK` (found by the deep check). What it stands for is not run here.
"""

from __future__ import annotations

import datetime as dt
import io
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from autoquant import codec, files
from autoquant.arena import protected
from autoquant.arena.referee.desk import Desk
from autoquant.arena.referee.mailbox import ClientMailbox, Reply, Request, RequestKind, new_id
from autoquant.arena.referee.referee import RaceFacts, Referee
from autoquant.arena.referee.standing import SEED
from autoquant.clock import day_ms
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import AttemptView, CompetitorView
from autoquant.market.manifest import Contract, FilePin, Gap, LockboxPin, Manifest, PanelPin, save_manifest
from autoquant.market.store import PanelHead
from autoquant.oracle.records import (
    Confirmation,
    Digests,
    Evaluation,
    Fault,
    FoldScore,
    GateResult,
    Judgement,
    Outcome,
    Timings,
)

REPOSITORY = Path(__file__).resolve().parents[2]
SEED_TEXT = b"SHARPE = 0.1\n"
COMPETITOR = "alice"
RACE = "autumn"
BARS = 12


def text(sharpe: float, *more: str) -> bytes:
    """A strategy with that Sharpe ratio in every fold."""
    return "".join(f"{line}\n" for line in (f"SHARPE = {sharpe}", *more)).encode()


@dataclass
class TickingClock:
    """Every look at it is a second later; sleeping takes no time."""

    seconds: int = 0

    def now(self) -> dt.datetime:
        self.seconds += 1
        return dt.datetime(2026, 11, 30, tzinfo=dt.UTC) + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        self.seconds += 1
        return float(self.seconds)

    def sleep(self, seconds: float) -> None:
        self.seconds += 1


@dataclass
class PaperJudge:
    """Deterministic scores from the text. `before` is called first, with attempt and source."""

    before: Callable[[int, bytes], None] = lambda attempt, source: None
    screened: list[int] = field(default_factory=list)

    def screen(self, source: bytes, attempt: int) -> Judgement:
        self.screened.append(attempt)
        self.before(attempt, source)
        return Judgement(evaluate(source), Timings(total=1.0), "cut at bar 1,204")

    def confirm(self, source: bytes, attempt: int, judgement: Judgement) -> Confirmation:
        if "LEAK" in _values(source):
            return Confirmation(False, None, None, "uses row t+1 at bar 99", 2.0)
        return Confirmation(True, judgement.evaluation, 0.0, "", 2.0)


def evaluate(source: bytes) -> Evaluation:
    """What the paper oracle says about a text."""
    values = _values(source)
    digests = Digests("p", "c", "d", files.sha256_bytes(source))
    outcome = Outcome(values.get("OUTCOME", "scored"))
    if outcome in (Outcome.INVALID, Outcome.CRASH, Outcome.TIMEOUT):
        return Evaluation(outcome, digests, fault=Fault("KeyError", 3, "price was 27123.5"))
    sharpe = float(values.get("SHARPE", "0"))
    stream = np.random.default_rng(int(values.get("PATH", "1")))
    returns = tuple(tuple(float(x) for x in stream.normal(0.001, 0.02, 10)) for _ in range(6))
    spread = float(values.get("SPREAD", "0"))
    folds = tuple(
        FoldScore("2023-01-22", "2023-05-24", each, 0.1, 20.0, 50, 0.8, 0.2, 0.1, 0.01, 0.01, 0.0, 0.0, 0.12, False)
        for each in (sharpe + spread, *[sharpe] * 4, sharpe - spread)
    )
    gates = (GateResult("drawdown", outcome is Outcome.SCORED, 0.1, 0.25, 0.15),)
    return Evaluation(
        outcome,
        digests,
        score=sharpe,
        folds=folds,
        gates=gates,
        score_double_cost=sharpe - 0.05,
        score_delayed=sharpe - 0.01,
        max_drawdown=0.1,
        turnover=20.0,
        trades=300,
        daily_returns=returns,
    )


def _values(source: bytes) -> dict[str, str]:
    return dict(re.findall(r"^(\w+) = (.*)$", source.decode(errors="replace"), re.MULTILINE))


def make_home(folder: Path) -> Path:
    """A copy of the checkout's protected files and the seed, with its own protected.sha256."""
    shutil.copytree(REPOSITORY / "autoquant", folder / "autoquant", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*protected.COMMANDS, *protected.TEXTS):
        if (REPOSITORY / name).is_file():
            shutil.copy(REPOSITORY / name, folder / name)
    (folder / "strategy.py").write_bytes(SEED_TEXT)
    files.atomic_write(folder / protected.NAME, protected.render(protected.compute(folder)))
    return folder


def make_data(folder: Path) -> Path:
    """A data directory of twelve bars and one contract, with facts from later years in its manifest."""
    head = PanelHead(1, day_ms("2022-12-30"), BARS, 14_400_000, ("BTCUSDT",), (1,), (day_ms("2024-01-01"),))
    cube = io.BytesIO()
    np.save(cube, np.ones((8, BARS, 1)))
    for split in ("train", "valid"):
        files.atomic_write(folder / f"{split}.npy", cube.getvalue())
        files.atomic_write(folder / f"{split}.json", codec.dumps(head))
    pin = PanelPin("ab" * 32, BARS, "2022-12-30T00:00:00Z", "2022-12-31T20:00:00Z")
    manifest = Manifest(
        schema_version=1,
        source="synthetic",
        base_url=None,
        created="2026-11-30T00:00:00Z",
        bar_hours=4,
        files=(FilePin("k/BTCUSDT-2024-01.zip", "u", 1, "ab", 1, False),),
        contracts=(Contract("BTCUSDT", 1, "2020-01-01", "2024-01-01", 9, 9, "flat", 0, 0),),
        gaps=(Gap("BTCUSDT", "2021-05-01T00:00:00Z", "2021-05-01T04:00:00Z", 2), Gap("B", "2024", "2024", 1)),
        repairs=(),
        funding_gaps=(),
        splits={"train": pin, "valid": pin},
        lockbox=(LockboxPin("k/BTCUSDT-2025-07.zip", "cd"),),
        synthetic_seed=7,
    )
    save_manifest(folder, manifest)
    return folder


def created_in(home: Path, race: str, seed: str, budget: int, isolation: str = "tamper-evident") -> r.RaceCreated:
    """The first record of a race under the code of a checkout."""
    return r.RaceCreated(
        race=race,
        kind="race",
        protocol="p",
        protected=protected.load(home),
        code=protected.code_digest(home),
        data=r.DataPin("synthetic", "m", "t", "v"),
        noise_floor=0.3,
        noise_floor_samples=1000,
        noise_floor_digest="n",
        secret_digest="s",
        seed_strategy=seed,
        budget=budget,
        allow_source=None,
        isolation=isolation,
    )


@contextmanager
def serving(desk: Desk, competitor: str = COMPETITOR) -> Iterator[None]:
    """A thread that serves a competitor's requests, as an arena does."""
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if not desk.poll(competitor):
                time.sleep(0.01)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass
class World:
    """A race with one competitor (or more) on disk."""

    root: Path
    home: Path
    data: Path
    judge: PaperJudge = field(default_factory=PaperJudge)
    clock: TickingClock = field(default_factory=TickingClock)
    budget: int = 5
    competitors: tuple[str, ...] = (COMPETITOR,)
    isolation: str = "tamper-evident"

    @property
    def layout(self) -> RaceLayout:
        return RaceLayout(self.root / "state", RACE)

    @property
    def worktree(self) -> Path:
        return self.layout.worktree(COMPETITOR)

    def create(self) -> World:
        """Write the race's first records; does nothing for a race that is there."""
        ledger = Ledger.open(self.layout.ledger)
        if ledger.length:
            return self
        seed = files.sha256_bytes(SEED_TEXT)
        files.atomic_write(self.layout.blob(seed), SEED_TEXT)
        evaluation = codec.dumps(evaluate(SEED_TEXT)).encode()
        files.atomic_write(self.layout.evaluation(SEED, 0), evaluation)
        utc = "2026-11-30T00:00:00Z"
        ledger.append(created_in(self.home, RACE, seed, self.budget, self.isolation), utc)
        ledger.append(r.SeedScored(files.sha256_bytes(evaluation), 0.1), utc)
        for name in self.competitors:
            ledger.append(r.CompetitorJoined(name, "control", None, None, "#112233", self.budget), utc)
        return self

    def referee(self, ledger: Ledger | None = None) -> Referee:
        """A referee over the record as it is on disk, as a restarted arena would make it."""
        facts = RaceFacts(noise_floor=0.3, data_directory=self.data, fault_wait_seconds=0.0)
        return Referee(self.layout, ledger or Ledger.open(self.layout.ledger), self.judge, facts, self.clock, self.home)

    def racer(self, name: str = COMPETITOR) -> CompetitorView:
        """The competitor as the ledger on disk says."""
        return Ledger.open(self.layout.ledger).view.competitors[name]

    def last(self) -> AttemptView:
        return self.racer().attempts[-1]


def ask(worktree: Path, source: bytes | None, description: str = "", request: str | None = None) -> Request:
    """Write strategy.py (unless None) and drop a request, as run.py does."""
    if source is not None:
        (worktree / "strategy.py").unlink(missing_ok=True)
        (worktree / "strategy.py").write_bytes(source)
    try:
        digest = files.sha256_bytes(files.read_regular(worktree, "strategy.py", 1 << 18))
    except (OSError, files.NotRegularFile):
        digest = ""
    item = Request(request or new_id(), RequestKind.SUBMIT, digest, description)
    ClientMailbox(worktree).send(item)
    return item


def answer(worktree: Path, request: Request) -> Reply:
    """The reply to a request; it has to be there."""
    reply = ClientMailbox(worktree).reply(request)
    assert reply is not None
    return reply


def submit(referee: Referee, worktree: Path, source: bytes | None, description: str = "") -> Reply:
    """Ask, have it served, and read the reply."""
    request = ask(worktree, source, description)
    assert referee.poll(worktree.name)
    return answer(worktree, request)
