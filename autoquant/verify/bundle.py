"""The bundle file: a zip whose bytes depend on its content alone, and the careful reading of one from a stranger.

`contents.json` lists every piece with size and sha256. Names are sorted, times are 1980-01-01, modes are 0644, nothing
of the machine is in it: two exports of one race are equal wherever they are made (with the same zlib and libraries).
Nothing is ever unpacked to disk.
"""

from __future__ import annotations

import contextlib
import re
import stat
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

from autoquant import codec, files
from autoquant.errors import AutoQuantError, UserError
from autoquant.protocol import SCHEMA_VERSION
from autoquant.verify.evidence import LARGEST

CONTENTS = "contents.json"
FORMAT = "autoquant-race"
MOST_PIECES = 1_000_000
MOST_BYTES = 16 << 30
"""Of all pieces, unpacked."""
_CONTENTS_LIMIT = 256 << 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*){0,4}")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_ENCRYPTED = 0x1
_BEGINNING = b"PK\x03\x04"


@dataclass(frozen=True)
class Piece:
    """Size in bytes and sha256 of one piece."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    """contents.json."""

    race: str
    pieces: dict[str, Piece]
    format: str = FORMAT
    schema_version: int = SCHEMA_VERSION


class Writer:
    """Makes a bundle: pieces first, as they come, `contents.json` last. One piece is in memory at a time.

    A context manager, which ends the zip and leaves `out` open.

    Parameters
    ----------
    race : name of the race.
    out : an empty file that can be sought in.
    """

    def __init__(self, race: str, out: IO[bytes]) -> None:
        self._race = race
        self._packed = zipfile.ZipFile(out, "w")
        self._pieces: dict[str, Piece] = {}

    def add(self, name: str, content: bytes) -> None:
        """Add a piece; names come sorted."""
        if not _NAME.fullmatch(name) or (self._pieces and name <= next(reversed(self._pieces))):
            raise ValueError(f"{name!r} is no name for a piece, or comes too late")
        self._write(name, content)
        self._pieces[name] = Piece(len(content), files.sha256_bytes(content))

    def finish(self) -> None:
        """Write the list; the bundle is whole when the block ends."""
        self._write(CONTENTS, (codec.dumps(Contents(self._race, self._pieces), indent=1) + "\n").encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._packed.close()

    def _write(self, name: str, content: bytes) -> None:
        info = zipfile.ZipInfo(name, _EPOCH)
        info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._packed.writestr(info, content, zipfile.ZIP_DEFLATED, 9)


class Bundle:
    """A bundle opened for reading. `Bundle.open` looks at its list of names before anything is unpacked."""

    def __init__(self, path: Path, packed: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo]) -> None:
        self.path = path
        self._packed = packed
        self._infos = infos

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a bundle.

        Raises
        ------
        UserError : not a zip, or one that no export makes: a name that leads elsewhere or stands twice, a link, an
            encrypted or strangely packed piece, more or larger pieces than any race has.
        """
        try:
            packed = zipfile.ZipFile(path)
        except OSError as error:
            raise UserError(f"{path}: {error.strerror or error}", "name the file that arena.py export made") from None
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OverflowError):
            raise _no_zip(path) from None
        try:
            return cls(path, packed, _sound(path, packed))
        except UserError:
            packed.close()
            raise

    def names(self) -> tuple[str, ...]:
        """What is there besides the list, sorted."""
        return tuple(sorted(name for name in self._infos if name != CONTENTS))

    def read(self, name: str) -> bytes | None:
        """A piece; None when it is not there or cannot be unpacked (`problems` names it)."""
        info = self._infos.get(name)
        if info is None:
            return None
        try:
            with self._packed.open(info) as handle:
                content = handle.read(info.file_size + 1)
        except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            return None
        return content if len(content) == info.file_size else None

    def contents(self) -> Contents | None:
        """The list; None when it is missing or unreadable."""
        content = self.read(CONTENTS)
        try:
            return None if content is None else codec.loads(Contents, content, CONTENTS)
        except AutoQuantError:
            return None

    def problems(self) -> list[str]:
        """Where the pieces are not as the list says."""
        contents = self.contents()
        if contents is None or contents.format != FORMAT:
            return [f"{CONTENTS}: missing, or not the list of a race's bundle"]
        found = [f"{name}: not in {CONTENTS}" for name in self.names() if name not in contents.pieces]
        for name, piece in sorted(contents.pieces.items()):
            content = self.read(name)
            if content is None:
                found.append(f"{name}: missing, or damaged in the bundle")
            elif Piece(len(content), files.sha256_bytes(content)) != piece:
                found.append(f"{name}: differs from its sha256 in {CONTENTS}")
        return found

    def close(self) -> None:
        """Close the file."""
        self._packed.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _no_zip(path: Path) -> UserError:
    """A file cut short is told from another kind of file: a zip's list of names is its end."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        if file.read(len(_BEGINNING)) == _BEGINNING:
            return UserError(
                f"{path}: begins as a bundle and lacks its end or is damaged there",
                "fetch it again, and hold its sha256 against the one that was published with it",
            )
    return UserError(f"{path}: not a bundle (no zip file)", "name the file that arena.py export made")


def _sound(path: Path, packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    infos = packed.infolist()
    if len(infos) > MOST_PIECES:
        raise UserError(f"{path}: {len(infos)} pieces, more than any race has")
    if sum(info.file_size for info in infos) > MOST_BYTES:
        raise UserError(f"{path}: unpacks to more than {MOST_BYTES >> 30} GiB, more than any race has")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        name = info.orig_filename
        if not _NAME.fullmatch(name) or ".." in name.split("/"):
            raise UserError(f"{path}: {name[:100]!r} is no name of a piece")
        if name in found:
            raise UserError(f"{path}: {name} stands twice")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.is_dir():
            raise UserError(f"{path}: {name} is not a plain file")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UserError(f"{path}: {name} is encrypted, or packed in another way than export does")
        if info.file_size > (_CONTENTS_LIMIT if name == CONTENTS else LARGEST):
            raise UserError(f"{path}: {name} unpacks to {info.file_size} bytes, more than any piece has")
        found[name] = info
    return found
