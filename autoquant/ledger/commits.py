"""What an accepted attempt's commit is made of: bytes of git objects, from the record alone. Nothing is written.

The same content, parent and time give the same commit id on any machine, so whoever has a race's record and the files
its worktrees held can say what each commit must be.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

IDENTITY = "AutoQuant referee <referee@autoquant.invalid>"
REGULAR = "100644"
STRATEGY = "strategy.py"
"""The one file of a race's commit that differs between attempts."""

_TREE = "40000"


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


def attempt_message(attempt: int, status: str, score: float | None, description: str) -> str:
    """Message of an accepted attempt's commit."""
    number = "none" if score is None else f"{score:.4f}"
    body = f"\n\n{description}" if description else ""
    return f"Attempt {attempt}: {status}, score {number}{body}"


def seed_message(race: str) -> str:
    """Message of the orphan commit every competitor of a race starts from."""
    return f"Seed of race {race}"


def moves_tip(status: str) -> bool:
    """Whether the next mutation starts from a commit of this status; one of the archive stands beside the branch."""
    return status != "archive"


def branch(race: str, competitor: str) -> str:
    """Where the arena's repository keeps a competitor's working parent."""
    return f"refs/heads/arena/{race}/{competitor}"


def archive_ref(race: str, competitor: str, attempt: int) -> str:
    """Where the arena's repository keeps an attempt that was accepted into the archive alone."""
    return f"refs/archive/{race}/{competitor}/{attempt:04d}"


def unix(utc: str) -> int:
    """Seconds since 1970 of an ISO time."""
    return int(dt.datetime.fromisoformat(utc).timestamp())
