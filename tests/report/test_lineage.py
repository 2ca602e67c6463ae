from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from climbing_cases import climb
from hypothesis import given
from hypothesis import strategies as st
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report.collect import collect
from autoquant.report.lineage import SEED, Twig, branches, lanes, origins, roles, thinned, twigs
from autoquant.report.model import Entrant
from autoquant.report.trees import NODES, NODES_NARROW, drawn, tree_chart

GOOD = shifted(SEED_FOLDS, 0.5)


def only(case: RaceCase) -> Entrant:
    return collect(case.state, case.name).race.entrants[0]


@pytest.fixture
def tried(tmp_path: Path) -> Entrant:
    """Two steps, a tip of the stable slot, what was tried from it, and a new tip that took it."""
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "keep", GOOD, slots=("best", "stable", "cost_robust"))
    case.attempt("sol", "archive", GOOD, slots=("stable",))
    case.attempt("sol", "discard", GOOD)
    case.attempt("sol", "discard", GOOD, lineage="stable")
    case.attempt("sol", "archive", GOOD, lineage="stable", slots=("stable",))
    case.attempt("sol", "search", GOOD, lineage="stable",
                 archive={"best": 1, "stable": 5, "cost_robust": 1, "distinct": None})  # fmt: skip
    return only(case)


def test_a_text_started_from_the_tip_as_it_was_then(tried: Entrant) -> None:
    assert {1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 5} == origins(tried.attempts)


def test_before_anything_took_a_slot_its_tip_is_the_seed(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "search", GOOD)
    case.attempt("sol", "discard", GOOD, lineage="stable")
    assert SEED == origins(only(case).attempts)[2]


def test_an_empty_distinct_slot_names_nobody_so_the_parent_stays(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "search", GOOD)
    case.attempt("sol", "discard", GOOD, lineage="distinct")
    assert {1: 0, 2: 1} == origins(only(case).attempts)


def test_the_tree_holds_what_was_accepted_and_what_came_from_a_tip(tried: Entrant) -> None:
    assert [1, 2, 4, 5, 6] == [twig.number for twig in twigs(tried.attempts)]


def test_an_open_attempt_is_not_in_the_tree(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "archive", GOOD, slots=("stable",))
    case.add(r.AttemptOpened("sol", 2, "r2", "02" * 32, "a try", 0, "stable"))
    assert [1] == [twig.number for twig in twigs(only(case).attempts)]


def test_roles_name_champion_working_parent_and_holders(tried: Entrant) -> None:
    assert {1: ("champion", "best", "cost_robust"), 6: ("working",), 5: ("stable",)} == roles(tried)


def test_before_any_attempt_the_seed_holds_all_but_distinct(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol")
    assert {SEED: ("champion", "working", "best", "stable", "cost_robust")} == roles(only(case))


def test_a_tip_hangs_beside_the_trunk_where_it_was_tried() -> None:
    hung = branches([Twig(3, 0, "search", 0.1), Twig(9, 3, "archive", 0.0)], gap=2)
    assert (0, 0, 0) == (hung[3].lane, hung[3].run, hung[3].start)
    assert (1, 1, 9) == (hung[9].lane, hung[9].run, hung[9].start)


def test_what_was_tried_from_a_tip_goes_on_in_its_lane() -> None:
    tree = [Twig(3, 0, "archive", 0.0), Twig(9, 3, "gate", 0.0), Twig(12, 3, "archive", 0.0)]
    hung = branches(tree, gap=2)
    assert {3: 1, 9: 1, 12: 1} == {number: branch.lane for number, branch in hung.items()}
    assert 3 == hung[12].start


def test_a_second_child_of_a_tip_gets_a_lane_of_its_own() -> None:
    tree = [Twig(3, 0, "archive", 0.0), Twig(9, 3, "archive", 0.0), Twig(12, 3, "archive", 0.0)]
    hung = branches(tree, gap=2)
    assert hung[9].lane != hung[12].lane
    assert 3 == hung[12].start


def test_a_tip_that_becomes_working_parent_runs_beside_and_arrives_on_the_trunk() -> None:
    tree = [Twig(2, 0, "search", 0.1), Twig(3, 2, "archive", 0.0), Twig(8, 3, "search", 0.2)]
    hung = branches(tree, gap=2)
    assert (0, hung[3].lane, 3) == (hung[8].lane, hung[8].run, hung[8].start)


def test_what_starts_from_a_former_working_parent_leaves_the_trunk_there() -> None:
    tree = [Twig(2, 0, "keep", 0.4), Twig(5, 2, "search", 0.1), Twig(20, 2, "archive", 0.0)]
    assert 2 == branches(tree, gap=2)[20].start


def test_short_branches_hang_next_to_the_trunk_and_long_ones_below() -> None:
    tree = [Twig(2, 0, "archive", 0.0), Twig(5, 0, "archive", 0.0), Twig(20, 2, "archive", 0.0)]
    hung = branches(tree, gap=2)
    assert 1 == hung[5].lane
    assert 2 == hung[2].lane == hung[20].lane


@st.composite
def trees(draw: st.DrawFn) -> list[Twig]:
    """Any tree: an origin is the seed, or something accepted before."""
    tree: list[Twig] = []
    accepted = [SEED]
    standing = SEED
    for number in range(1, 1 + draw(st.integers(0, 40))):
        status = draw(st.sampled_from(["keep", "search", "archive", "discard", "none"]))
        if status == "none":
            continue
        origin = draw(st.sampled_from([standing, standing, *accepted]))
        if status == "discard" and origin == standing:
            continue
        tree.append(Twig(number, origin, status, draw(st.floats(-1, 1))))
        if status != "discard":
            accepted.append(number)
        if tree[-1].trunk:
            standing = number
    return tree


@given(trees(), st.floats(0.5, 8.0))
def test_no_two_lines_of_descent_share_a_stretch_of_a_lane(tree: list[Twig], gap: float) -> None:
    hung = branches(tree, gap)
    assert [twig.number for twig in tree] == list(hung)
    status = {twig.number: twig.status for twig in tree}
    lines: dict[int, list[tuple[int, int]]] = {}
    for number, branch in hung.items():
        assert branch.lane == (0 if status[number] in ("keep", "search") else branch.run)
        lines.setdefault(branch.run, []).append((branch.start, number))
    lines.pop(0, None)
    for (low, high), (start, end) in (pair for lane in lines.values() for pair in combinations(lane, 2)):
        if max(low, start) < min(high, end):  # only tries share a stretch: with the line of the tip they started from
            assert low == start
            assert "discard" in (status[high], status[end])


@given(trees(), st.integers(0, 30), st.data())
def test_thinning_keeps_what_matters_and_every_origin_stays_drawn(
    tree: list[Twig], limit: int, data: st.DataObject
) -> None:
    numbers = [twig.number for twig in tree]
    anchors = data.draw(st.sets(st.sampled_from(numbers), max_size=4)) if numbers else set()
    left = thinned(tree, limit, anchors)
    kept = {twig.number for twig in left}
    vital = {twig.number for twig in tree if twig.status == "keep"} | anchors
    assert vital <= kept
    assert min(len(tree), max(limit, len(vital))) == len(left)
    assert sorted(kept) == [twig.number for twig in left]
    assert all(twig.origin in kept or twig.origin == SEED for twig in left)
    branches(left, 1.0)


def test_search_steps_are_drawn_before_tips_and_tips_before_tries() -> None:
    tree = [Twig(1, 0, "archive", 0.0), Twig(2, 0, "search", 0.1), Twig(3, 2, "search", 0.3), Twig(4, 1, "gate", 0.0),
            Twig(5, 3, "archive", 0.0)]  # fmt: skip
    chosen = [{twig.number for twig in thinned(tree, limit, ())} for limit in range(5)]
    assert [set(), {3}, {2, 3}, {2, 3, 5}, {1, 2, 3, 5}] == chosen


def test_a_long_race_is_thinned_to_what_fits_and_keeps_its_holders(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol", budget=200)
    climb(case, ["sol"], 200, 7, tips=0.6)
    entrant = only(case)
    assert len(twigs(entrant.attempts)) > NODES
    for limit in (NODES, NODES_NARROW):
        tree = drawn(entrant, limit)
        assert limit == len(tree)
        assert set(roles(entrant)) - {SEED} <= {twig.number for twig in tree}
        assert 12 >= lanes(branches(tree, 200 / limit))


def test_the_drawing_names_holders_at_the_right_and_keeps_above(tried: Entrant) -> None:
    words = str(tree_chart(tried, 50.0, "", 1060.0))
    for label in ("#1", "#5", "#6", "champion, best", "working", "stable"):
        assert f">{label}</text>" in words
    assert "distinct" not in words
