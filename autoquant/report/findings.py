"""What the numbers say, in words: standings, verdict, trust strip, whether a race may be published. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.protocol import PROTOCOL
from autoquant.report import sources
from autoquant.report.model import Entrant, Fact, LockboxStage, Race, Standing, Tone
from autoquant.report.text import count, fixed, listing, moment


@dataclass(frozen=True)
class Publishable:
    """Whether the leaderboard may be published, and what stands against it."""

    yes: bool
    reasons: tuple[str, ...]


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


def publishable(race: Race) -> Publishable:
    """The rule of the contest: a real download, a full calibration, a completed race, an untouched record."""
    reasons: list[str] = []
    if race.source.synthetic:
        reasons.append("synthetic market")
    elif race.source.name != sources.ARCHIVE:
        reasons.append("prices not from the Binance archive")
    if race.demo:
        reasons.append("a demonstration, not a race")
    if race.noise_floor_samples < PROTOCOL.calibration.samples:
        reasons.append(f"calibrated with {race.noise_floor_samples:,} of {PROTOCOL.calibration.samples:,} samples")
    if not race.finished:
        reasons.append("race not finished")
    if race.lockbox.stage is not LockboxStage.OPEN:
        reasons.append("sealed year not judged")
    if race.lockbox.changed_archives_accepted:
        reasons.append("sealed archives changed since they were pinned")
    if race.untrusted:
        reasons.append(f"{count(len(race.untrusted), 'evaluation file')} not as recorded")
    return Publishable(not reasons, tuple(reasons))


def notes(race: Race) -> tuple[str, ...]:
    """What a reader of the standings has to know before comparing."""
    result: list[str] = []
    budgets = sorted({entrant.budget for entrant in race.entrants})
    if len(budgets) > 1:
        result.append(
            f"Budgets differ ({listing([str(b) for b in budgets])} attempts): this is not a same-budget ranking."
        )
    late = [entrant.name for entrant in race.entrants if entrant.extension]
    if late:
        result.append(f"{listing(late)} joined after the sealed year was opened: VALID only, never a sealed verdict.")
    return tuple(result)


def strip(race: Race) -> tuple[Fact, ...]:
    """The trust strip, in the order a doubter asks."""
    return (
        _source_fact(race),
        _isolation_fact(race),
        _protected_fact(race),
        _lockbox_fact(race),
        _violations_fact(race),
        *_incident_facts(race),
        _faults_fact(race),
        *_untrusted_facts(race),
        _progress_fact(race),
    )


def _source_fact(race: Race) -> Fact:
    if race.source.banner:
        return Fact(race.source.words, Tone.BAD, race.source.banner)
    return Fact(race.source.words, Tone.PLAIN, "every file was checked against the checksum its archive publishes")


def _isolation_fact(race: Race) -> Fact:
    if race.isolation == "sealed":
        return Fact("sealed", Tone.PLAIN, "competitors could neither read nor write outside their worktree")
    why = "hashes and audits show a change; a hostile process with the owner's rights is not stopped"
    return Fact(race.isolation or "isolation not recorded", Tone.PLAIN, why)


def _protected_fact(race: Race) -> Fact:
    files = race.provenance.protected_files
    return Fact(
        f"{count(files, 'protected file')} pinned",
        Tone.PLAIN if files else Tone.WARN,
        "digests stand in the ledger's first record",
    )


def _lockbox_fact(race: Race) -> Fact:
    box = race.lockbox
    if box.stage is LockboxStage.SEALED:
        return Fact("lockbox sealed", Tone.PLAIN, "no byte of the sealed year has been fetched")
    when = moment(box.opened or "")[:10]
    if box.changed_archives_accepted:
        return Fact(
            f"lockbox opened {when}, changed archives accepted", Tone.BAD, "archives differ from the pinned checksums"
        )
    if box.stage is LockboxStage.OPENING:
        return Fact(
            f"lockbox reserved {when}, not finished", Tone.WARN, "the set is fixed; the one evaluation has not ended"
        )
    return Fact(f"lockbox opened once, {when}", Tone.PLAIN, f"{len(box.verdicts)} strategies judged")


def _violations_fact(race: Race) -> Fact:
    number = race.events_of("violation")
    return Fact(
        count(number, "violation"),
        Tone.BAD if number else Tone.PLAIN,
        "changes of protected files, restored and recorded",
    )


def _incident_facts(race: Race) -> tuple[Fact, ...]:
    number = race.events_of("incident")
    return (
        (Fact(count(number, "incident"), Tone.WARN, "something that no competitor can be charged with"),)
        if number
        else ()
    )


def _faults_fact(race: Race) -> Fact:
    number = race.events_of("fault")
    return Fact(
        count(number, "fault"),
        Tone.WARN if number else Tone.PLAIN,
        "of machine, network or harness: never scored, never counted",
    )


def _untrusted_facts(race: Race) -> tuple[Fact, ...]:
    number = len(race.untrusted)
    words = f"{count(number, 'evaluation file')} not as recorded"
    return (Fact(words, Tone.BAD, "listed under provenance; their folds and gates are not shown"),) if number else ()


def _progress_fact(race: Race) -> Fact:
    total = sum(entrant.budget for entrant in race.entrants)
    if race.finished:
        return Fact(
            f"finished, {race.attempts:,} attempts", Tone.PLAIN, f"last record {moment(race.provenance.last_utc)} UTC"
        )
    return Fact(f"unfinished, {race.attempts:,} of {total:,} attempts", Tone.WARN, "some competitor may still go on")
