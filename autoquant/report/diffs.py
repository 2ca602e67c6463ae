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
COMMAND_BYTES = 120
"""About what the page spends on an attempt whose diff is left out: the count of lines and the command."""
_MAXIMUM_FILE = 2 * PROTOCOL.limits.strategy_bytes
_RUN_BYTES = 12


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
    def extra(self) -> int:
        """The same beyond what the command takes that stands where there are none."""
        return max(0, self.size - COMMAND_BYTES)


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
        return tuple(data.decode("utf-8", "surrogateescape").split("\n"))


@dataclass
class Allowance:
    """Work that comparing may still cost on this page."""

    work: int = ALL_WORK

    def grants(self, a: Sequence[str], b: Sequence[str]) -> bool:
        """Whether two texts may be compared line by line; what that costs is taken."""
        work = len(a) + len(b)
        if work <= WORK:
            here, there = Counter(a), Counter(b)
            work += sum(times * there[line] for line, times in here.items() if line)
        if work > min(self.work, WORK):
            return False
        self.work -= work
        return True


def changes(texts: Texts, wanted: Iterable[tuple[str, str]], budget: int) -> list[Change]:
    """Diffs of pairs of digests, before and after, the most wanted first.

    Parameters
    ----------
    texts : where the strategies lie.
    wanted : in the order of preference.
    budget : bytes of the page for all diffs together. One that no longer fits keeps its counts and loses its runs.
    """
    allowance = Allowance()
    result: list[Change] = []
    for before, after in wanted:
        change = compare(texts, before, after, allowance)
        if change.extra > budget:
            change = replace(change, runs=(), more=0)
        budget -= change.extra
        result.append(change)
    return result


def compare(texts: Texts, before: str, after: str, allowance: Allowance) -> Change:
    """One text against another, at most `LINES` lines of it."""
    old, new = texts.lines(before), texts.lines(after)
    if isinstance(old, str):
        return Change(before, after, missing=f"the parent’s text {old}")
    if isinstance(new, str):
        return Change(before, after, missing=f"its text {new}")
    if old == new:
        return Change(before, after)
    head, tail = _common_ends(old, new)
    start = max(0, head - CONTEXT)
    a, b = (lines[start : len(lines) - max(0, tail - CONTEXT)] for lines in (old, new))
    coarse = not allowance.grants(a, b)
    groups = [_block(a, b, head - start, min(tail, CONTEXT))] if coarse else _groups(a, b)
    changed = [opcode for group in groups for opcode in group if opcode[0] != "equal"]
    runs, more = _shown(a, b, groups, start)
    return Change(
        before,
        after,
        added=sum(j2 - j1 for _, _, _, j1, j2 in changed),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in changed),
        runs=runs,
        more=more,
        coarse=coarse,
    )


Opcode = tuple[str, int, int, int, int]


def _common_ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """Lines that both begin with, and lines that both end with behind those."""
    most = min(len(a), len(b))
    head = next((i for i in range(most) if a[i] != b[i]), most)
    tail = next((i for i in range(most - head) if a[-1 - i] != b[-1 - i]), most - head)
    return head, tail


def _groups(a: Sequence[str], b: Sequence[str]) -> list[list[Opcode]]:
    matcher = SequenceMatcher(lambda line: not line, a, b, autojunk=False)
    return [list(group) for group in matcher.get_grouped_opcodes(CONTEXT)]


def _block(a: Sequence[str], b: Sequence[str], head: int, tail: int) -> list[Opcode]:
    """Everything between the common ends as one replacement."""
    i, j = len(a) - tail, len(b) - tail
    return [("equal", 0, head, 0, head), ("replace", head, i, head, j), ("equal", i, len(a), j, len(b))]


def _shown(a: Sequence[str], b: Sequence[str], groups: list[list[Opcode]], start: int) -> tuple[tuple[Run, ...], int]:
    """Runs of the first lines of a diff, and how many lines there are beyond them."""
    runs: list[Run] = []
    room, more = LINES, 0
    for group in groups:
        if room > 0:
            runs.append(Run("@", _place(group, start)))
        for kind, lines in _kinds(a, b, group):
            shown = lines[: max(0, room)]
            if shown:
                runs.append(Run(kind, "\n".join(kind + visible(line, WIDTH) for line in shown)))
            room -= len(shown)
            more += len(lines) - len(shown)
    return tuple(runs), more


def _kinds(a: Sequence[str], b: Sequence[str], group: list[Opcode]) -> Iterable[tuple[str, Sequence[str]]]:
    for word, i1, i2, j1, j2 in group:
        if word == "equal":
            yield " ", a[i1:i2]
        else:
            yield "-", a[i1:i2]
            yield "+", b[j1:j2]


def _place(group: list[Opcode], start: int) -> str:
    """The hunk's lines in both texts, as `diff -u` writes them."""
    _, i, _, j, _ = group[0]
    _, _, k, _, l = group[-1]  # noqa: E741
    return f"@@ -{start + i + 1},{k - i} +{start + j + 1},{l - j} @@"
