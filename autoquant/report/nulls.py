"""What searchers without skill reach in the same loop, and how each competitor stands among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant.ledger.placebos import REFERENCES, Placebos, fitting_placebos
from autoquant.protocol import PROTOCOL
from autoquant.report import commands
from autoquant.report.model import Entrant, Race
from autoquant.report.text import listing
from autoquant.stats.multiple import holm
from autoquant.stats.placebo import Placebo, no_skill_band, placebo_test, runs_needed

ALPHA = 0.05
BAND = 0.9
TIE = PROTOCOL.causality.mask_tolerance
"""What a mask alone can move is a tie, and a tie counts against the competitor: two seeds of one text are."""
WORDS = {"flip": "days upside down", "permute": "days reordered", "real": "the real market"}


@dataclass(frozen=True)
class Null:
    """One searcher without skill on one kind of market, run by run."""

    reference: str
    searcher: str
    champions: tuple[float, ...]
    """Scores of the retained champions."""
    bests: tuple[float, ...]
    """Highest scores."""
    band: tuple[float, float, float]
    """5 %, median and 95 % of the champions."""
    best_band: tuple[float, float, float]
    keeps: float
    """Official promotions per race, on average."""

    @property
    def runs(self) -> int:
        """Races."""
        return len(self.champions)


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
        return max(self.nulls, key=lambda null: (null.band[2], null.reference, null.searcher))

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
    return None if found is None else table_of(found)


def table_of(placebos: Placebos) -> NullTable:
    """The distributions of stored runs, one per kind of market and searcher that has any."""
    nulls = []
    for reference in REFERENCES:
        for searcher in placebos.searchers:
            runs = [run for run in placebos.runs if (run.reference, run.searcher) == (reference, searcher)]
            if not runs:
                continue
            champions, bests = tuple(run.champion for run in runs), tuple(run.best for run in runs)
            keeps = sum(run.statuses.count("keep") for run in runs) / len(runs)
            nulls.append(
                Null(
                    reference, searcher, champions, bests,
                    no_skill_band(champions, BAND), no_skill_band(bests, BAND), keeps,
                )
            )  # fmt: skip
    return NullTable(placebos.plan.digest, placebos.digest, placebos.plan.budget, tuple(nulls))


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
    champion = _largest(entrant.score, table, {null: null.champions for null in table.nulls})
    best = _largest(_best(entrant, race), table, {null: null.bests for null in table.nulls})
    absent = [WORDS[kind] for kind in REFERENCES if kind not in champion]
    if absent:
        return Held(table, champion, best, None, None, f"no whole placebo run yet: {listing(absent)}")
    return Held(table, champion, best, max(test.p_value for test in champion.values()), None, "")


def _largest(figure: float, table: NullTable, values: Mapping[Null, Iterable[float]]) -> dict[str, Placebo]:
    """Per kind of market the test with the largest p-value among the searchers'."""
    found: dict[str, Placebo] = {}
    for null in table.nulls:
        test = placebo_test(figure - TIE, list(values[null]))
        before = found.get(null.reference)
        if before is None or test.p_value > before.p_value:
            found[null.reference] = test
    return found


def _best(entrant: Entrant, race: Race) -> float:
    """Score of the archive's best, as the placebos' is: confirmed, the seed's included."""
    number = dict(entrant.archive).get("best")
    kept = entrant.attempts[number - 1].score if number else None
    seed = race.seed_score or 0.0
    if not entrant.archive:
        return max(seed, entrant.best if entrant.best is not None else seed)
    return seed if kept is None else kept
