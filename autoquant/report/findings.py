"""What the numbers say, in words: standings and verdict. Pure."""

from __future__ import annotations

from autoquant.report.model import Entrant, LockboxStage, Race, Standing
from autoquant.report.text import count, fixed, listing


def standings(race: Race) -> tuple[Standing, ...]:
    """Competitors by retained champion score; who is within one noise floor of a group's first shares its rank.

    Without a seed score nobody has a score, and nobody a rank.
    """
    ordered = sorted(race.entrants, key=lambda e: (e.score is None, -(e.score or 0.0), e.champion is None, e.index))
    ranks: list[int | None] = []
    first = 0
    for place, entrant in enumerate(ordered):
        if entrant.score is None:
            ranks.append(None)
            continue
        if place and (ordered[first].score or 0.0) - entrant.score > race.noise_floor:
            first = place
        ranks.append(first + 1)
    return tuple(
        Standing(rank, rank is not None and ranks.count(rank) > 1, entrant)
        for rank, entrant in zip(ranks, ordered, strict=True)
    )


def verdict(race: Race) -> tuple[str, ...]:
    """The race in two or three sentences, from the numbers alone."""
    sentences = [_result(race), _sealed(race)]
    if race.source.synthetic:
        sentences.insert(0, "On a synthetic market, which proves nothing about a real one:")
    return tuple(sentence for sentence in sentences if sentence)


def _result(race: Race) -> str:
    if not race.entrants:
        return "Nobody has joined this race yet."
    if race.seed_score is None:
        return "The seed has no score yet, so nobody can be compared."
    seed = fixed(race.seed_score)
    if not any(entrant.closed for entrant in race.entrants):
        return f"No attempt has a verdict yet; the seed stands at {seed}."
    table = standings(race)
    if all(entrant.champion is None for entrant in race.entrants):
        tried = count(sum(entrant.closed for entrant in race.entrants), "attempt")
        who = count(len(race.entrants), "competitor")
        return f"No champion: {tried} by {who} did not beat the seed ({seed}) by the official rule."
    leader = table[0].entrant
    score, tried = leader.score or 0.0, count(leader.closed, "attempt")
    held = f"{leader.name}{_kind(leader)} holds {fixed(score)} against the seed’s {seed} after {tried}"
    return held + _compared(race, score, table)


def _compared(race: Race, score: float, table: tuple[Standing, ...]) -> str:
    """How the leader stands to the others, by the one yardstick there is: the noise floor."""
    if len(table) == 1:
        return "; alone in the race, it is compared with nobody."
    floor = fixed(race.noise_floor)
    tied = [standing.entrant.name for standing in table[1:] if standing.rank == table[0].rank]
    if tied:
        names = listing(tied) if len(tied) <= 3 else f"{len(tied)} others"
        return f", but does not separate from {names}: the gap is inside the noise floor of {floor}."
    second = table[1].entrant
    ahead = fixed(score - (second.score or 0.0))
    return f", {ahead} ahead of {second.name}: more than the noise floor of {floor}."


def _kind(entrant: Entrant) -> str:
    return ", a control without skill," if entrant.control else ""


def _sealed(race: Race) -> str:
    box = race.lockbox
    if box.stage is LockboxStage.SEALED:
        return "The sealed year is unopened."
    if box.stage is LockboxStage.OPENING:
        return "The sealed year is being judged."
    entrants = {entrant.name: entrant for entrant in race.entrants}
    champions = [v for v in box.verdicts if v.competitor in entrants and v.attempt > 0]
    if not champions:
        return "The sealed year judged no champion."
    confirmed = [v.name for v in champions if v.words == "confirmed"]
    if len(champions) == 1:
        words = champions[0].words or "not judged"
        return f"On sealed data {champions[0].name} is {words if confirmed else f'not confirmed: {words}'}."
    if not confirmed:
        return f"On sealed data none of {len(champions)} champions is confirmed."
    verb = "is" if len(confirmed) == 1 else "are"
    return f"On sealed data {len(confirmed)} of {len(champions)} champions {verb} confirmed: {listing(confirmed)}."
