"""Who separates from whom: competitors pair by pair, replicates as the unit where there are some, and shared ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from autoquant.protocol import PROTOCOL
from autoquant.report.evidence_effort import CHAMPIONS_MOST, generator, pair_samples
from autoquant.report.evidence_scores import champion_days
from autoquant.report.model import Entrant, Race
from autoquant.report.returns import Floats, Returns
from autoquant.report.text import count, listing
from autoquant.stats.compare import Pair, compare_pairs, tie_groups
from autoquant.stats.difference import PERIODS_LEAST
from autoquant.stats.multiple import holm
from autoquant.stats.replicates import pooled_spread, welch
from autoquant.stats.separation import MONTH_DAYS, months_to_separate, replicates_to_separate
from autoquant.stats.sharpe import annualised

ALPHA = PROTOCOL.ratchet.alpha
PAIRS = 2


@dataclass(frozen=True)
class Unit:
    """What is ranked: a competitor, or the replicates of one."""

    name: str
    members: tuple[int, ...]
    """Indices of entrants, highest score first."""
    score: float | None
    """The retained champion's; over replicates the mean."""
    low: float | None
    """Lowest score of a replicate."""
    high: float | None

    @property
    def replicated(self) -> bool:
        """Whether it raced at least twice."""
        return len(self.members) > 1


@dataclass(frozen=True)
class Versus:
    """Two units, the first one standing higher."""

    first: int
    second: int
    """Places in `Ranking.units`."""
    replicates: bool
    """Whether races were compared (difference of mean scores) or days (difference of yearly Sharpe ratios)."""
    difference: float | None
    low: float | None
    """95 % interval of this pair alone."""
    high: float | None
    p_value: float | None
    p_holm: float | None
    """Corrected over all pairs."""
    separated: bool
    months: float | None
    """More months of days that would be needed to tell such a difference; infinite for none."""
    races: float | None
    """Races of each that would be needed; None where the spread between races is not known."""
    missing: str
    """Why there is no test; empty when there is one."""


@dataclass(frozen=True)
class Ranking:
    """Units in the order of their scores, their ranks, and the pairs behind them."""

    units: tuple[Unit, ...]
    ranks: tuple[int | None, ...]
    pairs: tuple[Versus, ...]
    """In the order (0, 1), (0, 2), …; empty where ranks fall back to the noise floor."""
    fallback: str
    """Why the noise floor decides and not the days; empty when the days do."""
    samples: int | None
    """Bootstrap samples behind each pair of days; None for the plain HAC error."""
    questions: int
    """Tests that Holm's correction counts: of champions that are the same, one."""
    spread: float | None
    """Standard deviation of the score between races of one competitor, from its replicates."""

    @property
    def leaders(self) -> tuple[Unit, ...]:
        """Who shares the first rank."""
        return tuple(unit for unit, rank in zip(self.units, self.ranks, strict=True) if rank == 1)

    @property
    def separated(self) -> int:
        """Pairs that separate."""
        return sum(pair.separated for pair in self.pairs)


def ranking(race: Race, returns: Returns) -> Ranking:
    """Rank the competitors of a race by what separates them."""
    units = units_of(race.entrants)
    scores = [[race.entrants[index].score or 0.0 for index in unit.members] for unit in units]
    spread = pooled_spread([row for unit, row in zip(units, scores, strict=True) if unit.score is not None])
    days = champion_days(race, returns)
    fallback = _why_not(race, days, returns)
    if fallback:
        return Ranking(units, floor_ranks(units, race.noise_floor), (), fallback, None, 0, spread)
    columns = _columns(days)
    panel = np.column_stack(list(columns.values())) if columns else np.empty((0, 0))
    samples = pair_samples(math.comb(panel.shape[1], 2))
    tests = {(pair.first, pair.second): pair for pair in compare_pairs(panel, generator(PAIRS), samples=samples)}
    place = {key: number for number, key in enumerate(columns)}
    column = [None if values is None else place[values.tobytes()] for values in days]
    raw = [
        _compared(first, second, units, scores, column, tests) for first, second in combinations(range(len(units)), 2)
    ]
    pairs = _corrected(raw, units, spread, returns.days)
    questions = len({pair.hypothesis for pair in raw} - {None})
    ranks = tie_groups([unit.score for unit in units], [(p.first, p.second) for p in pairs if p.separated])
    return Ranking(units, ranks, pairs, "", samples, questions, spread)


def units_of(entrants: Sequence[Entrant]) -> tuple[Unit, ...]:
    """Competitors, replicates of one together, by score; those without one come last."""
    groups: dict[tuple[str, str], list[Entrant]] = {}
    for entrant in entrants:
        group = entrant.setup.replicate_of if entrant.setup else ""
        groups.setdefault(("group", group) if group else ("alone", entrant.name), []).append(entrant)
    units = []
    for (kind, name), members in groups.items():
        ordered = sorted(members, key=_standing_key)
        scores = [member.score for member in ordered if member.score is not None]
        whole = len(scores) == len(ordered)
        units.append(
            Unit(
                name=name if kind == "group" and len(ordered) > 1 else ordered[0].name,
                members=tuple(member.index for member in ordered),
                score=math.fsum(scores) / len(scores) if whole else None,
                low=min(scores) if whole else None,
                high=max(scores) if whole else None,
            )
        )
    by_index = {entrant.index: entrant for entrant in entrants}
    return tuple(
        sorted(units, key=lambda u: (u.score is None, -(u.score or 0.0), *_standing_key(by_index[u.members[0]])[2:]))
    )


def _standing_key(entrant: Entrant) -> tuple[bool, float, bool, int]:
    return entrant.score is None, -(entrant.score or 0.0), entrant.champion is None, entrant.index


def floor_ranks(units: Sequence[Unit], floor: float) -> tuple[int | None, ...]:
    """Ranks by the noise floor alone: who is within one of a group's first shares its rank.

    >>> floor_ranks([Unit("", (0,), score, score, score) for score in (1.0, 0.8, 0.6)], 0.3)
    (1, 1, 3)
    """
    ranks: list[int | None] = []
    first = 0
    for place, unit in enumerate(units):
        if unit.score is None:
            ranks.append(None)
            continue
        if place and (units[first].score or 0.0) - unit.score > floor:
            first = place
        ranks.append(first + 1)
    return tuple(ranks)


def _why_not(race: Race, days: Sequence[Floats | None], returns: Returns) -> str:
    """Why days cannot decide; empty when they can, and when there is nothing to decide."""
    scored = [entrant for entrant in race.entrants if entrant.score is not None]
    if len(scored) < 2:
        return ""
    lacking = [entrant.name for entrant in scored if days[entrant.index] is None]
    if lacking:
        names = listing(lacking) if len(lacking) <= 3 else count(len(lacking), "champion")
        return f"the daily returns of {names} are not on record"
    if returns.days < PERIODS_LEAST:
        return f"{count(returns.days, 'day')} are fewer than the {PERIODS_LEAST} a comparison needs"
    different = len(_columns(days))
    if different > CHAMPIONS_MOST:
        return f"{different:,} different champions are too many to compare pair by pair"
    return ""


def _columns(days: Sequence[Floats | None]) -> dict[bytes, Floats]:
    """Different champions, once each, in the order of the competitors; whoever holds the seed holds the same."""
    return {values.tobytes(): values for values in days if values is not None}


@dataclass(frozen=True)
class _Raw:
    """A pair before correction: what was tested, and how large its error is."""

    first: int
    second: int
    replicates: bool
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    error: float = 0.0
    """Of the difference."""
    tested: frozenset[tuple[int, int]] = frozenset()
    """Champions that were compared; empty for replicates."""
    missing: str = ""

    @property
    def hypothesis(self) -> object | None:
        """What is one and the same for pairs that ask one question; None where there is nothing to ask.

        Whoever holds the seed holds the same champion: they are alike, and differ from another by one test.
        """
        if self.p_value is None or (not self.replicates and not self.tested):
            return None
        return (self.first, self.second) if self.replicates else self.tested


def _compared(
    first: int,
    second: int,
    units: Sequence[Unit],
    scores: Sequence[list[float]],
    column: Sequence[int | None],
    tests: dict[tuple[int, int], Pair],
) -> _Raw:
    one, other = units[first], units[second]
    if one.score is None or other.score is None:
        return _Raw(first, second, False, missing="no score yet")
    if one.replicated and other.replicated:
        found = welch(scores[first], scores[second], coverage=1.0 - ALPHA)
        if found is None:
            return _Raw(first, second, True, missing="neither one’s races ended differently")
        return _Raw(
            first, second, True, found.difference, found.low, found.high, found.p_value, found.standard_error
        )  # fmt: skip
    crossed = [_days_apart(first, second, column[a], column[b], tests) for a in one.members for b in other.members]
    worst = max(crossed, key=lambda raw: (raw.p_value is None, raw.p_value or 0.0))
    signs = {math.copysign(1.0, raw.difference) for raw in crossed if raw.difference}
    return replace(
        worst,
        tested=frozenset().union(*(raw.tested for raw in crossed)),
        p_value=1.0 if worst.p_value is not None and len(signs) > 1 else worst.p_value,
    )


def _days_apart(first: int, second: int, a: int | None, b: int | None, tests: dict[tuple[int, int], Pair]) -> _Raw:
    """Two champions on the same days, per year. A single race differs from replicates when it differs from each."""
    if a is None or b is None:
        return _Raw(first, second, False, missing="no daily returns on record")
    if a == b:
        return _Raw(first, second, False, 0.0, 0.0, 0.0, 1.0)
    test = tests[min(a, b), max(a, b)].test
    if test is None:
        return _Raw(first, second, False, missing="a champion’s returns never move")
    year = annualised(1.0 if a < b else -1.0)
    low, high = sorted((test.low * year, test.high * year))
    return _Raw(
        first, second, False, test.difference * year, low, high, test.p_value, test.standard_error * abs(year),
        frozenset({(min(a, b), max(a, b))}),
    )  # fmt: skip


def _corrected(raw: Sequence[_Raw], units: Sequence[Unit], spread: float | None, days: int) -> tuple[Versus, ...]:
    """Holm over all questions, and what it would take to separate the rest."""
    asked = {pair.hypothesis: pair.p_value for pair in raw if pair.hypothesis is not None and pair.p_value is not None}
    corrected = dict(zip(asked, holm(list(asked.values())), strict=True))
    return tuple(
        _versus(pair, corrected.get(pair.hypothesis, pair.p_value), max(1, len(asked)), units, spread, days)
        for pair in raw
    )


def _versus(
    pair: _Raw, p_holm: float | None, asked: int, units: Sequence[Unit], spread: float | None, days: int
) -> Versus:
    months = races = None
    if pair.difference is not None and not pair.replicates:
        whole = months_to_separate(pair.difference, pair.error, days, alpha=ALPHA, pairs=asked)
        months = max(0.0, whole - days / MONTH_DAYS)
    if pair.difference is not None and spread is not None:
        gap = (units[pair.first].score or 0.0) - (units[pair.second].score or 0.0)
        races = replicates_to_separate(gap, spread, alpha=ALPHA, pairs=asked)
    return Versus(
        first=pair.first,
        second=pair.second,
        replicates=pair.replicates,
        difference=pair.difference,
        low=pair.low,
        high=pair.high,
        p_value=pair.p_value,
        p_holm=p_holm,
        # a difference against the order of the scores is no reason to put the first one higher
        separated=p_holm is not None and p_holm <= ALPHA and (pair.difference or 0.0) > 0.0,
        months=months,
        races=races,
        missing=pair.missing,
    )
