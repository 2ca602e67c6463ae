import numpy as np

from autoquant.oracle.cuts import (
    Differential,
    Perturbation,
    Repetition,
    Truncation,
    confirm_probes,
    profitable,
    screen_probes,
)
from autoquant.oracle.draws import Draws
from autoquant.oracle.runs import Span
from autoquant.protocol import PROTOCOL

RULES = PROTOCOL.causality
SPANS = [Span(858 * k, 858 * k + 6480, 858 * k + 6606, 858 * k + 7338) for k in range(6)]
FLAT = [np.ones(732) for _ in SPANS]


def test_screen_makes_what_it_promises() -> None:
    probes = screen_probes(b"k", SPANS, FLAT, 6, RULES)
    truncations = [p for p in probes if isinstance(p, Truncation)]
    windows = [p for p in probes if isinstance(p, Differential)]
    assert 12 == len(truncations)
    assert 8 == sum(len(p.cuts) for p in windows)
    assert len(windows) == len({p.fold for p in windows})
    assert 1 == sum(isinstance(p, Repetition) for p in probes)
    for fold, span in enumerate(SPANS):
        cuts = [p.cut for p in truncations if p.fold == fold]
        assert 2 == len(cuts)
        assert span.stop - 1 - 60 <= cuts[0] <= span.stop - 2
        assert all(span.start - 1 <= cut <= span.stop - 2 for cut in cuts)
    assert len(windows) == len({p.history for p in windows})
    for p in windows:
        assert 75 * 6 <= p.history <= 150 * 6
        assert p.cuts[-1] + 2 <= p.end <= min(p.cuts[-1] + 121, SPANS[p.fold].stop)


def test_confirm_makes_what_it_promises() -> None:
    probes = confirm_probes(b"k", SPANS, FLAT, 6, RULES)
    futures = [p for p in probes if isinstance(p, Perturbation)]
    cuts = [(p.fold, p.cut) for p in probes if isinstance(p, Truncation)]
    assert 64 == len(set(cuts)) == len(cuts)
    assert [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5] == [p.fold for p in futures]
    assert all(p.cut < SPANS[p.fold].stop - 30 for p in futures)


def test_a_cut_lands_before_the_bar_that_paid() -> None:
    profits = [np.zeros(732) for _ in SPANS]
    profits[3][100] = 0.05
    assert [(3, SPANS[3].start + 99)] == profitable(Draws(b"k"), SPANS, profits, 1)


def test_losses_draw_no_cut_while_gains_are_left() -> None:
    profit = np.where(np.arange(732) % 2 == 0, 0.01, -0.01)
    cuts = profitable(Draws(b"k"), SPANS[:1], [profit], 100)
    assert {0} == {(cut + 1 - SPANS[0].start) % 2 for _, cut in cuts}


def test_skipped_rows_are_never_drawn() -> None:
    skip = frozenset(range(SPANS[0].start - 1, SPANS[0].stop - 11))
    cuts = profitable(Draws(b"k"), SPANS[:1], FLAT[:1], 64, skip)
    assert 10 == len(cuts)
    assert not skip & {cut for _, cut in cuts}


def test_another_key_cuts_elsewhere() -> None:
    assert screen_probes(b"k", SPANS, FLAT, 6, RULES) != screen_probes(b"l", SPANS, FLAT, 6, RULES)
