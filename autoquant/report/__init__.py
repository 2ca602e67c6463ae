"""The report: a race as one offline page. A readout that never changes a race.

    render_report(state_dir, None, Path("docs/index.html"), home=HOME)

collect and journal read, findings words what the numbers say, charts draw, page and templates put it together.
"""

from __future__ import annotations

from autoquant.report.page import render_report, report_facts

__all__ = ["render_report", "report_facts"]
