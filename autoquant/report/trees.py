"""One competitor's lineage tree: the working path as a trunk, archive tips and what was tried from them beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from autoquant.report import figures as fig
from autoquant.report.figures import Scale, tag
from autoquant.report.frames import fit, is_narrow
from autoquant.report.lineage import SEED, Branch, Twig, branches, lanes, roles, thinned, twigs
from autoquant.report.model import Entrant
from autoquant.report.text import clean
from autoquant.report.timeline import fitting, label_room

NODES, NODES_NARROW = 60, 26
"""Attempts drawn in one tree; keeps and present holders are drawn even when they are more."""
_ROW = 15.0
_APART = 15.0
"""Pixels that two lines in one lane stay apart."""
_BEND = 6.0


@dataclass(frozen=True)
class _Tree:
    """What is drawn, and where."""

    entrant: Entrant
    twigs: tuple[Twig, ...]
    hung: Mapping[int, Branch]
    x: Scale
    top: float

    def level(self, lane: int) -> float:
        """Height of a lane."""
        return self.top + lane * _ROW

    def spot(self, number: int) -> tuple[float, float]:
        """Where an attempt is, the seed too."""
        return self.x(number), self.level(self.hung[number].lane if number in self.hung else 0)


def drawn(entrant: Entrant, limit: int) -> tuple[Twig, ...]:
    """What of an entrant's tree is drawn with room for `limit` attempts."""
    return thinned(twigs(entrant.attempts), limit, roles(entrant))


def tree_chart(entrant: Entrant, last: float, stamped: str, width: float) -> Markup:
    """The tree over attempts 0 … `last`, with who holds what now at its right."""
    narrow = is_narrow(width)
    x = Scale(0.0, last, 14.0, width - (142.0 if narrow else 200.0))
    chosen = drawn(entrant, NODES_NARROW if narrow else NODES)
    hung = branches(chosen, _APART * last / (x.end - x.start))
    tree = _Tree(entrant, chosen, hung, x, 22.0)
    labels = _holders(tree, narrow)
    bottom = max(tree.level(lanes(hung) - 1) + 14.0, tree.top + _ROW * (len(labels) - 1) + 6.0)
    layers = [
        *_axis(tree, bottom, narrow),
        _trunk(tree),
        _lines(tree),
        *_leaders(tree, labels, bottom),
        *_nodes(tree),
        *_numbers(tree),
    ]
    words = f"Lineage of {clean(entrant.name)}; the table below says the same"
    group = tag("g", *layers, class_=f"a{entrant.index}")
    warning = fig.text(width, 10.0, stamped, "stamp", "end") if stamped else ""
    return fig.canvas(width, bottom + 20.0, words, group, warning, class_=fit(width))


def _axis(tree: _Tree, bottom: float, narrow: bool) -> list[Markup]:
    ticks = [v for v in fig.ticks(0.0, tree.x.high, 4 if narrow else 10) if v == int(v)]
    grid = "".join(f"M{fig.coordinate(tree.x(v))} {fig.coordinate(tree.top)}V{fig.coordinate(bottom)}" for v in ticks)
    numbers = [fig.text(tree.x(v), bottom + 14.0, f"{v:g}", "axis", "middle") for v in ticks]
    return [tag("path", d=grid, class_="hair"), *numbers]


def _trunk(tree: _Tree) -> Markup:
    start, end = (fig.coordinate(tree.x(number)) for number in (SEED, tree.entrant.last_closed))
    return tag("path", d=f"M{start} {fig.coordinate(tree.top)}H{end}", class_="line trunk")


def _lines(tree: _Tree) -> Markup:
    """All branches in two paths: what was accepted, and fainter what was not."""
    accepted = "".join(_line(tree, twig) for twig in tree.twigs if twig.accepted)
    tried = "".join(_line(tree, twig) for twig in tree.twigs if not twig.accepted)
    return Markup("").join(
        tag("path", d=d, class_=class_) for d, class_ in ((accepted, "line twig"), (tried, "line twig tried")) if d
    )


def _line(tree: _Tree, twig: Twig) -> str:
    branch = tree.hung[twig.number]
    if branch.run == 0:
        return ""
    n, (end, goal) = fig.coordinate, tree.spot(twig.number)
    level = tree.level(branch.run)
    if branch.start == twig.number:  # off the trunk where it stood
        begin = max(end - _BEND, tree.x(twig.number - 1))
        return f"M{n(begin)} {n(tree.top)}Q{n(end)} {n(tree.top)} {n(end)} {n(goal)}"
    start, origin = tree.spot(twig.origin)
    bend = min(_BEND, (end - start) / 2)
    leave = "" if origin == level else f"Q{n(start)} {n(level)} {n(start + bend)} {n(level)}"
    arrive = "" if goal == level else f"Q{n(end)} {n(level)} {n(end)} {n(goal)}"
    return f"M{n(start)} {n(origin)}{leave}H{n(end - bend if arrive else end)}{arrive}"


def _nodes(tree: _Tree) -> list[Markup]:
    spots = {twig.number: tree.spot(twig.number) for twig in tree.twigs}
    steps = [spots[twig.number] for twig in tree.twigs if twig.status == "search"]
    tips = [spots[twig.number] for twig in tree.twigs if twig.status == "archive"]
    tries = [spots[twig.number] for twig in tree.twigs if not twig.accepted]
    keeps = [spots[twig.number] for twig in tree.twigs if twig.status == "keep"]
    held = [tree.spot(number) for number in roles(tree.entrant)]
    rings = [tag("circle", cx=spot[0], cy=spot[1], r=6.5, class_="holder") for spot in held]
    seed = [tree.spot(SEED)]
    return [
        *rings,
        fig.rules([(x, y + 5.0) for x, y in tries], 5.0, "stroke try"),
        fig.dots([*steps, *tips, *seed], "points"),
        fig.dots([*tips, *seed], "points inner"),
        *(fig.marker(tree.entrant.index, x, y, "mark") for x, y in keeps),
    ]


def _numbers(tree: _Tree) -> list[Markup]:
    """Numbers of the keeps above the trunk, the newest first where not all fit."""
    keeps = [twig.number for twig in tree.twigs if twig.status == "keep"]
    places = [tree.x(number) for number in keeps]
    shown = fitting(places, [label_room(number) for number in keeps], reversed(range(len(keeps))))
    return [fig.text(places[i], tree.top - 9.0, f"#{keeps[i]}", "label strong", "middle") for i in shown]


def _holders(tree: _Tree, narrow: bool) -> list[tuple[int, str]]:
    """Lines of words about who holds what now, by the attempt they belong to, in the order of lanes."""
    most = 1 if narrow else 2
    held = sorted(roles(tree.entrant).items(), key=lambda item: (tree.spot(item[0])[1], -item[0]))
    return [
        (number, ", ".join(names[first : first + most]))
        for number, names in held
        for first in range(0, len(names), most)
    ]


def _leaders(tree: _Tree, labels: Sequence[tuple[int, str]], bottom: float) -> list[Markup]:
    """Roles at the right, each attempt's number once, joined to their attempts."""
    wanted = [tree.spot(number)[1] for number, _ in labels]
    places = fig.spread(wanted, _ROW, tree.top, max(bottom - 6.0, tree.top))
    edge = tree.x.end
    column = edge + 19.0 + max(label_room(number) for number, _ in labels)
    parts: list[Markup] = []
    last = None
    for (number, words), place in zip(labels, places, strict=True):
        if number != last:
            x, level = tree.spot(number)
            parts.append(fig.path([(x + 7.0, level), (edge + 2.0, level), (edge + 12.0, place)], "leader dotted"))
            parts.append(fig.text(edge + 15.0, place + 4.0, f"#{number}" if number else "seed", "label strong"))
        parts.append(fig.text(column, place + 4.0, words, "label"))
        last = number
    return parts
