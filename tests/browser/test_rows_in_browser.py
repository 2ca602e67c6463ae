"""The rows of every attempt: j and k, the roll, addresses against filters; on a phone, without a script, printed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from browser_stand import PHONE, Stand, overflow
from page_shelf import Shelf

SHOWN = """() => [...document.querySelectorAll("table.attempts > tbody")]
  .filter(body => body.getClientRects().length).map(body => body.id)"""
FOCUSED = "() => document.activeElement.closest('tbody[id]')?.id"


@pytest.fixture(scope="session")
def file(shelf: Shelf) -> Path:
    return shelf.finished


def opened(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details.table').forEach(table => { table.open = true; })")


def test_j_and_k_go_along_the_rows_and_are_letters_in_a_field(stand: Stand, file: Path):
    with stand.open(file) as page:
        opened(page)
        rows = page.evaluate(SHOWN)
        page.locator(f"#{rows[2]} summary").focus()
        seen = []
        for key in "jjk":
            page.keyboard.press(key)
            seen.append(page.evaluate(FOCUSED))
        assert [rows[3], rows[4], rows[3]] == seen
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.parentElement.open")
        page.locator(".find input").focus()
        page.keyboard.press("j")
        assert "j" == page.locator(".find input").input_value()


def test_an_opened_attempt_has_an_address_that_beats_the_filter(stand: Stand, file: Path):
    with stand.open(file) as page:
        opened(page)
        page.locator("#attempt-1-7 summary").click()
        address = page.evaluate("location.hash")
    assert "#competitor=grok-fast&attempt=7" == address
    with stand.open(file, address + "&show=violation&sort=-score") as page:
        assert page.locator("#attempt-1-7").is_visible()
        assert page.locator("#attempt-1-7 details > div >> nth=0").is_visible()
        assert "here" in (page.get_attribute("#attempt-1-7", "class") or "").split()
        assert "#competitor=grok-fast&attempt=7&sort=-score" == page.evaluate("location.hash")


def test_a_stroke_of_the_roll_leads_to_its_row(stand: Stand, file: Path):
    with stand.open(file) as page:
        drawing = page.locator("figure.roll svg.wide")
        drawing.scroll_into_view_if_needed()
        start, end, last = map(float, (page.get_attribute("figure.roll", "data-wide") or "").split())
        box = drawing.bounding_box()
        at = box["x"] + (start + (end - start) * 4 / (last - 1)) * box["width"] / 1060
        for nudge in (0, 0.5):
            page.mouse.move(at + nudge, box["y"] + 24)
        first = page.evaluate("document.querySelector('figure.roll g').getAttribute('class').slice(1)")
        assert page.locator(".tip strong").inner_text().endswith("#5")
        page.mouse.click(at, box["y"] + 24)
        assert f"attempt-{first}-5" == page.evaluate("document.querySelector('.here').id")


def test_rows_are_whole_on_a_phone_and_without_a_script(stand: Stand, file: Path):
    with stand.open(file, viewport=PHONE, java_script_enabled=False) as page:
        page.locator("details.table > summary").nth(0).click()
        body = page.locator("table.attempts > tbody").nth(1)
        body.locator("summary").click()
        assert body.locator(".folds").is_visible()
        assert body.locator("pre.copy").last.is_visible()
        for cell in range(1, 9):
            assert body.locator("tr >> nth=0").locator("td").nth(cell - 1).is_visible()
        assert 0 == page.locator(".find").count()
    with stand.open(file, viewport=PHONE) as page:
        opened(page)
        page.locator("table.attempts details > summary").nth(1).click()
        assert [] == overflow(page)


def test_numbers_of_folded_tables_are_printed_and_folded_rows_stay_folded(stand: Stand, file: Path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed: uv sync --group proof")
    with stand.open(file) as page:
        assert 0 == page.locator("details.table[open]").count()
        sheets = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4"))).pages
    words = " ".join(" ".join(sheet.extract_text().split()) for sheet in sheets)
    assert 29 == words.count("=1+1, reversal")
    assert "uv run evaluate.py state/races/autumn/blobs/0000" not in words.split("Provenance")[0]
