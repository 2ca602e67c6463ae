"""Records survive JSON, and nothing that is not a record gets in."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant import codec
from autoquant.errors import AutoQuantError, ConfigError


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    count: int
    share: float | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    colour: Colour
    parts: tuple[Inner, ...] = ()
    limits: dict[str, float] | None = None
    pair: tuple[int, str] = (1, "a")
    on: bool = False


finite = st.floats(allow_nan=False, allow_infinity=False)
inner = st.builds(Inner, st.integers(), st.none() | finite)
outer = st.builds(
    Outer,
    st.text(),
    st.sampled_from(Colour),
    st.lists(inner).map(tuple),
    st.none() | st.dictionaries(st.text(), finite),
    st.tuples(st.integers(), st.text()),
    st.booleans(),
)


@given(outer)
def test_a_record_comes_back_equal(record: Outer) -> None:
    assert record == codec.loads(Outer, codec.dumps(record))


@given(outer)
def test_the_text_is_canonical(record: Outer) -> None:
    text = codec.dumps(record)
    assert text == codec.dumps(codec.loads(Outer, text))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_refused_when_written(bad: float) -> None:
    """INV-21."""
    with pytest.raises(AutoQuantError, match="JSON cannot carry"):
        codec.dumps(Inner(1, bad))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"count": 1, "extra": 2}', "file: unknown key 'extra'"),
        ("{}", "file: key 'count' is missing"),
        ('{"count": true}', "file.count: expected a whole number, got True"),
        ('{"count": 1.5}', "file.count: expected a whole number, got 1.5"),
        ('{"count": 1, "share": NaN}', "file: not valid JSON"),
        ('{"count": 1, "share": 1e999}', "file.share: expected a finite number"),
        (f'{{"count": 1, "share": 1{"0" * 400}}}', "file.share: expected a finite number"),
        ('{"count": 1, "share": "x"}', "file.share: expected a number, got 'x'"),
        ("[]", r"file: expected an object, got \[\]"),
        ("{", "file: not valid JSON"),
        ("[" * 100_000, "file: not valid JSON"),
    ],
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_field(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        codec.loads(Inner, text, "file")


def test_what_lacks_a_key_is_told_which_ones_it_has_to_have() -> None:
    with pytest.raises(ConfigError) as refused:
        codec.loads(Outer, "{}", "file")
    assert refused.value.hint.startswith("needed keys: name, colour")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": [{"count": 1}, {"count": "x"}]}, r"file.parts\[1\].count: expected a whole number, got 'x'"),
        ({"parts": [{"count": 1, "share": []}]}, r"file.parts\[0\].share: expected a number, got \[\]"),
        ({"parts": {}}, "file.parts: expected a list, got {}"),
        ({"limits": {"up": 1, "down": None}}, "file.limits.down: expected a number, got None"),
        ({"pair": [1]}, r"file.pair: expected a list of 2, got \[1\]"),
        ({"pair": [1, 2]}, r"file.pair\[1\]: expected text, got 2"),
        ({"on": 1}, "file.on: expected true or false, got 1"),
    ],
)
def test_the_path_leads_through_lists_and_objects(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        codec.decode(Outer, {"name": "x", "colour": "red"} | change, "file")


@dataclass(frozen=True)
class Chain:
    name: str
    further: Chain | None = None


def test_a_record_may_hold_its_own_kind() -> None:
    chain = Chain("a", Chain("b", Chain("c")))
    assert chain == codec.loads(Chain, codec.dumps(chain))


def test_an_unknown_word_of_an_enumeration_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="'green' is not one of red, blue"):
        codec.decode(Outer, {"name": "x", "colour": "green"})


@dataclass(frozen=True)
class Versioned:
    value: int
    schema_version: int = 1


def test_a_record_of_another_version_is_refused() -> None:
    with pytest.raises(ConfigError, match="file: schema version 99, this program reads 1"):
        codec.loads(Versioned, '{"value": 1, "schema_version": 99}', "file")
    assert Versioned(1) == codec.loads(Versioned, '{"value": 1, "schema_version": 1}')
