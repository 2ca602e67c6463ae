"""A watched page takes its new version and stays where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browser_stand import Stand
from page_shelf import Shelf
from race_cases import SEED_FOLDS, shifted

from autoquant.report import render_report

PLACE = """() => ({
  top: Math.round(document.querySelector("#attempts").getBoundingClientRect().top),
  find: document.querySelector(".find input").value,
  folded: [...document.querySelectorAll("details.table")].map(d => d.open),
  open: document.querySelector("#attempt-0-4 details").open,
  axis: document.querySelector("figure.race input:checked").value,
  rows: document.querySelectorAll("table.attempts > tbody").length,
})"""


def drawn(shelf: Shelf, out: Path) -> None:
    case = shelf.running_case
    render_report(case.state, None, out, home=case.state, watched=True)


def test_the_new_version_comes_after_a_minute_and_keeps_place_filter_folds_and_axis(
    stand: Stand, shelf: Shelf, tmp_path: Path
):
    out = tmp_path / "watched.html"
    drawn(shelf, out)
    with stand.open(out, clock=True) as page:
        page.locator("figure.race input[value=time]").check()
        page.locator("#attempt-0-4 summary").evaluate("e => e.click()")
        page.locator("details.table").nth(1).evaluate("e => { e.open = true; }")
        page.locator(".find input").fill("a")
        page.locator(".find input").evaluate("e => e.blur()")
        page.evaluate("document.querySelector('#attempts').scrollIntoView()")
        before = page.evaluate(PLACE)
        shelf.running_case.attempt("hillclimb", "discard", shifted(SEED_FOLDS, -0.1), description="a later attempt")
        drawn(shelf, out)
        renewed(page)
        after = page.evaluate(PLACE)
        assert before["rows"] + 1 == after["rows"]
        assert {**before, "rows": 0} == {**after, "rows": 0}
        assert page.get_by_text("a later attempt").count()


def renewed(page: Any) -> None:
    """Let the minute pass, and wait for the page's next version."""
    with page.expect_event("load"):
        page.clock.run_for(61_000)


def test_an_ended_race_is_not_asked_for_again(shelf: Shelf, tmp_path: Path):
    case = shelf.finished_case
    out = render_report(case.state, None, tmp_path / "ended.html", home=case.state, watched=True).path
    assert '"reload":null' in out.read_text()
    assert 'http-equiv="refresh"' not in out.read_text()
