"""What is kept of a forbidden change: the bytes that stood there, and a diff from what has to stand there."""

from __future__ import annotations

import contextlib
import difflib
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.arena.referee.agent_files import READ_LIMIT, AgentFolder
from autoquant.errors import InfrastructureFault
from autoquant.ledger.layout import RaceLayout

BYTES_LIMIT = 1 << 20
"""Of a file that is kept."""
FILES_LIMIT = 500
DIFF_INPUT_LIMIT = 1 << 17
"""Of each of two texts that are compared; difflib's work grows with their product."""
DIFF_LINES = 400


@dataclass(frozen=True)
class EvidenceStore:
    """A race's evidence, by digest. Full, or on a full disk, it keeps nothing more; what is wrong is restored still."""

    layout: RaceLayout

    def keep(self, folder: AgentFolder, path: str, expected: bytes | Path) -> str:
        """Keep what stands at `path` of a worktree, if it is a plain file, and its diff from `expected`.

        Returns
        -------
        str : digest of the kept diff; empty where there is none, since one side is missing, too large or no text.
        """
        try:
            found = folder.read(path, min(READ_LIMIT, BYTES_LIMIT))
        except (OSError, files.NotRegularFile):
            return ""
        self._store(found)
        told = difference(_bytes(expected), found, path)
        return self._store(told.encode()) if told else ""

    def _store(self, data: bytes) -> str:
        digest = files.sha256_bytes(data)
        place = self.layout.evidence(digest)
        if place.exists():
            return digest
        if len(list(place.parent.glob("*"))) < FILES_LIMIT:
            with contextlib.suppress(OSError, InfrastructureFault):
                files.atomic_write(place, data)
        return digest if place.exists() else ""


def difference(expected: bytes | None, found: bytes, path: str) -> str:
    r"""A unified diff, its first `DIFF_LINES` lines; empty where a side is missing, too large or no text.

    >>> difference(b"a\nb\n", b"a\nc\n", "run.py").splitlines()[2:]
    ['@@ -1,2 +1,2 @@', ' a', '-b', '+c']
    """
    if expected is None or max(len(expected), len(found)) > DIFF_INPUT_LIMIT or b"\0" in expected + found:
        return ""
    try:
        before, after = (text.decode().removesuffix("\n").split("\n") for text in (expected, found))
    except UnicodeDecodeError:
        return ""
    lines = difflib.unified_diff(before, after, f"expected/{path}", f"found/{path}", n=1, lineterm="")
    kept = [line for line, _ in zip(lines, range(DIFF_LINES + 1), strict=False)]
    if len(kept) > DIFF_LINES:
        kept[DIFF_LINES:] = ["\\ cut here"]
    return "".join(f"{line}\n" for line in kept)


def _bytes(expected: bytes | Path) -> bytes | None:
    if isinstance(expected, bytes):
        return expected
    with contextlib.suppress(OSError):
        if expected.stat().st_size <= DIFF_INPUT_LIMIT:
            return expected.read_bytes()
    return None
