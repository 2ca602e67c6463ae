"""A limit of processor time that one machine meets and another does not says nothing false."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoquant.executor import LocalPool
from autoquant.oracle.records import Confirmation, Digests, Evaluation, Fault, Outcome
from autoquant.verify.records import State
from autoquant.verify.reevaluate import Expected, check_again
from autoquant.verify.work import Answer, Depth, PanelSource, Work

SCORED = Evaluation(Outcome.SCORED, Digests("p", "c", "d", "s"))
CUT = replace(SCORED, outcome=Outcome.TIMEOUT, fault=Fault("CpuLimit"))
SOUND = Confirmation(causality_passed=True, second=SCORED, mask_gap=0.0)
WORK = Work("a attempt 1", Depth.CONFIRM, PanelSource("aa"), "code", b"secret", b"source", 1)


def state(recorded: Confirmation, found: Confirmation) -> tuple[State, str]:
    with LocalPool("threads", jobs=1) as pool:
        check = check_again(
            "evaluations", [Expected(WORK, SCORED, confirmation=recorded)], pool,
            lambda work: Answer(work.key, SCORED, confirmation=found), exact=True, words="",
        )  # fmt: skip
    return check.state, check.text


@pytest.mark.parametrize("cut", [replace(SOUND, second=CUT), Confirmation(False, None, None, failure=CUT)])
@pytest.mark.parametrize("here", [True, False])
def test_a_limit_met_in_the_deep_check_on_one_side_leaves_it_undone(cut: Confirmation, here: bool) -> None:
    """INV-33."""
    found, text = state(SOUND, cut) if here else state(cut, SOUND)
    assert State.NOT_DONE is found
    assert "met its limit of processor time on one machine and not on the other" in text
    assert State.OK is state(cut, cut)[0]


def test_another_difference_of_the_deep_check_is_false() -> None:
    assert State.FAILED is state(SOUND, replace(SOUND, mask_gap=0.5))[0]
