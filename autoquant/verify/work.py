"""One evaluation as a piece of work: everything it depends on in one frozen value, so that any process can do it.

Doing it again gives the same answer, and its key names it. A worker keeps the panel and the judge it used last.
"""

from __future__ import annotations

import atexit
import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import AutoQuantError, DataError
from autoquant.executor import LocalPool
from autoquant.market import Panel, load_panel
from autoquant.market.synthetic import market_panel
from autoquant.oracle.calibrate import CALIBRATION_SEED, NoiseFloor, calibrate
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.judge import Judge, Pins
from autoquant.oracle.records import Confirmation, Evaluation, Judgement
from autoquant.oracle.reference import buy_and_hold
from autoquant.oracle.sealed import judge_lockbox
from autoquant.protocol import PROTOCOL
from autoquant.sandbox import strategy_seal


class Depth(StrEnum):
    """What is asked of the oracle."""

    SCREEN = "screen"
    CONFIRM = "confirm"
    """Screen, and the deep check behind it."""
    SEALED = "sealed"
    MARKET = "market"
    """Buy and hold on the sealed year; no strategy."""
    FLOOR = "floor"
    """The noise floor, with the seed's weights."""


@dataclass(frozen=True)
class PanelSource:
    """Where a panel comes from, and what it must be.

    Parameters
    ----------
    digest : of the whole panel; another one is refused.
    folder, split : a stored panel; None for a made-up market.
    seed, lockbox_seed : of a made-up market.
    """

    digest: str
    folder: str | None = None
    split: str = "valid"
    seed: int | None = None
    lockbox_seed: int | None = None


@dataclass(frozen=True)
class Work:
    """One evaluation.

    Parameters
    ----------
    who : for messages; no number depends on it.
    code, secret : of the race; pins and masks.
    jobs : strategy calls at a time; no number depends on it.
    samples : of the noise floor.
    """

    who: str
    depth: Depth
    panel: PanelSource
    code: str
    secret: bytes
    source: bytes
    attempt: int
    jobs: int = 1
    samples: int = 0

    @property
    def key(self) -> str:
        """sha256 of what the answer depends on: equal keys, equal answers."""
        parts = {
            "depth": self.depth.value,
            "protocol": PROTOCOL.digest,
            "code": self.code,
            "data": self.panel.digest,
            "secret": files.sha256_bytes(self.secret),
            "strategy": files.sha256_bytes(self.source),
            "attempt": self.attempt,
            "samples": self.samples,
        }
        return files.sha256_bytes(codec.dumps(parts).encode())


@dataclass(frozen=True)
class Answer:
    """What the oracle said; with `fault`, why it could not."""

    key: str
    evaluation: Evaluation | None = None
    detail: str = ""
    """Which cut, which bar."""
    confirmation: Confirmation | None = None
    fault: str = ""
    floor: NoiseFloor | None = None


Evaluator = Callable[[Work], Answer]


def evaluate(work: Work) -> Answer:
    """Do a piece of work. The machine's faults are an answer too: nothing is known about the strategy then."""
    try:
        panel = panel_of(work.panel)
        pins = Pins(PROTOCOL.digest, work.code, work.panel.digest)
        match work.depth:
            case Depth.MARKET:
                return Answer(work.key, buy_and_hold(panel, pins=pins))
            case Depth.SEALED:
                judged = judge_lockbox(
                    work.source,
                    panel,
                    pins=pins,
                    secret=work.secret,
                    attempt=work.attempt,
                    jobs=work.jobs,
                    seal=strategy_seal(),
                )
                return Answer(work.key, judged.evaluation, judged.causality_detail)
            case Depth.FLOOR:
                return Answer(work.key, floor=_floor(work, pins))
        judge = _judge_of(work.panel, pins, work.secret, work.jobs)
        judged = judge.screen(work.source, work.attempt)
        deep = _confirmed(judge, work, judged) if work.depth is Depth.CONFIRM else None
        return Answer(work.key, judged.evaluation, judged.causality_detail, deep)
    except AutoQuantError as error:
        return Answer(work.key, fault=error.message)


def panel_of(source: PanelSource) -> Panel:
    """The panel in memory, held against its digest.

    Raises
    ------
    DataError : another panel than the race's.
    """
    return _panel(source)


@functools.lru_cache(maxsize=2)
def _panel(source: PanelSource) -> Panel:
    if source.folder is None:
        if source.seed is None:
            raise DataError("no data for these numbers")
        panel = market_panel(source.seed, source.lockbox_seed)
    else:
        stored = load_panel(Path(source.folder), source.split)
        panel = replace(stored, cube=stored.cube.copy())
    if panel.digest != source.digest:
        raise DataError(f"the {source.split} panel is {panel.digest[:12]}, the race's is {source.digest[:12]}")
    return panel


@functools.lru_cache(maxsize=1)
def _judge_of(source: PanelSource, pins: Pins, secret: bytes, jobs: int) -> Judge:
    judge = Judge(panel_of(source), valid_windows(), pins=pins, secret=secret, jobs=jobs, seal=strategy_seal())
    atexit.register(judge.close)
    return judge


def _floor(work: Work, pins: Pins) -> NoiseFloor:
    judge = _judge_of(work.panel, pins, work.secret, work.jobs)
    weights = [run.on_panel(len(judge.panel)) for run in judge.weights(work.source)]
    with LocalPool("threads", work.jobs) as workers:
        return calibrate(
            judge.panel,
            judge.windows,
            weights,
            samples=work.samples,
            seed=CALIBRATION_SEED,
            digests=pins.of(work.source),
            executor=workers,
        )


def _confirmed(judge: Judge, work: Work, judged: Judgement) -> Confirmation | None:
    return judge.confirm(work.source, work.attempt, judged) if judged.evaluation.score is not None else None
