"""Commits by plumbing, in bare repositories, never in a worktree.

Objects are encoded here and stored through gitpython's object database, in this process: no filter, hook, attribute or
configuration has a say, and the same content, parent and time give the same commit id on any machine. The git program
only makes repositories, links worktrees, moves refs and refreshes a worktree's index, with a fixed environment and
with the repository's own configuration rewritten first (an agent's `git config` lands in it).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoquant import files, process
from autoquant.clock import SystemClock
from autoquant.errors import InfrastructureFault

IDENTITY = "AutoQuant referee <referee@autoquant.invalid>"
REGULAR = "100644"

_TREE = "40000"
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
_OVERRIDES = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.autocrlf=false", "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false", "gc.auto=0", "maintenance.auto=false", "safe.directory=*",
)  # fmt: skip


class GitFault(InfrastructureFault):
    """The git program refused; the message says which command and what it said."""


def clean_environment() -> dict[str, str]:
    """Environment of every git call: nothing of the user's but PATH, no configuration outside the repository."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_TEMPLATE_DIR": "",
    }


def object_id(kind: str, content: bytes) -> str:
    """Git's name for an object.

    >>> object_id("blob", b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Objects:
    """Encoded objects (kind, content) and the id of the one that matters."""

    id: str
    members: tuple[tuple[str, bytes], ...]


def encode_tree(contents: Mapping[str, bytes]) -> Objects:
    """A tree with subtrees and blobs from file contents by path; every file is 100644."""
    members: list[tuple[str, bytes]] = []

    def build(level: Mapping[str, object]) -> str:
        entries = []
        for name, item in level.items():
            if isinstance(item, bytes):
                members.append(("blob", item))
                entries.append((name.encode(), REGULAR, object_id("blob", item)))
            else:
                assert isinstance(item, dict)
                entries.append((name.encode() + b"/", _TREE, build(item)))
        entries.sort()
        content = b"".join(
            mode.encode() + b" " + name.removesuffix(b"/") + b"\0" + bytes.fromhex(oid) for name, mode, oid in entries
        )
        members.append(("tree", content))
        return object_id("tree", content)

    nested: dict[str, object] = {}
    for path, data in contents.items():
        *folders, name = path.split("/")
        level = nested
        for folder in folders:
            level = level.setdefault(folder, {})  # type: ignore[assignment]
        level[name] = data
    return Objects(build(nested), tuple(members))


def encode_commit(contents: Mapping[str, bytes], parent: str | None, message: str, unix_seconds: int) -> Objects:
    """A commit of a whole tree by the referee at a given time; its id depends on these four things only."""
    tree = encode_tree(contents)
    lines = [f"tree {tree.id}", *([f"parent {parent}"] if parent else [])]
    lines += [f"{role} {IDENTITY} {unix_seconds} +0000" for role in ("author", "committer")]
    content = ("\n".join(lines) + "\n\n" + message.rstrip("\n") + "\n").encode()
    return Objects(object_id("commit", content), (*tree.members, ("commit", content)))


class BareRepository:
    """A bare repository of the arena's.

    Parameters
    ----------
    path : the repository's folder; `create` makes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self, *, stale_lock_seconds: float = 0.0) -> None:
        """Make the repository, or mend what an agent can do to it: configuration, stale lock files.

        Raises
        ------
        GitFault : the git program refused.
        """
        if not (self.path / "objects").is_dir() or not (self.path / "refs").is_dir():
            self.path.mkdir(parents=True, exist_ok=True)
            self._run_git("init", "--quiet", "--bare", "--template=", "--initial-branch=main", ".")
        if not (self.path / "HEAD").is_file():
            self.set_head("refs/heads/main")
        self.mend(stale_lock_seconds=stale_lock_seconds)

    def mend(self, *, stale_lock_seconds: float = 0.0) -> None:
        """Rewrite a changed configuration, set a `commondir` aside (it would bring another repository's configuration)
        and drop lock files older than `stale_lock_seconds`.

        In a private repository only this process moves refs, one at a time: a lock found there is always stale.
        """
        config = self.path / "config"
        if config.is_symlink() or not config.is_file() or config.read_bytes() != _CONFIG.encode():
            files.atomic_write(config, _CONFIG)
        common = self.path / "commondir"
        if common.is_symlink() or common.exists():
            common.rename(self.path / f"aside.{os.urandom(4).hex()}")
        newest = SystemClock().now().timestamp() - stale_lock_seconds
        for pattern in ("*.lock", "refs/**/*.lock", "worktrees/*/*.lock"):
            for lock in self.path.glob(pattern):
                with contextlib.suppress(OSError):
                    if lock.stat(follow_symlinks=False).st_mtime <= newest:
                        lock.unlink()

    def store(self, objects: Objects) -> None:
        """Write objects that are not there yet.

        Raises
        ------
        GitFault : the disk refused.
        """
        from git import GitDB
        from gitdb import IStream  # type: ignore[import-untyped]

        database = GitDB(str(self.path / "objects"))
        try:
            for kind, content in objects.members:
                if not database.has_object(bytes.fromhex(object_id(kind, content))):
                    database.store(IStream(kind.encode(), len(content), io.BytesIO(content)))
        except OSError as error:
            raise GitFault(f"{self.path}: {error.strerror or error}", "check the disk, then resume the race") from error

    def has(self, object_hex: str) -> bool:
        """True when the object is there."""
        from git import GitDB

        return bool(GitDB(str(self.path / "objects")).has_object(bytes.fromhex(object_hex)))

    def set_ref(self, ref: str, commit: str) -> None:
        """Point `ref` (full name) at `commit`, whatever it said before.

        Raises
        ------
        GitFault : git refused twice, with stale locks removed in between.
        """
        if self.ref(ref) == commit:
            return
        try:
            self.git("update-ref", "--no-deref", ref, commit)
        except GitFault:
            self.mend()
            self._clear_way(ref)
            self.git("update-ref", "--no-deref", ref, commit)

    def ref(self, ref: str) -> str | None:
        """Commit id of a loose ref, None when it is missing or not an id."""
        try:
            text = files.read_regular(self.path, ref, 100).decode("ascii").strip()
        except (OSError, UnicodeDecodeError, files.NotRegularFile):
            return None
        return text if len(text) == 40 else None

    def set_head(self, ref: str) -> None:
        """Make `ref` the repository's own HEAD."""
        head, text = self.path / "HEAD", f"ref: {ref}\n"
        if head.is_symlink() or not head.is_file() or head.read_bytes() != text.encode():
            files.atomic_write(head, text)

    def git(self, *arguments: str, index: Path | None = None) -> bytes:
        """Run git on this repository with the fixed environment; returns its stdout.

        Raises
        ------
        GitFault : exit code not 0; the message carries git's last line.
        """
        extra = {"GIT_DIR": str(self.path)} | ({"GIT_INDEX_FILE": str(index)} if index else {})
        return self._run_git(*arguments, extra=extra)

    def _run_git(self, *arguments: str, extra: Mapping[str, str] | None = None) -> bytes:
        overrides: Sequence[str] = [part for setting in _OVERRIDES for part in ("-c", setting)]
        argv = [shutil.which("git") or "git", *overrides, *arguments]
        try:
            done = process.run(argv, cwd=self.path, env=clean_environment() | dict(extra or {}), timeout_seconds=120.0)
        except FileNotFoundError:
            raise GitFault("git is not installed", "install git 2.30 or newer") from None
        except (OSError, TimeoutError) as error:
            raise GitFault(f"git {arguments[0]} in {self.path}: {error}") from error
        if done.returncode != 0:
            said = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise GitFault(f"git {arguments[0]} in {self.path}: {said}", "resume the race to have it mended")
        return done.stdout

    def _clear_way(self, ref: str) -> None:
        """Move aside what makes `ref` impossible: a folder in its place, or a file in place of one of its folders."""
        path = self.path / ref
        for candidate in (*reversed(path.relative_to(self.path).parents[:-1]), Path(ref)):
            here = self.path / candidate
            blocked = here.is_dir() if candidate == Path(ref) else here.is_file()
            if here.is_symlink() or blocked:
                here.rename(self.path / f"aside.{os.urandom(4).hex()}")
