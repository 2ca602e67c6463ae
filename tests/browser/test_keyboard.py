"""The page by keys alone: Tab goes through it in reading order and is always seen, charts and rows are walked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from browser_stand import Stand, nothing
from page_shelf import BUDGET, Shelf

FOCUSED = """() => {
  const e = document.activeElement;
  if (e === document.body) return null;
  const box = e.getBoundingClientRect();
  const style = getComputedStyle(e);
  return {
    name: e.getAttribute("aria-label") || e.textContent.trim().slice(0, 60) || e.value,
    kind: e.localName,
    section: e.closest("section")?.querySelector("h2")?.textContent ?? "",
    within: e.closest("figure, .controls, .find, table, details")?.className ?? "",
    top: box.top + scrollY,
    seen: box.bottom > 0 && box.top < innerHeight && box.width > 0,
    ringed: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1.5,
  };
}"""
LAST = "() => [...document.querySelectorAll('button, a[href], summary')].at(-1).focus()"


def tabbed(page: Any, times: int, key: str = "Tab") -> list[dict[str, Any]]:
    """What has the focus after each press."""
    found = []
    for _ in range(times):
        page.keyboard.press(key)
        now = page.evaluate(FOCUSED)
        if now is None:
            break
        found.append(now)
    return found


def test_tab_reaches_every_control_in_reading_order_and_shows_where_it_is(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished) as page:
        path = tabbed(page, 45)
        nothing([f"not seen or not ringed: {stop}" for stop in path if not (stop["seen"] and stop["ringed"])])
        sections = [stop["section"] for stop in path]
        assert sections == sorted(sections, key=lambda name: (sections.index(name), name))
        tops = [max(stop["top"] for stop in path if stop["section"] == name) for name in dict.fromkeys(sections)]
        assert all(above < below for above, below in pairwise(tops))
        names = " | ".join(stop["name"] for stop in path)
        for wanted in (
            "replay in 30 s",
            "Moment of the race",
            "Score over",
            "find in what was tried",
            "Numbers behind",
        ):
            assert wanted in names, wanted
        page.evaluate(LAST)
        back = tabbed(page, 4, "Shift+Tab")
        assert all(stop["seen"] and stop["ringed"] for stop in back)
        assert "attempts" in " ".join(stop["name"] for stop in (*back, page.evaluate(FOCUSED)))


def test_a_chart_is_walked_by_arrows_and_enter_goes_to_the_row(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished) as page:
        page.locator("figure.race svg.chart:visible").first.focus()
        page.keyboard.press("End")
        told = page.locator(".tip").inner_text()
        assert f"#{BUDGET}" in told
        page.keyboard.press("ArrowLeft")
        assert f"#{BUDGET - 1}" in page.locator(".tip").inner_text()
        page.keyboard.press("ArrowDown")
        other = page.locator(".tip strong").inner_text()
        assert told.split(" #")[0] != other.split(" #")[0]
        name, _, number = other.rpartition(" #")
        page.keyboard.press("Enter")
        assert f"#competitor={name}&attempt={number}" == page.evaluate("location.hash")
        row = page.evaluate("(() => { const e = document.activeElement; return [e.className, e.innerText]; })()")
        assert "here" in row[0].split()
        assert row[1].split()[0] == number
        page.keyboard.press("j")
        below = page.evaluate("document.activeElement.closest('tbody').rows[0].cells[0].textContent")
        assert str(int(number) + 1) == below or number == str(BUDGET)
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.closest('tbody').classList.contains('here')")


def test_escape_puts_the_tip_away(stand: Stand, shelf: Shelf):
    with stand.open(shelf.running) as page:
        chart = page.locator("figure.race svg.chart:visible").first
        chart.focus()
        page.keyboard.press("Home")
        assert page.locator(".tip").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator(".tip").is_visible()
