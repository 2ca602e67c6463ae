"""Whether a race can be believed: the trust strip, whether it may be published, what to know before comparing. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from autoquant.protocol import PROTOCOL
from autoquant.report import sources
from autoquant.report.model import Entrant, Fact, LockboxStage, Race, Tone
from autoquant.report.text import clean, count, listing, moment


@dataclass(frozen=True)
class Publishable:
    """Whether the leaderboard may be published, and what stands against it."""

    yes: bool
    reasons: tuple[str, ...]


def publishable(race: Race) -> Publishable:
    """The rule of the contest: a real download, a verified manifest, a full calibration, a clean doctor, a completed
    race; and a record of which nothing is missing. What is not on record counts as not done.
    """
    reasons: list[str] = []
    if race.source.synthetic:
        reasons.append("synthetic market")
    elif race.source.name != sources.ARCHIVE:
        reasons.append("prices not from the Binance archive")
    if race.demo:
        reasons.append("a demonstration, not a race")
    reasons += _unready(race)
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


def _unready(race: Race) -> list[str]:
    """What doctor found before the arena's starts, or that nobody knows."""
    ready = race.readiness
    if not ready.checked:
        return ["manifest verification and doctor’s checks are not on record" if ready.starts else "never started"]
    reasons = []
    if ready.checked < ready.starts:
        missing = count(ready.starts - ready.checked, "start")
        reasons.append(f"{missing} of {ready.starts} without doctor’s checks on record")
    if ready.unverified:
        reasons.append("data not as their manifest pins them")
    problems = [problem for problem in ready.problems if not problem.startswith("data: ")]
    return reasons + [f"doctor found {problem}" for problem in problems]


def comparable(race: Race) -> bool:
    """Whether every competitor had, and used, the same number of attempts."""
    return len({entrant.budget for entrant in race.entrants}) < 2 and not _early(race)


def _early(race: Race) -> list[Entrant]:
    """Who ended otherwise than by using its budget."""
    return [entrant for entrant in race.entrants if entrant.ended not in (None, "done")]


def notes(race: Race) -> tuple[str, ...]:
    """What a reader of the standings has to know before comparing."""
    result: list[str] = []
    budgets = sorted({entrant.budget for entrant in race.entrants})
    if len(budgets) > 1:
        result.append(
            f"Not comparable: budgets differ ({listing([str(b) for b in budgets])} attempts). "
            "This is not a same-budget ranking."
        )
    if early := _early(race):
        told = [f"{entrant.name} after {entrant.closed} of {entrant.budget} ({entrant.ended})" for entrant in early]
        result.append(f"Ended before the budget was used, so not comparable with the others: {listing(told)}.")
    late = [entrant.name for entrant in race.entrants if entrant.extension]
    if late:
        result.append(f"{listing(late)} joined after the sealed year was opened: VALID only, never a sealed verdict.")
    return tuple(result)


def strip(race: Race) -> tuple[Fact, ...]:
    """The trust strip, in the order a doubter asks."""
    return (
        _source_fact(race),
        Fact("blind oracle", Tone.PLAIN, "no strategy is told which coin or which year it trades"),
        _isolation_fact(race),
        _protected_fact(race),
        _lockbox_fact(race),
        _violations_fact(race),
        *_incident_facts(race),
        _faults_fact(race),
        *_untrusted_facts(race),
        *_budget_facts(race),
        _progress_fact(race),
    )


def _source_fact(race: Race) -> Fact:
    ready = race.readiness
    if ready.verified:
        state, why = ", verified", "before every start each file was held against its manifest"
    elif ready.unverified:
        state, why = ", not as pinned", f"{count(ready.unverified, 'start')} found data that differ from their manifest"
    else:
        state, why = (
            ", verification not on record",
            "no line of the record says that files were held against a manifest",
        )
    if race.source.banner:
        return Fact(race.source.words + state, Tone.BAD, f"{race.source.banner} {why[0].upper()}{why[1:]}.")
    return Fact(race.source.words + state, Tone.PLAIN if ready.verified or not ready.starts else Tone.WARN, why)


def _isolation_fact(race: Race) -> Fact:
    if race.isolation == "sealed":
        why = (
            "a strategy saw its interpreter and packages; an agent its own worktree, home and temporary folder, the "
            "system's programs, its own CLI and login; no other file of the machine"
        )
        return Fact("sealed", Tone.PLAIN, why)
    why = "hashes and audits show a change; a hostile process with the owner's rights is not stopped"
    if race.unsealed:
        why += f" (not sealed: {'; '.join(race.unsealed[:3])})"
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


def _budget_facts(race: Race) -> tuple[Fact, ...]:
    if comparable(race):
        return ()
    return (Fact("not comparable", Tone.WARN, "competitors did not have the same number of attempts"),)


def _progress_fact(race: Race) -> Fact:
    total = sum(entrant.budget for entrant in race.entrants)
    last = f"last record {moment(race.provenance.last_utc)} UTC"
    if race.finished:
        return Fact(f"finished, {count(race.attempts, 'attempt')}", Tone.PLAIN, last)
    words = f"unfinished, {race.attempts:,} of {count(total, 'attempt')}"
    left = [f"{entrant.name} ({entrant.left})" for entrant in race.entrants if entrant.left]
    if left:
        why = f"no session is started any more, until the next start: {clean(listing(left), 300)}; {last}"
        return Fact(f"{words}, {len(left)} left alone", Tone.WARN, why)
    return Fact(words, Tone.PLAIN, f"some competitor may still go on; {last}")
