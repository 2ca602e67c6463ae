"""Accepted commits as a git bundle: written and read here, by no git program.

A bundle is a text head (`# v2 git bundle`, one `id ref` per line, an empty line) and a pack: `PACK`, version, count,
then each object as type and size in 7-bit groups and its zlib stream, then sha1 of all of it. We write whole objects
in the order of their ids, no deltas, so that equal commits give equal bytes; and we read nothing else, so that a
stranger's file can only be wrong, never run. `git clone commits.bundle` reads ours. See gitformat-bundle(5) and
gitformat-pack(5).
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import InfrastructureFault, UserError
from autoquant.ledger.commits import object_id

_SIGNATURE = b"# v2 git bundle\n"
_TYPES = {"commit": 1, "tree": 2, "blob": 3}
_KINDS = {number: kind for kind, number in _TYPES.items()}
_REF = re.compile(rb"([0-9a-f]{40}) (refs/[A-Za-z0-9._/-]{1,400})")
LARGEST_OBJECT = 64 << 20
MOST_BYTES = 1 << 30
"""Of all objects of a bundle."""
MOST_ENTRIES = 10_000
"""Of one commit's whole tree: a few small trees that name each other over and over spell out more files than there are
atoms. Ours have some 200."""
LARGEST_CHECKOUT = 64 << 20
"""Bytes of one commit's files, each as often as it is named."""


@dataclass(frozen=True)
class Commits:
    """Refs, and objects (kind, content) by id."""

    refs: Mapping[str, str]
    objects: Mapping[str, tuple[str, bytes]]

    def commit(self, name: str) -> tuple[str, list[str], bytes] | None:
        """Tree, parents and whole content of a commit; None when it is not there or is none."""
        kind, content = self.objects.get(name, ("", b""))
        if kind != "commit":
            return None
        head = content.partition(b"\n\n")[0].decode("utf-8", "replace").split("\n")
        tree = next((line[5:] for line in head if line.startswith("tree ")), "")
        return tree, [line[7:] for line in head if line.startswith("parent ")], content

    def tree(self, name: str) -> dict[str, str] | None:
        """Blob ids by path; None when a tree is missing, damaged, or deeper or larger than any of ours."""
        found: dict[str, str] = {}
        waiting, seen = [(name, "", 0)], 0
        while waiting:
            tree, prefix, depth = waiting.pop()
            kind, content = self.objects.get(tree, ("", b""))
            entries = _entries(content) if kind == "tree" and depth <= 20 else None
            seen += len(entries or ())
            if not entries or seen > MOST_ENTRIES:
                return None
            for mode, entry, item in entries:
                if mode == b"100644":
                    found[prefix + entry] = item
                elif mode == b"40000":
                    waiting.append((item, f"{prefix}{entry}/", depth + 1))
                else:
                    return None
        return found

    def files(self, name: str) -> dict[str, bytes]:
        """Content by path of a commit; empty where its tree is none, or larger than any of ours."""
        commit = self.commit(name)
        tree = {} if commit is None else self.tree(commit[0]) or {}
        found = {path: self.blob(blob) or b"" for path, blob in tree.items()}
        return found if sum(map(len, found.values())) <= LARGEST_CHECKOUT else {}

    def blob(self, name: str) -> bytes | None:
        """Content of a file."""
        kind, content = self.objects.get(name, ("", b""))
        return content if kind == "blob" else None


def race_bundle(repository: Path, race: str) -> bytes | None:
    """The arena's refs of one race and everything they reach; None where there is no repository or no such ref.

    Raises
    ------
    InfrastructureFault : an object of the repository is lost or damaged.
    """
    refs = _refs(repository, race)
    if not refs:
        return None
    return write_commits(Commits(refs, _reachable(repository, sorted(set(refs.values())))))


def write_commits(commits: Commits) -> bytes:
    """The bytes of a git bundle."""
    head = b"".join(f"{commits.refs[ref]} {ref}\n".encode() for ref in sorted(commits.refs))
    pack = bytearray(struct.pack(">4sII", b"PACK", 2, len(commits.objects)))
    for name in sorted(commits.objects):
        kind, content = commits.objects[name]
        pack += _size_head(_TYPES[kind], len(content)) + zlib.compress(content, 9)
    pack += hashlib.sha1(pack, usedforsecurity=False).digest()
    return _SIGNATURE + head + b"\n" + bytes(pack)


def read_commits(data: bytes) -> Commits:
    """Refs and objects of a bundle of ours; each object is held against its id by construction.

    Raises
    ------
    UserError : not a bundle as we write them, damaged, or larger than any of ours.
    """
    head, blank, pack = data.partition(b"\n\n")
    lines = head.split(b"\n")
    if not blank or lines[:1] != [_SIGNATURE.strip()]:
        raise UserError("commits.bundle: not a git bundle of version 2")
    matches = [_REF.fullmatch(line) for line in lines[1:]]
    refs = {match[2].decode(): match[1].decode() for match in matches if match}
    if len(refs) != len(lines) - 1:
        raise UserError("commits.bundle: a line of its head is no ref, or a ref stands twice")
    if len(pack) < 32 or pack[:8] != struct.pack(">4sI", b"PACK", 2):
        raise UserError("commits.bundle: holds no pack of version 2")
    if hashlib.sha1(pack[:-20], usedforsecurity=False).digest() != pack[-20:]:
        raise UserError("commits.bundle: the pack differs from its checksum")
    (count,) = struct.unpack(">I", pack[8:12])
    objects: dict[str, tuple[str, bytes]] = {}
    place, total = 12, 0
    for _ in range(count):
        kind, size, place = _read_head(pack, place)
        total += size
        if size > LARGEST_OBJECT or total > MOST_BYTES:
            raise UserError("commits.bundle: its objects are larger than any race's")
        content, place = _inflate(pack, place, size)
        objects[object_id(kind, content)] = (kind, content)
    if place != len(pack) - 20 or len(objects) != count:
        raise UserError("commits.bundle: the pack holds an object twice, or something beside its objects")
    return Commits(refs, objects)


def _refs(repository: Path, race: str) -> dict[str, str]:
    """Refs of one race: loose ones, else what a `git pack-refs` has gathered."""
    places = (f"refs/heads/arena/{race}", f"refs/archive/{race}")
    found: dict[str, str] = {}
    packed = repository / "packed-refs"
    for line in packed.read_text("utf-8", "replace").splitlines() if packed.is_file() else ():
        name, _, ref = line.partition(" ")
        if ref.startswith(tuple(f"{place}/" for place in places)):
            found[ref] = name
    for path in (path for place in places for path in (repository / place).rglob("*") if path.is_file()):
        found[path.relative_to(repository).as_posix()] = path.read_text("ascii", "replace").strip()
    return {ref: name for ref, name in found.items() if _REF.fullmatch(f"{name} {ref}".encode())}


def _reachable(repository: Path, tips: list[str]) -> dict[str, tuple[str, bytes]]:
    from git import GitDB

    database = GitDB(str(repository / "objects"))
    found: dict[str, tuple[str, bytes]] = {}
    waiting = list(tips)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            stream = database.stream(bytes.fromhex(name))
            kind, content = stream.type.decode(), stream.read()
        except Exception as error:
            raise InfrastructureFault(f"{repository}: object {name} is lost or damaged") from error
        found[name] = (kind, content)
        known = Commits({}, found)
        if kind == "commit":
            tree, parents, _ = known.commit(name) or ("", [], b"")
            waiting += [tree, *parents]
        elif kind == "tree":
            waiting += [item for _, _, item in _entries(content) or []]
    return found


def _entries(tree: bytes) -> list[tuple[bytes, str, str]] | None:
    """(mode, name, id) of each entry; None for a damaged tree."""
    found, place = [], 0
    while place < len(tree):
        end = tree.find(b"\0", place)
        mode, space, name = tree[place:end].partition(b" ")
        if end < 0 or not space or end + 21 > len(tree):
            return None
        found.append((mode, name.decode("utf-8", "replace"), tree[end + 1 : end + 21].hex()))
        place = end + 21
    return found


def _size_head(kind: int, size: int) -> bytes:
    """Type and size: 4 bits of size beside the type, then 7 bits a byte, the high bit saying that more follow."""
    first, size = (kind << 4) | (size & 15), size >> 4
    head = bytearray()
    while size:
        head.append(first | 0x80)
        first, size = size & 0x7F, size >> 7
    head.append(first)
    return bytes(head)


def _read_head(pack: bytes, place: int) -> tuple[str, int, int]:
    end = len(pack) - 20
    if place >= end:
        raise UserError("commits.bundle: the pack ends before its last object")
    byte, place = pack[place], place + 1
    kind, size, shift = _KINDS.get((byte >> 4) & 7, ""), byte & 15, 4
    while byte & 0x80:
        if place >= end or shift > 40:
            raise UserError("commits.bundle: an object's head does not end")
        byte, place = pack[place], place + 1
        size |= (byte & 0x7F) << shift
        shift += 7
    if not kind:
        raise UserError("commits.bundle: holds an object that is no commit, tree or whole file")
    return kind, size, place


def _inflate(pack: bytes, place: int, size: int) -> tuple[bytes, int]:
    engine, content = zlib.decompressobj(), bytearray()
    try:
        while not engine.eof:
            piece = pack[place : place + 65536]
            if not piece:
                raise UserError("commits.bundle: an object is cut short")
            content += engine.decompress(piece, size + 1 - len(content))
            if len(content) > size or (engine.unconsumed_tail and len(content) >= size + 1):
                raise UserError("commits.bundle: an object is larger than its head says")
            place += len(piece) - len(engine.unconsumed_tail) - len(engine.unused_data)
    except zlib.error:
        raise UserError("commits.bundle: an object cannot be unpacked") from None
    if len(content) != size:
        raise UserError("commits.bundle: an object is smaller than its head says")
    return bytes(content), place
