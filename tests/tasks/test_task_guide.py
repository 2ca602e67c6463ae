"""docs/task_evaluation_guide.md says what the code does."""

from __future__ import annotations

import importlib
import re
import shlex

import pytest
from guide_blocks import PAGE, blocks_of, example, plain_blocks, references, slips
from task_cases import ground_of

from autoquant.market.index_synthetic import HIDDEN_BARS, SHOWN_BARS
from autoquant.market.indices import LEAST, SPLIT
from autoquant.tasks.scan import scan
from autoquant.tasks.spec import ORDER, task

TEXT = PAGE.read_text()
WORDS = " ".join(TEXT.split())
AGAIN = "run .venv/bin/python tests/tasks/guide_blocks.py"


@pytest.mark.parametrize("name", plain_blocks())
def test_each_table_is_what_the_code_makes(name) -> None:
    assert plain_blocks()[name] == blocks_of(TEXT)[name], AGAIN


def test_every_part_between_marks_is_made_by_something() -> None:
    assert set(plain_blocks()) | {"example", "slips", "real references", "real slips"} == set(blocks_of(TEXT))


def test_the_worked_example_is_what_grade_prints(parent, medium_long) -> None:
    assert example(parent, medium_long) == blocks_of(TEXT)["example"], AGAIN


def test_the_slips_come_to_what_the_page_says_on_the_made_up_pair(parent, medium_long) -> None:
    assert slips(parent, medium_long) == blocks_of(TEXT)["slips"], AGAIN


@pytest.mark.shared
def test_the_figures_on_real_minutes_are_those_of_the_references(parent, real_minutes) -> None:
    assert references(parent, real_minutes) == blocks_of(TEXT)["real references"], AGAIN


@pytest.mark.shared
def test_the_slips_come_to_what_the_page_says_on_real_minutes(parent, real_minutes) -> None:
    assert slips(parent, ground_of(parent, "medium", real_minutes)) == blocks_of(TEXT)["real slips"], AGAIN


@pytest.mark.parametrize(
    "words",
    [
        f"({SHOWN_BARS:,} shown, {HIDDEN_BARS:,} hidden)",
        f"{task('easy').published.rows:,} shown bars, on which our own crossover",
        f"Bars before {SPLIT} are *shown*",
        f"At least {LEAST:,} bars have to lie on each side",
        f"A backtest ends here, at {task('hard').rung[-1].score:.2f} at most",
    ],
)
def test_numbers_in_the_prose_are_the_codes(words) -> None:
    assert words in WORDS


@pytest.mark.parametrize("name", ORDER)
def test_every_task_has_its_section(name) -> None:
    assert re.search(rf"^### {name.title()}: ", TEXT, re.M)


@pytest.mark.parametrize("call", ["x.shift(-1)", "x.diff(-1)", "np.roll(x, -1)", "x.bfill()", "x.interpolate()"])
def test_what_the_page_calls_a_finding_is_one(call) -> None:
    name = re.split(r"[.(]", call)[1]
    assert re.search(rf"`[\w.]*{name}[(\-1)]*`", TEXT)
    assert scan(call.encode())


def quoted() -> list[str]:
    return re.findall(r"^(?:    |\$ )uv run (arena\.py|setup_data\.py)( [^#\n]*)", TEXT, re.M)


@pytest.mark.parametrize(("program", "words"), quoted())
def test_each_command_on_the_page_has_the_options_it_is_given(capsys, program, words) -> None:
    given = shlex.split(words)
    subcommands = given[:2] if program == "arena.py" else []
    with pytest.raises(SystemExit):
        importlib.import_module(program.removesuffix(".py")).main([*subcommands, "--help"])
    told = capsys.readouterr().out
    assert all(word in told for word in given if word.startswith("--"))


def test_commands_are_found_on_the_page() -> None:
    assert 6 <= len(quoted())


@pytest.mark.parametrize("path", re.findall(r"`((?:autoquant|bench|tests|docs)/[\w./]+)`", TEXT))
def test_every_file_the_page_names_is_there(path) -> None:
    assert (PAGE.parents[1] / path).exists()
