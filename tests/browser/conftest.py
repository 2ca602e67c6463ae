"""One browser for all tests of the page, and pages of every kind of race to open in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))

from browser_stand import QUIET, Stand, chromium
from page_shelf import Shelf


def pytest_itemcollected(item: pytest.Item) -> None:
    """All in one worker, for a second browser costs more than it saves; on one Python, for a browser has none in it."""
    item.add_marker(pytest.mark.xdist_group("browser"))
    item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def stand() -> Iterator[Stand]:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip("playwright is not installed: uv sync --group proof")
    program = chromium()
    if program is None:
        pytest.skip("no Chromium on this machine: .ci/proof installs Debian's")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield Stand(browser)
        browser.close()


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("pages"))
