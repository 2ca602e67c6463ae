from __future__ import annotations

import colorsys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.arena.roster.load import choose, load_roster, parse_roster
from autoquant.arena.roster.names import valid_name
from autoquant.arena.roster.replicates import require_different_searches, shades, with_replicates
from autoquant.errors import ConfigError, UserError
from autoquant.harness import Competitor

GOOD = """\
[[competitor]]
name = "a"
harness = "control"
model = "random"
colour = "#112233"
"""

EXAMPLES = {
    "claude-opus-4-5-high": "claude",
    "gemini-cli-high": "gemini",
    "opencode-qwen": "opencode",
    "codex-local": "codex",
    "codex-luna-low-1": "codex",
    "aider-luna": "command",
    "my-agent": "command",
}
"""Commented-out entries of competitors.toml and what drives them."""


def entry(**changes: str) -> str:
    """A `command` entry; an empty value leaves the key out."""
    lines = {
        "name": '"a"',
        "harness": '"command"',
        "model": '"m"',
        "colour": '"#112233"',
        "argv": '["prog", "{workspace}"]',
    } | changes
    return "[[competitor]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items() if value)


def agent(**changes: str) -> str:
    """A `codex` entry of five lines."""
    return entry(harness='"codex"', argv="", **changes)


def control(name: str, **changes: str) -> str:
    """A `control` entry of five lines."""
    return entry(name=f'"{name}"', harness='"control"', model='"random"', argv="", **changes)


def test_the_roster_of_the_checkout_has_the_five_agents_of_the_spec_and_three_controls(repository: Path):
    roster = load_roster(repository / "competitors.toml")
    assert [
        ("grok-4.5-high", "grok", "grok-4.5", "high", "#1D9BF0"),
        ("codex-luna-high", "codex", "gpt-5.6-luna", "high", "#A78BFA"),
        ("codex-terra-high", "codex", "gpt-5.6-terra", "high", "#10A37F"),
        ("codex-sol-high", "codex", "gpt-5.6-sol", "high", "#F59E0B"),
        ("gemini-3.6-flash-high", "antigravity", "gemini-3.6-flash", "high", "#4285F4"),
        ("random", "control", "random", "", "#6B7280"),
        ("hillclimb-1", "control", "hillclimb", "", "#B45309"),
        ("hillclimb-2", "control", "hillclimb", "", "#5D2B05"),
    ] == [(c.name, c.harness, c.model, c.effort, c.colour) for c in roster]
    assert [("hillclimb-1", 1), ("hillclimb-2", 2)] == [(c.name, c.seed) for c in roster if c.group]
    assert all(c.budget is None for c in roster)


def test_every_commented_example_is_a_valid_entry_beside_those_that_race(repository: Path):
    text = (repository / "competitors.toml").read_text()
    head, examples = text.split("# Examples: ")
    entries = [block.split("#\n", 1)[1] for block in examples.split("\n\n") if "[[competitor]]" in block]
    uncommented = "\n".join(line.removeprefix("# ") for entry in entries for line in entry.splitlines())
    roster = parse_roster(head + uncommented, "example")
    assert len(EXAMPLES) == examples.count("[[competitor]]") == len({c.group or c.name for c in roster}) - 7
    assert len(roster) == len({c.colour for c in roster})
    by_name = {c.name: c for c in roster}
    assert EXAMPLES == {name: by_name[name].harness for name in EXAMPLES}
    assert "{prompt_file}" in by_name["my-agent"].argv
    assert ("aider",) == by_name["aider-luna"].needs
    assert ("http://127.0.0.1:8000/v1", "LOCAL_API_KEY") == (
        by_name["codex-local"].base_url,
        by_name["codex-local"].api_key_env,
    )
    assert [20, 20, 20] == [c.budget for c in roster if c.group == "codex-luna-low"]


def test_every_key_reaches_the_competitor():
    (racer,) = parse_roster(
        agent(
            effort='"high"',
            args='["--search", "a b"]',
            env='{ A = "1" }',
            pass_env='["B"]',
            needs='["node"]',
            base_url='"https://models.example/v1"',
            api_key_env='"MY_KEY"',
            budget="7",
            session_minutes="1",
            quiet_minutes="2.5",
            silent_minutes="3",
        ),
        "x",
    )
    assert ("high", ("--search", "a b"), {"A": "1"}, ("B",)) == (racer.effort, racer.args, racer.env, racer.pass_env)
    assert ("node",) == racer.needs
    assert ("https://models.example/v1", "MY_KEY", 7) == (racer.base_url, racer.api_key_env, racer.budget)
    assert (1, 2.5, 3) == (racer.session_minutes, racer.quiet_minutes, racer.silent_minutes)


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
        (entry(session_minutes="0.01"), 7, "session_minutes is 0.01, expected 0.1 to 10080"),
        (entry(session_minutes="nan"), 7, "expected 0.1 to 10080"),
        (entry(session_minutes='"1"'), 7, "expected a number"),
        (entry(seed="3"), 7, "belongs to harness 'control'"),
        (agent(args='["a", 1]'), 6, "args must be a list of texts"),
        (agent(args='"--fast"'), 6, "expected a list"),
        (agent(needs="[1]"), 6, "needs must be a list of texts"),
        (agent(needs='["", "x"]'), 6, "needs has an empty name"),
        (control("a", needs='["x"]'), 6, "needs belongs to programs that ask a model, not 'control'"),
        (control("a", args="[]"), 6, "args belongs to programs that ask a model, not 'control'"),
        (control("a", effort='"high"'), 6, "effort belongs to programs that ask a model, not 'control'"),
        (control("a", env="{}"), 6, "env belongs to programs that ask a model, not 'control'"),
        (control("a", pass_env="[]"), 6, "pass_env belongs to programs that ask a model, not 'control'"),
        (control("a", base_url='"http://h"'), 6, "base_url belongs to programs that ask a model, not 'control'"),
        (control("a", api_key_env='"K"'), 6, "api_key_env belongs to programs that ask a model, not 'control'"),
        (entry(base_url='"http://h"'), 7, "base_url is set, but argv has no {base_url}"),
        (entry(argv='["x", "--at={base_url}"]'), 6, "argv has {base_url}, but base_url is not set"),
        (agent(seed="3"), 6, "belongs to harness 'control', not 'codex'"),
        (agent(base_url='"ftp://h/v1"'), 6, "base_url 'ftp://h/v1' is not an http or https URL"),
        (agent(base_url='"localhost:8000"'), 6, "is not an http or https URL"),
        (agent(base_url='"http://h:99999/v1"'), 6, "is not a URL"),
        (agent(base_url='"http://h/a b"'), 6, "is not an http or https URL"),
        (agent(base_url='"http://me:pw@h/v1"'), 6, "holds a user or a key"),
        (agent(base_url='"http://h/v1?key=1"'), 6, "holds a user or a key"),
        (agent(api_key_env='"MY-KEY"'), 6, "'MY-KEY', which is not a variable name"),
        (agent(api_key_env='"HOME"'), 6, "the arena sets itself"),
        (agent(env='{ K = "x" }', api_key_env='"K"'), 7, "names K, which env sets"),
        (agent(budget="0"), 6, "budget is 0, expected 1 to 10000"),
        (agent(budget="10001"), 6, "budget is 10001, expected 1 to 10000"),
        (agent(budget="true"), 6, "a whole number"),
        (agent(silent_minutes="0"), 6, "silent_minutes is 0, expected 0.1 to 10080"),
        (agent(replicates="0"), 6, "replicates is 0, expected 1 to 20"),
        (agent(replicates="21"), 6, "replicates is 21, expected 1 to 20"),
        (agent(name=f'"{"x" * 38}"', replicates="10"), 6, f"replicates makes '{'x' * 38}-10', which cannot be used"),
        (control("a-2") + control("a", replicates="2"), 11, "replicates makes 'a-2', which is there (line 2)"),
        (control("a", replicates="2") + control("a-2"), 8, "'a-2' is there twice (line 2)"),
        (control("a", replicates="2") + control("a"), 8, "'a' is there twice (line 2)"),
        (control("a-1", replicates="2") + control("a", replicates="2"), 12, "replicates makes 'a-1', which is there"),
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


def test_the_name_of_a_replicated_entry_means_all_its_replicates_and_one_may_be_named():
    roster = parse_roster(control("a", replicates="3") + control("b"), "x")
    assert ["a-1", "a-2", "a-3", "b"] == [c.name for c in choose(roster, "all")]
    assert ["b", "a-1", "a-2", "a-3"] == [c.name for c in choose(roster, "b,a")]
    assert ["a-2"] == [c.name for c in choose(roster, "a-2")]
    with pytest.raises(UserError, match="'c' is not in") as caught:
        choose(roster, "c")
    assert "known: a, b" == caught.value.hint


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        ("c", "'c' is not in competitors.toml"),
        ("b,b", "'b' is named twice"),
        ("a,a-2", "'a-2' is named twice"),
        ("a-2,a", "'a-2' is named twice"),
        (",", "nobody"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(wanted: str, word: str):
    with pytest.raises(UserError, match=word):
        choose(parse_roster(control("a", replicates="2") + control("b"), "x"), wanted)


def test_replicates_differ_in_name_seed_and_shade_and_in_nothing_else():
    racers = parse_roster(control("a", seed="5", budget="9", replicates="3"), "x")
    assert [("a-1", "a", 5), ("a-2", "a", 6), ("a-3", "a", 7)] == [(c.name, c.group, c.seed) for c in racers]
    assert {9} == {c.budget for c in racers}
    assert "#112233" == racers[0].colour
    assert 3 == len({c.colour for c in racers})


def test_an_agents_replicates_have_no_seed_and_a_single_one_stands_alone():
    assert [None, None] == [c.seed for c in parse_roster(agent(replicates="2"), "x")]
    assert [0, 1] == [c.seed for c in parse_roster(control("a", replicates="2"), "x")]
    assert [("a", "")] == [(c.name, c.group) for c in parse_roster(agent(replicates="1"), "x")]


def replicated(text: str, wanted: str, count: int | None) -> tuple[Competitor, ...]:
    roster = parse_roster(text, "mine.toml")
    return with_replicates(choose(roster, wanted, "mine.toml"), count, roster, "mine.toml")


def test_the_option_replicates_everybody_chosen_as_the_key_would():
    text = control("a", seed="5", budget="9") + entry(name='"b"') + control("c")
    by_key = parse_roster(
        control("a", seed="5", budget="9", replicates="3") + entry(name='"b"', replicates="3") + control("c"), "x"
    )
    assert choose(by_key, "b,a") == replicated(text, "b,a", 3)
    assert ["b-1", "b-2", "b-3", "a-1", "a-2", "a-3"] == [c.name for c in replicated(text, "b,a", 3)]


def test_the_option_goes_before_the_key_and_one_means_alone():
    text = control("a", seed="5", replicates="2") + control("b", seed="1")
    assert ["a-1", "a-2"] == [c.name for c in replicated(text, "a", None)]
    assert [("a-1", 5), ("a-2", 6), ("a-3", 7)] == [(c.name, c.seed) for c in replicated(text, "a", 3)]
    assert [("a", "", 5)] == [(c.name, c.group, c.seed) for c in replicated(text, "a", 1)]
    assert replicated(text, "a", 3)[:2] == replicated(text, "a", 2) == replicated(text, "a", None)


def test_who_is_not_chosen_is_not_replicated():
    text = control("a") + control("b") + control("b-2")
    assert ["a-1", "a-2"] == [c.name for c in replicated(text, "a", 2)]


@pytest.mark.parametrize(
    ("text", "wanted", "count", "words"),
    [
        (control("a"), "all", 21, "--replicates 21: at most 20"),
        (control("a", replicates="3"), "a-2", 2, "'a-2' is one replicate of 'a'"),
        (control("a", replicates="3"), "a-1,a-2", 2, "'a-1' is one replicate of 'a'"),
        (control("a") + control("a-2"), "a", 2, "makes 'a-2' of 'a', which is in mine.toml already"),
        (control("a") + control("a-2"), "all", 2, "makes 'a-2' of 'a', which is in mine.toml already"),
        (control("a-2") + control("a"), "all", 2, "makes 'a-2' of 'a', which is in mine.toml already"),
        (control("x" * 38), "all", 10, f"makes '{'x' * 38}-10', which cannot be used"),
    ],
)
def test_replicates_that_cannot_be_are_one_clear_line(text: str, wanted: str, count: int, words: str):
    with pytest.raises(UserError) as caught:
        replicated(text, wanted, count)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_the_whole_roster_of_the_checkout_can_be_replicated(repository: Path):
    roster = load_roster(repository / "competitors.toml")
    racers = with_replicates(choose(roster, "all"), 3, roster, "competitors.toml")
    require_different_searches(racers)
    assert 7 * 3 == len({c.name for c in racers}) == len({c.colour for c in racers})


def test_one_search_twice_is_refused_since_it_would_count_as_two():
    with pytest.raises(UserError, match="a and b are one search: random, seed 0"):
        require_different_searches(parse_roster(control("a") + control("b"), "x"))
    with pytest.raises(UserError, match="a-2 and b-1 are one search: random, seed 2"):
        require_different_searches(replicated(control("a", seed="1") + control("b", seed="2"), "all", 2))
    require_different_searches(parse_roster(control("a", seed="1") + control("b", seed="2") + entry(name='"c"'), "x"))


def test_a_mistyped_word_is_answered_with_the_one_that_was_meant():
    for text, hint in (
        (GOOD + "colur = '#112233'\n", "did you mean 'colour'? known: name, harness"),
        (GOOD.replace('"control"', '"contrl"'), "did you mean 'control'? known: "),
        (GOOD.replace('"random"', '"hilclimb"'), "did you mean 'hillclimb'? known: hillclimb, random"),
        (entry(argv='["x", "{workspce}"]'), "did you mean '{workspace}'? known: "),
    ):
        with pytest.raises(ConfigError) as caught:
            parse_roster(text, "x")
        assert hint in caught.value.hint
    roster = parse_roster(control("codex-sol") + control("grok"), "mine.toml")
    with pytest.raises(UserError, match=r"'codex-soul' is not in mine\.toml") as unknown:
        choose(roster, "codex-soul", "mine.toml")
    assert "did you mean 'codex-sol'? known: codex-sol, grok" == unknown.value.hint


@given(st.integers(0, 0xFFFFFF), st.integers(1, 20))
def test_shades_are_different_keep_the_hue_and_do_not_move_when_more_are_asked_for(number: int, count: int):
    colour = f"#{number:06X}"
    found = shades(colour, count)
    assert (colour, count) == (found[0], len(set(found)))
    assert found == shades(colour, 20)[:count]
    channels = [[int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)] for shade in found]
    hues = [(colorsys.rgb_to_hls(*rgb)[0], max(rgb) - min(rgb)) for rgb in channels]
    clear = [hue for hue, chroma in hues if chroma > 0.2]  # the hue of a near-grey is rounding
    assert all(abs((hue - clear[0] + 0.5) % 1.0 - 0.5) < 0.02 for hue in clear)


@pytest.mark.parametrize("name", ["", "-a", "A", "a/b", "a b", "a..b", "a.lock", "x" * 41, "all", "é"])
def test_a_name_that_git_or_a_shell_would_choke_on_is_invalid(name: str):
    assert not valid_name(name)
