"""An address with a competitor and an attempt is a place on the page; one that is wrong harms nothing."""

from __future__ import annotations

from urllib.parse import quote

from browser_stand import Stand
from page_shelf import Shelf

HERE = """() => {
  const row = document.querySelector(".here");
  if (!row) return null;
  const box = row.getBoundingClientRect();
  return {
    number: row.rows[0].cells[0].textContent,
    racer: row.closest("details.table").querySelector("summary strong").textContent,
    open: row.querySelector("details").open,
    seen: box.top >= 0 && box.top < innerHeight,
    focused: document.activeElement === row,
  };
}"""


def test_a_deep_link_opens_shows_marks_and_focuses_its_row(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished, "#competitor=grok-fast&attempt=17") as page:
        expected = {"number": "17", "racer": "grok-fast", "open": True, "seen": True, "focused": True}
        assert expected == page.evaluate(HERE)
        page.evaluate("location.hash = '#competitor=claude-opus&attempt=3'")
        page.wait_for_function("document.querySelector('.here').id === 'attempt-2-3'")
        assert expected | {"number": "3", "racer": "claude-opus"} == page.evaluate(HERE)
        page.evaluate("location.hash = '#competitor=claude-opus&attempt=999'")
        page.get_by_text("Attempt 999 of claude-opus is not in the tables of this page.").wait_for()


def test_a_strange_address_changes_nothing(stand: Stand, shelf: Shelf):
    for fragment in (
        "#competitor=nobody&attempt=1",
        f"#competitor={quote('<img src=x onerror=alert(1)>')}",
        "#x=%ff&&=",
    ):
        with stand.open(shelf.running, fragment) as page:
            assert None is page.evaluate(HERE)
            assert 0 == page.evaluate("scrollY")
