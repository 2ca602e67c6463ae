"""The report: a race as one offline page. A readout that never changes a race.

    render_report(state_dir, None, Path("docs/index.html"), home=HOME)

collect and journal read; evidence and nulls compute; findings and trust word what the numbers say; charts, sealed and
glyphs draw; panels gather what each part of the page needs; page and render put it together.
"""

from __future__ import annotations

from autoquant.report.facts import report_facts
from autoquant.report.leaderboard import plain_leaderboard, race_leaderboard
from autoquant.report.page import Drawn, render_report
from autoquant.report.watch import redraw

__all__ = ["Drawn", "plain_leaderboard", "race_leaderboard", "redraw", "render_report", "report_facts"]
