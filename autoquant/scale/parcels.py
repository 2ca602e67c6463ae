"""Data by digest: what a piece of work reads beside its own bytes, sent once to each worker and checked there.

A parcel is a few files with their sha256; its digest names the folder a worker keeps it in, below the worker's own.
What does not carry its digest counts as absent and is fetched again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import DataError

CHUNK_BYTES = 8 << 20
"""What goes through the scheduler at a time: its memory stays flat."""


@dataclass(frozen=True)
class Piece:
    """One file of a parcel."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Parcel:
    """Files that belong together.

    Parameters
    ----------
    what : names them for whoever looks for them, for example the digest of the panel they hold.
    """

    what: str
    pieces: tuple[Piece, ...]

    @property
    def digest(self) -> str:
        """sha256 over names and contents."""
        return files.sha256_bytes(codec.dumps(self).encode())


@dataclass(frozen=True)
class Stock:
    """A parcel, and where its bytes are read when somebody needs them. Stays on the head."""

    parcel: Parcel
    sources: Mapping[str, Path | bytes]

    def chunks(self) -> Iterator[tuple[Piece, int, bytes]]:
        """(file, offset, bytes) of everything, in order."""
        for piece in self.parcel.pieces:
            source = self.sources[piece.name]
            if isinstance(source, bytes):
                for start in range(0, max(1, len(source)), CHUNK_BYTES):
                    yield piece, start, source[start : start + CHUNK_BYTES]
                continue
            with source.open("rb") as file:
                start = 0
                while chunk := file.read(CHUNK_BYTES):
                    yield piece, start, chunk
                    start += len(chunk)


def parcel_of_files(what: str, paths: Mapping[str, Path]) -> Stock:
    """A parcel of files on this machine, read once now for their digests.

    Raises
    ------
    DataError : one is missing.
    """
    try:
        pieces = tuple(
            Piece(name, path.stat().st_size, files.sha256_file(path)) for name, path in sorted(paths.items())
        )
    except OSError as error:
        raise DataError(f"{error.filename}: {error.strerror}", "set the data up: setup_data.py") from None
    return Stock(Parcel(what, pieces), dict(paths))


def parcel_of_bytes(what: str, content: bytes) -> Stock:
    """A parcel of one file, `content`, that is in memory."""
    return Stock(Parcel(what, (Piece("content", len(content), files.sha256_bytes(content)),)), {"content": content})


class Store:
    """A worker's own folder of parcels."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._verified: set[str] = set()

    def folder(self, parcel: Parcel) -> Path | None:
        """Where a parcel lies, checked against its digests once per process; None when it is not there whole."""
        folder = self.root / parcel.digest
        if parcel.digest in self._verified:
            return folder
        for piece in parcel.pieces:
            path = folder / piece.name
            try:
                whole = path.stat().st_size == piece.size and files.sha256_file(path) == piece.sha256
            except OSError:
                return None
            if not whole:
                shutil.rmtree(folder, ignore_errors=True)
                return None
        self._verified.add(parcel.digest)
        return folder

    def receive(self, parcel: Parcel, piece: Piece, offset: int, chunk: bytes, token: str) -> None:
        """Put some bytes into a half-finished copy that bears the sender's `token`."""
        folder = self._half(parcel, token)
        if offset == 0 and piece == parcel.pieces[0]:
            shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / piece.name, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(chunk)
            while view:
                written = os.pwrite(descriptor, view, offset)
                view, offset = view[written:], offset + written
        finally:
            os.close(descriptor)

    def finish(self, parcel: Parcel, token: str) -> bool:
        """Check a copy against its digests and put it in place; False when it is not what it should be."""
        half, folder = self._half(parcel, token), self.root / parcel.digest
        for piece in parcel.pieces:
            if files.sha256_file(half / piece.name) != piece.sha256:
                shutil.rmtree(half, ignore_errors=True)
                return False
        try:
            os.rename(half, folder)
        except OSError:
            if self.folder(parcel) is not None:  # another sender's copy stands there already
                shutil.rmtree(half, ignore_errors=True)
            else:  # what is left of one
                shutil.rmtree(folder, ignore_errors=True)
                os.rename(half, folder)
        return True

    def _half(self, parcel: Parcel, token: str) -> Path:
        return self.root / f".{parcel.digest}.{token}"


_at_hand: dict[str, Path] = {}


def lay_out(folders: Mapping[str, Path]) -> None:
    """In a slot: where the parcels of the coming piece of work lie, by `Parcel.what`."""
    _at_hand.clear()
    _at_hand.update(folders)


def folder_of(what: str) -> Path:
    """In a piece of work: the folder of the parcel that is called `what`.

    Raises
    ------
    DataError : the work was sent without it.
    """
    try:
        return _at_hand[what]
    except KeyError:
        raise DataError(f"no data called {what[:12]} were sent along") from None
