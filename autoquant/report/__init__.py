"""The report: a race as one offline page. A readout that never changes a race.

    render_report(state_dir, None, Path("docs/index.html"), home=HOME)

collect and journal read; evidence and nulls compute; findings and trust word what the numbers say; charts, sealed and
glyphs draw; panels gather what each part of the page needs; page and render put it together.

What only looks at a race (`arena.py status`) comes through this door too, so a part is imported when it is first asked
for: nothing but the page needs jinja2, and a leaderboard that is kept needs no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoquant.lazy import names_of

if TYPE_CHECKING:
    from autoquant.report.facts import report_facts
    from autoquant.report.kept import shown_leaderboard
    from autoquant.report.leaderboard import plain_leaderboard
    from autoquant.report.page import Drawn, render_report
    from autoquant.report.placing import race_leaderboard
    from autoquant.report.watch import redraw

__all__ = [
    "Drawn",
    "plain_leaderboard",
    "race_leaderboard",
    "redraw",
    "render_report",
    "report_facts",
    "shown_leaderboard",
]
_HOMES = {
    "Drawn": "page",
    "plain_leaderboard": "leaderboard",
    "race_leaderboard": "placing",
    "redraw": "watch",
    "render_report": "page",
    "report_facts": "facts",
    "shown_leaderboard": "kept",
}

__getattr__ = names_of(__name__, _HOMES)
