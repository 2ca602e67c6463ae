"""What a reader takes along is what the ledger holds."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from browser_stand import Stand
from page_shelf import BUDGET, Shelf

from autoquant.report.text import clean

SVG = "{http://www.w3.org/2000/svg}"


def taken(page: Any, button: Any, folder: Path) -> Path:
    """The file that a press on `button` gives."""
    with page.expect_download() as download:
        button.click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def recorded(shelf: Shelf) -> list[tuple[str, int, str, float | None]]:
    """Every attempt in the ledger."""
    view = shelf.finished_case.ledger.view.competitors
    return [(name, a.attempt, str(a.status), a.score) for name, racer in view.items() for a in racer.attempts]


def test_attempts_as_csv_and_json_are_the_ledgers(stand: Stand, shelf: Shelf, tmp_path: Path):
    with stand.open(shelf.finished) as page:
        table = taken(page, page.get_by_role("button", name="attempts.csv"), tmp_path)
        objects = taken(page, page.get_by_role("button", name="attempts.json"), tmp_path)
    assert ("autoquant-autumn-attempts.csv", "autoquant-autumn-attempts.json") == (table.name, objects.name)
    with table.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, strict=True))
    listed = [
        (row["competitor"], int(row["attempt"]), row["status"], float(row["score"]) if row["score"] else None)
        for row in rows
    ]
    told = json.loads(objects.read_text(encoding="utf-8"))
    assert "autumn" == told["race"]
    kept = [(one["competitor"], one["attempt"], one["status"], one["score"]) for one in told["attempts"]]
    assert 5 * BUDGET == len(listed)
    for found in (listed, kept):
        assert [attempt[:3] for attempt in recorded(shelf)] == [attempt[:3] for attempt in found]
        for (*_, expected), (*_, score) in zip(recorded(shelf), found, strict=True):
            assert expected == (score if expected is None else pytest.approx(score, abs=5e-8))
    view = shelf.finished_case.ledger.view.competitors["nothing-found"]
    words = [clean(attempt.description) for attempt in view.attempts]
    assert words == [one["description"] for one in told["attempts"] if one["competitor"] == "nothing-found"]
    assert "'=1+1, reversal" == next(
        row["description"] for row in reversed(rows) if row["competitor"] == "nothing-found"
    )


def test_a_chart_as_a_file_stands_alone(stand: Stand, shelf: Shelf, tmp_path: Path):
    with stand.open(shelf.finished, color_scheme="dark") as page:
        file = taken(page, page.locator("figure.race button", has_text="save as SVG"), tmp_path)
        root = ET.parse(file).getroot()
        assert f"{SVG}svg" == root.tag
        assert "codex-sol-high" in "".join(root.itertext())
        for element in root.iter():
            assert not {"class", "style", "href", "onclick"} & element.attrib.keys(), element
            assert element.tag.removeprefix(SVG) not in ("script", "style", "image", "foreignObject", "use")
        lines = [element for element in root.iter(f"{SVG}path") if element.get("stroke", "none") != "none"]
        assert len(lines) >= 10
    with stand.open(file) as page:  # a browser draws it
        assert page.evaluate("document.documentElement.getBoundingClientRect().width") > 300


def test_a_command_is_copied_whole(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished, permissions=["clipboard-read", "clipboard-write"]) as page:
        command = page.locator('section[aria-labelledby="provenance"] .copy').first
        button = page.locator('section[aria-labelledby="provenance"] button.copier').first
        button.click()
        page.get_by_text("copied", exact=True).first.wait_for()
        assert command.text_content().strip() == page.evaluate("navigator.clipboard.readText()")
