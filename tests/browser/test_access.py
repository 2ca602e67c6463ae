"""axe-core finds nothing to mend, in either theme. It sees about half of what people stumble over, not more."""

from __future__ import annotations

from typing import Any

import pytest
from browser_stand import OPEN, PHONE, Stand, nothing
from page_shelf import Shelf

TAGS = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
LOOKS = ("color-contrast", "target-size", "scrollable-region-focusable", "link-in-text-block")
"""Rules whose answer a theme or a width can change."""
THIN = """() => {
  const alike = "table.attempts > tbody:nth-of-type(n+4), tbody > tr:nth-child(n+9), .ladders > figure:nth-child(n+3)";
  for (const one of document.querySelectorAll(alike)) one.remove();
}"""
"""Takes out what is like what stands above it: a hundred rows more would only take longer."""
PALE = """() => {
  const light = words => {
    const [r, g, b] = words.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll("svg text")].filter(e => e.getBoundingClientRect().width > 0).map(e => {
    const [low, high] = [light(getComputedStyle(e).fill), paper].sort((a, b) => a - b);
    return [(high + 0.05) / (low + 0.05), e.textContent];
  }).filter(([ratio]) => ratio < 4.5).map(([ratio, words]) => `${ratio.toFixed(2)} ${words}`);
}"""
"""Labels of drawings on paper with less contrast than AA asks of small text: axe looks at HTML text alone."""

OUTSIDE = """() => [...document.querySelectorAll("svg text")].filter(e => e.getBoundingClientRect().width > 0)
  .filter(e => {
    const [own, whole] = [e.getBoundingClientRect(), e.closest("svg").getBoundingClientRect()];
    return own.left < whole.left - 3 || own.right > whole.right + 3 || own.bottom > whole.bottom + 6;
  }).map(e => e.closest("svg").getAttribute("aria-label").slice(0, 50) + ": " + e.textContent)"""
"""Labels that reach out of their drawing, where nobody has made room for them."""


def violations(page: Any, kind: str, *values: str) -> list[str]:
    """What axe-core would mend by the rules of a kind (`tag` or `rule`), a line each, with the places."""
    sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: uv sync --group proof")
    options = {"runOnly": {"type": kind, "values": list(values)}, "resultTypes": ["violations"]}
    found = sync.Axe().run(page, options=options).response["violations"]
    return [f"{rule['id']} ({rule['impact']}): {node['html'][:160]}" for rule in found for node in rule["nodes"][:4]]


@pytest.mark.parametrize("kind", ["finished", "running", "journal", "empty", "how"])
def test_axe_finds_nothing_to_mend_on_a_light_desk_and_a_dark_phone(stand: Stand, shelf: Shelf, kind: str):
    with stand.open(shelf.page(kind), color_scheme="light") as page:
        page.evaluate(OPEN)
        page.evaluate(THIN)
        nothing(violations(page, "tag", *TAGS))
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)
        nothing(violations(page, "rule", *LOOKS))


@pytest.mark.parametrize("kind", ["finished", "how"])
def test_labels_of_the_drawings_stay_inside_and_have_the_contrast_small_text_needs(
    stand: Stand, shelf: Shelf, kind: str
):
    with stand.open(shelf.page(kind), color_scheme="light") as page:
        page.evaluate(OPEN)
        nothing(page.evaluate(PALE))
        nothing(page.evaluate(OUTSIDE))
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)
        nothing(page.evaluate(PALE))
        nothing(page.evaluate(OUTSIDE))
