"""A big ledger is read by two processes, and what they read is what one alone reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ledger_cases import closed, counted, created, joined, opened, todays_race, write

from autoquant import executor
from autoquant.errors import LedgerError
from autoquant.ledger import chain
from autoquant.ledger.ledger import Ledger, read_records

pytestmark = pytest.mark.skipif(executor.default_jobs() < 2, reason="needs two cores")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "ledger.jsonl", todays_race())
    monkeypatch.setattr(chain, "BIG", 1)
    monkeypatch.setattr(chain, "_BLOCK", 1000)
    return tmp_path / "ledger.jsonl"


def test_two_read_what_one_reads(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together = chain._read_together(path)
    monkeypatch.setattr(chain, "BIG", 1 << 30)
    assert together is not None
    assert chain.read_chain(path) == together
    assert todays_race() == [record.body for record in together.records]


@pytest.mark.parametrize("offset", [40, 5000, -300, -2])
def test_a_changed_byte_is_found_and_its_line_named(path: Path, offset: int) -> None:
    """INV-20."""
    whole = bytearray(path.read_bytes())
    whole[offset] ^= 1
    path.write_bytes(whole)
    number = 1 + whole[: offset % len(whole)].count(b"\n")
    with pytest.raises(LedgerError, match=f"ledger.jsonl:{number}: "):
        read_records(path)


def test_a_line_in_another_form_is_found(path: Path) -> None:
    """INV-20. Every record is as it was: only who looks at the bytes sees it."""
    lines = path.read_text().splitlines()
    lines[2] = json.dumps(json.loads(lines[2]), ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LedgerError, match=r"ledger.jsonl:3: the line was altered"):
        read_records(path)


def test_a_torn_last_line_is_dropped_and_one_without_newline_kept(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert len(todays_race()) - 1 == len(read_records(path))
    path.write_bytes(whole[:-1])
    ledger = Ledger.open(path)
    assert len(todays_race()) == len(ledger.records)
    assert whole == path.read_bytes()


def test_lines_are_found_across_the_blocks_they_are_read_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "ledger.jsonl", [created(), joined(), opened(1), closed(1)])
    whole = chain.read_chain(tmp_path / "ledger.jsonl")
    for size in (1, 7, 64, 1000):
        monkeypatch.setattr(chain, "_BLOCK", size)
        assert whole == chain.read_chain(tmp_path / "ledger.jsonl")


def test_numbers_too_long_for_the_fast_parser_are_read_by_one_alone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    write(path, [counted(session=1, tokens=10**30)])
    monkeypatch.setattr(chain, "_SHARE", 1.1)
    assert None is chain._read_together(path)
    assert counted(session=1, tokens=10**30) == read_records(path)[-1].body
