"""The statistics of a race's page: who stands where, how sure that is, and what each search is worth after its tries.

Pure but for the placebo races, which are read from disk. Input is what the oracle wrote and the ledger names; every
counted attempt enters the counts. The same race gives the same numbers: random numbers come from fixed seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from autoquant.executor import Executor, LocalPool
from autoquant.report.collect import Collected, collect, newest_race
from autoquant.report.evidence_effort import SEARCHES_MOST, Effort, effort
from autoquant.report.evidence_pairs import Ranking, ranking
from autoquant.report.evidence_scores import ScoreEstimate, score_estimates
from autoquant.report.evidence_search import Search, search_of
from autoquant.report.model import Entrant, Race
from autoquant.report.nulls import Nulls, nulls_of
from autoquant.report.returns import Trials

NOT_LOOKED_INTO = "in so large a race the first by standing are looked into"
"""Why there is no `Search`."""


@dataclass(frozen=True)
class Evidence:
    """All of a race."""

    effort: Effort
    ranking: Ranking
    scores: tuple[ScoreEstimate, ...]
    """By the entrant's index."""
    nulls: Nulls
    searches: tuple[Search | None, ...]
    """By the entrant's index. None for whom nothing was looked into: in huge races the first by standing are."""


def standing_evidence(collected: Collected) -> Evidence:
    """What the leaderboard needs, without a look into the searches."""
    race, returns = collected.race, collected.returns
    sizes = effort([trials.panel.shape[1] for trials in returns.trials])
    return Evidence(
        effort=sizes,
        ranking=ranking(race, returns),
        scores=score_estimates(race, returns, sizes),
        nulls=nulls_of(race, collected.layout.state),
        searches=(None,) * len(race.entrants),
    )


def evidence_of(collected: Collected, executor: Executor | None = None) -> Evidence:
    """All of it. The looks into single searches run on `executor`; None takes this machine's cores."""
    found = standing_evidence(collected)
    order = [index for unit in found.ranking.units for index in unit.members]
    chosen = set(order[:SEARCHES_MOST])
    race, trials = collected.race, collected.returns.trials

    looked_at = [entrant for entrant in race.entrants if entrant.index in chosen]
    work, items = partial(_look_into, race, found.effort), [(entrant, trials[entrant.index]) for entrant in looked_at]
    if executor is None:
        with LocalPool("threads") as pool:  # numpy works outside Python's lock
            answers = pool.map(work, items)
    else:
        answers = executor.map(work, items)
    searches: list[Search | None] = [None] * len(race.entrants)
    for entrant, answer in zip(looked_at, answers, strict=True):
        searches[entrant.index] = answer
    return replace(found, searches=tuple(searches))


def _look_into(race: Race, sizes: Effort, item: tuple[Entrant, Trials]) -> Search:
    return search_of(item[0], race, item[1], sizes)


@dataclass(frozen=True, eq=False)
class Studied:
    """A race as it was read, and its statistics: what its page and its facts are made from."""

    collected: Collected
    evidence: Evidence


def study(state_dir: Path, race: str | None, executor: Executor | None = None) -> Studied | None:
    """Read a race, None for the one created last, and work out its statistics; None where there is no race at all.

    Raises
    ------
    UserError : no race of that name.
    LedgerError : its ledger is broken.
    """
    name = race if race is not None else newest_race(state_dir)
    if name is None:
        return None
    collected = collect(state_dir, name)
    return Studied(collected, evidence_of(collected, executor))
