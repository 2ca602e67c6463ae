"""A worktree per competitor, each on its own private repository, made again from the record whenever needed.

The private repository's history starts with one orphan commit: the seed. Accepted attempts follow as commits whose
ids depend on the record alone (content, parent, time of the verdict), so that a repository lost or meddled with comes
back with the same ids. The same commits are stored in the arena's repository, which agents' files never feed.
"""

from __future__ import annotations

import io
import os
import re
import threading
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from autoquant import files
from autoquant.arena import protected
from autoquant.arena.referee import closure, market_copy
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.gitplumbing import BareRepository
from autoquant.arena.referee.marker import MARKER, Marker, render_marker
from autoquant.errors import InfrastructureFault, UserError
from autoquant.ledger.commits import STRATEGY as STRATEGY
from autoquant.ledger.commits import Objects, archive_ref, branch, encode_commit, seed_message, unix
from autoquant.ledger.layout import RaceLayout

IGNORED = (".autoquant/", ".venv/", "__pycache__/", "*.py[co]", "data/", "results.tsv", "scratch/", "score.json")
GITIGNORE = "".join(f"{line}\n" for line in IGNORED).encode()
READ_ONLY = 0o444

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_CREATION = threading.Lock()
_SHARED_LOCK_SECONDS = 60.0
"""A lock in the arena's repository may be another race's; older than this it is a dead one's."""


@dataclass(frozen=True)
class Accepted:
    """What a commit is made of, all from the record. `tip` is False for an archive commit, which moves no branch."""

    attempt: int
    strategy: bytes
    message: str
    utc: str
    tip: bool


@dataclass(frozen=True)
class Shape:
    """What a worktree holds beside the package's files that its commands need."""

    genome: str = STRATEGY
    """The one file that is edited."""
    commands: tuple[str, ...] = ("run.py", "evaluate.py")
    texts: tuple[str, ...] = ("program.md", protected.NAME)
    extra: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    """Further read-only files by competitor and path."""
    data: Callable[[Path, Path], list[tuple[str, Path]]] = market_copy.train_files
    """(path in the worktree, file to copy) from the data directory; what it has to make it keeps in the second."""


@dataclass
class Worktrees:
    """The worktrees of one race.

    Parameters
    ----------
    layout : where the race lives.
    home : the checkout the protected files are copied from, once, when the race begins.
    data_directory : the source's data directory; its TRAIN part is copied.
    created_utc : time of the race's first record; dates the seed commit.
    recorded : digests of the protected files in the race's first record.
    shape : what a worktree holds.
    """

    layout: RaceLayout
    home: Path
    data_directory: Path
    created_utc: str
    recorded: Mapping[str, str]
    shape: Shape = field(default_factory=Shape)
    _pristine: dict[str, bytes] = field(default_factory=dict)
    _data: dict[str, Path] = field(default_factory=dict)

    def folder(self, competitor: str) -> AgentFolder:
        """The competitor's worktree for no-follow access.

        Raises
        ------
        UserError : the name cannot be a folder and a ref.
        """
        if not _NAME.fullmatch(competitor) or ".." in competitor or competitor.endswith((".lock", ".")):
            raise UserError(f"{competitor!r}: not a competitor name", "letters, digits, dot, dash and underscore")
        return AgentFolder(self.layout.worktrees, competitor)

    def pristine(self) -> Mapping[str, bytes]:
        """Tracked files but strategy.py, by path, as the race began with them.

        Copied from the checkout the first time and kept in the race's folder; every digest is held against the
        race's first record.

        Raises
        ------
        InfrastructureFault : a file is not what the race began with.
        """
        if not self._pristine:
            with _CREATION:
                loaded = self._load_pristine()
                self._pristine.update(loaded)
        return self._pristine

    def seed_commit(self, seed: bytes) -> str:
        """Id of the orphan commit every competitor starts from."""
        return self._encode_seed(seed).id

    def commit_id(self, parent: str, accepted: Accepted) -> str:
        """Id that `commit` will give."""
        return encode_commit(self._tree(accepted.strategy), parent, accepted.message, unix(accepted.utc)).id

    def commit(self, competitor: str, parent: str, accepted: Accepted) -> str:
        """Store an accepted attempt's commit in the private and the arena's repository and move its ref; its id.

        Doing it again changes nothing. A private repository that git refuses is set aside for `prepare` to rebuild.
        """
        objects = encode_commit(self._tree(accepted.strategy), parent, accepted.message, unix(accepted.utc))
        arena = BareRepository(self.layout.arena_repository)
        with _CREATION:
            arena.create(stale_lock_seconds=_SHARED_LOCK_SECONDS)
            arena.store(objects)
            arena.set_ref(_arena_ref(self.layout.race, competitor, accepted), objects.id)
        private = BareRepository(self.layout.repository(competitor))
        try:
            private.mend()
            private.store(objects)
            private.set_ref(_private_ref(competitor, accepted), objects.id)
            if accepted.tip:
                self._refresh_index(private, competitor, objects.id)
        except (InfrastructureFault, OSError):
            _set_aside(private.path)
        return objects.id

    def prepare(self, competitor: str, seed: bytes, accepted: tuple[Accepted, ...], marker: Marker) -> Path:
        """Make the worktree, or mend it, and return its path. Idempotent.

        Parameters
        ----------
        seed : the race's seed strategy.
        accepted : the competitor's accepted attempts in order; the last with `tip` is the working parent.
        marker : what `.autoquant/race.json` tells run.py.
        """
        folder = self.folder(competitor)
        self.pristine()
        working = next((a.strategy for a in reversed(accepted) if a.tip), seed)
        with _CREATION:
            self.layout.worktrees.mkdir(parents=True, exist_ok=True)
            tip = self._repository(competitor, seed, accepted)
            fresh = not folder.is_folder(".")
            self._link(competitor, tip, fresh)
        for path, content in self.fixed_files(competitor, marker).items():
            if folder.digest(path) != files.sha256_bytes(content):
                folder.write(path, content, READ_ONLY)
        for path, source in self.data_files().items():
            if folder.digest(path) != files.sha256_file(source):
                folder.write(path, source, READ_ONLY)
        for name in ("scratch", ".autoquant/requests", ".autoquant/replies"):
            folder.make_folder(name)
        if fresh or folder.digest(self.shape.genome) == "":
            folder.write(self.shape.genome, working)
        _ensure(self._complete_mark(competitor), "")
        return folder.path

    def is_complete(self, competitor: str) -> bool:
        """True when the worktree was made to its end before and is still there: what differs now was changed."""
        return self._complete_mark(competitor).is_file() and self.folder(competitor).is_folder(".")

    def data_files(self) -> dict[str, Path]:
        """The data of a worktree: the arena's file by path."""
        if not self._data:
            self._data.update(self.shape.data(self.data_directory, self.layout.root / "train"))
        return self._data

    def fixed_files(self, competitor: str, marker: Marker) -> dict[str, bytes]:
        """Every file of a worktree that must not change and is not data: content by path."""
        repository = os.path.relpath(self.layout.repository(competitor), self.layout.worktree(competitor))
        git_link = f"gitdir: {repository}/worktrees/{competitor}\n"
        extra = self.shape.extra.get(competitor, {})
        return {**self.pristine(), **extra, MARKER: render_marker(marker), ".git": git_link.encode()}

    def _complete_mark(self, competitor: str) -> Path:
        return self.layout.root / "prepared" / competitor

    def _tree(self, strategy: bytes) -> dict[str, bytes]:
        return {**self.pristine(), self.shape.genome: strategy}

    def _encode_seed(self, seed: bytes) -> Objects:
        return encode_commit(self._tree(seed), None, seed_message(self.layout.race), unix(self.created_utc))

    def _load_pristine(self) -> dict[str, bytes]:
        """From the race's own copies; a copy that is lost or damaged is taken from the checkout again."""
        archive = self.layout.protected / "files.zip"
        try:
            with zipfile.ZipFile(archive) as packed:
                contents = {name: packed.read(name) for name in packed.namelist()}
        except (OSError, zipfile.BadZipFile):
            commands = self.shape.commands
            wanted = sorted({*commands, *self.shape.texts, *closure.needed_files(self.home, commands)})
            contents = {name: (self.home / name).read_bytes() for name in wanted}
            packing = io.BytesIO()
            with zipfile.ZipFile(packing, "w") as packed:
                for name, content in contents.items():
                    packed.writestr(zipfile.ZipInfo(name), content)
            files.atomic_write(archive, packing.getvalue())
        for name, content in contents.items():
            if files.sha256_bytes(content) != self.recorded.get(name, files.sha256_bytes(content)):
                raise InfrastructureFault(
                    f"{archive}: {name} is not the file the race began with",
                    "remove this archive and check out the version the race began with",
                )
        return {".gitignore": GITIGNORE, **contents}

    def _repository(self, competitor: str, seed: bytes, accepted: tuple[Accepted, ...]) -> str:
        """Bring both repositories to the record; returns the tip."""
        arena = BareRepository(self.layout.arena_repository)
        arena.create(stale_lock_seconds=_SHARED_LOCK_SECONDS)
        private = BareRepository(self.layout.repository(competitor))
        try:
            private.create()
            return self._replay(arena, private, competitor, seed, accepted)
        except (InfrastructureFault, OSError):
            _set_aside(private.path)
            private.create()
            return self._replay(arena, private, competitor, seed, accepted)

    def _replay(
        self,
        arena: BareRepository,
        private: BareRepository,
        competitor: str,
        seed: bytes,
        accepted: tuple[Accepted, ...],
    ) -> str:
        objects = self._encode_seed(seed)
        tip = objects.id
        refs = {}
        for repository in (arena, private):
            repository.store(objects)
        for item in accepted:
            objects = encode_commit(self._tree(item.strategy), tip, item.message, unix(item.utc))
            for repository in (arena, private):
                repository.store(objects)
            refs[_private_ref(competitor, item)] = objects.id
            arena.set_ref(_arena_ref(self.layout.race, competitor, item), objects.id)
            tip = objects.id if item.tip else tip
        refs[f"refs/heads/{competitor}"] = tip
        arena.set_ref(branch(self.layout.race, competitor), tip)
        for ref, commit in refs.items():
            private.set_ref(ref, commit)
        private.set_head(f"refs/heads/{competitor}")
        return tip

    def _link(self, competitor: str, tip: str, fresh: bool) -> None:
        """Make the folder a worktree of the private repository; an existing folder keeps its files."""
        private = BareRepository(self.layout.repository(competitor))
        admin = private.path / "worktrees" / competitor
        path = self.layout.worktree(competitor)
        if fresh:
            _set_aside(admin)
            if path.is_symlink() or path.exists():
                _set_aside(path)
            private.git("worktree", "add", "--quiet", "--force", "--no-checkout", str(path), competitor)
        _ensure(admin / "HEAD", f"ref: refs/heads/{competitor}\n")
        _ensure(admin / "commondir", "../..\n")
        _ensure(admin / "gitdir", f"{path / '.git'}\n")
        self._refresh_index(private, competitor, tip)

    def _refresh_index(self, private: BareRepository, competitor: str, tip: str) -> None:
        """Give the worktree an index of `tip`, built aside: no lock an agent left can stop it."""
        temporary = private.path / f"index.{os.urandom(4).hex()}"
        try:
            private.git("read-tree", tip, index=temporary)
            os.replace(temporary, private.path / "worktrees" / competitor / "index")
        finally:
            temporary.unlink(missing_ok=True)


def _private_ref(competitor: str, accepted: Accepted) -> str:
    return f"refs/heads/{competitor}" if accepted.tip else f"refs/archive/{accepted.attempt:04d}"


def _arena_ref(race: str, competitor: str, accepted: Accepted) -> str:
    return branch(race, competitor) if accepted.tip else archive_ref(race, competitor, accepted.attempt)


def _set_aside(path: Path) -> None:
    """Keep what cannot be used as evidence, under a name nothing looks for."""
    if path.is_symlink() or path.exists():
        path.rename(path.with_name(f"{path.name}.aside-{os.urandom(4).hex()}"))


def _ensure(path: Path, text: str) -> None:
    """Write the file unless it says so already."""
    if path.is_symlink() or not path.is_file() or path.read_bytes() != text.encode():
        files.atomic_write(path, text)
