from __future__ import annotations

from pathlib import Path

import pytest

from autoquant.arena.roster import choose, load_roster, parse_roster, valid_name
from autoquant.errors import ConfigError, UserError

GOOD = """\
[[competitor]]
name = "a"
harness = "control"
model = "random"
colour = "#112233"
"""


def entry(**changes: str) -> str:
    lines = {
        "name": '"a"',
        "harness": '"command"',
        "model": '"m"',
        "colour": '"#112233"',
        "argv": '["prog", "{workspace}"]',
    } | changes
    return "[[competitor]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items() if value)


def test_the_roster_of_the_checkout_has_the_five_agents_of_the_spec_and_three_controls(repository: Path):
    roster = load_roster(repository / "competitors.toml")
    assert [
        ("grok-4.5-high", "grok", "#1D9BF0"),
        ("codex-luna-high", "codex", "#A78BFA"),
        ("codex-terra-high", "codex", "#10A37F"),
        ("codex-sol-high", "codex", "#F59E0B"),
        ("gemini-3.6-flash-high", "antigravity", "#4285F4"),
        ("random", "control", "#6B7280"),
        ("hillclimb", "control", "#B45309"),
        ("hillclimb-2", "control", "#BE185D"),
    ] == [(c.name, c.harness, c.colour) for c in roster]


def test_the_commented_example_is_a_valid_entry(repository: Path):
    text = (repository / "competitors.toml").read_text()
    example = text[text.index("# [[competitor]]") :]
    (competitor,) = parse_roster("\n".join(line.removeprefix("# ") for line in example.splitlines()), "example")
    assert ("my-agent", "command") == (competitor.name, competitor.harness)
    assert "{prompt_file}" in competitor.argv


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        (GOOD + "colur = '#112233'\n", 6, "unknown key 'colur'"),
        (GOOD + "\n" + GOOD, 8, "there twice"),
        (GOOD.replace("#112233", "blue"), 5, "'blue'"),
        (GOOD.replace('"a"', '"../a"'), 2, "'../a'"),
        (GOOD.replace('"a"', '"seed"'), 2, "'seed'"),
        (GOOD.replace('"random"', '"genius"'), 4, "no searcher 'genius'"),
        (GOOD.replace('"control"', '"telepathy"'), 3, "unknown harness"),
        (GOOD + "seed = 'one'\n", 6, "a whole number"),
        (GOOD + "seed = true\n", 6, "a whole number"),
        (GOOD + "argv = ['x']\n", 6, "belongs to harness 'command'"),
        (GOOD.replace('model = "random"\n', ""), 1, "'model' is missing"),
        (entry(argv=""), 1, "needs argv"),
        (entry(argv="[]"), 6, "needs argv"),
        (entry(argv="[1]"), 6, "list of texts"),
        (entry(argv='["x", "{workspce}"]'), 6, "{workspce}"),
        (entry(env="{ A = 1 }"), 7, "env.A is 1"),
        (entry(env='{ PATH = "x" }'), 7, "the arena sets itself"),
        (entry(pass_env='["A B"]'), 7, "not a variable name"),
        (entry(session_minutes="0"), 7, "1 to 10080"),
        (entry(seed="3"), 7, "belongs to harness 'control'"),
        ("[limits]\nx = 1\n" + GOOD, 1, "unknown key 'limits'"),
        ("[[competitor]\n", 1, "not valid TOML"),
        ("", 1, "no [[competitor]]"),
        (
            GOOD + "\n[[competitor]]\nname = 'b'\nharness = 'control'\nmodel = 'random'\ncolour = 7\n",
            11,
            "expected text",
        ),
    ],
)
def test_a_wrong_roster_is_refused_with_file_and_line(text: str, line: int, word: str):
    with pytest.raises(ConfigError) as caught:
        parse_roster(text, "competitors.toml")
    assert caught.value.message.startswith(f"competitors.toml:{line}: ")
    assert word in caught.value.message
    assert "\n" not in caught.value.message


def test_a_missing_roster_is_one_line(tmp_path: Path):
    with pytest.raises(ConfigError, match="No such file"):
        load_roster(tmp_path / "competitors.toml")


def test_names_are_chosen_in_the_order_asked_and_all_is_the_whole_roster():
    roster = parse_roster(GOOD + GOOD.replace('"a"', '"b"'), "x")
    assert ["b", "a"] == [c.name for c in choose(roster, "b, a")]
    assert ["a", "b"] == [c.name for c in choose(roster, "all")]


@pytest.mark.parametrize(("wanted", "word"), [("c", "not in competitors.toml"), ("a,a", "twice"), (",", "nobody")])
def test_a_choice_that_makes_no_sense_is_refused(wanted: str, word: str):
    with pytest.raises(UserError, match=word):
        choose(parse_roster(GOOD, "x"), wanted)


@pytest.mark.parametrize("name", ["", "-a", "A", "a/b", "a b", "a..b", "a.lock", "x" * 41, "all", "é"])
def test_a_name_that_git_or_a_shell_would_choke_on_is_invalid(name: str):
    assert not valid_name(name)
