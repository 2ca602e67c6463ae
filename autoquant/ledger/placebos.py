"""Placebo races on disk: what they have in common, what each came to, where they are kept, and which belong to a race.

    state/placebo/<plan>/plan.json                the plan, and who raced
    state/placebo/<plan>/flip-random-0001.json    one searcher's whole race on one market

A file is a result of everything in its plan and its name; whatever changes, another file is looked for. A damaged one
counts as absent. No ledger holds these files: every run can be made again from its plan, to the last digit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from autoquant import codec, files
from autoquant.errors import ConfigError
from autoquant.protocol import SCHEMA_VERSION

REFERENCES = ("flip", "permute", "real")
"""Kinds of market: days upside down, days in another order, and as they were."""
PLAN_FILE = "plan.json"
_LONGEST = 1 << 22
_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")
_NUMBER = re.compile(r"-(\d{4})\.json$", re.ASCII)

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """What all placebo races of one table have in common; its digest names their folder."""

    protocol: str
    code: str
    """sha256 over the code that a placebo race depends on."""
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
class PlanFile:
    """plan.json: the plan, and the searchers whose races make a run whole."""

    plan: Plan
    searchers: tuple[str, ...]
    schema_version: int = SCHEMA_VERSION


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
    statuses: tuple[str, ...]
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
        found = _loaded(PlaceboRun, path)
        asked = (self.plan, reference, searcher, run)
        return found if found and (found.plan, found.reference, found.searcher, found.run) == asked else None

    def write(self, result: PlaceboRun) -> None:
        """Store a run. A power cut may cost it: it is made again."""
        path = self._file(result.reference, result.searcher, result.run)
        files.atomic_write(path, codec.dumps(result) + "\n", durable=False)

    def describe(self, plan: Plan, searchers: Iterable[str]) -> None:
        """Write plan.json.

        Raises
        ------
        ValueError : another plan than this folder's.
        """
        if plan.digest != self.plan:
            raise ValueError(f"plan {plan.digest[:12]} is not that of {self.folder}")
        wanted = PlanFile(plan, tuple(searchers))
        if _loaded(PlanFile, self.folder / PLAN_FILE) != wanted:
            files.atomic_write(self.folder / PLAN_FILE, codec.dumps(wanted) + "\n", durable=False)

    def sweep(self) -> None:
        """Remove what killed workers left half-written; only while nobody else writes here."""
        for path in self.folder.glob(".*.tmp"):
            path.unlink(missing_ok=True)

    def whole_runs(self, searchers: Iterable[str]) -> tuple[PlaceboRun, ...]:
        """What is stored of each market that every searcher has raced on, in the order of references and runs."""
        names = tuple(searchers)
        found: list[PlaceboRun] = []
        for reference in REFERENCES:
            for run in self._numbers(reference, names):
                races = [self.read(reference, name, run) for name in names]
                found += [race for race in races if race is not None] if None not in races else []
        return tuple(found)

    def _numbers(self, reference: str, searchers: tuple[str, ...]) -> list[int]:
        """Runs of which every searcher's file is there; what is in them is not known yet."""
        found = (_NUMBER.search(path.name) for path in self.folder.glob(f"{reference}-{searchers[0]}-*.json"))
        numbers = sorted(int(number[1]) for number in found if number)
        return [n for n in numbers if all(self._file(reference, name, n).is_file() for name in searchers)]

    def _file(self, reference: str, searcher: str, run: int) -> Path:
        return self.folder / f"{reference}-{searcher}-{run:04d}.json"


@dataclass(frozen=True)
class Placebos:
    """The whole runs of one plan."""

    plan: Plan
    searchers: tuple[str, ...]
    runs: tuple[PlaceboRun, ...]

    @property
    def digest(self) -> str:
        """sha256 over the runs: who makes them again can compare."""
        return files.sha256_bytes("\n".join(codec.dumps(run) for run in self.runs).encode())


def placebo_root(state: Path) -> Path:
    """Folder of all plans: beside the races."""
    return state / "placebo"


def cache_of(state: Path, plan: Plan) -> PlaceboCache:
    """Where the runs of a plan are kept."""
    return PlaceboCache(placebo_root(state), plan.digest)


def stored_plans(state: Path) -> tuple[PlanFile, ...]:
    """Every plan that has a readable plan.json in the folder of its own digest, in the order of digests."""
    found: list[PlanFile] = []
    for path in sorted(placebo_root(state).glob(f"*/{PLAN_FILE}")):
        file = _loaded(PlanFile, path)
        if file is not None and file.plan.digest[:16] == path.parent.name and _named(file.searchers):
            found.append(file)
    return tuple(found)


def fitting_placebos(
    state: Path, *, protocol: str, data: str, seed_strategy: str, noise_floor: float, budget: int
) -> Placebos | None:
    """The runs that a competitor may be held against: same contest, prices, seed, noise floor and number of attempts.

    The code may have changed since: of several plans that fit, the one with most whole runs is taken.

    Returns
    -------
    None where no plan fits, or none of its runs is whole.
    """
    wanted = (protocol, data, seed_strategy, noise_floor, budget)
    fitting = [
        file
        for file in stored_plans(state)
        if wanted == (file.plan.protocol, file.plan.data, file.plan.seed_strategy, file.plan.noise_floor,
                      file.plan.budget)
    ]  # fmt: skip
    tables = [
        Placebos(file.plan, file.searchers, cache_of(state, file.plan).whole_runs(file.searchers)) for file in fitting
    ]
    best = max(tables, key=lambda table: len(table.runs), default=None)
    return best if best is not None and best.runs else None


def _named(searchers: tuple[str, ...]) -> bool:
    """Whether there are names, each once, and none leads out of the folder."""
    return 0 < len(searchers) == len(set(searchers)) and all(map(_NAME.fullmatch, searchers))


def _loaded(cls: type[T], path: Path) -> T | None:
    """A record; None when there is no plain file, or one that is too long or damaged."""
    try:
        data = files.read_regular(path.parent, path.name, _LONGEST, hard_links=True)
        return codec.loads(cls, data, path.name)
    except (OSError, ConfigError, files.NotRegularFile):
        return None
