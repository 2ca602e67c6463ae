"""A ledger is read at once where it can be and slowly where it must be, and either way it is the same ledger."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ledger_cases import closed, counted, created, joined, opened, todays_race, write

from autoquant import codec
from autoquant.errors import LedgerError
from autoquant.files import sha256_bytes
from autoquant.ledger import chain
from autoquant.ledger import lines as ledger_lines
from autoquant.ledger.ledger import Ledger, read_records

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(PLAIN)
@example({"a": 5e-05, "b": 1e-07, "c": 1e16, "d": -0.0, "e": 1e-4, "é": "\x7f\x1f\u2028"})
def test_what_is_vouched_for_is_what_the_canonical_writer_writes(plain: Any) -> None:
    for text in (codec.canonical(plain), json.dumps(plain), json.dumps(plain, ensure_ascii=False, sort_keys=True)):
        try:
            data = text.encode()
            read = codec.parse(data)
        except ValueError:  # a lone surrogate
            continue
        if codec.is_surely_canonical(data, read):
            assert data == codec.canonical(json.loads(data)).encode()
            assert json.loads(data) == read


@pytest.mark.parametrize("number", ["0.00005", "1e-7", "-0.00005", "0.000012", "1e16", "-1.5e300"])
def test_a_number_in_the_fast_writers_form_is_not_vouched_for(number: str) -> None:
    data = f'{{"a":{number}}}'.encode()
    assert not codec.is_surely_canonical(data, codec.parse(data))


def test_a_line_is_read_at_once(tmp_path: Path) -> None:
    write(tmp_path / "ledger.jsonl", todays_race())
    lines = (tmp_path / "ledger.jsonl").read_bytes().splitlines()
    assert all(ledger_lines._read_at_once(line) == json.loads(line) for line in lines)


def test_a_line_in_another_form_is_found_though_it_carries_its_digest(tmp_path: Path) -> None:
    """INV-20. Every record is as it was: only who looks at the bytes sees it."""
    path = tmp_path / "ledger.jsonl"
    write(path, todays_race())
    lines = path.read_text().splitlines()
    for change in (
        lambda text: json.dumps(json.loads(text), ensure_ascii=False),
        lambda text: text.replace('"previous"', '"pr\\u0065vious"'),
        lambda text: text.replace('"kind"', '"kind":"","kind"'),
    ):
        bare = change(lines[2]).replace(f'"digest":"{json.loads(lines[2])["digest"]}",', "")
        digest = sha256_bytes(bare.encode())
        changed = bare.replace('"kind"', f'"digest":"{digest}","kind"', 1)
        path.write_text("\n".join([*lines[:2], changed, *lines[3:]]) + "\n")
        with pytest.raises(LedgerError, match=r"ledger.jsonl:3: the line was altered"):
            read_records(path)


def test_lines_are_found_across_the_blocks_they_are_read_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "ledger.jsonl", [created(), joined(), opened(1), closed(1)])
    whole = chain.read_chain(tmp_path / "ledger.jsonl")
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(chain, "_BLOCK", size)
        assert whole == chain.read_chain(tmp_path / "ledger.jsonl")


def test_numbers_that_the_fast_parser_cannot_carry_are_read_exactly(tmp_path: Path) -> None:
    path, small = tmp_path / "ledger.jsonl", closed(1, score=5e-05)
    bodies = [*todays_race(), counted(session=1, tokens=10**30), counted(cost=1e-7)]
    write(path, bodies)
    assert bodies == [record.body for record in read_records(path)]
    write(tmp_path / "small.jsonl", [created(), joined(), opened(1), small])
    assert small == read_records(tmp_path / "small.jsonl")[-1].body


def test_a_ledger_leaves_memory_with_its_last_reference(tmp_path: Path) -> None:
    """Long races are read over and over: nothing may wait for a search for cycles."""
    write(tmp_path / "ledger.jsonl", todays_race())
    gc.collect()
    gc.disable()
    try:
        ledger = Ledger.open(tmp_path / "ledger.jsonl")
        view, last = weakref.ref(ledger.view), weakref.ref(ledger.course[-1])
        del ledger
        assert (None, None) == (view(), last())
    finally:
        gc.enable()
