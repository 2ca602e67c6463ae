"""Where each accepted strategy came from, as a tree: origins, what is worth drawing, and who hangs in which lane. Pure.

The trunk (lane 0) is the working parent over time: every keep and search. Beside it hang archive tips, and what was
tried from a tip with `--from`. A branch leaves the trunk at the attempt that tried it, since until then its text was
the working parent's; one that starts from an older strategy leaves at that strategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from autoquant.ledger.records import ACCEPTED, LINEAGES
from autoquant.report.model import Attempt, Entrant

SEED = 0


@dataclass(frozen=True)
class Twig:
    """One attempt of the tree."""

    number: int
    origin: int
    """Attempt whose text this one started from; 0 is the seed."""
    status: str
    gain: float
    """Δscore against the working parent, for choosing whom to draw; 0 when there is none."""

    @property
    def trunk(self) -> bool:
        """Whether it became the working parent."""
        return self.status in ("keep", "search")

    @property
    def accepted(self) -> bool:
        """Keep, search or archive."""
        return self.status in ACCEPTED


@dataclass(frozen=True)
class Branch:
    """How a twig hangs: its line leaves the origin at attempt `start`, runs in lane `run`, ends in `lane`."""

    lane: int
    run: int
    start: int


@dataclass
class _Span:
    """A stretch of a lane that belongs to one line of descent."""

    start: int
    end: int
    lane: int = 0


def origins(attempts: Sequence[Attempt]) -> dict[int, int]:
    """By attempt, whose text it started from: the tip that `--from` named as it was then, else the working parent."""
    held: dict[str, int | None] = {slot: None if slot == "distinct" else SEED for slot in LINEAGES}
    found: dict[int, int] = {}
    for attempt in attempts:
        tip = held.get(attempt.lineage) if attempt.lineage else None
        found[attempt.number] = attempt.parent if tip is None else tip
        for slot in attempt.slots:
            held[slot] = attempt.number
    return found


def twigs(attempts: Sequence[Attempt]) -> tuple[Twig, ...]:
    """What the tree is made of: accepted attempts, and those tried from another text than the working parent's."""
    source = origins(attempts)
    return tuple(
        Twig(attempt.number, source[attempt.number], attempt.status, attempt.delta or 0.0)
        for attempt in attempts
        if attempt.status in ACCEPTED or (attempt.status and source[attempt.number] != attempt.parent)
    )


def roles(entrant: Entrant) -> dict[int, tuple[str, ...]]:
    """Who holds what now: champion, working parent and slots by attempt, the seed as 0."""
    working = entrant.working[-1].attempt if entrant.working else SEED
    champion = entrant.champion.number if entrant.champion else SEED
    holders = [("champion", champion), ("working", working), *entrant.archive]
    found: dict[int, tuple[str, ...]] = {}
    for role, number in holders:
        if number is not None:
            found[number] = (*found.get(number, ()), role)
    return found


def thinned(tree: Sequence[Twig], limit: int, anchors: Iterable[int]) -> tuple[Twig, ...]:
    """At most `limit` twigs, or all keeps and anchors where these are more; origins pass over what is left out.

    After keeps and anchors come search steps by gain, then the newest archive tips, then the newest tries from a tip.
    """
    essential = set(anchors)

    def worth(twig: Twig) -> tuple[bool, bool, bool, float]:
        vital = twig.status == "keep" or twig.number in essential
        return vital, twig.trunk, twig.accepted, twig.gain if twig.trunk else float(twig.number)

    ranked = sorted(tree, key=worth, reverse=True)
    vital = sum(worth(twig)[0] for twig in tree)
    chosen = {twig.number for twig in ranked[: max(limit, vital)]}
    source = {twig.number: twig.origin for twig in tree}

    def nearest(number: int) -> int:
        while number not in chosen and number in source:
            number = source[number]
        return number

    return tuple(replace(twig, origin=nearest(twig.origin)) for twig in tree if twig.number in chosen)


def branches(tree: Sequence[Twig], gap: float) -> dict[int, Branch]:
    """Lane of each twig; nothing overlaps in a lane but on the trunk.

    A line of descent off the trunk stays in one lane for as long as it is needed, the shortest next to the trunk.

    Parameters
    ----------
    tree : in the order of attempts; origins are among them or the seed.
    gap : attempts that two lines in one lane stay apart.
    """
    trunk = _Span(SEED, SEED)
    lines: list[_Span] = []
    hung: dict[int, tuple[_Span, int]] = {}
    tail: dict[int, _Span] = {}
    standing = SEED
    for twig in tree:
        start = twig.number if twig.origin == standing and not twig.trunk else twig.origin
        if twig.origin == standing and twig.trunk:
            line = trunk
        elif twig.origin in tail:
            line = tail[twig.origin]
        else:
            line = _Span(start, start)
            lines.append(line)
        line.end = twig.number
        hung[twig.number] = line, start
        if line is not trunk:
            _pass_on(tail, twig, line)
        standing = twig.number if twig.trunk else standing
    _pack(lines, gap)
    found: dict[int, Branch] = {}
    for twig in tree:
        line, start = hung[twig.number]
        found[twig.number] = Branch(0 if twig.trunk else line.lane, line.lane, start)
    return found


def _pass_on(tail: dict[int, _Span], twig: Twig, line: _Span) -> None:
    """Who may go on in the line: an accepted tip takes it over, the trunk ends it, a mere try leaves it as it was."""
    if not twig.accepted:
        tail[twig.origin] = line
        return
    tail.pop(twig.origin, None)
    if not twig.trunk:
        tail[twig.number] = line


def _pack(lines: Iterable[_Span], gap: float) -> None:
    """Short lines first, so that they hang close to the trunk and long ones run below them: fewer crossings."""
    taken: list[list[_Span]] = []
    for line in sorted(lines, key=lambda one: (one.end - one.start, one.start)):
        free = (lane for lane, others in enumerate(taken) if all(_apart(line, other, gap) for other in others))
        lane = next(free, len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append(line)
        line.lane = lane + 1


def _apart(line: _Span, other: _Span, gap: float) -> bool:
    return line.end + gap <= other.start or other.end + gap <= line.start


def lanes(hung: Mapping[int, Branch]) -> int:
    """How many lanes there are, the trunk included."""
    return 1 + max((max(branch.lane, branch.run) for branch in hung.values()), default=0)
