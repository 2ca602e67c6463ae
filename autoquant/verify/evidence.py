"""What is looked at: named pieces of bytes, from a bundle or from a race's own folder. Nothing is changed.

ledger.jsonl                           the record
secret                                 32 bytes, hex: masks and cuts follow from it
strategies/<sha256>                    bytes of every attempt, and the seed
evaluations/<competitor>/0001.json     the oracle's answer; 0001.detail.json both masks, the deep check
scores/<competitor>/0001.json          score.json as the agent saw it
lockbox/evaluations/<name>.json        sealed year, and lockbox/references/<name>.json
commits.bundle                         accepted commits, a git bundle (`git clone` reads it)
data/manifest.json, calibration.json   hashes of the data, and the noise floor; never a bar
data/lockbox.seed                      of a synthetic market alone
protected.sha256, protocol.json, environment.json
"""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from autoquant import codec, files
from autoquant.environment import environment_here
from autoquant.errors import AutoQuantError, InfrastructureFault
from autoquant.ledger import records as r
from autoquant.ledger.judged import SEED
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.views import RaceView
from autoquant.market.manifest import Manifest, load_manifest
from autoquant.oracle.calibrate import NoiseFloor
from autoquant.protocol import PROTOCOL
from autoquant.verify.gitpack import race_bundle

LEDGER, SECRET, COMMITS = "ledger.jsonl", "secret", "commits.bundle"
MANIFEST, CALIBRATION, LOCKBOX_SEED = "data/manifest.json", "data/calibration.json", "data/lockbox.seed"
PROTECTED, PROTOCOL_FILE, ENVIRONMENT = "protected.sha256", "protocol.json", "environment.json"
BESIDE = (LEDGER, SECRET, COMMITS, MANIFEST, CALIBRATION, LOCKBOX_SEED, PROTECTED, PROTOCOL_FILE, ENVIRONMENT)
"""What stands there beside the files that the record names, which are all the others."""
HELD = ("strategies/", "evaluations/", "scores/", "lockbox/")
LARGEST = 256 << 20
"""Bytes of one piece."""

T = TypeVar("T")


class Evidence(Protocol):
    """Named pieces of bytes."""

    def names(self) -> tuple[str, ...]:
        """What is there, sorted."""
        ...

    def read(self, name: str) -> bytes | None:
        """A piece; None when it is not there."""
        ...


def protocol_file() -> bytes:
    """The protocol of this checkout, as a bundle has it."""
    return (codec.dumps(asdict(PROTOCOL), indent=1) + "\n").encode()


def strategy(digest: str) -> str:
    """Where strategy bytes are."""
    return f"strategies/{digest}"


def evaluation(competitor: str, attempt: int) -> str:
    """Where an evaluation is."""
    return f"evaluations/{competitor}/{attempt:04d}.json"


def detail(competitor: str, attempt: int) -> str:
    """Where both masks of an attempt and its deep check are."""
    return f"evaluations/{competitor}/{attempt:04d}.detail.json"


def score(competitor: str, attempt: int) -> str:
    """Where an attempt's score.json is."""
    return f"scores/{competitor}/{attempt:04d}.json"


def diff(digest: str) -> str:
    """Where the diff of a forbidden change is."""
    return f"evidence/{digest}"


def sealed(name: str) -> str:
    """Where an entry's evaluation on the sealed year is."""
    return f"lockbox/evaluations/{name}.json"


def reference(name: str) -> str:
    """Where the accounts of a reference on the sealed year are."""
    return f"lockbox/references/{name}.json"


def named_files(view: RaceView) -> Iterator[tuple[str, str | None]]:
    """Every file that the record names, with its digest; None for details that an older version did not name."""
    if view.created.seed_strategy:  # the graded track has none
        yield strategy(view.created.seed_strategy), view.created.seed_strategy
    if view.seed is not None:
        yield evaluation(SEED, 0), view.seed.evaluation_digest
    for name, racer in view.competitors.items():
        for seen in racer.attempts:
            yield strategy(seen.strategy), seen.strategy
            if seen.evaluation is not None:
                yield evaluation(name, seen.attempt), seen.evaluation
                if seen.status != r.GRADED:
                    yield detail(name, seen.attempt), seen.detail
            if seen.score_file is not None:
                yield score(name, seen.attempt), seen.score_file
        for violation in racer.violations:
            if violation.diff:
                yield diff(violation.diff), violation.diff
    for one in view.lockbox.references:
        yield reference(one.name), one.evaluation
    for verdict in (view.lockbox.scores or {}).values():
        yield sealed(verdict.name), verdict.evaluation


class StateEvidence:
    """A race in its own folder.

    Parameters
    ----------
    layout : of the race.
    home : a checkout; its protected.sha256 counts where the race began with it.
    data_root : market data; only manifest, calibration and (synthetic) seed are read.
    """

    def __init__(self, layout: RaceLayout, home: Path, data_root: Path) -> None:
        self.layout = layout
        self._home = home
        self._data_root = data_root
        self._created: r.RaceCreated | None = None

    def names(self) -> tuple[str, ...]:
        """What is there, sorted."""
        found = {self._name(path) for path in self._held()}
        return tuple(sorted(found | {name for name in BESIDE if self._has(name)}))

    def read(self, name: str) -> bytes | None:
        """A piece; None when it is not there."""
        if name in (MANIFEST, CALIBRATION, LOCKBOX_SEED):
            return self._of_data(name.partition("/")[2])
        match name:
            case "protocol.json":
                return protocol_file()
            case "environment.json":
                return (codec.dumps(environment_here(), indent=1) + "\n").encode()
            case "protected.sha256":
                return self._protected()
            case "commits.bundle":
                return self._commits
        folder, _, rest = name.partition("/")
        return _plain(self.layout.root, f"blobs/{rest}" if folder == "strategies" else name)

    def began_with(self, created: r.RaceCreated) -> None:
        """Say what the race began with, so that its own data and protected files are found among others."""
        self._created = created

    def _has(self, name: str) -> bool:
        try:
            return self.read(name) is not None
        except InfrastructureFault:
            return True  # there, and damaged: who reads it is told

    @cached_property
    def _commits(self) -> bytes | None:
        return race_bundle(self.layout.arena_repository, self.layout.race)

    def _held(self) -> Iterator[Path]:
        root = self.layout.root
        yield from (root / "blobs").glob("*")
        for folder in ("evaluations", "scores"):
            yield from (root / folder).glob("*/*.json")
        for folder in ("evaluations", "references"):
            yield from (root / "lockbox" / folder).glob("*.json")

    def _name(self, path: Path) -> str:
        name = path.relative_to(self.layout.root).as_posix()
        return strategy(path.name) if name.startswith("blobs/") else name

    def _of_data(self, name: str) -> bytes | None:
        """A file beside the race's own data: what has been set up or calibrated since is not the race's."""
        if self._created is None:
            return None
        if name in ("manifest.json", "calibration.json") and (own := _plain(self.layout.root, name)) is not None:
            return own
        found = data_of(self._data_root, self._created.data.manifest)
        if found is None or (name == "lockbox.seed" and not found[1].is_synthetic):
            return None
        content = _plain(found[0], name)
        if name == "calibration.json" and content is not None:
            with contextlib.suppress(AutoQuantError):
                same = codec.loads(NoiseFloor, content, name).digest == self._created.noise_floor_digest
                return content if same else None
        return content

    def _protected(self) -> bytes | None:
        """As the race began with it: from the checkout, else from the race's copies of what worktrees hold."""
        here = _plain(self._home, PROTECTED)
        if here is not None and self._created is not None and files.sha256_bytes(here) == self._created.code:
            return here
        try:
            with zipfile.ZipFile(self.layout.protected / "files.zip") as packed:
                return packed.read(PROTECTED)
        except (OSError, KeyError, zipfile.BadZipFile):
            return here


def data_of(data_root: Path, manifest: str) -> tuple[Path, Manifest] | None:
    """The data directory below a root whose manifest has that digest, and the manifest; None without one."""
    for path in sorted(data_root.glob("*/manifest.json")):
        with contextlib.suppress(AutoQuantError):
            found = load_manifest(path.parent)
            if found.digest == manifest:
                return path.parent, found
    return None


def manifest_of(evidence: Evidence) -> Manifest | None:
    """The manifest of the race's data; None when it is missing or unreadable."""
    return _record_of(Manifest, evidence, MANIFEST)


def floor_of(evidence: Evidence) -> NoiseFloor | None:
    """The noise floor of the race; None when it is missing or unreadable."""
    return _record_of(NoiseFloor, evidence, CALIBRATION)


def _record_of(cls: type[T], evidence: Evidence, name: str) -> T | None:
    content = evidence.read(name)
    try:
        return None if content is None else codec.loads(cls, content, name)
    except AutoQuantError:
        return None


def _plain(root: Path, name: str) -> bytes | None:
    try:
        return files.read_regular(root, name, LARGEST, hard_links=True)
    except (OSError, files.NotRegularFile):
        return None
