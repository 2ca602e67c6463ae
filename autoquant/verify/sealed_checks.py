"""Does the record of the lockbox hold: who was judged, when it was opened, by which code, on which bytes?"""

from __future__ import annotations

from typing import Any

from autoquant import codec
from autoquant.environment import differing
from autoquant.errors import AutoQuantError
from autoquant.ledger import records as r
from autoquant.ledger.judged import sealed_set
from autoquant.market.lockbox import LockboxRecord
from autoquant.market.manifest import Manifest
from autoquant.oracle.gates import lockbox_verdict
from autoquant.oracle.records import Evaluation
from autoquant.protocol import PROTOCOL
from autoquant.stats.sharpe import probabilistic_sharpe_of
from autoquant.verify import evidence as ev
from autoquant.verify.compare import TOLERANCE, difference
from autoquant.verify.decisions import read_evaluation
from autoquant.verify.evidence import Evidence
from autoquant.verify.record_checks import TASKS, Story
from autoquant.verify.records import Check, State, outcome

NAME = "lockbox"


def check_lockbox(evidence: Evidence, story: Story, *, exact: bool) -> Check:
    """The reserved set is the one the record asks for, it was fixed before a byte was fetched, the bytes are the pinned
    ones, the program was the race's, and each verdict follows from its evaluation.
    """
    view, box = story.view, story.view.lockbox
    if view.created.kind == TASKS:
        return Check(NAME, State.OK, "the graded track has none")
    if not box.is_closed or story.before_reservation is None or box.fetched is None:
        reason = "was never opened" if not box.is_reserved else "was reserved, and its opening has not ended"
        return Check(NAME, State.NOT_DONE, f"it {reason}")
    problems = []
    if box.entries != sealed_set(story.before_reservation):
        problems.append("the reserved set is not the seed, every champion and every control of that moment")
    record = fetched_record(box.fetched.data)
    if record is None:
        problems.append("what was fetched cannot be read")
    else:
        problems += _bytes_problems(record, box.fetched, view.created, ev.manifest_of(evidence))
    if view.created.protocol == PROTOCOL.digest:
        for verdict in (box.scores or {}).values():
            problems += _verdict_problems(evidence, verdict, exact=exact)
    opened = _opened_by(story)
    problems += opened[0]
    times = f"reserved {box.reserved_utc}, fetched {box.fetched_utc}, closed {box.closed_utc}"
    panel = "" if record is None else f"; panel {record.panel.digest[:12]}, {len(record.files)} pinned archives"
    changed = f"; {len(record.changed)} changed archives accepted" if record is not None and record.changed else ""
    return outcome(NAME, problems, f"{times}; {opened[2]}{panel}{changed}", undone=opened[1])


def fetched_record(data: dict[str, Any]) -> LockboxRecord | None:
    """What opening found, as the market room wrote it; None when it is not that."""
    try:
        return codec.decode(LockboxRecord, data, "lockbox_fetched")
    except AutoQuantError:
        return None


def _bytes_problems(
    record: LockboxRecord, fetched: r.LockboxFetched, created: r.RaceCreated, manifest: Manifest | None
) -> list[str]:
    problems = []
    if (record.manifest, record.source) != (created.data.manifest, created.data.source):
        problems.append("it was opened from other data than the race's")
    if record.accept_changed != fetched.accept_changed or (record.changed and not fetched.accept_changed):
        problems.append("changed archives were taken, and the record does not say that this was allowed")
    if manifest is None:
        return problems
    pinned = {pin.path: pin.sha256 for pin in manifest.lockbox}
    if set(record.absent) != {path for path, digest in pinned.items() if digest is None}:
        problems.append("it says of other archives than set-up that they did not exist")
    changed = {one.path: one for one in record.changed}
    for archive in record.files:
        if archive.path not in pinned:
            problems.append(f"{archive.path}: fetched, though set-up pinned no such archive")
        elif archive.path in changed:
            one = changed[archive.path]
            if (one.pinned, one.got) != (pinned[archive.path], archive.sha256):
                problems.append(f"{archive.path}: changed in another way than the record says")
        elif archive.sha256 != pinned[archive.path]:
            problems.append(f"{archive.path}: is not the archive pinned at set-up")
    return problems


def _opened_by(story: Story) -> tuple[list[str], str, str]:
    """(what is false, what is not on record, the program in words)."""
    created = story.view.created
    by = next((one.body.by for one in story.records if isinstance(one.body, r.LockboxReserved)), None)
    if by is None:
        return [], "the record is of a version that did not say which program opened it", ""
    problems = []
    if (by.protocol, by.code) != (created.protocol, created.code):
        problems.append("it was opened by other code than the race's")
    other = differing(created.environment, by.environment) if created.environment else ()
    words = f"by code {by.code[:12]}, autoquant {by.environment.get('autoquant', '?')}"
    return problems, "", words + (f" (since the race began: {', '.join(other)})" if other else "")


def _verdict_problems(evidence: Evidence, verdict: r.LockboxScored, *, exact: bool) -> list[str]:
    evaluation = read_evaluation(evidence, ev.sealed(verdict.name))
    if evaluation is None:
        return [f"{verdict.name}: its evaluation is missing"]
    tolerance = 0.0 if exact else TOLERANCE
    words = difference(verdict, verdict_on(verdict.name, evaluation, verdict.evaluation), tolerance)
    return [f"{verdict.name}: {words}"] if words else []


def verdict_on(name: str, evaluation: Evaluation, digest: str) -> r.LockboxScored:
    """The verdict that an evaluation has to get: gates, then the sign of its Sharpe ratio, then the evidence.

    Written apart from the arena's own, which it checks.
    """
    holds = evaluation.fault is None and evaluation.failed_gate is None
    if not evaluation.folds:
        return r.LockboxScored(name, digest, None, str(lockbox_verdict(0.0, 0.0, False)), None)
    sharpe = evaluation.folds[0].sharpe
    probability = probabilistic_sharpe_of(evaluation.daily_returns[0]) if evaluation.daily_returns else 0.5
    return r.LockboxScored(name, digest, sharpe, str(lockbox_verdict(sharpe, probability, holds)), probability)
