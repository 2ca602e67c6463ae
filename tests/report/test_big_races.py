"""A race that is not read whole fits on a page, and the page says what it leaves out: just beyond the bound, and, where
AUTOQUANT_BIG asks for it, fifty competitors with a thousand attempts each.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from html_reading import Reading, read

from autoquant.report import reading
from autoquant.report.collect import Collected, collect
from autoquant.report.evidence import Studied, evidence_of
from autoquant.report.page import race_page

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))  # not first: it has a run.py too

from big_race import write_race

# words are counted rather than looked for with `in`: a failure would compare them to megabytes, for minutes
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("big races")]
ASKED = pytest.mark.skipif(not os.environ.get("AUTOQUANT_BIG"), reason="a minute of one core: AUTOQUANT_BIG=1 runs it")


@dataclass(frozen=True)
class Big:
    """A race as the page sees it, without the files of attempts that it does not open."""

    competitors: int
    attempts: int
    """Of each."""
    bytes_most: int
    collected: Collected

    @property
    def all(self) -> int:
        return self.competitors * self.attempts

    @cached_property
    def text(self) -> str:
        return race_page(Studied(self.collected, evidence_of(self.collected)))

    @cached_property
    def page(self) -> Reading:
        return read(self.text)


@pytest.fixture(
    scope="module",
    params=[(12, 420, 3_200_000), pytest.param((50, 1_000, 8_000_000), marks=ASKED)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)
def big(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Big]:
    competitors, attempts, most = request.param
    state = tmp_path_factory.mktemp("big")
    layout = write_race(state, competitors, attempts, sparse=True)
    yield Big(competitors, attempts, most, collect(state, layout.race))
    shutil.rmtree(state)


def test_the_page_is_small_and_sound(big: Big) -> None:
    assert len(big.text.encode()) < big.bytes_most
    assert [] == big.page.problems


def test_every_attempt_is_counted_and_every_competitor_told_of(big: Big) -> None:
    assert reading.WHOLE < big.all == big.collected.race.attempts
    assert all(f"agent-{index:02d}" in big.page.text for index in range(big.competitors))
    assert big.page.text.count(f"finished, {big.all:,} attempts")


def test_tables_show_each_competitors_share_and_the_page_says_so(big: Big) -> None:
    rows = re.findall(r"<tbody id=attempt-(\d+)-(\d+) ", big.text)
    assert reading.ROWS_HUGE == len(rows)
    assert {str(index) for index in range(big.competitors)} == {index for index, _ in rows}
    assert big.page.text.count(f"The tables show 1,500 of {big.all:,} attempts")


def test_what_is_opened_is_found_as_recorded_and_counted(big: Big) -> None:
    race = big.collected.race
    assert () == race.untrusted
    assert 2_000 < race.reading.opened < 5_000
    words = f"{race.reading.opened:,} of {big.all:,} evaluation files were opened and checked for this page"
    assert big.page.text.count(words)


def test_no_champion_lacks_its_statistics(big: Big) -> None:
    for entrant, trials in zip(big.collected.race.entrants, big.collected.returns.trials, strict=True):
        assert entrant.champion is not None
        assert (6, 6) == (len(entrant.champion.fold_sharpes), len(entrant.champion.fold_deltas))
        assert entrant.champion.stress is not None
        assert entrant.champion.number in trials.numbers
        assert len(trials.numbers) >= reading.SAMPLE_LEAST
    lacking = big.page.text.count("daily returns are not on record")
    assert 0 == lacking
