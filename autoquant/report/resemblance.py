"""How alike the champions are, day by day, and how their scores hold under harder accounting. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from autoquant.protocol import PROTOCOL
from autoquant.report.model import Attempt, Entrant
from autoquant.report.returns import Floats, Returns
from autoquant.stats.arrays import moving
from autoquant.stats.trials import idea_groups

NOT_RECORDED = "its daily returns are not on record"
FLAT = "its daily returns never move"


@dataclass(frozen=True)
class Member:
    """One row of the matrix: a champion, or the seed."""

    name: str
    entrant: Entrant | None
    """None for the seed."""
    missing: str
    """Why nothing correlates with it; empty when something can."""

    @property
    def index(self) -> int | None:
        """Of its colour and mark; None for the seed."""
        return None if self.entrant is None else self.entrant.index


@dataclass(frozen=True)
class Resemblance:
    """Who is compared, and the correlation of each pair."""

    members: tuple[Member, ...]
    """Champions in the order given, the seed last."""
    correlations: tuple[tuple[float | None, ...], ...]
    """Row i holds the correlations with members 0 … i−1; None where one of the two is missing."""
    groups: tuple[tuple[str, ...], ...]
    """Names that look like one idea, those of one alone too."""
    seeded: tuple[str, ...]
    """Competitors that hold the seed."""
    days: int

    @property
    def pairs(self) -> int:
        """How many correlations there are."""
        return sum(value is not None for row in self.correlations for value in row)

    @property
    def error(self) -> float | None:
        """Half-width of the 95 % interval of a correlation near 0, by Fisher's z, 1/√(T − 3); None for T ≤ 3.

        Days as if independent; nearer ±1 it is smaller, by the factor 1 − ρ².
        """
        return math.tanh(float(ndtri(0.975)) / math.sqrt(self.days - 3)) if self.days > 3 else None


@dataclass(frozen=True)
class Shadow:
    """A champion's score under another accounting; None where there is none, with the reason."""

    name: str
    score: float | None
    missing: str = ""


@dataclass(frozen=True)
class Shadows:
    """One champion with its shadows."""

    entrant: Entrant
    champion: Attempt
    double_cost: Shadow
    delayed: Shadow
    shifted: tuple[Shadow, ...]
    """All folds moved, by days."""

    @property
    def scores(self) -> tuple[float, ...]:
        """All that are known, the official one first."""
        every = (self.champion.score, self.double_cost.score, self.delayed.score, *(s.score for s in self.shifted))
        return tuple(score for score in every if score is not None)

    @property
    def span(self) -> tuple[float, float] | None:
        """Lowest and highest score with moved folds; None without one."""
        return self.champion.stress.shifted_span if self.champion.stress else None


def resemblance(entrants: Sequence[Entrant], returns: Returns) -> Resemblance:
    """Correlation of daily VALID returns between champions, and between each and the seed.

    Parameters
    ----------
    entrants : in the order to show; who holds the seed is named and not compared.
    returns : as the oracle wrote them.
    """
    held = [entrant for entrant in entrants if entrant.champion is not None]
    columns = [returns.champion(e.index, e.champion.number if e.champion else None) for e in held] + [returns.seed]
    members = [Member(e.name, e, _missing(c)) for e, c in zip(held, columns[:-1], strict=True)]
    members.append(Member("seed", None, _missing(columns[-1])))
    usable = [place for place, member in enumerate(members) if not member.missing]
    panel = np.column_stack([c for place in usable if (c := columns[place]) is not None]) if usable else None
    return Resemblance(
        members=tuple(members),
        correlations=_triangle(len(members), usable, panel),
        groups=_groups(members, usable, panel),
        seeded=tuple(entrant.name for entrant in entrants if entrant.champion is None),
        days=returns.days,
    )


def shadows(entrant: Entrant) -> Shadows | None:
    """A champion's score and its shadows; None while the seed stands."""
    best = entrant.champion
    if best is None:
        return None
    return Shadows(
        entrant=entrant,
        champion=best,
        double_cost=Shadow("2× costs", best.double_cost, "" if best.double_cost is not None else "not recorded"),
        delayed=Shadow("+1 bar", best.delayed, "" if best.delayed is not None else "not recorded"),
        shifted=_shifted(best),
    )


def _shifted(best: Attempt) -> tuple[Shadow, ...]:
    """By the protocol's shifts; others in a record come after them."""
    found = {one.days: one.score for one in best.stress.shifted} if best.stress else {}
    usual = PROTOCOL.shift_days
    days = [*usual, *sorted(set(found) - set(usual))]
    return tuple(Shadow(f"{day} d", found.get(day), _why(best, day, found)) for day in days)


def _why(best: Attempt, day: int, found: dict[int, float | None]) -> str:
    if found.get(day) is not None:
        return ""
    if best.stress is None:
        return "its details are not on record"
    return "the strategy gave no usable answer there" if day in found else "not measured"


def _missing(column: Floats | None) -> str:
    if column is None or not column.size:
        return NOT_RECORDED
    return "" if moving(column[:, None])[0] else FLAT


def _triangle(size: int, usable: Sequence[int], panel: Floats | None) -> tuple[tuple[float | None, ...], ...]:
    matrix = np.full((size, size), np.nan)
    if panel is not None and len(usable) > 1:
        matrix[np.ix_(usable, usable)] = np.clip(np.corrcoef(panel, rowvar=False), -1.0, 1.0)
    return tuple(tuple(None if np.isnan(value) else float(value) for value in matrix[row, :row]) for row in range(size))


def _groups(members: Sequence[Member], usable: Sequence[int], panel: Floats | None) -> tuple[tuple[str, ...], ...]:
    if panel is None:
        return ()
    found: dict[int, list[str]] = {}
    for place, group in zip(usable, idea_groups(panel), strict=True):
        if group is not None:
            found.setdefault(group, []).append(members[place].name)
    return tuple(tuple(names) for names in found.values())
