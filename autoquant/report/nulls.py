"""What searchers without skill reach in the same loop, and how each competitor stands among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant.ledger.placebos import REFERENCES, fitting_placebos
from autoquant.protocol import PROTOCOL
from autoquant.report import commands
from autoquant.report.model import Entrant, Race
from autoquant.report.text import listing
from autoquant.stats.multiple import holm
from autoquant.stats.placebo import ALPHA, Null, Placebo, null_distributions, runs_needed

WORDS = {"flip": "days upside down", "permute": "days reordered", "real": "the real market"}


@dataclass(frozen=True)
class NullTable:
    """The nulls of one plan: for competitors with its number of attempts."""

    plan: str
    """Digest."""
    runs_digest: str
    budget: int
    nulls: tuple[Null, ...]

    @property
    def strictest(self) -> Null:
        """The null with the highest 95 % quantile: the hardest to stand above."""
        return max(self.nulls, key=lambda null: (null.champion_band[2], null.reference, null.searcher))

    @property
    def fewest(self) -> int:
        """Runs of the null that has fewest: p cannot be below 1/(this + 1)."""
        return min(null.runs for null in self.nulls)


@dataclass(frozen=True)
class Held:
    """A competitor held against the nulls of its number of attempts."""

    table: NullTable | None
    champion: Mapping[str, Placebo]
    """By kind of market, retained champion: of the searchers' p-values the largest."""
    best: Mapping[str, Placebo]
    """The same of its highest score."""
    p_value: float | None
    """Of the champion: the largest over all kinds of market."""
    p_holm: float | None
    """Corrected over all agents that are held; None for a control where agents race, which is no claim."""
    missing: str
    """Why there is none; empty when there is one."""

    @property
    def runs(self) -> int | None:
        """Placebo races behind the p-value."""
        return self.table.fewest if self.table else None


@dataclass(frozen=True)
class Nulls:
    """Everybody against the nulls."""

    tables: tuple[NullTable, ...]
    """By budget."""
    held: tuple[Held, ...]
    """By the entrant's index."""
    family: int
    """Agents whose p-values are corrected together."""
    command: str
    """Makes the races, or as many more as the family needs."""

    @property
    def alpha(self) -> float:
        """Level of every test here."""
        return ALPHA

    @property
    def runs_needed(self) -> int:
        """Fewest runs with which the best of the family can stand after the correction."""
        return runs_needed(ALPHA, max(1, self.family))

    @property
    def beaten_by(self) -> tuple[int, ...]:
        """Indices of the entrants that stand above the blind searchers after the correction."""
        return tuple(i for i, held in enumerate(self.held) if held.p_holm is not None and held.p_holm <= ALPHA)


def nulls_of(race: Race, state: Path) -> Nulls:
    """Hold a race's competitors against the placebo races stored below `state`."""
    tables: dict[int, NullTable | None] = {}
    for entrant in race.entrants:
        if entrant.budget not in tables:
            tables[entrant.budget] = _table(race, state, entrant.budget)
    raw = [_held(entrant, race, tables[entrant.budget]) for entrant in race.entrants]
    agents = [entrant.index for entrant in race.entrants if not entrant.control]
    asked = [index for index in agents or range(len(raw)) if raw[index].p_value is not None]
    corrected = dict(zip(asked, holm([raw[index].p_value or 0.0 for index in asked]), strict=True))
    held = tuple(replace(one, p_holm=corrected.get(index)) for index, one in enumerate(raw))
    found = tuple(table for _, table in sorted(tables.items()) if table is not None)
    runs = max(PROTOCOL.placebo_runs, runs_needed(ALPHA, len(asked))) if asked else PROTOCOL.placebo_runs
    return Nulls(found, held, len(asked), command(race, runs))


def command(race: Race, runs: int) -> str:
    """What makes the placebo races of a race."""
    budgets = {entrant.budget for entrant in race.entrants}
    other = f" --max-experiments {min(budgets)}" if budgets and race.budget not in budgets else ""
    place = f"{commands.race_option(race)}{commands.data_option(race)}{commands.state_option(race)}"
    return f"uv run arena.py placebo{place} --runs {runs}{other}"


def _table(race: Race, state: Path, budget: int) -> NullTable | None:
    p = race.provenance
    found = fitting_placebos(
        state,
        protocol=p.protocol,
        data=p.data_valid,
        seed_strategy=p.seed_strategy,
        noise_floor=race.noise_floor,
        budget=budget,
    )
    if found is None:
        return None
    return NullTable(found.plan.digest, found.digest, found.plan.budget, null_distributions(found.runs))


def _held(entrant: Entrant, race: Race, table: NullTable | None) -> Held:
    missing = ""
    if entrant.score is None:
        missing = "no seed score yet"
    elif not entrant.closed:
        missing = "no attempt has a verdict yet"
    elif table is None:
        missing = f"no placebo races with {entrant.budget:,} attempts on these data are stored"
    if missing or table is None or entrant.score is None:
        return Held(None, {}, {}, None, None, missing)
    score, highest = entrant.score, _best(entrant, race)
    champion = _largest((null.reference, null.champion_test(score)) for null in table.nulls)
    best = _largest((null.reference, null.best_test(highest)) for null in table.nulls)
    absent = [WORDS[kind] for kind in REFERENCES if kind not in champion]
    if absent:
        return Held(table, champion, best, None, None, f"no whole placebo run yet: {listing(absent)}")
    return Held(table, champion, best, max(test.p_value for test in champion.values()), None, "")


def _largest(tests: Iterable[tuple[str, Placebo]]) -> dict[str, Placebo]:
    """Per kind of market the test with the largest p-value among the searchers'."""
    found: dict[str, Placebo] = {}
    for kind, test in tests:
        if kind not in found or test.p_value > found[kind].p_value:
            found[kind] = test
    return found


def _best(entrant: Entrant, race: Race) -> float:
    """Score of the archive's best, as the placebos' is: confirmed, the seed's included."""
    number = dict(entrant.archive).get("best")
    kept = entrant.attempts[number - 1].score if number else None
    seed = race.seed_score or 0.0
    if not entrant.archive:
        return max(seed, entrant.best if entrant.best is not None else seed)
    return seed if kept is None else kept
