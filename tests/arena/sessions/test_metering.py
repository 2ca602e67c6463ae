"""Whatever order, repetition or restart the evidence comes in, the record adds up to the same."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoquant.arena.sessions.metering import Meter
from autoquant.harness.events import Spent, Usage
from autoquant.harness.prices import Price, Prices, Rates
from autoquant.ledger.records import UsageCounted

PRICES = Prices(
    "2026-11-30",
    {
        "cheap": Price("cheap", Rates(1.0, 0.1, 4.0), None, 0, "test"),
        "dear": Price("dear", Rates(10.0, 1.0, 40.0), Rates(20.0, 2.0, 60.0), 500, "test"),
    },
)
COUNTS = ("requests", "input", "cached", "output", "reasoning")


def meter(evidence: Sequence[Spent] = (), model: str = "") -> Meter:
    made = Meter("sol", model, PRICES)
    for spent in evidence:
        made.take(spent)
    return made


def spent(
    request: str | None, input: int, output: int = 0, cached: int = 0, reasoning: int = 0, *, requests: int = 1,
    cost: float | None = None, model: str | None = "cheap", conversation: str = "c",
) -> Spent:  # fmt: skip
    return Spent(conversation, request, Usage(input, cached, output, reasoning, requests, cost), model)


def due(evidence: Sequence[Spent], recorded: Sequence[UsageCounted] = ()) -> UsageCounted | None:
    return meter(evidence).due(recorded, 1, 1)


def total(records: Sequence[UsageCounted]) -> dict[str, int]:
    return {name: sum(getattr(record, name) for record in records) for name in COUNTS}


def known_cost(records: Sequence[UsageCounted]) -> float:
    return sum(record.cost_usd or 0.0 for record in records)


def test_the_same_request_again_replaces_and_never_lowers() -> None:
    whole = spent("r1", 1_000, 90, 400, 50)
    partial = spent("r1", 1_000, 3, 0, 0)
    found = due([partial, whole, whole, partial])
    assert found is not None
    assert (1, 1_000, 400, 90, 50) == tuple(getattr(found, name) for name in COUNTS)


def test_cached_is_paid_at_its_price_and_reasoning_inside_output_once() -> None:
    found = due([spent("r1", 1_000_000, 100_000, 600_000, 80_000)])
    assert found is not None
    assert pytest.approx(0.4 + 0.06 + 0.4) == found.cost_usd
    assert ("2026-11-30", "cheap", "sol") == (found.priced_by, found.model, found.competitor)


def test_of_requests_and_running_total_the_larger_counts_field_by_field() -> None:
    found = due([spent("r1", 100, 10), spent("r2", 100, 10), spent(None, 150, 30, requests=5)])
    assert found is not None
    assert (5, 200, 30) == (found.requests, found.input, found.output)


def test_a_running_total_that_grows_over_resumed_sessions_is_counted_once() -> None:
    """Codex says 3,150 at the end of the first turn and 4,250 at the end of the second: 4,250 in all."""
    first, second = spent(None, 3_150, 300), spent(None, 4_250, 420)
    counting = meter([first])
    one = counting.due((), 1, 1)
    counting.take(second)
    assert one is not None
    two = counting.due([one], 2, 2)
    assert two is not None
    assert (3_150, 1_100, 120) == (one.input, two.input, two.output)


def test_conversations_add_up() -> None:
    found = due([spent(None, 100, 10), spent(None, 200, 20, conversation="d")])
    assert found is not None
    assert (300, 30) == (found.input, found.output)


def test_nothing_taken_is_nothing_due() -> None:
    assert due([]) is None
    assert meter().total == Usage()


def test_the_programs_own_figure_is_taken_before_the_tables() -> None:
    found = due([spent("r1", 1_000, 100), spent(None, 1_000, 100, cost=0.5)])
    assert found is not None
    assert (0.5, "cli") == (found.cost_usd, found.priced_by)


def test_costs_of_all_requests_are_the_programs_figure_and_of_some_are_not() -> None:
    all_of_them = due([spent("r1", 10, cost=0.25), spent("r2", 10, cost=0.5)])
    assert all_of_them is not None
    assert (0.75, "cli") == (all_of_them.cost_usd, all_of_them.priced_by)
    some = due([spent("r1", 1_000_000, cost=0.25), spent("r2", 1_000_000)])
    assert some is not None
    assert (2.0, "2026-11-30") == (some.cost_usd, some.priced_by)


def test_a_request_without_tokens_needs_no_price() -> None:
    found = due([spent("r1", 10, cost=0.25), Spent("c", "r2", Usage(requests=1), None)])
    assert found is not None
    assert (2, 0.25) == (found.requests, found.cost_usd)


def test_a_running_total_of_an_earlier_turn_does_not_price_a_later_one() -> None:
    evidence = [spent(None, 1_000_000, cost=0.5), spent("r1", 1_000_000), spent("r2", 1_000_000)]
    found = due(evidence)
    assert found is not None
    assert (2.0, "2026-11-30") == (found.cost_usd, found.priced_by)


def test_the_cost_is_corrected_downwards_when_the_programs_figure_comes() -> None:
    counting = meter([spent("r1", 1_000_000)])
    first = counting.due((), 1, 1)
    assert first is not None
    counting.take(spent(None, 1_000_000, cost=0.7))
    second = counting.due([first], 1, 1)
    assert second is not None
    assert (0, pytest.approx(-0.3), "cli") == (second.input, second.cost_usd, second.priced_by)
    assert counting.due([first, second], 1, 1) is None


@pytest.mark.parametrize("model", ["nobody-knows", None])
def test_a_cost_that_cannot_be_known_is_none_and_tokens_are_counted_all_the_same(model: str | None) -> None:
    found = due([spent("r1", 1_000, model=model)])
    assert found is not None
    assert (1_000, None, "") == (found.input, found.cost_usd, found.priced_by)


def test_one_unknown_part_makes_the_whole_unknown() -> None:
    found = due([spent("r1", 1_000), spent("r2", 10, model="nobody-knows")])
    assert found is not None
    assert (1_010, None, None) == (found.input, found.cost_usd, found.model)


def test_the_asked_for_model_prices_evidence_that_names_none() -> None:
    counting = meter([spent(None, 1_000_000, model=None)], model="cheap")
    found = counting.due((), 1, None)
    assert found is not None
    assert (1.0, "cheap", None) == (found.cost_usd, found.model, found.attempt)


def test_two_models_in_one_running_total_have_no_price() -> None:
    found = due([spent(None, 10), spent(None, 20, model="dear")])
    assert found is not None
    assert (20, None, None) == (found.input, found.cost_usd, found.model)


def test_each_request_is_priced_by_its_own_model_and_length() -> None:
    found = due([spent("r1", 1_000_000), spent("r2", 400, model="dear"), spent("r3", 600, model="dear")])
    assert found is not None
    assert pytest.approx(1.0 + 400 * 10 / 1e6 + 600 * 20 / 1e6) == found.cost_usd


def test_known_before_and_unknown_later_is_unknown_from_then_on() -> None:
    counting = meter([spent("r1", 1_000_000)])
    first = counting.due((), 1, 1)
    assert first is not None
    counting.take(spent("r2", 5, model="nobody-knows"))
    second = counting.due([first], 1, 2)
    assert second is not None
    assert (1.0, 5, None) == (first.cost_usd, second.input, second.cost_usd)
    assert counting.due([first, second], 1, 2) is None


def test_unknown_before_and_known_later_covers_what_was_unknown() -> None:
    counting = meter([spent("r1", 1_000, model="nobody-knows")])
    first = counting.due((), 1, 1)
    assert first is not None
    counting.take(spent(None, 1_000, cost=0.5, model="nobody-knows"))
    second = counting.due([first], 1, 1)
    assert second is not None
    assert (None, 0.5, 0) == (first.cost_usd, second.cost_usd, second.input)
    assert counting.due([first, second], 1, 1) is None


def test_evidence_that_shrank_takes_nothing_back() -> None:
    first = due([spent("r1", 1_000_000, 50), spent("r2", 1_000_000, 50)])
    assert first is not None
    assert due([spent("r1", 1_000_000, 50)], [first]) is None
    more_output = due([spent("r1", 1_000_000, 500)], [first])
    assert more_output is not None
    assert (0, 400, 0.0) == (more_output.input, more_output.output, more_output.cost_usd)


def test_a_restarted_arena_records_a_lost_tail_and_nothing_twice() -> None:
    """INV-26."""
    evidence = [spent(f"r{number}", 100, 10) for number in range(10)]
    before = meter(evidence[:6]).due((), 1, 1)
    assert before is not None
    after = meter(evidence).due([before], 1, 2)
    assert after is not None
    assert (600, 400, 2) == (before.input, after.input, after.attempt)
    assert meter(evidence).due([before, after], 2, 3) is None


TOKENS = st.integers(0, 400)
MODELS = {"a": "cheap", "b": "dear", "c": "cheap"}


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, written = draw(TOKENS), draw(TOKENS)
    cost = draw(st.none() | st.floats(0, 9, allow_nan=False))
    return Usage(read, draw(st.integers(0, read)), written, draw(st.integers(0, written)), 1, cost)


@st.composite
def evidences(draw: st.DrawFn) -> list[Spent]:
    keys = st.tuples(st.sampled_from("abc"), st.sampled_from(["r1", "r2", "r3", None]))
    return [
        Spent(conversation, request, usage, MODELS[conversation])
        for (conversation, request), usage in draw(st.lists(st.tuples(keys, usages()), max_size=14))
    ]


@settings(max_examples=300, deadline=None)
@given(evidences(), st.randoms(use_true_random=False), st.data())
def test_any_order_repetition_and_split_over_restarts_adds_up_to_the_same(
    evidence: list[Spent], draw: random.Random, data: st.DataObject
) -> None:
    wanted = meter(evidence).total
    told = [*evidence, *draw.choices(evidence, k=len(evidence))] if evidence else []
    draw.shuffle(told)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(told)), max_size=4)))
    records: list[UsageCounted] = []
    running = meter()
    for start, stop in zip([0, *cuts], [*cuts, len(told)], strict=True):
        if data.draw(st.booleans()):  # the arena was killed: it reads everything again
            running = meter(told[:start])
        for spent_now in told[start:stop]:
            running.take(spent_now)
        if (record := running.due(records, 1, None)) is not None:
            assert all(getattr(record, name) >= 0 for name in COUNTS)
            records.append(record)
    assert {name: getattr(wanted, name) for name in COUNTS} == total(records)
    if wanted.cost_usd is not None:
        assert pytest.approx(wanted.cost_usd, abs=1e-7) == known_cost(records)
    elif records:
        assert any(record.cost_usd is None for record in records) or not any(total(records).values())
    assert meter(draw.sample(told, len(told))).due(records, 1, None) is None


@settings(max_examples=200, deadline=None)
@given(st.lists(usages(), min_size=1, max_size=8), st.sampled_from(["cheap", "dear"]))
def test_a_cumulative_and_a_per_request_stream_of_one_conversation_agree(steps: list[Usage], model: str) -> None:
    single = [Spent("c", f"r{number}", usage, model) for number, usage in enumerate(steps)]
    summed = [
        Spent("c", None, Usage(**{n: sum(getattr(u, n) for u in steps[: end + 1]) for n in COUNTS}), model)
        for end in range(len(steps))
    ]
    requests, cumulative, both = meter(single).total, meter(summed).total, meter([*summed, *single]).total
    assert [getattr(requests, n) for n in COUNTS] == [getattr(cumulative, n) for n in COUNTS]
    assert [getattr(requests, n) for n in COUNTS] == [getattr(both, n) for n in COUNTS]
    assert cumulative.cached <= cumulative.input
    assert cumulative.reasoning <= cumulative.output


@settings(max_examples=100, deadline=None)
@given(st.lists(usages(), min_size=1, max_size=8))
def test_both_streams_cost_the_same_by_the_table(steps: list[Usage]) -> None:
    bare = [Usage(u.input, u.cached, u.output, u.reasoning, 1) for u in steps]
    single = [Spent("c", f"r{number}", usage, "cheap") for number, usage in enumerate(bare)]
    whole = Usage(**{n: sum(getattr(u, n) for u in bare) for n in COUNTS})
    cumulative = meter([Spent("c", None, whole, "cheap")]).total.cost_usd
    assert (None if cumulative is None else pytest.approx(cumulative)) == meter(single).total.cost_usd


def test_what_is_spent_after_evidence_is_gone_counts_from_the_first_token_on() -> None:
    before = meter([spent("r1", 1000, 10)]).due((), 1, 1)
    assert before is not None
    after = meter([])
    after.settle([before])
    assert after.due([before], 2, 2) is None
    after.take(spent("r2", 900, 5))
    due = after.due([before], 2, 2)
    assert due is not None
    assert (900, 5, 1) == (due.input, due.output, due.requests)
    assert before.cost_usd is not None
    assert due.cost_usd is not None
    assert due.cost_usd > 0
