from __future__ import annotations

import re
from pathlib import Path

from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.oracle.records import Fault
from autoquant.report.collect import collect
from autoquant.report.frames import NARROW, WIDE
from autoquant.report.model import Entrant
from autoquant.report.roll import roll_chart, roll_scale, tally


def entrants(case: RaceCase) -> tuple[Entrant, ...]:
    return collect(case.state, case.name).race.entrants


def marks(drawing: str, class_: str) -> list[float]:
    """Places of the marks of a kind: a path of steps from one to the next."""
    data = re.search(rf'<path d="([^"]*)" class="stroke {class_}"', drawing)
    if data is None:
        return []
    places: list[float] = []
    for command, step in re.findall(r"([Mmh])(-?[\d.]+)", data.group(1)):
        if command == "h" and float(step) == 0:
            continue
        places.append(float(step) if command == "M" else places[-1] + float(step))
    return [round(place, 1) for place in places]


def test_every_attempt_is_a_mark_of_its_kind_at_its_number(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol", budget=10)
    for status in ("discard", "keep", "discard", "search", "archive"):
        case.attempt("sol", status, shifted(SEED_FOLDS, 0.4 if status == "keep" else 0.0))
    case.attempt("sol", "crash", fault=Fault("ValueError"))
    case.attempt("sol", "timeout", fault=Fault("LimitError"))
    case.add(r.AttemptOpened("sol", 8, "r8", "aa" * 32, "on its way", 0))
    for width in (WIDE, NARROW):
        x = roll_scale(entrants(case), width)
        drawing = str(roll_chart(entrants(case), width))
        for class_, numbers in (
            ("keep", [2]), ("search", [4]), ("archive", [5]), ("fault", [6, 7]), ("discard", [1, 3, 8]), ("gate", []),
        ):  # fmt: skip
            assert [round(x(number), 1) for number in numbers] == marks(drawing, class_), class_


def test_a_long_roll_loses_no_mark_that_has_a_pixel_of_its_own(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol", budget=1000)
    for number in range(300):
        case.attempt("sol", "archive" if number % 50 == 7 else "discard", SEED_FOLDS, store=False)
    found = entrants(case)
    x = roll_scale(found, WIDE)
    drawing = str(roll_chart(found, WIDE))
    assert {round(x(n + 1)) for n in range(300) if n % 50 == 7} == set(marks(drawing, "archive"))
    assert {round(x(n + 1)) for n in range(300) if n % 50 != 7} == set(marks(drawing, "discard"))
    assert len(re.search(r'd="([^"]*)" class="stroke discard"', drawing).group(1)) < 5 * 300  # type: ignore[union-attr]


def test_counts_stand_at_the_end_of_each_line(tmp_path: Path):
    case = RaceCase(tmp_path)
    case.join("sol")
    case.attempt("sol", "keep", shifted(SEED_FOLDS, 0.5))
    case.attempt("sol", "archive", SEED_FOLDS)
    assert "1 kept, 2 accepted" == tally(entrants(case)[0])
    assert ">1 kept, 2 accepted</text>" in roll_chart(entrants(case), WIDE)


def test_nobody_and_a_single_attempt_are_drawn(tmp_path: Path):
    case = RaceCase(tmp_path)
    assert roll_chart((), WIDE).startswith("<svg")
    case.join("sol", budget=1)
    case.attempt("sol", "discard", SEED_FOLDS)
    assert 1 == len(marks(str(roll_chart(entrants(case), NARROW)), "discard"))
