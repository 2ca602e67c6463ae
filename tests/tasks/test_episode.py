"""An episode: what costs a step, which score counts, and that nothing hidden leaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict

import pytest
from graded_cases import HIDDEN_TELLERS, HONEST, NEAR, Secrets, market, only_hidden, quoting, secrets, texts_in
from task_cases import ground_of, single

from autoquant import codec
from autoquant.errors import InfrastructureFault, UserError
from autoquant.sandbox import WarmParent
from autoquant.tasks.episode import MAXIMUM_CODE, Action, Observation, QuantResearchEnv
from autoquant.tasks.explore import MAXIMUM_ROWS
from autoquant.tasks.grader import Ground
from autoquant.tasks.spec import ORDER, STEPS, task
from autoquant.tasks.truth import reference_source

FLAT = single("return pd.DataFrame({'bar': [1], 'position': [0]})")
LOOK, BACKTEST, FINAL = Action("explore_data"), Action("run_backtest"), Action("submit_final")


def submit(code: bytes) -> Action:
    return Action("submit_code", code.decode())


@pytest.fixture(scope="module")
def grounds(parent: WarmParent) -> dict[str, Ground]:
    shown, hidden = market()
    return {name: ground_of(parent, name, shown, hidden if name == "hard" else None) for name in ORDER}


@pytest.fixture(scope="module")
def kept(parent: WarmParent) -> Secrets:
    return secrets(parent)


@pytest.fixture
def env(parent: WarmParent, grounds: dict[str, Ground]) -> QuantResearchEnv:
    return episode(grounds, lambda: nullcontext(parent))


def episode(
    grounds: dict[str, Ground], parent: Callable[[], AbstractContextManager[WarmParent]], steps: int = STEPS
) -> QuantResearchEnv:
    def ground(name: str) -> Ground:
        task(name)
        return grounds[name]

    return QuantResearchEnv(ground, parent, steps=steps)


def test_a_reset_tells_the_task_and_its_rungs_and_twenty_steps(env: QuantResearchEnv) -> None:
    seen = env.reset("easy")
    assert ("easy", 0, 20, False) == (seen.task, seen.step, seen.steps_left, seen.done)
    assert "generate_trades(df)" in seen.brief
    assert "0.45  its rows can be replayed" in seen.brief
    assert (None, None, None) == (seen.score, seen.best, seen.final_score)


def test_every_action_that_makes_sense_costs_one_step(env: QuantResearchEnv) -> None:
    env.reset("easy")
    actions = (LOOK, submit(b"def ("), submit(FLAT), BACKTEST, BACKTEST, LOOK)
    assert [1, 2, 3, 4, 5, 6] == [env.step(action).step for action in actions]


def test_the_twentieth_step_is_the_last_and_the_best_backtest_counts_without_a_final_submission(
    env: QuantResearchEnv,
) -> None:
    env.reset("easy")
    for action in (submit(NEAR["easy"]), BACKTEST, submit(FLAT), BACKTEST):
        env.step(action)
    looked = [env.step(LOOK) for _ in range(16)]
    assert [*[False] * 15, True] == [seen.done for seen in looked]
    assert (20, 0, 0.9, None) == (looked[-1].step, looked[-1].steps_left, env.score, looked[-1].final_score)
    with pytest.raises(UserError, match="the episode is over"):
        env.step(FINAL)


def test_a_final_submission_may_be_the_last_step(parent: WarmParent, grounds: dict[str, Ground]) -> None:
    env = episode(grounds, lambda: nullcontext(parent), steps=2)
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    assert (0.9, True) == (env.step(FINAL).final_score, env.done)


NONSENSE = {
    "an unknown action": Action("buy"),
    "an endless unknown action": Action("x" * 10_000_000),
    "no name of an action": Action(None),  # type: ignore[arg-type]
    "a name that is a list": Action(["run_backtest"]),  # type: ignore[arg-type]
    "no code": Action("submit_code"),
    "empty code": Action("submit_code", " \n"),
    "code that is no text": Action("submit_code", 7),  # type: ignore[arg-type]
    "code that no file can hold": Action("submit_code", "x = '\ud800'"),
    "oversized code": Action("submit_code", "#" * (MAXIMUM_CODE + 1)),
    "oversized code of wide characters": Action("submit_code", "é" * (MAXIMUM_CODE // 2 + 1)),
    "a backtest of nothing": BACKTEST,
    "nothing handed in for good": FINAL,
    "something else to explore": Action("explore_data", what="hidden"),
    "an endless thing to explore": Action("explore_data", what="y" * 1_000_000),
    "rows from a half": Action("explore_data", what="rows", first=0.5),  # type: ignore[arg-type]
    "rows to a word": Action("explore_data", what="rows", count="9"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_action_that_makes_no_sense_is_told_so_and_costs_nothing(env: QuantResearchEnv, name: str) -> None:
    env.reset("easy")
    seen = env.step(NONSENSE[name])
    assert (0, 20, "", None) == (seen.step, seen.steps_left, seen.table, seen.score)
    assert 0 < len(seen.message) < 300
    assert not env.step(LOOK).done


def test_nonsense_never_uses_up_an_episode(env: QuantResearchEnv) -> None:
    env.reset("easy")
    for _ in range(3 * STEPS):
        assert not env.step(Action("buy")).done


def test_code_of_exactly_the_allowed_size_is_taken(env: QuantResearchEnv) -> None:
    env.reset("easy")
    seen = env.step(Action("submit_code", FLAT.decode().ljust(MAXIMUM_CODE, "#")))
    assert (1, "taken") == (seen.step, seen.message)


def test_code_that_will_not_run_is_taken_with_the_reason(env: QuantResearchEnv) -> None:
    env.reset("easy")
    assert "will not run" in env.step(submit(b"import os\n" + FLAT)).message
    seen = env.step(submit(single("x = df['Close_nifty'].shift(-1)", "return x")))
    assert "looks ahead" in seen.message
    assert "line 6" in seen.findings[0]


def test_code_of_an_earlier_submission_is_replaced_whatever_became_of_it(env: QuantResearchEnv) -> None:
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    env.step(submit(b"def ("))
    assert 0.0 == env.step(BACKTEST).score


def test_the_best_backtest_is_shown_and_the_final_score_replaces_it(env: QuantResearchEnv) -> None:
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    assert (0.9, 0.9) == ((first := env.step(BACKTEST)).score, first.best)
    env.step(submit(FLAT))
    assert (0.3, 0.9) == ((second := env.step(BACKTEST)).score, second.best)
    seen = env.step(FINAL)
    assert (0.3, 0.9, 0.3, True) == (seen.score, seen.best, seen.final_score, seen.done)
    assert (0.3, 5) == (env.score, env.steps_used)


def test_a_final_submission_happens_once_and_a_reset_begins_afresh(env: QuantResearchEnv) -> None:
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    env.step(FINAL)
    for action in (FINAL, BACKTEST, LOOK, Action("buy")):
        with pytest.raises(UserError, match="the episode is over"):
            env.step(action)
    env.reset("medium")
    assert (None, None, 0, False) == (env.score, env.best, env.steps_used, env.done)
    assert "submit_code first" in env.step(BACKTEST).message


def test_before_a_reset_there_is_no_episode_and_no_task_of_another_name(env: QuantResearchEnv) -> None:
    with pytest.raises(UserError, match="no episode has begun"):
        env.step(LOOK)
    with pytest.raises(UserError, match="there is no task"):
        env.reset("harder")


def test_look_ahead_found_in_the_final_submission_caps_it_whatever_was_shown_before(env: QuantResearchEnv) -> None:
    """The contract: 0.20, though every backtest reached 0.30."""
    env.reset("hard")
    env.step(submit(only_hidden("rows = rows if len(nifty_df) == 3_000 else rows[:-1]")))
    assert 0.3 == env.step(BACKTEST).best
    seen = env.step(FINAL)
    assert (0.2, 0.3, 0.2, 3) == (seen.final_score, seen.best, env.score, env.steps_used)


def test_a_failure_of_the_machine_costs_no_step(parent: WarmParent, grounds: dict[str, Ground]) -> None:
    """INV-12."""
    fails = [True, False, True, True, False]

    @contextmanager
    def sometimes() -> Iterator[WarmParent]:
        if fails.pop(0):
            raise InfrastructureFault("no process could be started")
        yield parent

    env = episode(grounds, sometimes)
    env.reset("hard")
    env.step(submit(HONEST))
    with pytest.raises(InfrastructureFault):
        env.step(BACKTEST)
    assert (1, None) == (env.steps_used, env.best)
    assert 0.3 == env.step(BACKTEST).score
    for _ in range(2):
        with pytest.raises(InfrastructureFault):
            env.step(FINAL)
    assert (2, False) == (env.steps_used, env.done)
    assert 1.0 == env.step(FINAL).final_score


def test_exploring_shows_the_shown_bars_a_few_at_a_time(env: QuantResearchEnv) -> None:
    shown, _ = market()
    env.reset("hard")

    def rows(what: str, first: int, count: int) -> list[str]:
        return env.step(Action("explore_data", what=what, first=first, count=count)).table.splitlines()

    assert "5,000 bars in 14 sessions, 2022-06-01T09:15 to 2022-06-14T" in env.step(LOOK).table
    assert MAXIMUM_ROWS + 1 == len(rows("rows", 0, 10**9))
    assert [f"4999,{shown.close('nifty')[-1]:.2f}"] == [
        ",".join(line.split(",")[::5]) for line in rows("rows", 4_999, 50)[1:]
    ]
    assert [] == rows("rows", 5_000, 50)[1:] == rows("rows", 10**18, 50)[1:] == rows("rows", 9, -5)[1:]
    assert rows("rows", 0, 3) == rows("rows", -7, 3)
    assert 14 == len(rows("days", 0, 200)[1:])
    assert ["2022-06-14,4875,125"] == [line.rsplit(",", 2)[0] for line in rows("days", 13, 200)[1:]]
    assert [] == rows("days", 14, 200)[1:]


def test_two_threads_on_one_episode_are_served_in_turn(env: QuantResearchEnv) -> None:
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    seen: list[Observation] = []
    refused: list[UserError] = []

    def play(action: Action, times: int) -> None:
        for _ in range(times):
            try:
                seen.append(env.step(action))
            except UserError as error:
                refused.append(error)

    threads = [threading.Thread(target=play, args=job) for job in ((LOOK, 15), (LOOK, 15), (BACKTEST, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [*range(2, STEPS + 1)] == sorted(one.step for one in seen)
    assert [20] == [one.step for one in seen if one.done]
    assert 32 - 19 == len(refused)


def test_of_two_final_submissions_at_once_one_is_graded(env: QuantResearchEnv) -> None:
    env.reset("hard")
    env.step(submit(HONEST))
    told: list[object] = []

    def hand_in() -> None:
        try:
            told.append(env.step(FINAL).final_score)
        except UserError as error:
            told.append(error.message)

    threads = [threading.Thread(target=hand_in) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {1.0, "the episode is over"} == set(told)
    assert 2 == env.steps_used


def whole(name: str) -> list[Action]:
    """An episode that asks for everything there is, with solutions that tell all they know."""
    looks = [Action("explore_data", what=what, first=4_900, count=200) for what in ("summary", "rows", "days")]
    return [
        *looks, Action("buy"), BACKTEST,
        submit(quoting(name)), BACKTEST,
        submit(b"def ("), BACKTEST,
        submit(NEAR["hard" if name == "easy" else "easy"]), BACKTEST,
        submit(NEAR[name]), BACKTEST,
    ]  # fmt: skip


def leaks(seen: list[Observation], kept: Secrets) -> list[str]:
    texts = [(repr(one), *texts_in(asdict(one)), json.dumps(codec.encode(one))) for one in seen]
    return [hit for words in texts for hit in kept.found_in("\n".join(words))]


@pytest.mark.parametrize("name", ORDER)
def test_nothing_hidden_leaves_in_a_whole_episode(env: QuantResearchEnv, kept: Secrets, name: str) -> None:
    """INV-31: no hidden day, price or figure, no truth, no line of a reference solution, in any field there is."""
    seen = [env.reset(name), *(env.step(action) for action in [*whole(name), FINAL])]
    assert seen[-1].done
    assert [] == leaks(seen, kept)


@pytest.mark.parametrize("number", range(len(HIDDEN_TELLERS)))
def test_a_solution_that_shouts_what_it_sees_of_the_hidden_bars_is_not_heard(
    env: QuantResearchEnv, kept: Secrets, number: int
) -> None:
    """INV-31."""
    seen = [env.reset("hard"), env.step(submit(HIDDEN_TELLERS[number])), env.step(FINAL)]
    assert env.final is not None
    assert env.final.hidden is not None, "it was run on them"
    assert [] == leaks(seen, kept)


def test_the_scan_finds_what_it_is_for(env: QuantResearchEnv, kept: Secrets, parent: WarmParent) -> None:
    _, hidden = market()
    assert kept.found_in(f"close {hidden.close('nifty')[-1]:,.2f}")
    assert kept.found_in("at 2023-01-05T09:15")
    assert kept.found_in(reference_source("medium").decode())
    env.reset("hard")
    env.step(submit(HONEST))
    env.step(FINAL)
    assert env.final is not None
    assert kept.found_in(codec.dumps(env.final)), "the whole grade holds the Sharpe ratio on hidden bars"
    env.reset("easy")
    env.step(submit(NEAR["easy"]))
    env.step(FINAL)
    assert kept.found_in(codec.dumps(env.final)), "the whole grade holds targets"


def test_solutions_that_differ_on_hidden_bars_alone_differ_in_their_final_score_alone(env: QuantResearchEnv) -> None:
    def play(source: bytes) -> list[Observation]:
        env.reset("hard")
        return [env.step(action) for action in (submit(source), FINAL)]

    first, second = play(only_hidden("raise ValueError")), play(only_hidden("rows = []"))
    assert first[0] == second[0]
    assert (0.3, 0.5) == (first[1].final_score, second[1].final_score)
    assert asdict(first[1]) | {"score": 0, "final_score": 0} == asdict(second[1]) | {"score": 0, "final_score": 0}
