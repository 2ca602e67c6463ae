"""What an attempt changed in the strategy's text: a unified diff of two blobs, bounded in work and in bytes.

Texts are read by digest and believed only when they carry it. All of it was written by an agent: each line is made
inert. The comparison is difflib's after the common ends are cut off; where its work would grow with the square of a
hostile file, the middle is shown as one block out, one block in, and said to be.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from markupsafe import Markup

from autoquant import files
from autoquant.ledger.layout import RaceLayout
from autoquant.protocol import PROTOCOL
from autoquant.report.text import visible

CONTEXT = 1
"""Unchanged lines shown around a change."""
LINES = 60
"""Lines of one diff on the page."""
WIDTH = 120
"""Characters of a line on the page."""
WORK = 5_000
"""Lines and pairs of equal lines up to which two texts are compared line by line; an edit makes some hundreds."""
ALL_WORK = 2_500_000
"""The same over all diffs of a page."""
UNENDED = "\\ No newline at end of file"
"""Stands behind a last line without an end, as in git's diffs."""
_MAXIMUM_FILE = 2 * PROTOCOL.limits.strategy_bytes
_RUN_BYTES = 12


Lines = Sequence[str]


@dataclass(frozen=True)
class Run:
    """Lines of one kind in a row: `+` added, `-` removed, a space for unchanged, `@` for a hunk's place."""

    kind: str
    text: str
    """Inert; every line begins with the kind and all but the last end with a newline."""

    @property
    def markup(self) -> Markup:
        """Escaped for the inside of an element; code is full of quotes, which need no escape there."""
        return Markup(html.escape(self.text, quote=False))

    @property
    def size(self) -> int:
        """About how many bytes of the page it takes."""
        return len(self.markup.encode()) + _RUN_BYTES


@dataclass(frozen=True)
class Change:
    """One text against another."""

    before: str
    after: str
    """Digests of the two."""
    added: int = 0
    removed: int = 0
    runs: tuple[Run, ...] = ()
    """Empty when there is nothing to show, or no room for it."""
    more: int = 0
    """Lines of the diff beyond the runs."""
    coarse: bool = False
    """Not compared line by line: everything between the common ends counts as changed."""
    missing: str = ""
    """Why the texts could not be compared; empty when they were."""

    @property
    def size(self) -> int:
        """About how many bytes of the page the runs take."""
        return sum(run.size for run in self.runs)

    @property
    def whole(self) -> bool:
        """Whether the runs show all of it."""
        return self.before == self.after or bool(self.runs and not self.more)

    @property
    def counts(self) -> Change:
        """The same without its lines."""
        return replace(self, runs=(), more=0)


class Texts:
    """Strategies of a race by digest."""

    def __init__(self, layout: RaceLayout) -> None:
        self._layout = layout
        self.lines = lru_cache(maxsize=512)(self._lines)
        """Lines of a text, or why there are none."""

    def _lines(self, digest: str) -> tuple[str, ...] | str:
        path = self._layout.blob(digest)
        try:
            data = files.read_regular(self._layout.root, str(path.relative_to(self._layout.root)), _MAXIMUM_FILE)
        except (OSError, ValueError, files.NotRegularFile):
            return "is not there, or no plain file"
        if files.sha256_bytes(data) != digest:
            return "differs from its digest"
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        last = lines.pop()
        return (*lines, last, UNENDED) if last else tuple(lines)


@dataclass
class Allowance:
    """Work that comparing may still cost on this page."""

    work: int = ALL_WORK

    def grants(self, a: Lines, b: Lines) -> bool:
        """Whether two texts may be compared line by line; what that costs is taken."""
        work = len(a) + len(b)
        if work <= WORK:
            here, there = Counter(a), Counter(b)
            work += sum(times * there[line] for line, times in here.items() if line)
        if work > min(self.work, WORK):
            return False
        self.work -= work
        return True


def compare(texts: Texts, before: str, after: str, allowance: Allowance, *, lines: bool = True) -> Change:
    """One text against another, at most `LINES` lines of it; without `lines` only how many there are."""
    old, new = texts.lines(before), texts.lines(after)
    if isinstance(old, str):
        return Change(before, after, missing=f"the parent’s text {old}")
    if isinstance(new, str):
        return Change(before, after, missing=f"its text {new}")
    if old == new:
        return Change(before, after)
    edits, coarse = _edits(old, new, allowance)
    runs, more = _shown(old, new, _hunks(edits)) if lines else ((), 0)
    return Change(
        before,
        after,
        added=sum(edit.new[1] - edit.new[0] for edit in edits),
        removed=sum(edit.old[1] - edit.old[0] for edit in edits),
        runs=runs,
        more=more,
        coarse=coarse,
    )


@dataclass(frozen=True)
class _Edit:
    """Lines `old[0] … old[1]` of the one text became `new[0] … new[1]` of the other; half-open."""

    old: tuple[int, int]
    new: tuple[int, int]


def _edits(a: Lines, b: Lines, allowance: Allowance) -> tuple[list[_Edit], bool]:
    """What changed, and whether it is all between the common ends because more would be too much work."""
    head, tail = _common_ends(a, b)
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if not allowance.grants(middle_a, middle_b):
        return [_Edit((head, len(a) - tail), (head, len(b) - tail))], True
    matcher = SequenceMatcher(lambda line: not line, middle_a, middle_b, autojunk=False)
    return [
        _Edit((head + i1, head + i2), (head + j1, head + j2))
        for word, i1, i2, j1, j2 in matcher.get_opcodes()
        if word != "equal"
    ], False


def _common_ends(a: Lines, b: Lines) -> tuple[int, int]:
    """Lines that both begin with, and lines that both end with behind those."""
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
    return head, tail


def _hunks(edits: Sequence[_Edit]) -> list[list[_Edit]]:
    """Edits whose context touches stand together."""
    hunks: list[list[_Edit]] = []
    for edit in edits:
        if hunks and edit.old[0] - hunks[-1][-1].old[1] <= 2 * CONTEXT:
            hunks[-1].append(edit)
        else:
            hunks.append([edit])
    return hunks


def _shown(a: Lines, b: Lines, hunks: Sequence[Sequence[_Edit]]) -> tuple[tuple[Run, ...], int]:
    """Runs of the first lines of a diff, and how many lines there are beyond them."""
    runs: list[Run] = []
    room, more = LINES, 0
    for hunk in hunks:
        start, end = max(0, hunk[0].old[0] - CONTEXT), min(len(a), hunk[-1].old[1] + CONTEXT)
        if room > 0:
            new = hunk[0].new[0] - hunk[0].old[0] + start, hunk[-1].new[1] - hunk[-1].old[1] + end
            runs.append(Run("@", f"@@ -{start + 1},{end - start} +{new[0] + 1},{new[1] - new[0]} @@"))
        for kind, lines in _kinds(a, b, hunk, start, end):
            shown = lines[: max(0, room)]
            if shown:
                runs.append(Run(kind, "\n".join(kind + visible(line, WIDTH) for line in shown)))
            room -= len(shown)
            more += len(lines) - len(shown)
    return tuple(runs), more


def _kinds(a: Lines, b: Lines, hunk: Sequence[_Edit], start: int, end: int) -> Iterable[tuple[str, Lines]]:
    """The hunk's lines by kind, in the order they are written."""
    for edit in hunk:
        yield " ", a[start : edit.old[0]]
        yield "-", a[edit.old[0] : edit.old[1]]
        yield "+", b[edit.new[0] : edit.new[1]]
        start = edit.old[1]
    yield " ", a[start:end]
