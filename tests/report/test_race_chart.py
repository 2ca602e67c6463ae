"""The race as it is drawn: who is on it, at which scale, and what is said beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from html_reading import read
from race_cases import SEED_FOLDS, RaceCase, score_of, searched, shifted

from autoquant.ledger import records as r
from autoquant.oracle.records import Fault
from autoquant.ratchet import decide
from autoquant.report import charts, layers
from autoquant.report.axes import Axis
from autoquant.report.collect import collect
from autoquant.report.page import page
from autoquant.report.panels import course
from autoquant.report.scene import Scene

WIDE = 1060.0


def scene(case: RaceCase) -> Scene:
    return Scene.of(collect(case.state, "autumn").race.course)


def scale(drawing: str, name: str) -> tuple[float, float, float, float]:
    """Low, high, start, end, as the script reads them."""
    found = re.search(rf'data-{name}="([^"]*)"', drawing)
    assert found
    low, high, start, end = map(float, found[1].split())
    return low, high, start, end


@pytest.fixture
def mixed(tmp_path: Path) -> RaceCase:
    """One that tells of tokens and costs, one of tokens alone, a control; each in a session of its own."""
    case = RaceCase(tmp_path)
    case.join("priced", "codex", colour="#F59E0B", budget=6)
    case.join("unpriced", "grok", budget=6)
    case.join("control", "control", budget=6, model="hillclimb")
    for name, step in (("priced", 0.4), ("unpriced", 0.8), ("control", 0.1)):
        case.add(r.SessionStarted(name, 1))
        for number in range(1, 4):
            if name != "control":
                case.spend(name, number, 90_000 * number, 1_000, 0.25 if name == "priced" else None)
            status = "keep" if number == 2 and name != "control" else "discard"
            case.attempt(name, status, shifted(SEED_FOLDS, step * number))
        case.add(r.SessionEnded(name, 1, "exited", 0, 9_000.0, judging_seconds=180.0))
    return case


def test_the_bar_for_a_keep_rises_as_the_ratchets_does():
    assert [decide.correction(n) for n in (1, 2, 50, 1_000)] == [layers.correction(n) for n in (1, 2, 50, 1_000)]


def test_each_axis_shows_who_has_a_figure_and_names_who_has_not(mixed: RaceCase):
    shown = {axis: [runner.entrant.name for runner in runners] for axis, runners in scene(mixed).runners.items()}
    assert {
        Axis.ATTEMPT: ["priced", "unpriced", "control"],
        Axis.TIME: ["priced", "unpriced", "control"],
        Axis.TOKENS: ["priced", "unpriced"],
        Axis.COST: ["priced"],
    } == shown
    text = read(page(mixed.state, None, home=mixed.state)).text
    assert "Not on this axis: control (a control uses no model)." in text
    assert "Not on this axis: unpriced (no price is known for all its tokens) and control" in text
    for plot in course.plots(scene(mixed)):
        flags = re.findall(r'class="flag a\d" data-c="(\d)"', plot.drawing.wide)
        assert len(shown[plot.axis]) == len(flags) == len(set(flags))


def test_axes_are_chosen_by_radio_buttons_of_one_group_with_a_legend(mixed: RaceCase):
    html = page(mixed.state, None, home=mixed.state)
    radios = [e.attributes for e in read(html).of("input") if e.attributes.get("type") == "radio"]
    assert ["attempt", "time", "tokens", "cost"] == [radio["value"] for radio in radios if radio["name"] == "axis"]
    assert ["attempt"] == [radio["value"] for radio in radios if "checked" in radio]
    assert "<legend>Score over</legend>" in html


def test_with_attempts_alone_there_is_nothing_to_choose(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "discard", SEED_FOLDS)
    html = page(tmp_path, None, home=tmp_path)
    assert [] == [e for e in read(html).of("input") if e.attributes.get("name") == "axis"]
    assert 1 == html.count('<div class="plot"')


def test_names_stand_at_the_ends_of_lines_with_their_scores(mixed: RaceCase):
    wide = charts.race_chart(scene(mixed), WIDE)
    words = " ".join(read(wide).text.split())
    for name, step in (("priced", 0.8), ("unpriced", 1.6), ("control", 0.0)):
        assert f"{name} {score_of(shifted(SEED_FOLDS, step)):.3f}" in words


def test_zero_is_on_the_scale_and_drawn_even_where_every_score_is_high(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "keep", shifted(SEED_FOLDS, 3.0))
    drawing = charts.race_chart(scene(case), WIDE)
    low, high, bottom, top = scale(drawing, "y")
    assert low < 0 < high
    level = bottom + (0 - low) / (high - low) * (top - bottom)
    zero = re.search(r'<path d="M[\d.]+ ([\d.]+)H[\d.]+" class="zero"/>', drawing)
    assert zero
    assert pytest.approx(level, abs=0.1) == float(zero[1])


def test_dots_lie_where_the_scales_put_them(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a", budget=10)
    case.attempt("a", "discard", shifted(SEED_FOLDS, 0.4))
    drawing = charts.race_chart(scene(case), WIDE)
    (x_low, x_high, left, right), (y_low, y_high, bottom, top) = scale(drawing, "x"), scale(drawing, "y")
    assert (0.0, 10.0) == (x_low, x_high)
    score = score_of(shifted(SEED_FOLDS, 0.4))
    place = (left + (right - left) / 10, bottom + (score - y_low) / (y_high - y_low) * (top - bottom))
    dot = re.search(r'<path d="M([\d.]+) ([\d.]+)h0" class="dots"/>', drawing)
    assert dot
    assert pytest.approx(place, abs=0.1) == (float(dot[1]), float(dot[2]))


def test_attempts_far_below_are_counted_and_those_without_a_score_have_a_stroke_of_their_own(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.attempt("a", "discard", shifted(SEED_FOLDS, -9.0))
    case.attempt("a", "crash", fault=Fault("ZeroDivisionError", 3))
    drawing = charts.race_chart(scene(case), WIDE)
    assert "↓ 1 attempt below" in drawing
    assert 2 == drawing.count('class="stroke faint"')


def test_the_band_stands_on_the_best_champion_so_far_and_a_tie_changes_nothing(tmp_path: Path):
    case = RaceCase(tmp_path)
    for name, step, at in (("first", 0.5, 1), ("second", 0.5, 2), ("third", 1.5, 3)):
        case.join(name, budget=5)
        for number in range(1, at + 1):
            case.attempt(
                name, "keep" if number == at else "discard", shifted(SEED_FOLDS, step if number == at else 0.0)
            )
    runners = scene(case).runners[Axis.ATTEMPT]
    seed, low, high = (score_of(shifted(SEED_FOLDS, step)) for step in (0.0, 0.5, 1.5))
    stretches = layers.leading(runners, 5.0)
    assert [(0.0, 1.0), (1.0, 3.0), (3.0, 5.0)] == [(start, stop) for start, stop, _, _ in stretches]
    assert ["first", "third"] == [runner.entrant.name for _, _, runner, _ in stretches[1:]]
    assert pytest.approx([seed, low, high]) == [score for _, _, _, score in stretches]


def test_the_bands_rim_is_as_high_as_a_keep_must_climb(tmp_path: Path):
    case = RaceCase(tmp_path, floor=0.3)
    case.join("a", budget=4)
    for _ in range(4):
        case.attempt("a", "discard", shifted(SEED_FOLDS, -0.1))
    drawing = charts.race_chart(scene(case), WIDE)
    low, high, bottom, top = scale(drawing, "y")
    band, rim = re.findall(r'<path d="([^"]*)" class="band(?: rim)?"/>', drawing)
    levels = [heights(data) for data in (band, rim)]
    seed = score_of(SEED_FOLDS)

    def level(score: float) -> float:
        return bottom + (score - low) / (high - low) * (top - bottom)

    assert pytest.approx((level(seed), level(seed + 0.3)), abs=0.2) == (max(levels[0]), min(levels[0]))
    most = level(min(high, seed + 0.3 * layers.correction(4)))
    assert pytest.approx((level(seed + 0.3), most), abs=0.2) == (max(levels[1]), min(levels[1]))


def heights(data: str) -> list[float]:
    """Every y of an outline."""
    numbers = [float(word) for word in re.findall(r"-?\d*\.?\d+", data.replace("l", " "))]
    y, seen = numbers[1], [numbers[1]]
    for step in numbers[3::2]:
        y += step
        seen.append(y)
    return seen


def test_of_thousands_of_attempts_a_part_is_drawn_and_said_and_lines_keep_every_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("autoquant.report.scene.DOTS", 10)
    case = RaceCase(tmp_path)
    case.join("a", budget=60)
    case.join("b", budget=60)
    searched(case, "a", 57, 5)
    searched(case, "b", 60, 6)
    drawn = scene(case)
    assert (12, 4 + 5, 117) == (drawn.thinning.stride, drawn.thinning.drawn, drawn.thinning.of)
    attempts = sum(len(runner.scored) + len(runner.unscored) for runner in drawn.runners[Axis.ATTEMPT])
    assert drawn.thinning.drawn == attempts
    assert "9 of 117 attempts are drawn as dots, one in 12" in read(page(tmp_path, None, home=tmp_path)).text
    a = drawn.runners[Axis.ATTEMPT][0]
    line = re.search(r'<path d="([^"]*)" class="line working"', charts.race_chart(drawn, WIDE))
    assert line
    assert len(a.entrant.working) - 1 == line[1].count("v")


def test_a_short_race_draws_every_attempt(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    searched(case, "a", 9, 5)
    drawn = scene(case)
    assert (1, 9, 9) == (drawn.thinning.stride, drawn.thinning.drawn, drawn.thinning.of)
    assert "drawn as dots" not in read(page(tmp_path, None, home=tmp_path)).text


def test_of_many_competitors_the_best_are_named_at_their_lines_and_the_page_says_so(tmp_path: Path):
    case = RaceCase(tmp_path)
    for place in range(40):
        case.join(f"agent-{place:02d}", budget=2)
        case.attempt(f"agent-{place:02d}", "keep", shifted(SEED_FOLDS, 0.4 + 0.01 * place))
    drawn = scene(case)
    flags = {width: re.findall(r'data-c="(\d+)"', charts.race_chart(drawn, width)) for width in (WIDE, 328.0)}
    assert (32, 22) == (len(flags[WIDE]), len(flags[328.0]))
    assert {str(place) for place in range(18, 40)} == set(flags[328.0])
    assert (
        "Names stand beside the best 32 lines, on a narrow screen beside 22."
        in read(page(tmp_path, None, home=tmp_path)).text
    )


def test_steps_in_the_table_have_their_time_tokens_and_cost_or_say_why_not(mixed: RaceCase):
    rows = course.context(collect(mixed.state, "autumn").race, ())
    assert [] == rows["race_steps"]
    html = page(mixed.state, None, home=mixed.state)
    table = html[html.index('class="steps"') : html.index("</table>", html.index('class="steps"'))]
    words = re.sub(r"<[^>]*>", " ", table)
    assert re.search(r"priced +official +2 +1\.\d+ +\d+ m \d+ s +272 k +\$0\.50", words)
    assert "control" in words
    assert "nothing told by then" in table
    assert "$0.00 " not in re.findall(r"unpriced.*", words)[0]


def test_lost_sessions_are_said_where_time_is_shown(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("a")
    case.add(r.SessionStarted("a", 1))
    case.attempt("a", "discard", SEED_FOLDS)
    case.add(r.SessionEnded("a", 1, "lost", None, None, outcome="lost"))
    assert "Nobody saw the end of 1 session" in read(page(tmp_path, None, home=tmp_path)).text
