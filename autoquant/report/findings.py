"""What the numbers say, in words: the standings and the verdict. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from autoquant.report.evidence import Evidence
from autoquant.report.evidence_pairs import Ranking, Unit, Versus
from autoquant.report.model import Entrant, LockboxStage, Race, Standing
from autoquant.report.nulls import Nulls
from autoquant.report.text import count, fixed, listing

NAMES_MOST = 3
"""So many are named in a sentence; of more, their number."""
CENTURY = 1200
"""Months."""


def standings(race: Race, ranking: Ranking) -> tuple[Standing, ...]:
    """Competitors in the order of `ranking`, replicates of one side by side; tied units share a rank.

    Without a seed score nobody has a score, and nobody a rank.
    """
    return tuple(
        Standing(rank, rank is not None and ranking.ranks.count(rank) > 1, race.entrants[index])
        for unit, rank in zip(ranking.units, ranking.ranks, strict=True)
        for index in unit.members
    )


def verdict(race: Race, evidence: Evidence) -> tuple[str, ...]:
    """The race in one sentence from the numbers alone: who separates, who beats blind search, what is confirmed.

    A synthetic market is named in a sentence before it.
    """
    synthetic = "On a synthetic market, which proves nothing about a real one:" if race.source.synthetic else ""
    start = _beginning(race)
    if start:
        return tuple(filter(None, (synthetic, start, _sentence(_sealed(race)))))
    clauses = [_held_scores(race, evidence.ranking), _placebo(race, evidence.nulls), _sealed(race)]
    whole = ("" if race.finished else "so far ") + "; ".join(clause for clause in clauses if clause)
    return (synthetic, f"{whole}.") if synthetic else (_sentence(whole),)


def separation_words(pair: Versus) -> str:
    """What a pair's test came to."""
    if pair.separated:
        return "separates"
    if pair.missing:
        return f"not compared: {pair.missing}"
    if pair.difference == 0.0:
        return "not separable: the same"
    if (pair.difference or 0.0) < 0.0:
        return "not separable: days and score disagree"
    needs = [words for words in (_months(pair.months), _races(pair.races)) if words]
    return f"not separable: {', or '.join(needs)}" if needs else "not separable"


def _months(months: float | None) -> str:
    if months is None or math.isinf(months):
        return ""
    if months < 1.0:
        return "at the edge"
    if months > CENTURY:
        return "more than 100 more years"
    if months >= 48.0:
        return f"about {months / 12:.0f} more years"
    return f"about {months:.0f} more months"


def _races(races: float | None) -> str:
    if races is None or math.isinf(races):
        return ""
    return f"about {races:,.0f} races each" if races <= 1000 else "more than 1,000 races each"


def _beginning(race: Race) -> str:
    """What there is to say before anybody can have won; empty once somebody can."""
    if not race.entrants:
        return "Nobody has joined this race yet."
    if race.seed_score is None:
        return "The seed has no score yet, so nobody can be compared."
    seed = fixed(race.seed_score)
    if not any(entrant.closed for entrant in race.entrants):
        return f"No attempt has a verdict yet; the seed stands at {seed}."
    if all(entrant.champion is None for entrant in race.entrants):
        tried = count(sum(entrant.closed for entrant in race.entrants), "attempt")
        who = count(len(race.entrants), "competitor")
        return f"No champion: {tried} by {who} did not beat the seed ({seed}) by the official rule."
    return ""


def _held_scores(race: Race, ranking: Ranking) -> str:
    """Who leads, and whether anything tells the leaders from the rest."""
    units, leaders = ranking.units, ranking.leaders
    by_floor = ", by the noise floor alone" if ranking.fallback else ""
    if len(units) == 1:
        return _alone(race, units[0])
    blind = _controls(race, leaders)
    rest = len(units) - len(leaders)
    if not rest:
        noun = "competitor" if blind else "agent"
        return f"no {noun} separates from the others (tie group of {len(units)}{by_floor}{blind})"
    if len(leaders) == 1:
        leader = leaders[0]
        kind = ", a control without skill," if blind else ""
        others = _name(units[1]) if rest == 1 else f"all {rest} others"
        return f"{_name(leader)}{kind} leads with {fixed(leader.score or 0.0)} and separates from {others}{by_floor}"
    names = listing([unit.name for unit in leaders]) if len(leaders) <= NAMES_MOST else f"{len(leaders)} competitors"
    others = units[-1].name if rest == 1 else f"the other {rest}"
    return f"{names} lead as a tie group of {len(leaders)}{blind} and separate from {others}{by_floor}"


def _controls(race: Race, units: Sequence[Unit]) -> str:
    """How many of some units are controls, which have no skill; empty for none."""
    number = sum(race.entrants[unit.members[0]].control for unit in units)
    if not number:
        return ""
    if number == len(units):
        return ", all controls without skill"
    return f", {'a control' if number == 1 else f'{number} controls'} without skill among them"


def _alone(race: Race, unit: Unit) -> str:
    tried = count(sum(race.entrants[index].closed for index in unit.members), "attempt")
    seed, score = fixed(race.seed_score or 0.0), fixed(unit.score or 0.0)
    kind = ", a control without skill," if race.entrants[unit.members[0]].control else ""
    what = f"holds {score}" if not unit.replicated else f"holds {score} on average of {len(unit.members)} races"
    held = f"{unit.name}{kind} {what} against the seed’s {seed} after {tried}"
    return f"{held}; alone in the race, it is compared with nobody"


def _name(unit: Unit) -> str:
    return f"{unit.name} ({len(unit.members)} races)" if unit.replicated else unit.name


def _placebo(race: Race, nulls: Nulls) -> str:
    """Who stands above searchers without skill, corrected for how many were held."""
    asked = [race.entrants[i] for i, held in enumerate(nulls.held) if held.p_holm is not None]
    if not asked:
        waiting = any(entrant.closed and nulls.held[entrant.index].p_value is None for entrant in race.entrants)
        return "nobody is held against blind searchers yet" if waiting else ""
    runs = min(nulls.held[entrant.index].runs or 0 for entrant in asked)
    blind = count(runs, "blind searcher")
    beaten = [race.entrants[index] for index in nulls.beaten_by]
    if beaten:
        worst = max(nulls.held[entrant.index].p_holm or 0.0 for entrant in beaten)
        corrected = f", corrected for {len(asked)}" if len(asked) > 1 else ""
        return f"{_some(beaten, 'beat', 'beats')} {blind} (p {_bound(beaten)} {fixed(worst, 3)}{corrected})"
    above = [entrant for entrant in asked if (nulls.held[entrant.index].p_value or 1.0) <= nulls.alpha]
    smallest = min(nulls.held[entrant.index].p_value or 0.0 for entrant in asked)
    if not above:
        return f"none beats {blind} (smallest p = {fixed(smallest, 3)})"
    largest = max(nulls.held[entrant.index].p_value or 0.0 for entrant in above)
    more = f" ({nulls.runs_needed} could tell)" if runs < nulls.runs_needed else ""
    return (
        f"{_some(above, 'stand out', 'stands out')} against {blind} (p {_bound(above)} {fixed(largest, 3)}), "
        f"not after correction for {len(asked)}{more}"
    )


def _bound(entrants: list[Entrant]) -> str:
    return "=" if len(entrants) == 1 else "≤"


def _some(entrants: list[Entrant], many: str, one: str) -> str:
    names = [entrant.name for entrant in entrants]
    if len(names) == 1:
        return f"{names[0]} {one}"
    return f"{listing(names) if len(names) <= NAMES_MOST else f'{len(names)} champions'} {many}"


def _sealed(race: Race) -> str:
    box = race.lockbox
    if box.stage is LockboxStage.SEALED:
        return "the sealed year is unopened"
    if box.stage is LockboxStage.OPENING:
        return "the sealed year is being judged"
    names = {entrant.name for entrant in race.entrants}
    champions = [v for v in box.verdicts if v.competitor in names and v.attempt > 0]
    if not champions:
        return "the sealed year judged no champion"
    confirmed = [v.name for v in champions if v.words == "confirmed"]
    if len(champions) == 1:
        words = champions[0].words or "not judged"
        return f"{champions[0].name} is {words if confirmed else f'not confirmed ({words})'} on sealed data"
    if not confirmed:
        return f"none of {len(champions)} champions is confirmed on sealed data"
    verb = "is" if len(confirmed) == 1 else "are"
    who = listing(confirmed) if len(confirmed) <= NAMES_MOST else "see below"
    return f"{len(confirmed)} of {len(champions)} champions {verb} confirmed on sealed data: {who}"


_OURS = ("no ", "none ", "nobody ", "so ", "the ")
"""How clauses of ours begin; what begins otherwise begins with a name, which keeps its spelling."""


def _sentence(words: str) -> str:
    start = words[:1].upper() + words[1:] if words.startswith(_OURS) else words
    return f"{start}."
