"""From a checkout's own results.tsv, written by run.py outside a race, to the page's model. Reads; never writes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from autoquant import files
from autoquant.ledger.records import STATUSES
from autoquant.ledger.views import COLUMNS
from autoquant.report import sources
from autoquant.report.model import Attempt, Entrant, Journal, Step
from autoquant.report.text import clean, count, fixed

NAME = "results.tsv"
_MAXIMUM_FILE = 1 << 24
_REQUIRED = frozenset({"attempt", "status", "score"})


def read_journal(home: Path, source: str | None) -> Journal | None:
    """The journal below `home`; None when there is none, or when it holds no row.

    A line that is no row (wrong number of cells, no attempt number, unknown status) is counted and left out.

    Parameters
    ----------
    home : the checkout.
    source : name of the data set up there now, None when there is none.
    """
    try:
        data = files.read_regular(home, NAME, _MAXIMUM_FILE)
    except (OSError, files.NotRegularFile):
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    header = lines[0].rstrip("\r").split("\t")
    if _REQUIRED - set(header):
        header = list(COLUMNS)
    attempts: list[Attempt] = []
    refused = 0
    for line in lines[1:]:
        if not line.strip():
            continue
        cells = line.rstrip("\r").split("\t")
        attempt = _attempt(dict(zip(header, cells, strict=True))) if len(cells) == len(header) else None
        if attempt is None:
            refused += 1
        else:
            attempts.append(attempt)
    if not attempts:
        return None
    return Journal(sources.describe(source), _entrant(tuple(attempts)), files.sha256_bytes(data), refused)


def verdict(journal: Journal) -> tuple[str, ...]:
    """The journal in a sentence or two."""
    entrant = journal.entrant
    tried = count(len(entrant.attempts), "experiment")
    if entrant.best is None:
        sentence = f"{tried} journalled, none with a score that passes every gate."
    else:
        sentence = f"{tried} journalled; the best that passes every gate scores {fixed(entrant.best)}."
    if journal.source.synthetic:
        return ("On a synthetic market, which proves nothing about a real one:", sentence)
    return (sentence,)


def _entrant(attempts: tuple[Attempt, ...]) -> Entrant:
    scored = [(a, a.score) for a in attempts if a.score is not None]
    keeps = [(a, score) for a, score in scored if a.status == "keep"]
    return Entrant(
        name="this checkout",
        index=0,
        harness="standalone",
        model=None,
        effort=None,
        colour="",
        budget=max(a.number for a in attempts),
        control=False,
        extension=False,
        attempts=attempts,
        official=tuple(Step(a.number, score) for a, score in keeps),
        working=tuple(Step(a.number, score) for a, score in scored if a.status in ("keep", "search")),
        champion=keeps[-1][0] if keeps else None,
        keeps=len(keeps),
        accepted=sum(a.status in ("keep", "search") for a in attempts),
        best=max((score for a, score in scored if a.gates_passed), default=None),
        ended=None,
        faults=0,
        violations=0,
        verdict=None,
        work=None,
        setup=None,
    )


def _attempt(row: Mapping[str, str]) -> Attempt | None:
    number = _whole(row["attempt"])
    status = row["status"]
    if number is None or number < 1 or status not in STATUSES:
        return None
    score = _number(row["score"])
    passed = True if score is not None and status not in ("gate", "invalid", "violation") else None
    return Attempt(
        number=number,
        utc=clean(row.get("utc", ""), 30),
        opened_utc=clean(row.get("utc", ""), 30),
        status=status,
        score=score,
        double_cost=None,
        delayed=None,
        stress=None,
        gate_results=(),
        delta=_number(row.get("delta", "")),
        folds_better=_whole(row.get("folds_better", "")),
        fold_deltas=(),
        fold_sharpes=(),
        gates="all pass" if passed else f"{status} failed" if status == "gate" else "",
        gates_passed=passed,
        drawdown=_number(row.get("drawdown", "")),
        turnover=_number(row.get("turnover", "")),
        trades=_whole(row.get("trades", "")),
        beyond_error=None,
        mask_dependent=None,
        slots=(),
        description=clean(row.get("description", "")),
        parent=_whole(row.get("parent", "")) or 0,
        lineage=None,
        strategy=clean(row.get("strategy", ""), 64),
        commit=clean(row.get("commit", ""), 40) or None,
        missing="" if score is not None else f"no score: {status}",
        tokens=None,
        cost=None,
    )


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(cell: str) -> int | None:
    return int(cell) if cell.isascii() and cell.isdigit() and len(cell) < 10 else None
