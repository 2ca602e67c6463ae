"""Is the record whole, and are the files there that it names? Nothing is computed anew here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.errors import LedgerError
from autoquant.ledger import records as r
from autoquant.ledger.chain import chain_of
from autoquant.ledger.replay import Replayer
from autoquant.ledger.views import RaceView
from autoquant.market.manifest import SYNTHETIC
from autoquant.protocol import PROTOCOL
from autoquant.verify import evidence as ev
from autoquant.verify.evidence import Evidence
from autoquant.verify.records import Check, State, outcome

TASKS = "tasks"
"""Kind of a record of the graded track."""
SCORING = ("oracle", "sandbox", "market", "ratchet", "stats")
"""Rooms a number depends on."""
SCORING_GROUND = ("protocol.py", "codec.py", "files.py", "process.py", "executor.py", "clock.py", "errors.py")


@dataclass(frozen=True)
class Story:
    """The record, read: its lines, the race they tell, and the race as it stood when the lockbox was reserved."""

    records: tuple[r.Record, ...]
    view: RaceView
    before_reservation: RaceView | None


def check_chain(evidence: Evidence) -> tuple[Check, Check, Story | None]:
    """Each line whole, in canonical form and chained to the one before; and no line that a race may not hold."""
    content = evidence.read(ev.LEDGER)
    if content is None:
        missing = Check("chain", State.FAILED, f"{ev.LEDGER}: missing", (f"{ev.LEDGER}: missing",))
        return missing, Check("rules of a race", State.NOT_DONE, "there is no record"), None
    try:
        chain = chain_of(content, ev.LEDGER)
    except LedgerError as error:
        broken = outcome("chain", [error.message], "")
        return broken, Check("rules of a race", State.NOT_DONE, "the chain is broken"), None
    problems = []
    if chain.torn_bytes or chain.lacks_newline or not chain.records:
        problems.append(f"{ev.LEDGER}:{len(chain.records) + 1}: the last line is not whole")
    head = chain.records[-1].digest if chain.records else r.GENESIS
    whole = outcome("chain", problems, f"{len(chain.records)} lines, head {head}")
    replayer, before = Replayer(ev.LEDGER), None
    try:
        for record in chain.records:
            if isinstance(record.body, r.LockboxReserved):
                before = replayer.view()
            replayer.apply(record)
        view = replayer.view()
    except LedgerError as error:
        return whole, outcome("rules of a race", [error.message], ""), None
    attempts = sum(len(racer.attempts) for racer in view.competitors.values())
    rules = outcome(
        "rules of a race",
        [*_repeated_requests(chain.records), *_repeated_strategies(view)],
        f"{len(view.competitors)} competitors, {attempts} attempts: numbered, within budget, charged once",
    )
    return whole, rules, Story(chain.records, view, before)


def check_end(story: Story, *, required: bool) -> Check:
    """A published race has ended and its lockbox is open; what was cut off the end of a record shows here."""
    view, last = story.view, f"{ev.LEDGER}:{len(story.records)}"
    racing = [name for name, racer in view.competitors.items() if racer.ended is None]
    open_ends = []
    if racing or not view.competitors:
        open_ends.append(f"{last}: the record ends while {', '.join(racing) or 'nobody'} may go on")
    if view.created.kind != TASKS and not view.lockbox.is_closed:
        open_ends.append(f"{last}: the record ends before the lockbox is closed")
    if required:
        return outcome("end", open_ends, "every competitor has ended" + _box_words(view))
    return outcome("end", [], "every competitor has ended" + _box_words(view), undone="; ".join(open_ends))


def check_files(evidence: Evidence, view: RaceView) -> Check:
    """Every file the record names is there with its digest; no file is there that it does not name."""
    named: dict[str, str | None] = {}
    problems = []
    for name, digest in ev.named_files(view):
        if named.setdefault(name, digest) != digest:
            problems.append(f"{name}: named twice, with two digests")
    for name, digest in named.items():
        content = evidence.read(name)
        if content is None:
            problems += [f"{name}: missing"] if digest is not None else []
        elif digest is not None and files.sha256_bytes(content) != digest:
            problems.append(f"{name}: differs from the digest in {ev.LEDGER}")
    strangers = [name for name in evidence.names() if name not in named and name not in ev.BESIDE]
    if view.is_terminal:  # a running race writes its files before the line that names them
        problems += [f"{name}: no line of {ev.LEDGER} names it" for name in strangers]
    held = sum(digest is not None for digest in named.values())
    return outcome("files", problems, f"{held} files match the digests in the record")


def check_ground(evidence: Evidence, view: RaceView) -> Check:
    """What the first record pins is what lies beside it: secret, protected files, manifest, noise floor."""
    created = view.created
    problems: list[str] = []
    undone: list[str] = []
    if created.kind != TASKS:
        secret = read_secret(evidence)
        if secret is None:
            undone.append("the race's secret is missing")
        elif files.sha256_bytes(secret) != created.secret_digest:
            problems.append(f"{ev.SECRET}: differs from the digest in {ev.LEDGER}:1")
        problems += _manifest_problems(evidence, view, undone)
        problems += _floor_problems(evidence, view, undone)
        problems += _protocol_problems(evidence, view)
    protected = evidence.read(ev.PROTECTED)
    if protected is None:
        undone.append(f"{ev.PROTECTED} is missing")
    elif files.sha256_bytes(protected) != created.code or _listed(protected) != created.protected:
        problems.append(f"{ev.PROTECTED}: is not what {ev.LEDGER}:1 names")
    text = (
        f"data of {created.data.source}, noise floor, secret and {len(created.protected)} protected files are its own"
    )
    return outcome("first record", problems, text, undone="; ".join(undone))


def check_code(view: RaceView, home: Path) -> Check:
    """Whether this checkout is the code the race began with, at least where a number depends on it."""
    created = view.created
    if created.protocol != PROTOCOL.digest:
        reason = f"the race's protocol is {created.protocol[:12]}, this checkout's {PROTOCOL.digest[:12]}"
        return Check("code", State.NOT_DONE, f"{reason}: check out the version the race began with")
    here = files.tree_digest(home, sorted(created.protected))
    own = _listed(_read(home, ev.PROTECTED))
    other = [name for name, digest in created.protected.items() if here.get(name) != digest]
    other += [name for name in own if name not in created.protected]
    scoring = [name for name in other if _scores(name)]
    if scoring:
        more = f" and {len(scoring) - 1} more" if len(scoring) > 1 else ""
        reason = f"{scoring[0]}{more}: not what the race began with, and numbers depend on it"
        return Check("code", State.NOT_DONE, f"{reason}; check out the version the race began with")
    if other:
        return Check("code", State.OK, f"the race's own where numbers come from; {len(other)} other files differ")
    return Check("code", State.OK, f"this checkout is the code the race began with ({created.code[:12]})")


def read_secret(evidence: Evidence) -> bytes | None:
    """The race's secret; None when it is missing or not hex."""
    try:
        return bytes.fromhex((evidence.read(ev.SECRET) or b"").decode("ascii").strip()) or None
    except ValueError:
        return None


def _box_words(view: RaceView) -> str:
    box = view.lockbox
    return f"; the lockbox was reserved {box.reserved_utc}, closed {box.closed_utc}" if box.is_closed else ""


def _repeated_requests(records: tuple[r.Record, ...]) -> list[str]:
    first: dict[str, int] = {}
    problems = []
    for record in records:
        if isinstance(record.body, r.AttemptOpened):
            seen = first.setdefault(record.body.request, record.seq)
            if seen != record.seq:
                problems.append(f"{ev.LEDGER}:{record.seq}: request {record.body.request} was charged in line {seen}")
    return problems


def _repeated_strategies(view: RaceView) -> Iterator[str]:
    """A byte-identical resubmission is answered from the record, never charged."""
    empty = files.sha256_bytes(b"")
    for name, racer in view.competitors.items():
        if racer.joined.task:
            continue
        judged = Counter(a.strategy for a in racer.attempts if a.status != "violation" and a.strategy != empty)
        for digest, times in judged.items():
            if times > 1:
                yield f"{name}: strategy {digest[:12]} was charged {times} times"
        if view.seed is not None and view.created.seed_strategy in judged:
            yield f"{name}: the seed itself was charged as an attempt"


def _manifest_problems(evidence: Evidence, view: RaceView, undone: list[str]) -> list[str]:
    if evidence.read(ev.MANIFEST) is None:
        undone.append(f"{ev.MANIFEST} is missing")
        return []
    manifest = ev.manifest_of(evidence)
    pin = view.created.data
    if manifest is None:
        return [f"{ev.MANIFEST}: cannot be read"]
    splits = {name: split.digest for name, split in manifest.splits.items()}
    if (manifest.source, manifest.digest) != (pin.source, pin.manifest):
        return [f"{ev.MANIFEST}: is not the manifest that {ev.LEDGER}:1 names"]
    if manifest.is_synthetic and (view.created.kind != "demo" or manifest.source != SYNTHETIC):
        return [f"{ev.MANIFEST}: made-up data in a race that is no demo, or under another name"]
    if (splits.get("train"), splits.get("valid")) != (pin.train, pin.valid):
        return [f"{ev.MANIFEST}: its panels are not those that {ev.LEDGER}:1 names"]
    seed = evidence.read(ev.LOCKBOX_SEED) if manifest.is_synthetic else None
    if seed is not None and files.sha256_bytes(seed) not in [one.sha256 for one in manifest.lockbox]:
        return [f"{ev.LOCKBOX_SEED}: is not the seed that {ev.MANIFEST} pins"]
    return []


def _protocol_problems(evidence: Evidence, view: RaceView) -> list[str]:
    """Of the copy for readers: what is judged by is this checkout's own."""
    told = evidence.read(ev.PROTOCOL_FILE)
    if told is None or view.created.protocol != PROTOCOL.digest or told == ev.protocol_file():
        return []
    return [f"{ev.PROTOCOL_FILE}: is not the protocol that {ev.LEDGER}:1 names"]


def _floor_problems(evidence: Evidence, view: RaceView, undone: list[str]) -> list[str]:
    floor, created = ev.floor_of(evidence), view.created
    if evidence.read(ev.CALIBRATION) is None:
        undone.append(f"{ev.CALIBRATION} is missing")
        return []
    if floor is None:
        return [f"{ev.CALIBRATION}: cannot be read"]
    named = (created.noise_floor, created.noise_floor_samples, created.noise_floor_digest)
    if (floor.value, floor.samples, floor.digest) != named:
        return [f"{ev.CALIBRATION}: is not the noise floor that {ev.LEDGER}:1 names"]
    return []


def _listed(protected: bytes) -> dict[str, str]:
    lines = (line.partition("  ") for line in protected.decode("utf-8", "replace").splitlines())
    return {name: digest for digest, _, name in lines}


def _read(home: Path, name: str) -> bytes:
    """Of a checkout; empty where there is none."""
    try:
        return files.read_regular(home, name, ev.LARGEST, hard_links=True)
    except (OSError, files.NotRegularFile):
        return b""


def _scores(name: str) -> bool:
    parts = name.split("/")
    if parts[0] != "autoquant" or len(parts) < 2:
        return False
    return parts[1] in SCORING if len(parts) > 2 else parts[1] in SCORING_GROUND
