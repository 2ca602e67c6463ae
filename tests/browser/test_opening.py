"""Every kind of page opens without a complaint and without the network, wherever and however it is read."""

from __future__ import annotations

import io
from typing import Any

import pytest
from browser_stand import OPEN, PHONE, Stand, nothing, overflow
from page_shelf import KINDS, Shelf

SHOWN = """() => [...document.querySelectorAll("main section")].map(section => ({
  name: section.querySelector("h2").textContent.trim(),
  drawings: [...section.querySelectorAll("svg.chart")].filter(svg => svg.getBoundingClientRect().height > 40).length,
  tables: section.querySelectorAll("table").length,
}))"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_opens_in_both_themes_and_on_a_phone_without_a_sideways_scroll(stand: Stand, shelf: Shelf, kind: str):
    """INV-22."""
    with stand.open(shelf.page(kind), color_scheme="light") as page:
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        nothing(overflow(page))
        page.emulate_media(color_scheme="dark")
        assert light != page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.set_viewport_size(PHONE)
        nothing(overflow(page))
        page.evaluate(OPEN)
        nothing(overflow(page))


def test_without_javascript_every_panel_and_chart_is_there(stand: Stand, shelf: Shelf):
    def told(**options: Any) -> list[dict[str, Any]]:
        with stand.open(shelf.finished, **options) as page:
            return page.evaluate(SHOWN)

    plain = told(java_script_enabled=False)
    assert plain == told()
    names = [section["name"].lstrip("0123456789") for section in plain]
    assert ["Standings", "The race", "Sealed year"] == names[:3]
    assert all(section["drawings"] for section in plain[1:3])


def test_the_page_prints_to_a_few_sheets_that_can_be_read(stand: Stand, shelf: Shelf):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed: uv sync --group proof")
    with stand.open(shelf.finished, color_scheme="dark") as page:
        sheets = pypdf.PdfReader(io.BytesIO(page.pdf(format="A4", print_background=True))).pages
    words = " ".join(" ".join(sheet.extract_text().split()) for sheet in sheets)
    assert 3 <= len(sheets) <= 30
    for said in ("Standings", "codex-sol-high", "Sealed year", "Provenance", "funding tilt"):
        assert said in words
