"""results.tsv: one row per counted attempt, whatever anybody wrote into a description."""

from __future__ import annotations

import csv
import io
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_cases import UTC, closed, created, joined, opened, whole_race, write

from autoquant.ledger import records as r
from autoquant.ledger.lines import seal
from autoquant.ledger.replay import replay
from autoquant.ledger.views import COLUMNS, RaceView, inert, results_tsv

GOLDEN = Path(__file__).parent / "golden" / "results.tsv"


def race(*bodies: r.RecordBody) -> RaceView:
    records, head = [], r.GENESIS
    for seq, body in enumerate(bodies, start=1):
        record, _ = seal(body, seq=seq, utc=UTC, previous=head)
        records.append(record)
        head = record.digest
    return replay(records)


def test_the_table_of_a_race_is_the_golden_one(tmp_path: Path) -> None:
    assert GOLDEN.read_text() == results_tsv(write(tmp_path / "ledger.jsonl", whole_race()).view, "random")


def test_an_attempt_without_a_verdict_has_no_row() -> None:
    assert "\t".join(COLUMNS) + "\n" == results_tsv(race(created(), joined(), opened(1)), "random")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("an idea", "an idea"),
        ("", ""),
        ("  a\tb\nc\r\nd\u2028e\x0bf  ", "a b c d e f"),
        ('=HYPERLINK("x")', '\'=HYPERLINK("x")'),
        (" +1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ('"quoted', "'\"quoted"),
        ("\t=1", "'=1"),
        ("\x1b[31mred\x1b[0m \x07bell", "[31mred [0m bell"),
        ("left\u202eright\u200b\ufeff", "left right"),
        ("x" * 600, "x" * 499 + "…"),
    ],
)
def test_hostile_text_is_inert(text: str, cell: str) -> None:
    assert cell == inert(text)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(max_size=80), min_size=1, max_size=4), commit=st.text(max_size=10))
def test_any_text_parses_back_to_the_same_rows_and_columns(texts: list[str], commit: str) -> None:
    bodies: list[r.RecordBody] = [created(), joined(budget=len(texts))]
    for number, text in enumerate(texts, start=1):
        bodies += [opened(number, description=text), closed(number)]
    table = results_tsv(race(*bodies, r.AttemptCommitted("random", 1, commit)), "random")
    shape = [len(COLUMNS)] * (1 + len(texts))
    assert shape == [len(line.split("\t")) for line in table.removesuffix("\n").split("\n")]
    assert shape == [len(line.split("\t")) for line in table.splitlines()]
    rows = list(csv.reader(io.StringIO(table, newline=""), delimiter="\t"))
    assert shape == [len(row) for row in rows]
    for row in rows[1:]:
        assert not row[-1].startswith(("=", "+", "-", "@", '"'))
        assert not any(unicodedata.category(character)[0] == "C" for character in row[-1])
