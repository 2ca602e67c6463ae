"""From a race's ledger and the oracle's evaluations to the page's model. Reads; never writes.

Numbers come from two places: the hash-chained ledger, and evaluation files whose sha256 the ledger names. A file that
is missing or does not carry that digest contributes nothing and is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from autoquant.errors import UserError
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import read_records
from autoquant.ledger.races import race_names
from autoquant.ledger.replay import replay
from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.oracle.records import Evaluation
from autoquant.protocol import PROTOCOL
from autoquant.report import reading, sources
from autoquant.report.agenttime import agent_times
from autoquant.report.judged import attempt_of
from autoquant.report.lockbox import lockbox_of
from autoquant.report.model import (
    Attempt,
    Entrant,
    Event,
    Provenance,
    Race,
    Reading,
    Step,
    Verdict,
)
from autoquant.report.returns import Returns
from autoquant.report.shelf import Shelf
from autoquant.report.spending import attempt_amounts, setup_of, work_of
from autoquant.report.starts import left_alone, readiness_of
from autoquant.report.text import clean

CONTROL = "control"
"""Harness kind of the embedded searchers."""


def newest_race(state_dir: Path) -> str | None:
    """Name of the race created last; None when the state root holds none."""
    names = race_names(state_dir)
    return names[-1] if names else None


@dataclass(frozen=True, eq=False)
class Collected:
    """A race for the page, and what statistics and diffs are made from."""

    race: Race
    returns: Returns
    layout: RaceLayout
    """Where strategies' texts lie, by digest."""


def collect(state_dir: Path, race: str) -> Collected:
    """One race from its ledger and the files that it names.

    Raises
    ------
    UserError : no such race.
    LedgerError : its ledger is broken; names file and line.
    """
    layout = RaceLayout(state_dir, race)
    if not layout.ledger.is_file():
        known = sorted(path.parent.name for path in state_dir.glob("races/*/ledger.jsonl"))
        hint = f"races here: {', '.join(known)}" if known else "start one with arena.py start, or see arena.py demo"
        raise UserError(f"no race {clean(race, 60)!r} below the state folder", hint)
    records = read_records(layout.ledger)
    view = replay(records, layout.ledger.name)
    shelf = Shelf(layout)
    seed = shelf.seed(view.seed.evaluation_digest) if view.seed else None
    lockbox, left = lockbox_of(view, shelf), left_alone(records)
    times, wanted = agent_times(records), reading.wanted(view.competitors)
    entrants = tuple(
        replace(
            _entrant(competitor, index, view, seed, lockbox.verdicts, shelf, wanted[competitor.name], times),
            left=left.get(competitor.name),
        )
        for index, competitor in enumerate(view.competitors.values())
    )
    created = view.created
    model = Race(
        name=clean(created.race, 80),
        demo=created.kind == "demo",
        source=sources.describe(created.data.source),
        allow_source=created.allow_source,
        readiness=readiness_of(view),
        isolation=clean(view.isolation, 60),
        unsealed=tuple(clean(reason, 200) for reason in view.unsealed),
        noise_floor=created.noise_floor,
        noise_floor_samples=created.noise_floor_samples,
        budget=created.budget,
        fold_count=PROTOCOL.calendar.folds,
        seed_score=view.seed.score if view.seed else None,
        seed_folds=seed.fold_sharpes if seed else (),
        entrants=entrants,
        lockbox=lockbox,
        events=_events(records, shelf),
        untrusted=tuple(shelf.untrusted),
        provenance=_provenance(view),
        reading=_reading(view, wanted),
    )
    return Collected(model, shelf.returns(list(view.competitors)), layout)


def _entrant(
    view: CompetitorView,
    index: int,
    race: RaceView,
    seed: Evaluation | None,
    verdicts: tuple[Verdict, ...],
    shelf: Shelf,
    wanted: reading.Wanted,
    times: Mapping[str, Mapping[int, float]],
) -> Entrant:
    evaluations: dict[int, Evaluation | None] = {0: seed}
    attempts: list[Attempt] = []
    amounts, seconds = attempt_amounts(view), times.get(view.name, {})
    for attempt in view.attempts:
        number, stress = attempt.attempt, None
        told = number in wanted.answers
        if told:
            days = number in wanted.returns
            evaluations[number] = shelf.attempt(view.name, number, attempt.evaluation, returns=days)
            if attempt.accepted and number in wanted.details:
                stress = shelf.stress(view.name, number, attempt.detail)
        elif number in wanted.returns:
            shelf.days(view.name, number, attempt.evaluation)
        answer, base = evaluations.get(number), evaluations.get(attempt.parent)
        attempts.append(attempt_of(attempt, answer, base, stress, amounts.get(number), seconds.get(number), told))
    start = (Step(0, race.seed.score),) if race.seed else ()
    closed = [a for a in attempts if a.score is not None]
    champion = attempts[view.champion - 1] if view.champion else None
    joined = view.joined
    return Entrant(
        name=clean(view.name, 80),
        index=index,
        harness=clean(joined.harness, 60),
        model=clean(joined.model, 80) if joined.model else None,
        effort=clean(joined.effort, 40) if joined.effort else None,
        colour=joined.colour,
        budget=joined.budget,
        control=joined.harness == CONTROL,
        extension=joined.extension,
        attempts=tuple(attempts),
        official=start + tuple(Step(a.number, a.score or 0.0) for a in closed if a.status == "keep"),
        working=start + tuple(Step(a.number, a.score or 0.0) for a in closed if a.status in ("keep", "search")),
        champion=champion,
        keeps=sum(a.status == "keep" for a in attempts),
        accepted=sum(a.status in ("keep", "search") for a in attempts),
        best=max((a.score for a in closed if a.gates_passed and a.score is not None), default=None),
        ended=clean(view.ended, 120) if view.ended else None,
        faults=len(view.faults),
        violations=len(view.violations),
        verdict=next((v for v in verdicts if v.competitor == view.name), None),
        work=work_of(view),
        setup=setup_of(view),
        archive=tuple(view.archive.items()),
    )


def _reading(view: RaceView, wanted: Mapping[str, reading.Wanted]) -> Reading:
    """Of all evaluations the ledger names, how many were opened for the page."""
    opened = recorded = 0
    for name, competitor in view.competitors.items():
        numbers = wanted[name].answers | wanted[name].returns
        found = [attempt.attempt for attempt in competitor.attempts if attempt.evaluation is not None]
        recorded += len(found)
        opened += sum(number in numbers for number in found)
    return Reading(opened, recorded, max((len(some.returns) for some in wanted.values()), default=0))


def _events(records: tuple[r.Record, ...], shelf: Shelf) -> tuple[Event, ...]:
    events: list[Event] = []
    for record in records:
        body = record.body
        if isinstance(body, r.FaultSeen):
            words = f"{clean(body.kind, 40)}: {clean(body.message, 240)}"
            events.append(Event(record.utc, "fault", body.competitor, body.attempt, words))
        elif isinstance(body, r.ViolationFound):
            change = "removed" if not body.after else "added" if not body.before else "changed"
            digests = f"{body.before[:12] or 'nothing'} → {body.after[:12] or 'nothing'}"
            words = f"{clean(body.path, 160)} {change} ({digests})"
            diff = shelf.evidence(body.diff)
            events.append(Event(record.utc, "violation", body.competitor, body.attempt, words, diff))
        elif isinstance(body, r.IncidentSeen):
            events.append(Event(record.utc, "incident", None, None, clean(body.message, 240)))
    return tuple(events)


def _provenance(view: RaceView) -> Provenance:
    created = view.created
    return Provenance(
        protocol=created.protocol,
        protocol_version=PROTOCOL.version,
        current_protocol=created.protocol == PROTOCOL.digest,
        code=created.code,
        data_manifest=created.data.manifest,
        data_train=created.data.train,
        data_valid=created.data.valid,
        noise_floor_digest=created.noise_floor_digest,
        secret=created.secret_digest,
        seed_strategy=created.seed_strategy,
        head=view.head,
        records=view.length,
        protected_files=len(created.protected),
        first_utc=view.created_utc,
        last_utc=view.last_utc,
        data_sealed=_sealed_panel(view),
    )


def _sealed_panel(view: RaceView) -> str:
    """Digest of the sealed panel as the market room recorded it; empty while there is none."""
    panel = view.lockbox.fetched.data.get("panel") if view.lockbox.fetched else None
    return clean(str(panel.get("digest", "")), 64) if isinstance(panel, dict) else ""
