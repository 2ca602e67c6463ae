"""Placebo races on disk: what one came to, and where it is kept.

A file is a result of everything in its plan and its name; whatever changes, another file is looked for. A damaged one
counts as absent.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import ConfigError
from autoquant.oracle.records import Status
from autoquant.protocol import SCHEMA_VERSION

REFERENCES = ("flip", "permute", "real")
ROOMS = ("market/nullify.py", "oracle", "ratchet", "harness/family.py", "harness/searchers.py", "arena/placebo.py")
"""Code that a placebo race depends on, below `autoquant/`; beside it the members' template."""


@dataclass(frozen=True)
class Plan:
    """What all placebo races of one table have in common; its digest names their folder."""

    protocol: str
    code: str
    """sha256 over the files of `ROOMS`."""
    data: str
    """Digest of TRAIN and VALID."""
    seed_strategy: str
    noise_floor: float
    budget: int

    @property
    def digest(self) -> str:
        """sha256 of the plan."""
        return files.sha256_bytes(codec.dumps(self).encode())


@dataclass(frozen=True)
class PlaceboRun:
    """One searcher's whole race on one market."""

    plan: str
    reference: str
    searcher: str
    run: int
    """1, 2, …: seeds the market and the searcher's draws."""
    seed_score: float
    champion: float
    """Score of the retained champion; the seed's while nothing beat it."""
    best: float
    """Highest score that passed the gates, the seed's included."""
    statuses: tuple[Status, ...]
    scores: tuple[float | None, ...]
    """Of each attempt."""
    schema_version: int = SCHEMA_VERSION


@dataclass(frozen=True)
class PlaceboCache:
    """The folder of one plan.

    Parameters
    ----------
    root : folder of all plans.
    plan : digest of the plan.
    """

    root: Path
    plan: str

    @property
    def folder(self) -> Path:
        """Where this plan's runs lie."""
        return self.root / self.plan[:16]

    def read(self, reference: str, searcher: str, run: int) -> PlaceboRun | None:
        """A stored run; None when it is not there or not of this plan."""
        path = self._file(reference, searcher, run)
        try:
            found = codec.loads(PlaceboRun, path.read_bytes(), path.name)
        except (OSError, ConfigError):
            return None
        asked = (self.plan, reference, searcher, run)
        return found if (found.plan, found.reference, found.searcher, found.run) == asked else None

    def write(self, result: PlaceboRun) -> None:
        """Store a run. A power cut may cost it: it is made again."""
        path = self._file(result.reference, result.searcher, result.run)
        files.atomic_write(path, codec.dumps(result) + "\n", durable=False)

    def sweep(self) -> None:
        """Remove what killed workers left half-written; only while nobody else writes here."""
        for path in self.folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def _file(self, reference: str, searcher: str, run: int) -> Path:
        return self.folder / f"{reference}-{searcher}-{run:04d}.json"


def code_digest(package: Path) -> str:
    """sha256 over the code that a placebo race depends on."""
    names = []
    for room in ROOMS:
        path = package / room
        found = path.rglob("*.py") if path.is_dir() else [path]
        names += [str(file.relative_to(package)) for file in found]
    names += [str(file.relative_to(package)) for file in (package / "harness").glob("family*.tmpl")]
    return files.sha256_bytes(codec.dumps(files.tree_digest(package, names)).encode())
