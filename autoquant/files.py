"""Durable files: atomic write, durable append, digests, no-follow reads. The only place that touches fsync.

Promises: a reader sees the old content or the new, never a half (`atomic_write`); a line that `append_line` returned
from is on disk; `read_regular` follows no symbolic link in any component and reads no more than it was told.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from autoquant.errors import AutoQuantError, InfrastructureFault, UserError

_CHUNK = 1 << 20


class NotRegularFile(AutoQuantError):
    """A path that should be a plain file is a link, a directory, a pipe, or too large."""


def atomic_write(path: Path, content: bytes | str, *, mode: int = 0o644, durable: bool = True) -> None:
    """Replace `path` by `content` in one step, durable when it returns. Missing folders are made.

    A temporary file beside the target is synced, renamed over it, and the folder is synced: after a crash at any
    moment the old or the new content is there. Cost: two fsyncs. With `durable` off they are left out, for files that
    are checked against a digest before use: a killed process still leaves old or new, a power cut may not.

    Raises
    ------
    InfrastructureFault : the disk refused (full, read-only); the old content is untouched.
    """
    with replacing(path, mode=mode, durable=durable) as descriptor:
        _write_all(descriptor, content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def replacing(path: Path, *, mode: int = 0o644, durable: bool = True) -> Iterator[int]:
    """A descriptor for the new content of `path`, which takes its place when the block ends without an error.

    As `atomic_write`, for what is too large to be held in memory. An OSError of the block counts as the disk's.
    """
    temporary = path.parent / f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            yield descriptor
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        raise disk_fault(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def append_line(path: Path, line: str) -> None:
    """Append one line with a single write and fsync it. `line` must not hold a newline.

    Raises
    ------
    InfrastructureFault : the disk refused; a partial line is cut off again.
    """
    data = line.encode() + b"\n"
    if b"\n" in data[:-1]:
        raise ValueError("append_line takes one line")
    new = not path.exists()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            before = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if new:
            sync_folder(path.parent)
    except OSError as error:
        raise disk_fault(path, error) from error


class CappedLog:
    """A file that takes what a program prints, up to a size; the rest is counted and dropped. Not durable.

    Parameters
    ----------
    path : made anew; missing folders are made.
    max_bytes : what is kept from the start of the output.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        self._room = max_bytes
        self.dropped = 0

    def write(self, data: bytes) -> None:
        """Keep what fits. A disk that refuses costs the output, never the program that printed it."""
        kept = data[: self._room]
        try:
            _write_all(self._descriptor, kept)
        except OSError:
            kept = b""
            self._room = 0
        self._room -= len(kept)
        self.dropped += len(data) - len(kept)

    def close(self) -> None:
        """Say at the end of the file how much is missing, and close it."""
        if self.dropped:
            with contextlib.suppress(OSError):
                _write_all(self._descriptor, f"\n[{self.dropped} more bytes were dropped]\n".encode())
        os.close(self._descriptor)


def truncate(path: Path, size: int) -> None:
    """Cut `path` to `size` bytes, durably (a torn last line)."""
    with path.open("r+b") as handle:
        handle.truncate(size)
        os.fsync(handle.fileno())


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_bytes(data: bytes) -> str:
    """Hex digest of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def tree_digest(root: Path, names: list[str]) -> dict[str, str]:
    """Digest of each named file below `root`; a missing or irregular one gets an empty digest. Hard links are fine."""
    digests = {}
    for name in sorted(names):
        try:
            digests[name] = digest_regular(root, name, 1 << 26, hard_links=True)
        except (OSError, ValueError, NotRegularFile):  # a name with a NUL is a ValueError
            digests[name] = ""
    return digests


def read_regular(root: Path, relative: str, max_bytes: int, *, hard_links: bool = False) -> bytes:
    """Bytes of `root/relative`, which must be a plain file of at most `max_bytes` behind no symbolic link.

    Every component below `root` is opened with O_NOFOLLOW relative to the one before, so that a folder swapped for a
    link while we walk leads nowhere. Pipes do not block: the file is opened non-blocking and refused unless regular.
    `hard_links` lets a file have other names, where its content is all that matters.

    Raises
    ------
    FileNotFoundError : not there.
    NotRegularFile : a link, folder, pipe or device in the way, more than one hard link, or too large.
    """
    return b"".join(_pieces(root, relative, max_bytes, hard_links))


def digest_regular(root: Path, relative: str, max_bytes: int, *, hard_links: bool = False) -> str:
    """Hex sha256 of what `read_regular` would give, of which no more than a piece is held."""
    digest = hashlib.sha256()
    for piece in _pieces(root, relative, max_bytes, hard_links):
        digest.update(piece)
    return digest.hexdigest()


@contextlib.contextmanager
def exclusive_lock(path: Path, holder: str) -> Iterator[None]:
    """Hold `path` locked; its text says who holds it. Freed by the kernel when the process dies.

    Raises
    ------
    UserError : somebody else holds it; the message names them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            first = os.pread(descriptor, 400, 0).decode(errors="replace").strip() or "another process"
            raise UserError(
                f"{path.parent.name}/{path.name}: held by {first}", "wait for it, or end it (a race: arena.py stop)"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def disk_fault(path: Path, error: OSError) -> InfrastructureFault:
    """An OSError while writing, as an infrastructure fault that names the file."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    hint = "free disk space and run the same command again" if full else "check that the folder can be written"
    return InfrastructureFault(f"{path}: {error.strerror or error}", hint)


def _pieces(root: Path, relative: str, max_bytes: int, hard_links: bool) -> Iterator[bytes]:
    parts = Path(relative).parts
    if not parts or Path(relative).is_absolute() or ".." in parts:
        raise NotRegularFile(f"{relative}: not a path inside the folder")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            deeper = _open_component(part, folder, relative, os.O_RDONLY | os.O_DIRECTORY)
            os.close(folder)
            folder = deeper
        descriptor = _open_component(parts[-1], folder, relative, os.O_RDONLY | os.O_NONBLOCK)
    finally:
        os.close(folder)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise NotRegularFile(f"{relative}: not a regular file")
        if facts.st_nlink > 1 and not hard_links:
            raise NotRegularFile(f"{relative}: has {facts.st_nlink} hard links")
        if facts.st_size > max_bytes:
            raise NotRegularFile(f"{relative}: {facts.st_size} bytes, at most {max_bytes} are read")
        left = max_bytes
        while piece := os.read(descriptor, min(_CHUNK, left + 1)):
            left -= len(piece)
            if left < 0:
                raise NotRegularFile(f"{relative}: grew past {max_bytes} bytes while being read")
            yield piece
    finally:
        os.close(descriptor)


def _open_component(name: str, folder: int, relative: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO):
            raise NotRegularFile(f"{relative}: {name} is a link or not a folder") from None
        raise


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
