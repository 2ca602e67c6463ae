"""Commits by plumbing, in bare repositories, never in a worktree.

Objects are encoded by `ledger.commits` and stored through gitpython's object database, in this process: no filter,
hook, attribute or configuration has a say, and the same content, parent and time give the same commit id on any
machine. The git program only makes repositories, links worktrees, moves refs and refreshes a worktree's index, with a
fixed environment and with the repository's own configuration rewritten first (an agent's `git config` lands in it).
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from autoquant import files, process
from autoquant.clock import SystemClock
from autoquant.errors import InfrastructureFault
from autoquant.ledger.commits import Objects, object_id

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
        GitFault : the disk refused, or this is no whole repository.
        """
        from git import GitDB
        from gitdb import IStream  # type: ignore[import-untyped]

        database = GitDB(str(self.path / "objects"))
        try:
            for kind, content in objects.members:
                if not database.has_object(bytes.fromhex(object_id(kind, content))):
                    database.store(IStream(kind.encode(), len(content), io.BytesIO(content)))
        except Exception as error:  # made by half, or altered: what gitdb raises on a broken pack is of every kind
            words = getattr(error, "strerror", None) or str(error)
            raise GitFault(f"{self.path}: {words}", "check the disk, then resume the race") from error

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
