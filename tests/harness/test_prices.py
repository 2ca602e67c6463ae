from __future__ import annotations

from pathlib import Path

import pytest

from autoquant.errors import ConfigError
from autoquant.harness.events import Usage
from autoquant.harness.prices import TABLE, Price, Prices, Rates, load_prices, shipped_prices

ENTRY = """\
date = "2026-11-30"

[[model]]
id = "paper-1"
vendor = "acme"
input = 2.0
cached = 0.5
output = 6
long = { above = 200_000, input = 4.0, cached = 1.0, output = 9.0 }
source = "a page, read today"
"""


def table(path: Path, text: str) -> Prices:
    path.write_text(text)
    return load_prices(path)


def paper(tmp_path: Path) -> Price:
    price = table(tmp_path / "prices.toml", ENTRY).of("paper-1")
    assert price is not None
    return price


def test_a_model_is_found_by_its_id_and_behind_its_vendors_name_alone(tmp_path: Path) -> None:
    prices = table(tmp_path / "prices.toml", ENTRY)
    assert "2026-11-30" == prices.date
    assert prices.of("paper-1") is prices.of("acme/paper-1") is not None
    for unknown in (
        None,
        "",
        "paper",
        "paper-1.1",
        "Paper-1",
        "other/paper-1",
        "reseller/acme/paper-1",
        "paper-1-high",
    ):
        assert prices.of(unknown) is None


def test_cached_tokens_cost_their_own_price_and_reasoning_is_paid_once(tmp_path: Path) -> None:
    usage = Usage(input=100_000, cached=60_000, output=10_000, reasoning=9_000, requests=1)
    assert pytest.approx((40_000 * 2.0 + 60_000 * 0.5 + 10_000 * 6.0) / 1e6) == paper(tmp_path).cost(usage)


def test_a_long_prompt_makes_the_whole_request_dear_and_a_sum_of_requests_never(tmp_path: Path) -> None:
    price = paper(tmp_path)
    long = Usage(input=200_001, cached=1, output=10, requests=1)
    assert pytest.approx((200_000 * 4.0 + 1 * 1.0 + 10 * 9.0) / 1e6) == price.cost(long)
    border = Usage(input=200_000, output=10, requests=1)
    assert pytest.approx((200_000 * 2.0 + 10 * 6.0) / 1e6) == price.cost(border)
    many = Usage(input=900_000, output=10, requests=9)
    assert pytest.approx((900_000 * 2.0 + 10 * 6.0) / 1e6) == price.cost(many)


def test_more_cached_than_read_is_not_paid_twice() -> None:
    assert 0.5 == Rates(2.0, 0.5, 6.0).cost(Usage(input=1_000_000, cached=3_000_000))


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ('date = "2026-11-30"', 'date = "today"', r":1: date is 'today'"),
        ('date = "2026-11-30"', "date = 2026-11-30", r":1: date is datetime"),
        ('date = "2026-11-30"\n', "", r":1: date is None"),
        ("input = 2.0", "input = -1", r":6: input is -1, expected US dollars"),
        ("input = 2.0\n", "", r":3: input is None"),
        ("cached = 0.5\n", 'cached = "half"\n', r":7: cached is 'half'"),
        ("output = 6\n", "output = nan\n", r":8: output is nan"),
        ("output = 6\n", "output = true\n", r":8: output is True"),
        ("output = 9.0 }", "output = -9 }", r":9: long.output is -9"),
        ("above = 200_000, ", "", r":9: long is .*expected a table of above"),
        ("above = 200_000", "above = 0.5", r":9: long.above is 0.5"),
        ('vendor = "acme"', 'vendor = ""', r":5: vendor is ''"),
        ("source =", "sauce =", r":10: unknown key 'sauce'"),
        ('date = "2026', 'dates = 1\ndate = "2026', r":1: unknown key 'dates'"),
        ("[[model]]", "[model]", r"model is not a list of tables"),
        ("input = 2.0", "input = ", r":6: not valid TOML"),
    ],
)
def test_a_wrong_table_is_refused_with_file_and_line(tmp_path: Path, before: str, after: str, complaint: str) -> None:
    assert before in ENTRY
    with pytest.raises(ConfigError, match=rf"prices\.toml.*{complaint}"):
        table(tmp_path / "prices.toml", ENTRY.replace(before, after, 1))


def test_one_model_has_one_price(tmp_path: Path) -> None:
    again = ENTRY[ENTRY.index("[[model]]") :]
    with pytest.raises(ConfigError, match=r"prices\.toml:13: 'paper-1' is there twice"):
        table(tmp_path / "prices.toml", ENTRY + "\n" + again)


def test_a_missing_table_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"prices\.toml: cannot be read"):
        load_prices(tmp_path / "prices.toml")


def test_the_shipped_table_prices_the_roster_and_says_where_from() -> None:
    prices = shipped_prices()
    for model in ("grok-4.5", "gpt-5.6-luna", "gpt-5.6-terra", "gpt-5.6-sol", "gemini-3.6-flash"):
        assert prices.of(model) is not None, model
    for price in prices.models.values():
        assert 0 < price.rates.cached < price.rates.input < price.rates.output
        assert price.long is None or (price.long.input > price.rates.input and price.long_above >= 100_000)
        assert "://" not in price.source
    assert "gpt-5.6-sol" in TABLE.read_text()
