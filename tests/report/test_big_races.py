"""Fifty competitors with a thousand attempts each fit on a page, and the page says what it leaves out."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from html_reading import Reading
from html_reading import read as parsed

from autoquant.report import reading
from autoquant.report.collect import Collected, collect
from autoquant.report.evidence import Studied, evidence_of
from autoquant.report.page import race_page

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from big_race import write_race

COMPETITORS, ATTEMPTS = 50, 1_000
"""Words are counted rather than looked for with `in`: a failure would compare them to megabytes, for minutes."""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("big races"),
    pytest.mark.skipif(not os.environ.get("AUTOQUANT_BIG"), reason="minutes of one core: AUTOQUANT_BIG=1 runs it"),
]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collected]:
    """The race as the page sees it, without the files of attempts that it does not open."""
    state = tmp_path_factory.mktemp("big")
    layout = write_race(state, COMPETITORS, ATTEMPTS, sparse=True)
    yield collect(state, layout.race)
    shutil.rmtree(state)


@pytest.fixture(scope="module")
def text(collected: Collected) -> str:
    return race_page(Studied(collected, evidence_of(collected)))


@pytest.fixture(scope="module")
def page(text: str) -> Reading:
    return parsed(text)


def test_the_page_is_under_eight_megabytes_and_sound(text: str, page: Reading) -> None:
    assert len(text.encode()) < 8_000_000
    assert [] == page.problems


def test_every_attempt_is_counted_and_every_competitor_told_of(collected: Collected, page: Reading) -> None:
    race = collected.race
    assert COMPETITORS * ATTEMPTS == race.attempts
    assert all(f"agent-{index:02d}" in page.text for index in range(COMPETITORS))
    assert page.text.count("finished, 50,000 attempts")


def test_tables_show_each_competitors_share_and_the_page_says_so(text: str, page: Reading) -> None:
    rows = re.findall(r"<tbody id=attempt-(\d+)-(\d+) ", text)
    assert reading.ROWS_HUGE == len(rows)
    assert {str(index) for index in range(COMPETITORS)} == {index for index, _ in rows}
    assert page.text.count("The tables show 1,500 of 50,000 attempts")


def test_what_is_opened_is_found_as_recorded_and_counted(collected: Collected, page: Reading) -> None:
    race = collected.race
    assert () == race.untrusted
    assert 2_000 < race.reading.opened < 5_000
    words = f"{race.reading.opened:,} of 50,000 evaluation files were opened and checked for this page"
    assert page.text.count(words)


def test_no_champion_lacks_its_statistics(collected: Collected, page: Reading) -> None:
    for entrant, trials in zip(collected.race.entrants, collected.returns.trials, strict=True):
        assert entrant.champion is not None
        assert (6, 6) == (len(entrant.champion.fold_sharpes), len(entrant.champion.fold_deltas))
        assert entrant.champion.stress is not None
        assert entrant.champion.number in trials.numbers
        assert len(trials.numbers) >= reading.SAMPLE_LEAST
    lacking = page.text.count("daily returns are not on record")
    assert 0 == lacking
