"""Is it real: the sealed year beside what VALID promised, or the empty year before it opens."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import sealed, text
from autoquant.report.frames import Drawing
from autoquant.report.model import Attempt, Entrant, LockboxStage, Race, Reference, Standing, Verdict
from autoquant.report.sealed import Line
from autoquant.report.sealed_strip import sealed_axis, sealed_strip
from autoquant.report.strips import Span, domain_of

KEPT_SEED = "kept the seed"
Path = Verdict | Reference
NO_REFERENCE = "this race was opened by a version that kept no reference"


@dataclass(frozen=True)
class Row:
    """One line of the table: an entry, or what is drawn beside them."""

    path: Path
    index: int | None
    """Of the competitor; None for the seed and for a reference."""
    about: str
    """Which attempt, or what it is."""
    judged: bool
    """Whether it has, or will have, a verdict."""
    score: float | None
    """On VALID."""
    sharpe: float | None
    """Mean over the folds of VALID."""
    strip: Markup


@dataclass(frozen=True)
class Months:
    """What a line stood at on the last day of each month, and at the end."""

    name: str
    index: int | None
    values: tuple[float | None, ...]
    lowest: float
    """Deepest fall over daily closes, 0 or below."""


def context(race: Race, table: Sequence[Standing] = ()) -> dict[str, Any]:
    """Names for `panels/sealed.html.j2`. Entries come in the order of `table`."""
    box = race.lockbox
    ordered = _ordered(race, table)
    paths: list[Path] = [*ordered, *box.references]
    lines = _lines(race, ordered)
    domain = domain_of(_figures(race, ordered))
    missing = sorted({path.missing for path in paths if path.missing})
    return {
        "sealed_chart": _chart(race, lines),
        "sealed_rows": [_row(race, path, domain) for path in paths],
        "sealed_axis": sealed_axis(domain),
        "sealed_months": [month.strftime("%b %y") for _, month in sealed.month_starts(box)],
        "sealed_numbers": [_month_row(race, line) for line in lines],
        "sealed_reason": text.listing(missing) or "the reserved set is empty",
        "sealed_last": (dt.date.fromisoformat(box.end) - dt.timedelta(days=1)).isoformat(),
        "sealed_unnamed": len(lines) - len(sealed.named_lines(lines)),
        "sealed_seeds": [v.name for v in box.verdicts if v.competitor is not None and not v.attempt],
        "sealed_market": any(path.daily_returns for path in box.references),
        "sealed_undrawn": [path for path in paths if path.missing],
        "sealed_champions": sum(verdict.attempt > 0 for verdict in box.verdicts),
        "no_reference": NO_REFERENCE if box.stage is LockboxStage.OPEN else "not computed yet",
        "confirmed_probability": PROTOCOL.confirmed_probability,
        "bar_hours": PROTOCOL.calendar.bar_hours,
    }


def _chart(race: Race, lines: Sequence[Line]) -> Drawing | None:
    if race.lockbox.stage is LockboxStage.SEALED:
        ended = sum(entrant.ended is not None for entrant in race.entrants)
        words = f"Sealed: {ended} of {text.count(len(race.entrants), 'competitor')} done."
        return Drawing.of(lambda width: sealed.sealed_empty(race, width, words))
    if all(line.class_ == "beside" for line in lines):
        return None
    return Drawing.of(lambda width: sealed.sealed_chart(race, lines, width))


def _ordered(race: Race, table: Sequence[Standing]) -> list[Verdict]:
    """Champions by standing, then controls, then the seed."""
    places = {standing.entrant.name: place for place, standing in enumerate(table)}
    owners = {entrant.name: entrant for entrant in race.entrants}

    def key(verdict: Verdict) -> tuple[int, int]:
        owner = owners.get(verdict.competitor or "")
        return (2 if owner is None else int(owner.control), places.get(verdict.competitor or "", len(places)))

    return sorted(race.lockbox.verdicts, key=key)


def _lines(race: Race, ordered: Sequence[Verdict]) -> list[Line]:
    """Of everybody with daily returns. Who kept the seed is on the seed's line, where that is drawn."""
    seed = any(verdict.competitor is None and verdict.daily_returns for verdict in ordered)
    drawn = [v for v in ordered if v.daily_returns and (v.attempt or v.competitor is None or not seed)]
    lines = []
    for verdict in drawn:
        owner = _owner(race, verdict)
        class_ = "seed" if owner is None else "control" if owner.control else "champion"
        index = None if owner is None else owner.index
        words = verdict.words or "not judged yet"
        name = _seed_name(race) if owner is None else verdict.name
        lines.append(Line(name, words, index, class_, sealed.equity_of(verdict.daily_returns)))
    for path in race.lockbox.references:
        if path.daily_returns:
            lines.append(Line(path.name, "", None, "beside", sealed.equity_of(path.daily_returns)))
    return lines


def _row(race: Race, path: Path, domain: Span) -> Row:
    owner, promised = _owner(race, path), _promised(race, path)
    score, folds = promised
    index = None if owner is None else owner.index
    mean = float(np.mean(folds)) if folds else None
    interval = None if path.sharpe_low is None or path.sharpe_high is None else (path.sharpe_low, path.sharpe_high)
    words = _words(mean, path.sharpe, interval)
    return Row(
        path=path,
        index=index,
        about=_about(path, owner),
        judged=isinstance(path, Verdict),
        score=score,
        sharpe=mean,
        strip=sealed_strip(domain, promised=mean, came=path.sharpe, interval=interval, index=index, words=words),
    )


def _about(path: Path, owner: Entrant | None) -> str:
    if isinstance(path, Reference):
        return "equal weights, no verdict"
    if owner is None:
        return "where everyone starts"
    told = f"#{path.attempt}" if path.attempt else KEPT_SEED
    return f"control, {told}" if owner.control else told


def _owner(race: Race, path: Path) -> Entrant | None:
    if isinstance(path, Reference):
        return None
    return next((entrant for entrant in race.entrants if entrant.name == path.competitor), None)


def _promised(race: Race, path: Path) -> tuple[float | None, tuple[float, ...]]:
    """Score and fold Sharpe ratios on VALID of the text that was judged."""
    if isinstance(path, Reference):
        return None, ()
    if not path.attempt:
        return race.seed_score, race.seed_folds
    owner = _owner(race, path)
    attempt: Attempt | None = owner.attempts[path.attempt - 1] if owner else None
    return (attempt.score, attempt.fold_sharpes) if attempt else (None, ())


def _figures(race: Race, ordered: Sequence[Verdict]) -> list[float]:
    """All that the strips of the table have to hold."""
    values: list[float | None] = []
    paths: list[Path] = [*ordered, *race.lockbox.references]
    for path in paths:
        folds = _promised(race, path)[1]
        values += [path.sharpe, path.sharpe_low, path.sharpe_high, float(np.mean(folds)) if folds else None]
    return [value for value in values if value is not None]


def _words(promised: float | None, came: float | None, interval: Span | None) -> str:
    parts = [] if promised is None else [f"on VALID {text.fixed(promised, 2)}"]
    if came is not None:
        parts.append(f"sealed {text.fixed(came, 2)}")
    if interval is not None:
        parts.append(f"95 % {text.fixed(interval[0], 2)} to {text.fixed(interval[1], 2)}")
    return f"Sharpe ratio {', '.join(parts)}" if parts else "no Sharpe ratio"


def _month_row(race: Race, line: Line) -> Months:
    """Equity at the close of the last day of each month."""
    firsts = [days for days, _ in sealed.month_starts(race.lockbox)][1:]
    last = len(line.equity) - 1
    ends = [*firsts, sealed.days_of(race.lockbox)]
    values = tuple(float(line.equity[day]) if day <= last else None for day in ends)
    return Months(line.name, line.index, values, float(line.fall.min()))


def _seed_name(race: Race) -> str:
    """The seed, and the controls whose line is the seed's."""
    kept = [v.name for v in race.lockbox.verdicts if v.competitor is not None and not v.attempt]
    if not kept:
        return "seed"
    return f"seed, {kept[0]}" if len(kept) == 1 else f"seed, {len(kept)} controls"
