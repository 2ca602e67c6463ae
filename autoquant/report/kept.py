"""The leaderboard as it was worked out last, kept in the race's folder for `arena.py status`, which only shows it.

Its file holds one key over everything a leaderboard depends on: the digest of the record's last line (all lines before
it are in that), what files of the race and of the placebo races lie there (name, size, inode, times of change), this
program's files, numpy and scipy by the same marks, Python and machine. Another key, a damaged file, none at all: it is
worked out anew. Nothing is decided by it: reports, bundles and checks of them work theirs out themselves. Whoever can
write to the race's folder can put another leaderboard there, as they could another record, see docs/trust.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import AutoQuantError, ConfigError
from autoquant.ledger.layout import RaceLayout
from autoquant.protocol import SCHEMA_VERSION
from autoquant.report.leaderboard import Leaderboard

PACKAGE = Path(__file__).resolve().parent.parent
_LIBRARIES = ("numpy", "scipy")
_LONGEST = 1 << 24

Mark = tuple[str, int, int, int, int]
"""A file's path, size, inode, and when its content and anything of it was changed last, in ns."""


@dataclass(frozen=True)
class KeptLeaderboard:
    """The file."""

    key: str
    digest: str
    """Of the leaderboard: a number that a disk changed is no number of ours."""
    leaderboard: Leaderboard
    schema_version: int = SCHEMA_VERSION

    @classmethod
    def of(cls, key: str, board: Leaderboard) -> KeptLeaderboard:
        """With the digest it has."""
        return cls(key, _digest(board), board)

    @property
    def is_whole(self) -> bool:
        """Whether it is what was kept."""
        return self.digest == _digest(self.leaderboard)


def shown_leaderboard(state_dir: Path, race: str, head: str) -> Leaderboard:
    """What `race_leaderboard` gives, without working it out where nothing has changed since the last time.

    Parameters
    ----------
    head : digest of the last record, of a ledger that was verified just now.

    Raises
    ------
    UserError, LedgerError : as `race_leaderboard`.
    """
    layout = RaceLayout(state_dir, race)
    key = leaderboard_key(layout, head)
    kept = _read(layout)
    if kept is not None and kept.key == key and kept.is_whole:
        return kept.leaderboard
    from autoquant.report.collect import collect
    from autoquant.report.placing import collected_leaderboard

    collected = collect(state_dir, race)
    board = collected_leaderboard(collected)
    if collected.race.provenance.head == head and leaderboard_key(layout, head) == key:
        _keep(layout, KeptLeaderboard.of(key, board))
    return board


def leaderboard_key(layout: RaceLayout, head: str) -> str:
    """sha256 over everything that a leaderboard is made from."""
    places = (layout.root / "evaluations", layout.lockbox, layout.root / "evidence", layout.state / "placebo")
    parts = {
        "race": layout.race,
        "head": head,
        "files": [mark for place in places for mark in sorted(_marks(str(place)))],
        "code": sorted(mark for mark in _marks(str(PACKAGE)) if not mark[0].endswith(".pyc")),
        "libraries": [mark for name in _LIBRARIES for mark in _version_marks(name)],
        "machine": [sys.version, *os.uname()],
    }
    return files.sha256_bytes(codec.dumps(parts).encode(errors="surrogateescape"))


def _digest(board: Leaderboard) -> str:
    return files.sha256_bytes(codec.dumps(board).encode())


def _marks(folder: str) -> Iterator[Mark]:
    """Of every file below a folder that is there. Links are not followed; one to a folder never has the same mark
    twice: what lies behind it may be read and may change."""
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    except OSError as error:
        yield _unmarked(folder, error)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _marks(entry.path)
            continue
        try:
            if entry.is_dir():
                yield entry.path, int.from_bytes(os.urandom(8)), 0, 0, 0
                continue
            yield _mark(entry.path, entry.stat(follow_symlinks=False))
        except OSError as error:  # a half-written file of a running race, renamed this moment
            yield _unmarked(entry.path, error)


def _unmarked(path: str, error: OSError) -> Mark:
    """Of what does not let itself be looked at."""
    return path, error.errno or -1, 0, 0, 0


def _mark(path: str, facts: os.stat_result) -> Mark:
    return path, facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns


def _version_marks(library: str) -> Iterator[Mark]:
    """Of the file in which a library says its version. It is not imported."""
    spec = find_spec(library)
    if spec is not None and spec.origin is not None:
        path = Path(spec.origin).with_name("version.py")
        yield _mark(str(path), path.stat())


def _read(layout: RaceLayout) -> KeptLeaderboard | None:
    name = layout.leaderboard.name
    try:
        return codec.loads(KeptLeaderboard, files.read_regular(layout.root, name, _LONGEST), name)
    except (OSError, files.NotRegularFile, ConfigError):
        return None


def _keep(layout: RaceLayout, kept: KeptLeaderboard) -> None:
    """Write it if that can be done: a folder that refuses costs half a second next time, and nothing else."""
    try:
        files.atomic_write(layout.leaderboard, codec.dumps(kept), durable=False)
    except AutoQuantError:
        return
