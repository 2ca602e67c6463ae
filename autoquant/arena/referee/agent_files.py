"""Files in a folder that an agent can change while we use it: no links followed, plain files only, sizes capped.

Every path component below the worktrees' folder is opened relative to the one before with O_NOFOLLOW, so a folder
swapped for a link at any moment leads nowhere. Nothing here is made durable: a worktree can be made again from the
ledger. What stands in the way of a write is moved aside under a new name, never deleted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from autoquant import files
from autoquant.errors import InfrastructureFault
from autoquant.files import NotRegularFile

READ_LIMIT = 64 << 20
"""Largest protected file that is read back (the TRAIN panel is about 8 MB)."""

_PERSISTENCE = 200
"""How often a folder is made anew while something keeps swapping it."""

_PIECE_BYTES = 1 << 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class AgentFolder:
    """A worktree, reached through the folder above it, which is the arena's own.

    Parameters
    ----------
    parent : the arena's folder of worktrees.
    name : the worktree's name in it; may itself have been replaced by a link, which is then refused.
    """

    parent: Path
    name: str

    @property
    def path(self) -> Path:
        """Where it stands, for messages and for starting programs; not for opening files."""
        return self.parent / self.name

    def read(self, relative: str, max_bytes: int = READ_LIMIT, *, hard_links: bool = False) -> bytes:
        """Bytes of a plain file, which has no second name unless `hard_links` allows it.

        Raises
        ------
        FileNotFoundError : not there.
        NotRegularFile : a link, folder, pipe, hard link or too large; the message names `relative`.
        """
        try:
            return files.read_regular(self.parent, f"{self.name}/{relative}", max_bytes, hard_links=hard_links)
        except NotRegularFile as error:
            raise NotRegularFile(error.message.replace(f"{self.name}/", "", 1)) from None

    def digest(self, relative: str, max_bytes: int = READ_LIMIT, *, hard_links: bool = False) -> str:
        """sha256 of a plain file; empty when it is missing or not plain."""
        try:
            return files.digest_regular(self.parent, f"{self.name}/{relative}", max_bytes, hard_links=hard_links)
        except (OSError, NotRegularFile):
            return ""

    def write(self, relative: str, content: bytes | Path, mode: int = 0o644) -> None:
        """Put `content`, or a copy of that file, at `relative` in one step, whatever stood there.

        Missing folders are made. A file, link or pipe in the way is replaced, a folder in the way of the file is moved
        aside, a link or file in the way of a folder too, and a folder that lets nobody write.

        Raises
        ------
        InfrastructureFault : the disk refused, or the file to copy cannot be read.
        """
        *folders, name = PurePosixPath(relative).parts
        depth = len(folders)
        with _opened(content) as source:
            for left in reversed(range(_PERSISTENCE)):
                source.seek(0)
                try:
                    self._write_once(folders, name, source, mode)
                except (PermissionError, FileNotFoundError) as error:
                    if not left or depth < 0:
                        raise files.disk_fault(self.path / relative, error) from error
                    if isinstance(error, PermissionError):
                        self._set_folder_aside(folders[:depth])
                        depth -= 1
                except OSError as error:
                    raise files.disk_fault(self.path / relative, error) from error
                else:
                    return

    def remove(self, relative: str) -> bool:
        """Take away whatever stands at `relative`; a folder is moved aside. False when nothing was there."""
        *folders, name = PurePosixPath(relative).parts
        try:
            with self._folder(folders, create=False) as folder:
                try:
                    os.unlink(name, dir_fd=folder)
                except OSError as error:
                    if error.errno not in (errno.EISDIR, errno.EPERM):
                        raise
                    _set_aside(name, folder)
        except (FileNotFoundError, NotADirectoryError, NotRegularFile):
            return False
        except PermissionError:
            return any(self._set_folder_aside(folders[:depth]) for depth in range(len(folders), -1, -1))
        except OSError as error:
            raise files.disk_fault(self.path / relative, error) from error
        return True

    def make_folder(self, relative: str) -> None:
        """Make the folder `relative`, moving aside what is not a folder.

        Raises
        ------
        InfrastructureFault : the disk refused.
        """
        try:
            with self._folder(list(PurePosixPath(relative).parts), create=True):
                pass
        except OSError as error:
            raise files.disk_fault(self.path / relative, error) from error

    def names(self, relative: str = ".", limit: int = 10_000) -> list[str]:
        """Names in a folder, sorted, at most `limit`; none when it is missing or not a folder."""
        try:
            with (
                self._folder(list(PurePosixPath(relative).parts), create=False) as folder,
                os.scandir(folder) as entries,
            ):
                found = [entry.name for entry, _ in zip(entries, range(limit), strict=False)]
        except (OSError, NotRegularFile):
            return []
        return sorted(found)

    def walk(self, relative: str, skip: frozenset[str], limit: int = 10_000) -> list[str]:
        """Paths of everything below a folder that is not a folder, links included, folders named in `skip` left out.

        At most `limit` entries are looked at.
        """
        found: list[str] = []
        pending = [relative]
        seen = 0
        while pending and seen < limit:
            here = pending.pop()
            for name in self.names(here, limit - seen):
                seen += 1
                path = str(PurePosixPath(here) / name)
                if self.is_folder(path):
                    if name not in skip:
                        pending.append(path)
                else:
                    found.append(path)
        return sorted(found)

    def is_folder(self, relative: str) -> bool:
        """True for a real folder, not a link to one."""
        *folders, name = PurePosixPath(relative).parts or (".",)
        try:
            with self._folder(folders, create=False) as folder:
                return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        except (OSError, NotRegularFile):
            return False

    def _write_once(self, folders: list[str], name: str, source: BinaryIO, mode: int) -> None:
        with self._folder(folders, create=True) as folder:
            temporary = f".{name}.{os.urandom(6).hex()}.tmp"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(temporary, flags, mode, dir_fd=folder)
            try:
                try:
                    while piece := _read(source):
                        view = memoryview(piece)
                        while view:
                            view = view[os.write(descriptor, view) :]
                    os.fchmod(descriptor, mode)
                finally:
                    os.close(descriptor)
                self._rename_over(temporary, name, folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def _set_folder_aside(self, folders: list[str]) -> bool:
        """Move a folder aside that its owner closed; none named: the worktree itself. False when that failed too."""
        *above, name = (".", *folders) if folders else (self.name,)
        try:
            if not folders:
                (self.parent / name).rename(self.parent / f"{name}.{os.urandom(4).hex()}.aside")
            else:
                with self._folder(above, create=False) as folder:
                    _set_aside(name, folder)
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def _folder(self, parts: list[str] | tuple[str, ...], *, create: bool) -> Iterator[int]:
        if ".." in parts:
            raise InfrastructureFault(f"{'/'.join(parts)}: not a path inside the worktree")
        descriptor = os.open(self.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in (self.name, *(p for p in parts if p != ".")):
                deeper = _enter(part, descriptor, create)
                os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _rename_over(source: str, target: str, folder: int) -> None:
        try:
            os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.EISDIR, errno.ENOTEMPTY, errno.EEXIST):
                raise
            _set_aside(target, folder)
            os.replace(source, target, src_dir_fd=folder, dst_dir_fd=folder)


def _enter(name: str, folder: int, create: bool) -> int:
    for _ in range(_PERSISTENCE):
        try:
            return os.open(name, _FOLDER, dir_fd=folder)
        except FileNotFoundError:
            if not create:
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                raise
            if not create:
                raise NotRegularFile(f"{name}: a link or not a folder") from None
            _set_aside(name, folder)
    raise InfrastructureFault(f"{name}: something keeps replacing this folder", "look for a process that writes there")


def _set_aside(name: str, folder: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.rename(name, f"{name}.{os.urandom(4).hex()}.aside", src_dir_fd=folder, dst_dir_fd=folder)


def _opened(content: bytes | Path) -> BinaryIO:
    if isinstance(content, bytes):
        return io.BytesIO(content)
    try:
        return content.open("rb")
    except OSError as error:
        raise _unreadable(content, error) from error


def _read(source: BinaryIO) -> bytes:
    """The next piece. An error here is none of the folder that is written to."""
    try:
        return source.read(_PIECE_BYTES)
    except OSError as error:
        raise _unreadable(Path(source.name), error) from error


def _unreadable(path: Path, error: OSError) -> InfrastructureFault:
    return InfrastructureFault(f"{path}: {error.strerror or error}", "check that the file can be read")
