"""The machine: the five stations in one picture, and the way of one experiment through it."""

from __future__ import annotations

from markupsafe import Markup

from autoquant.protocol import PROTOCOL
from autoquant.report import figures as fig
from autoquant.report.explain import pen
from autoquant.report.figures import tag
from autoquant.report.frames import fit, is_narrow

STATIONS = (
    ("data", ("verified public prices,", "pinned by digest")),
    ("blind oracle", ("replays the market; tells no", "coin and no year; charges costs")),
    ("two ratchets", ("is it a step?", "is it more than luck?")),
    ("archive", ("four tips", "to start again from")),
    ("lockbox", ("a sealed year,", "opened once, at the end")),
)
PARTIES = ("agent", "run.py", "referee", "oracle", "ledger")
AGENT, RUN, REFEREE, ORACLE, LEDGER = range(5)
STEPS = (
    (AGENT, AGENT, "edits strategy.py", "the only file it may change"),
    (AGENT, RUN, "“funding tilt”", "one experiment, one line of intent"),
    (RUN, REFEREE, "the file’s bytes", "put into a mailbox; copied once"),
    (REFEREE, LEDGER, "attempt 17 opened", "counted before it is judged"),
    (REFEREE, ORACLE, "bytes and a fresh mask", "in a child without network, files or clock"),
    (ORACLE, REFEREE, "score, folds, gates", "or the reason why there is none"),
    (REFEREE, ORACLE, "once more, deeper", "only if it would be accepted: cuts, futures, another mask"),
    (REFEREE, LEDGER, "attempt 17 closed: search", "decision and digests, chained to the line before"),
    (REFEREE, AGENT, "verdict, rounded feedback", "to four digits; never a date, a bar or a return"),
)
"""From, to, what is handed over, and what to know about it."""


def overview(width: float) -> Markup:
    """Data → blind oracle → two ratchets → archive → lockbox, with the agent's loop."""
    label = "Data, blind oracle, two ratchets, archive, lockbox; the agent's loop goes round oracle and ratchets"
    if is_narrow(width):
        return _overview_narrow(width, label)
    step = width / len(STATIONS)
    parts: list[Markup] = []
    for place, (name, lines) in enumerate(STATIONS):
        middle = step * (place + 0.5)
        parts += [_glyph(place, middle, 100.0), pen.titled(middle, 164.0, name, lines, "middle")]
        if place:
            parts.append(pen.arrow([(middle - step + 50, 100.0), (middle - 50, 100.0)]))
    left, right = step * 1.5, step * 2.5
    loop = f"{PROTOCOL.budget} times: the agent reads the verdict and edits strategy.py"
    parts.append(pen.arrow([(right, 60.0), (right, 36.0), (left, 36.0), (left, 60.0)]))
    parts.append(fig.text((left + right) / 2, 22.0, loop, "label strong", "middle"))
    return fig.canvas(width, 206.0, label, *parts, class_=fit(width))


def _overview_narrow(width: float, label: str) -> Markup:
    parts: list[Markup] = []
    rows = [40.0 + 96.0 * place + (30.0 if place > 1 else 0.0) for place in range(len(STATIONS))]
    for place, ((name, lines), y) in enumerate(zip(STATIONS, rows, strict=True)):
        parts += [_glyph(place, 56.0, y), pen.titled(108.0, y - 8, name, lines)]
        if place:
            parts.append(pen.arrow([(56.0, rows[place - 1] + 32), (56.0, y - 32)]))
    parts.append(pen.arrow([(20.0, rows[2]), (6.0, rows[2]), (6.0, rows[1]), (20.0, rows[1])]))
    said = (f"{PROTOCOL.budget} times: the agent reads the", "verdict and edits strategy.py")
    parts.append(pen.words(108.0, (rows[1] + rows[2]) / 2 + 8, said, "label strong"))
    return fig.canvas(width, rows[-1] + 40, label, *parts, class_=fit(width))


def _glyph(place: int, x: float, y: float) -> Markup:
    """A station's small picture, about 60 × 44 around (x, y)."""
    price = pen.spread(pen.walk(11, 24, 0.15), x - 28, x + 28, y + 18, y - 18)
    if place == 0:
        return tag("g", pen.line(price, "line official"), class_="a0")
    if place == 1:
        veil = [pen.line([(x - 30 + 12 * k, y + 24), (x - 18 + 12 * k, y - 24)], "veil") for k in range(5)]
        return tag("g", pen.line(price, "line working"), *veil, class_="a0")
    if place == 2:
        steps = [(x - 28, y + 14), (x - 12, y + 2), (x + 6, y - 16)]
        low = [(x - 28, y + 20), (x - 20, y + 14), (x - 4, y + 8), (x + 14, y - 2)]
        lines = (
            fig.steps(steps, x + 28, "line official"),
            fig.steps(low, x + 28, "line working", stroke_dasharray="4 3"),
        )
        return tag("g", *lines, class_="a0")
    if place == 3:
        root, tips = (x - 26, y), [(x + 24, y + dy) for dy in (-20, -7, 7, 20)]
        twigs = [pen.line([root, (x - 4, ty), (tx, ty)], "hairline") for tx, ty in tips]
        marks = [fig.marker(0, tx, ty, "mark") for tx, ty in (root, *tips)]
        return tag("g", *twigs, *marks, class_="a0")
    body = tag("rect", x=x - 24, y=y - 8, width=48.0, height=30.0, rx=2, class_="safe")
    shackle = tag("path", d=f"M{x - 13:g} {y - 8:g}v-6a13 13 0 0 1 26 0v6", class_="safe")
    return tag("g", body, shackle, tag("circle", cx=x, cy=y + 5, r=3.5, class_="mark"), class_="a0")


def experiment(width: float) -> Markup:
    """One experiment as a sequence: who hands what to whom, from top to bottom."""
    label = "One experiment: agent, run.py, referee, oracle, ledger, and what passes between them in nine steps"
    return _experiment_narrow(width, label) if is_narrow(width) else _experiment_wide(width, label)


def _experiment_wide(width: float, label: str) -> Markup:
    lanes = [48.0 + 138.0 * place for place in range(len(PARTIES))]
    top, row = 24.0, 46.0
    height = top + 40 + row * len(STEPS)
    parts = [pen.line([(x, top + 10), (x, height - 28)], "hair") for x in lanes]
    parts += [fig.text(x, top, name, "label strong", "middle") for x, name in zip(lanes, PARTIES, strict=True)]
    for number, (start, end, said, more) in enumerate(STEPS):
        y = top + 46 + row * number
        if start == end:
            parts.append(tag("circle", cx=lanes[start], cy=y, r=4.0, class_="head"))
            parts.append(fig.text(lanes[start] + 12, y + 4, said, "label strong"))
        else:
            parts.append(pen.arrow([(lanes[start], y), (lanes[end], y)]))
            parts.append(fig.text((lanes[start] + lanes[end]) / 2, y - 7, said, "label strong", "middle"))
        parts.append(fig.text(lanes[-1] + 58, y + 4, str(number + 1), "label strong"))
        parts.append(fig.text(lanes[-1] + 76, y + 4, more, "label"))
    opened, closed = (top + 46 + row * number for number in (3, 7))
    brace = lanes[LEDGER] + 16
    parts.append(pen.line([(brace - 6, opened), (brace, opened), (brace, closed), (brace - 6, closed)], "flow"))
    parts.append(fig.text(lanes[-1] + 58, height - 4, "a crash from 4 to 8: goes on there, the same number", "axis"))
    return fig.canvas(width, height, label, *parts, class_=fit(width))


def _experiment_narrow(width: float, label: str) -> Markup:
    row = 62.0
    parts: list[Markup] = []
    for number, (start, end, said, more) in enumerate(STEPS):
        y = 16.0 + row * number
        who = PARTIES[start] if start == end else f"{PARTIES[start]} → {PARTIES[end]}"
        parts.append(fig.text(2.0, y, str(number + 1), "label strong"))
        parts.append(pen.titled(26.0, y, said, (more if len(more) < 48 else more.split(": ")[0],)))
        parts.append(fig.text(width - 2, y, who, "axis", "end"))
        if number:
            parts.append(pen.line([(2.0, y - 28), (width - 2, y - 28)], "hair"))
    return fig.canvas(width, row * len(STEPS), label, *parts, class_=fit(width))
