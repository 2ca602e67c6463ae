"""The tables of attempts: what is asked for is shown and counted, in the order asked for, and the address keeps it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from browser_stand import Stand
from page_shelf import BUDGET, HOSTILE, Shelf

from autoquant.report.text import clean

ROWS = """name => [...document.querySelectorAll("details.table")]
  .filter(t => !name || t.querySelector("summary strong").textContent === name)
  .flatMap(t => [...t.querySelectorAll("table.attempts > tbody")])
  .filter(b => !b.hidden && !b.closest("details.table").hidden)
  .map(b => [...b.rows[0].cells].map(c => c.textContent.trim()))
  .map(([number, status, score]) => ({ number: Number(number), status: status.split(" ")[0], score }))"""


def rows(page: Any, name: str = "") -> list[dict[str, Any]]:
    return page.evaluate(ROWS, name)


def test_status_competitor_and_words_narrow_the_tables_and_are_counted(stand: Stand, shelf: Shelf):
    view = shelf.finished_case.ledger.view.competitors
    statuses = Counter(str(a.status) for racer in view.values() for a in racer.attempts)
    with stand.open(shelf.finished) as page:
        assert 5 * BUDGET == len(rows(page))
        page.locator("ul.statuses button", has_text="keep").click()
        assert statuses["keep"] == len(rows(page))
        assert {"keep"} == {row["status"] for row in rows(page)}
        assert f"{statuses['keep']} of {5 * BUDGET} attempts" in page.locator(".find .count").inner_text()
        page.locator("ul.statuses button", has_text="keep").click()
        page.locator(".find select").select_option("hillclimb")
        assert BUDGET == len(rows(page)) == len(rows(page, "hillclimb"))
        page.locator(".find select").select_option("")
        page.locator(".find input").fill("GNP <IMG")
        assert 1 == len(rows(page))
        assert clean(HOSTILE) == page.locator("table.attempts tbody:not([hidden]) summary bdi:visible").inner_text()
        page.locator(".find input").fill("no such words")
        assert [] == rows(page)


def test_a_press_on_a_head_sorts_and_missing_scores_come_last(stand: Stand, shelf: Shelf):
    attempts = shelf.finished_case.ledger.view.competitors["grok-fast"].attempts
    scores = {a.attempt: a.score for a in attempts}
    falling = sorted(scores, key=lambda n: (scores[n] is None, -round(scores[n] or 0.0, 3), n))  # as shown
    with stand.open(shelf.finished) as page:
        head = page.locator("details.table", has_text="grok-fast").locator("thead button", has_text="score").first
        page.locator("details.table", has_text="grok-fast").evaluate("e => { e.open = true; }")
        head.click()
        assert falling == [row["number"] for row in rows(page, "grok-fast")]
        assert "descending" == head.locator("..").get_attribute("aria-sort")
        assert "#sort=-score" == page.evaluate("location.hash")
        head.click()
        head.click()
        assert list(range(1, BUDGET + 1)) == [row["number"] for row in rows(page, "grok-fast")]
        assert "" == page.evaluate("location.hash")


def test_what_is_chosen_comes_back_with_the_address(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished, "#who=claude-opus&show=keep,search&sort=-score") as page:
        found = rows(page)
        assert found == rows(page, "claude-opus") != []
        assert {"keep", "search"} >= {row["status"] for row in found}
        values = [float(row["score"].replace("−", "-")) for row in found]
        assert sorted(values, reverse=True) == values
