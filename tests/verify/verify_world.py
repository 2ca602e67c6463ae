"""A finished race on disk, its bundle as pieces, and ways to change them."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from referee_world import SEED_TEXT, World, evaluate, submit, text

from autoquant import codec, files
from autoquant.arena import protected
from autoquant.arena.lockbox import Opening, open_once
from autoquant.arena.referee.standing import SEED
from autoquant.environment import environment_here
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.lines import seal
from autoquant.market.lockbox import LockboxRecord
from autoquant.market.manifest import LockboxPin, PanelPin, load_manifest, save_manifest
from autoquant.oracle.calibrate import NoiseFloor
from autoquant.oracle.records import Confirmation, Digests, Evaluation
from autoquant.oracle.reference import BUY_AND_HOLD
from autoquant.protocol import PROTOCOL
from autoquant.verify.bundle import Bundle, Writer
from autoquant.verify.export import Exported, export
from autoquant.verify.private import Private
from autoquant.verify.records import State, Verification
from autoquant.verify.verify import VerifyOptions, verify_bundle
from autoquant.verify.work import Answer, Depth, Work

SECRET = bytes(range(32))
UTC = "2026-11-30T01:00:00Z"
NOBODY = Private({}, (), "")
Pieces = dict[str, bytes]


class OneByOne:
    """An executor without workers."""

    def map(
        self,
        function: Callable[[Any], Any],
        items: Iterable[Any],
        *,
        on_result: Callable[[int, int], None] | None = None,
    ) -> list[Any]:
        return [function(item) for item in items]


@contextlib.contextmanager
def here(jobs: int) -> Iterator[OneByOne]:
    yield OneByOne()


def paper_floor(source: bytes, samples: int) -> NoiseFloor:
    return NoiseFloor(0.3, samples, 1, 0.95, 0.1, 0.98, Digests("p", "c", "d", files.sha256_bytes(source)))


def sealed(source: bytes) -> Evaluation:
    told = evaluate(source)
    return replace(told, folds=told.folds[:1], daily_returns=told.daily_returns[:1])


def on_paper(work: Work) -> Answer:
    """The paper oracle as a worker: what `PaperJudge` and the fake lockbox said."""
    match work.depth:
        case Depth.MARKET:
            return Answer(work.key, sealed(text(0.4)))
        case Depth.SEALED:
            return Answer(work.key, sealed(work.source))
        case Depth.FLOOR:
            return Answer(work.key, floor=paper_floor(work.source, work.samples))
    told = evaluate(work.source)
    if work.depth is Depth.SCREEN:
        return Answer(work.key, told, "" if work.attempt == 0 else "cut at bar 1,204")
    deep = Confirmation(True, told, 0.0, "", 99.0)
    if b"LEAK" in work.source:
        deep = Confirmation(False, None, None, "uses row t+1 at bar 99", 99.0)
    return Answer(work.key, told, "cut at bar 1,204", deep)


class VerifyWorld(World):
    """A world whose first record pins what is really there."""

    def create(self) -> VerifyWorld:
        seed = files.sha256_bytes(SEED_TEXT)
        manifest = load_manifest(self.data)
        floor = paper_floor(SEED_TEXT, 200)
        content = codec.dumps(evaluate(SEED_TEXT)).encode()
        for path, written in (
            (self.layout.blob(seed), SEED_TEXT),
            (self.layout.evaluation(SEED, 0), content),
            (self.layout.secret, f"{SECRET.hex()}\n".encode()),
            (self.layout.manifest, (self.data / "manifest.json").read_bytes()),
            (self.layout.calibration, codec.dumps(floor).encode()),
        ):
            files.atomic_write(path, written)
        created = r.RaceCreated(
            race=self.layout.race,
            kind="demo",
            protocol=PROTOCOL.digest,
            protected=protected.load(self.home),
            code=protected.code_digest(self.home),
            data=r.DataPin("synthetic", manifest.digest, "ab" * 32, "ab" * 32),
            noise_floor=floor.value,
            noise_floor_samples=floor.samples,
            noise_floor_digest=floor.digest,
            secret_digest=files.sha256_bytes(SECRET),
            seed_strategy=seed,
            budget=self.budget,
            allow_source=None,
            isolation="tamper-evident",
            environment=environment_here(),
        )
        ledger = Ledger.open(self.layout.ledger)
        ledger.append(created, UTC)
        ledger.append(r.SeedScored(files.sha256_bytes(content), 0.1), UTC)
        for name in self.competitors:
            ledger.append(r.CompetitorJoined(name, "control", None, None, "#112233", self.budget), UTC)
        return self


@dataclass(frozen=True)
class FakeSealed:
    record: LockboxRecord


@dataclass(frozen=True)
class Finished:
    """A finished race, its bundle, and everything a verifier has."""

    world: VerifyWorld
    bundle: Path
    exported: Exported

    @property
    def layout(self) -> RaceLayout:
        return self.world.layout

    def pieces(self) -> Pieces:
        with Bundle.open(self.bundle) as bundle:
            return {name: bundle.read(name) or b"" for name in bundle.names()}

    def options(self, **changes: Any) -> VerifyOptions:
        nothing = self.bundle.parent / "no data"
        facts: dict[str, Any] = {"home": self.world.home, "data_root": nothing, "evaluator": on_paper, "pool": here}
        return VerifyOptions(**(facts | changes))

    def verify(self, pieces: Pieces, where: Path, **changes: Any) -> Verification:
        """Of a bundle made of these pieces, whose own list agrees with them."""
        path = where / "changed.zip"
        path.write_bytes(packed(pieces))
        return verify_bundle(path, self.options(**changes))


def packed(pieces: Pieces, race: str = "autumn") -> bytes:
    with Writer(race, out := io.BytesIO()) as writer:
        for name in sorted(pieces):
            writer.add(name, pieces[name])
        writer.finish()
    return out.getvalue()


def export_to(world: World, out: Path, **changes: Any) -> Exported:
    facts = {"home": world.home, "data_root": world.root / "data", "private": NOBODY, "clock": world.clock}
    return export(world.layout, out, **(facts | changes))


def finish_a_race(root: Path, home: Path, data: Path) -> Finished:
    """Alice keeps, discards, leaks, crashes and breaks a rule; bob gets into the archive and keeps the seed."""
    own = root / "data" / "synthetic"
    shutil.copytree(data, own)
    pin = LockboxPin("lockbox.seed", files.sha256_bytes(b"0" * 32))
    save_manifest(own, replace(load_manifest(own), lockbox=(pin,)))
    (own / "lockbox.seed").write_bytes(b"0" * 32)
    world = VerifyWorld(root, home, own, competitors=("alice", "bob")).create()
    with world.referee() as referee:
        alice, bob = referee.prepare("alice"), referee.prepare("bob")
        for source in (text(0.9, "PATH = 2"), text(-0.5), text(1.7, "LEAK = 1"), text(0.1, "OUTCOME = crash")):
            submit(referee, alice, source, "an idea")
        (alice / "run.py").chmod(0o644)
        (alice / "run.py").write_text("print('mine')")
        submit(referee, alice, text(2.0))
        submit(referee, bob, text(0.11, "PATH = 3"))
        (bob / "strategy.py").unlink()
        (bob / "strategy.py").symlink_to("/etc/hostname")
        submit(referee, bob, None)
    ledger = Ledger.open(world.layout.ledger)
    for name in ("alice", "bob"):
        ledger.append(r.CompetitorEnded(name, "done"), UTC)
    open_lockbox_of(world, ledger)
    bundle = root / "race.zip"
    return Finished(world, bundle, export_to(world, bundle))


def open_lockbox_of(world: World, ledger: Ledger) -> None:
    created = ledger.view.created
    pin = PanelPin("cd" * 32, 12, "2022-12-30T00:00:00Z", "2022-12-31T20:00:00Z")
    record = LockboxRecord(1, created.data.manifest, "synthetic", None, UTC, False, (), (), (), (), (), (), pin)
    opening = Opening(
        fetch=lambda: FakeSealed(record),  # type: ignore[arg-type, return-value]
        judge=lambda source, data, entry: sealed(source),
        refer={BUY_AND_HOLD: lambda data: sealed(text(0.4))},
        accept_changed=False,
        by=r.OpenedBy(PROTOCOL.digest, created.code, environment_here()),
    )
    open_once(world.layout, ledger, opening, world.clock)


def failed(answer: Verification) -> dict[str, str]:
    """What is false, by check: its problems in one text."""
    return {check.name: "\n".join(check.problems) for check in answer.checks if check.state is State.FAILED}


def states(answer: Verification) -> dict[str, str]:
    return {check.name: check.state.value for check in answer.checks}


def lines(pieces: Pieces) -> list[bytes]:
    return pieces["ledger.jsonl"].splitlines(keepends=True)


def with_lines(pieces: Pieces, changed: Iterable[bytes]) -> Pieces:
    return {**pieces, "ledger.jsonl": b"".join(changed)}


def retold(pieces: Pieces, change: Callable[[str, dict[str, Any]], dict[str, Any] | None]) -> Pieces:
    """The record told anew by a careful liar: bodies changed (None: left out), the whole chain sealed again."""
    previous, told = r.GENESIS, []
    for line in lines(pieces):
        fields = json.loads(line)
        body = change(fields["kind"], fields["body"])
        if body is None:
            continue
        decoded = codec.decode(r.KINDS[fields["kind"]], body, "body")
        record, text_of = seal(decoded, seq=len(told) + 1, utc=fields["utc"], previous=previous)
        previous = record.digest
        told.append(text_of.encode() + b"\n")
    return with_lines(pieces, told)
