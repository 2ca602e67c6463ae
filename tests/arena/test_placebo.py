"""Placebo races: the same decisions as the real loop, cached, resumed, and held against a race's figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from race_world import SOURCE, RaceWorld, change_manifest, make_world, use_paper_judge
from referee_world import make_home

from autoquant import codec
from autoquant.arena import placebo as loop
from autoquant.arena import placebo_answer
from autoquant.arena.launch import StartOptions, start
from autoquant.arena.placebo import Batch, climb, null_market, run_missing, score_seed
from autoquant.arena.placebo_answer import PlaceboOptions, placebo, show
from autoquant.arena.placebo_code import code_digest
from autoquant.arena.race import read_seed
from autoquant.arena.referee.standing import seed_trial
from autoquant.arena.show.voice import Voice
from autoquant.errors import DataError, UserError
from autoquant.harness.family import MEMORY_DAYS, draw, parse, render
from autoquant.harness.searchers import DRAWS_PER_EXPERIMENT, SEARCHERS, stream
from autoquant.ledger.placebos import REFERENCES, PlaceboCache, PlaceboRun, Plan, fitting_placebos
from autoquant.market import Panel, load_panel, make_synthetic, save_panel
from autoquant.market.manifest import load_manifest, panel_pin
from autoquant.market.synthetic import market_panel
from autoquant.oracle import kernel
from autoquant.oracle.command import calibrate_data
from autoquant.oracle.engine import Compiled
from autoquant.oracle.folds import valid_windows
from autoquant.oracle.plain import PlainJudge
from autoquant.oracle.records import Digests, Evaluation, Status
from autoquant.protocol import PROTOCOL

FLOOR = 0.3


@pytest.fixture(scope="module")
def market() -> Panel:
    return market_panel(0)


@pytest.fixture(scope="module")
def seed(repository: Path) -> bytes:
    return (repository / "strategy.py").read_bytes()


def judge_of(market: Panel) -> PlainJudge:
    return PlainJudge(market, valid_windows(), digests=Digests("p", "c", "d", ""))


@pytest.fixture(scope="module")
def judged(market: Panel, seed: bytes) -> tuple[PlainJudge, Evaluation]:
    judge = judge_of(market)
    return judge, score_seed(judge, seed)


@pytest.mark.slow
def test_the_loop_decides_as_a_real_race_of_the_controls_does(tmp_path: Path, repository: Path):
    """Referee, mailbox, masks, causality runs and sandbox on one side, none of them on the other."""
    home = make_home(tmp_path / "checkout")
    for name in ("strategy.py", "competitors.toml"):
        (home / name).write_bytes((repository / name).read_bytes())
    data, budget = tmp_path / "data", 3
    make_synthetic(data)
    calibrate_data(read_seed(home), data, samples=10, jobs=None)
    finish = start(
        StartOptions(
            home, data, tmp_path / "state", home / "competitors.toml", "random,hillclimb-2", budget=budget, kind="demo"
        ),
        Voice(),
    )
    assert "finished" == finish.reason
    judge = judge_of(load_panel(data / "synthetic", "valid"))
    raced = seed_trial(finish.layout, finish.view)
    seed = read_seed(home)
    ours = score_seed(judge, seed)
    assert raced.evaluation.fold_sharpes == pytest.approx(ours.fold_sharpes, abs=1e-9)
    for racer in finish.view.competitors.values():
        searcher = racer.joined.model
        assert searcher is not None
        stream = 2 if searcher == "hillclimb" else 1
        made = climb(judge, seed, ours, searcher, stream, budget=budget, noise_floor=finish.view.created.noise_floor)
        assert [attempt.strategy for attempt in racer.attempts] == [attempt.strategy for attempt in made.attempts]
        assert [attempt.status for attempt in racer.attempts] == [attempt.status for attempt in made.attempts]
        for real, mine in zip(racer.attempts, made.attempts, strict=True):
            assert real.score == pytest.approx(mine.score, abs=1e-9)
        assert (racer.champion, racer.working) == (made.final.champion.attempt, made.final.parent.attempt)
        assert racer.archive == made.final.archive.attempts()
    decided = {attempt.status for racer in finish.view.competitors.values() for attempt in racer.attempts}
    assert decided & {"keep", "search", "archive"}, "something was confirmed on the way"


def test_a_climb_starts_from_the_working_parent_and_spends_its_budget(
    judged: tuple[PlainJudge, Evaluation], seed: bytes
):
    judge, evaluation = judged
    made = climb(judge, seed, evaluation, "hillclimb", 2, budget=4, noise_floor=FLOOR)
    assert 4 == len(made.attempts) == made.final.attempts
    assert made == climb(judge, seed, evaluation, "hillclimb", 2, budget=4, noise_floor=FLOOR)
    assert made.best >= made.champion >= made.final.seed.score


def test_a_repeated_draw_is_not_counted_and_an_experiment_of_repeats_ends_the_race(
    judged: tuple[PlainJudge, Evaluation], seed: bytes, monkeypatch: pytest.MonkeyPatch
):
    judge, evaluation = judged
    first, second = draw(stream(1, 1)), draw(stream(1, 2))
    asked: list[int] = []

    def stubborn(parent: object, rng: object):
        for member in [first] * (DRAWS_PER_EXPERIMENT - 1) + [second] * 9:
            asked.append(1)
            yield member, ""

    monkeypatch.setitem(SEARCHERS, "stubborn", stubborn)
    made = climb(judge, seed, evaluation, "stubborn", 1, budget=5, noise_floor=FLOOR)
    assert 2 == len(made.attempts)
    assert 1 + DRAWS_PER_EXPERIMENT + DRAWS_PER_EXPERIMENT == len(asked)
    assert (first, second) == (parse(render(first)), parse(render(second)))


def test_a_seed_that_fails_is_the_users_matter(market: Panel):
    with pytest.raises(UserError, match=r"the seed fails .ZeroDivisionError"):
        score_seed(judge_of(market), b"def target_weights(panel, train_end):\n    return 1 / 0\n")
    with pytest.raises(UserError, match="the seed gets no score, it is gate"):
        score_seed(judge_of(market), b"def target_weights(panel, train_end):\n    return panel.close.notna() * 1.0\n")


def test_the_real_reference_is_the_real_market(market: Panel):
    assert null_market(market, "real", 1) is market
    digests = {null_market(market, reference, run).digest for reference in ("flip", "permute") for run in (1, 2)}
    assert 4 == len(digests - {market.digest})
    with pytest.raises(ValueError, match="no reference 'astrology'"):
        null_market(market, "astrology", 1)


# What is kept on disk.


@pytest.fixture
def batch(tmp_path: Path, market: Panel, seed: bytes) -> Batch:
    save_panel(market, tmp_path / "data", "valid")
    cache = PlaceboCache(tmp_path / "placebo", "ab" * 32)
    return Batch(tmp_path / "data", market.digest, seed, 2, FLOOR, cache)


class InPlace:
    """A pool that works here and now."""

    ran: list[object]

    def __init__(self, kind: str, jobs: int | None) -> None:
        InPlace.ran = []

    def __enter__(self) -> InPlace:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def map(self, function: Callable[[object], object], items: list[object], on_result: Callable[[int, int], None]):
        for done, item in enumerate(items, start=1):
            InPlace.ran.append(item)
            function(item)
            on_result(done, len(items))


def test_a_stored_run_is_never_made_again_and_an_interrupted_batch_goes_on(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(loop, "LocalPool", InPlace)
    tasks = [("flip", 1), ("real", 1)]
    real_climb, calls = loop.climb, []

    def interrupted(*arguments: object, **more: object):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(arguments[3])
        return real_climb(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "climb", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_missing(batch, tasks)
    stored = {path.name: path.read_bytes() for path in batch.cache.folder.glob("*.json")}
    assert {"flip-random-0001.json", "flip-hillclimb-0001.json", "real-random-0001.json"} == set(stored)
    monkeypatch.setattr(loop, "climb", real_climb)
    (batch.cache.folder / ".left.tmp").touch()
    seen: list[tuple[int, int]] = []
    run_missing(batch, tasks, on_progress=lambda done, total: seen.append((done, total)))
    assert [("real", 1)] == InPlace.ran
    assert [(1, 2), (2, 2)] == seen
    assert stored.items() <= {path.name: path.read_bytes() for path in batch.cache.folder.glob("*.json")}.items()
    assert not list(batch.cache.folder.glob(".*.tmp"))
    InPlace.ran = []
    run_missing(batch, tasks)
    assert [] == InPlace.ran


def test_a_damaged_or_foreign_file_counts_as_absent(batch: Batch):
    run = paper_run(batch.cache.plan, "flip", "random", 1, 0.1, 0.2)
    batch.cache.write(run)
    assert run == batch.cache.read("flip", "random", 1)
    (path,) = batch.cache.folder.glob("*.json")
    for text in ("{", codec.dumps(replace(run, plan="cd" * 32)), codec.dumps(replace(run, run=2))):
        path.write_text(text)
        assert batch.cache.read("flip", "random", 1) is None


def test_other_data_than_the_plans_are_refused(batch: Batch, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop, "LocalPool", InPlace)
    with pytest.raises(DataError, match="differs from the manifest"):
        run_missing(replace(batch, data="00"), [("real", 1)])


def test_everything_a_run_depends_on_names_another_plan(repository: Path, tmp_path: Path):
    package = repository / "autoquant"
    plan = Plan("p", code_digest(package), "d", "s", 0.3, 50)
    changes: list[dict[str, object]] = [
        {"protocol": "q"}, {"code": "x"}, {"data": "e"}, {"seed_strategy": "t"}, {"noise_floor": 0.31}, {"budget": 49},
    ]  # fmt: skip
    assert 7 == len({plan.digest} | {replace(plan, **change).digest for change in changes})  # type: ignore[arg-type]
    for name in ("oracle/engine.py", "harness/family_strategy.py.tmpl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        before = code_digest(tmp_path)
        (tmp_path / name).write_text("x")
        assert before != code_digest(tmp_path)


# What a race is worth.


def paper_run(plan: str, reference: str, searcher: str, run: int, champion: float, best: float) -> PlaceboRun:
    statuses = (Status.KEEP, Status.DISCARD)
    return PlaceboRun(plan, reference, searcher, run, 0.0, champion, best, statuses, (champion, best))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RaceWorld:
    """A race world in which placebo runs are written, not raced: run k of a searcher reaches k tenths."""
    made = make_world(tmp_path)
    use_paper_judge(monkeypatch, made)

    def on_paper(batch: Batch, tasks: list[tuple[str, int]], **_: object) -> None:
        for reference, run in tasks:
            for searcher in batch.searchers:
                lift = 0.0 if searcher == "random" else 0.05
                reached = run / 10 + lift
                batch.cache.write(paper_run(batch.cache.plan, reference, searcher, run, reached, reached + 0.1))

    monkeypatch.setattr(placebo_answer, "run_missing", on_paper)
    return made


def options(world: RaceWorld, **changes: object) -> PlaceboOptions:
    return PlaceboOptions(world.home, world.data_root, world.state, **({"runs": 9} | changes))  # type: ignore[arg-type]


def test_each_competitor_is_held_against_every_null_and_a_tie_counts_against_it(world: RaceWorld):
    world.racer("a", "submit(0.05); submit(0.9)")
    world.start(race="autumn", budget=2)
    answer = placebo(options(world), Voice(world.said.append))
    (racer,) = answer.competitors
    assert ("autumn", "a", 2, 2) == (answer.race, racer.name, racer.attempts, answer.plan.budget)
    assert (pytest.approx(0.9), pytest.approx(0.9)) == (racer.champion, racer.best)
    # champion 0.9: random's run 9 ties, hillclimb's reaches 0.95: one of nine in both
    assert dict.fromkeys(REFERENCES, 0.2) == racer.p_champion
    # best 0.9: random's runs 8 and 9 reach 0.9 and 1.0, hillclimb's 0.95 and 1.05
    assert dict.fromkeys(REFERENCES, pytest.approx(0.3)) == racer.p_best
    assert 6 == len(racer.tests)
    assert answer == codec.loads(placebo_answer.PlaceboAnswer, codec.dumps(answer))


def test_a_plan_lies_beside_its_runs_so_that_the_page_of_the_race_finds_them(world: RaceWorld):
    world.racer("a", "submit(0.05)")
    world.start(race="autumn", budget=1)
    answer = placebo(options(world, runs=3), Voice())
    created = world.view("autumn").created
    wanted = {
        "protocol": created.protocol, "data": created.data.valid, "seed_strategy": created.seed_strategy,
        "noise_floor": created.noise_floor,
    }  # fmt: skip
    found = fitting_placebos(world.state, budget=1, **wanted)
    assert found is not None
    assert (answer.plan, 3 * len(REFERENCES) * len(SEARCHERS)) == (found.plan, len(found.runs))
    assert None is fitting_placebos(world.state, budget=2, **wanted)


def test_the_table_says_nulls_figures_and_what_they_mean(world: RaceWorld):
    world.racer("a", "submit(0.05); submit(0.9)")
    world.racer("b", "submit(0.05)", budget="1")
    world.start(race="autumn", budget=None)
    text = show(placebo(options(world, budget=1), Voice()))
    assert "9 runs on each kind of market, budget 1," in text
    assert 2 == sum(line.startswith("flip ") for line in text.splitlines())
    assert "b  1/1" in text
    assert "no p for a: another budget" in text
    assert "needs --runs 39" in text
    assert SOURCE in text


def test_without_a_race_the_data_and_their_calibration_stand_alone(world: RaceWorld):
    answer = placebo(options(world), Voice())
    assert (None, (), PROTOCOL.budget, 0.3) == (
        answer.race, answer.competitors, answer.plan.budget, answer.plan.noise_floor,
    )  # fmt: skip
    assert "race" not in show(answer).replace("placebo races", "")
    with pytest.raises(UserError, match="there is no race 'spring'"):
        placebo(options(world, race="spring"), Voice())


def test_a_race_on_other_data_is_left_out_and_refused_by_name(world: RaceWorld):
    world.racer("a", "submit(0.9)")
    world.start(race="autumn", budget=1)
    splits = world.view("autumn").created.data
    manifest = load_manifest(world.data)
    panel = load_panel(world.data, "valid")
    longer = panel.slice(0, len(panel) - 6)
    save_panel(longer, world.data, "valid")
    change_manifest(world, splits=manifest.splits | {"valid": panel_pin(longer)})
    world.calibrate()
    assert splits.valid != load_manifest(world.data).splits["valid"].digest
    said: list[str] = []
    assert placebo(options(world), Voice(said.append)).race is None
    assert any("race autumn ran on other data" in line for line in said)
    with pytest.raises(DataError, match="race autumn ran on other data"):
        placebo(options(world, race="autumn"), Voice())


def test_accounts_are_compiled_where_there_is_enough_to_do_and_a_failure_is_one_line(tmp_path, monkeypatch):
    said: list[str] = []
    voice, options = Voice(said.append), PlaceboOptions(tmp_path, tmp_path, tmp_path, jobs=2)
    found = [kernel.Kernel(None, "numba cannot compile the accounts here (out of memory)")]
    monkeypatch.setattr(kernel, "is_installed", lambda: True)
    monkeypatch.setattr(kernel, "load", lambda: found[0])
    assert not placebo_answer._compiles(2 * kernel.WORTH_EVALUATIONS - 1, options, voice)
    assert [] == said
    assert not placebo_answer._compiles(2 * kernel.WORTH_EVALUATIONS, options, voice)
    assert [f"note: {found[0].words}: numpy does it, to the same digits, more slowly"] == said
    found[0] = kernel.Kernel(Compiled(lambda *_: None, lambda *_: None), "numba 0.68.1")
    assert placebo_answer._compiles(2 * kernel.WORTH_EVALUATIONS, options, voice)
    monkeypatch.setattr(kernel, "is_installed", lambda: False)
    assert not placebo_answer._compiles(2 * kernel.WORTH_EVALUATIONS, options, voice)
    assert 1 == len(said)


def test_a_placebo_comes_to_the_same_with_compiled_accounts(market: Panel, seed: bytes):
    pytest.importorskip("numba", reason="no numba: uv run --group proof pytest")
    plain, compiled = (
        PlainJudge(market, valid_windows(), digests=Digests("p", "c", "d", ""), compiled=way).at_once(seed, MEMORY_DAYS)
        for way in (False, True)
    )
    assert codec.dumps(plain) == codec.dumps(compiled)
