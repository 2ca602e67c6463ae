"""What an agent or the network wrote is read, or refused in one line of our own; it never raises anything else."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mutations import edited, reshaped

from autoquant import codec, files
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.mailbox import RefereeMailbox, Refused, Request
from autoquant.arena.roster.load import parse_roster
from autoquant.errors import AutoQuantError, ConfigError, DataError, ImportGateError, LedgerError
from autoquant.harness import ADAPTERS
from autoquant.harness.events import Event
from autoquant.ledger.chain import chain_of
from autoquant.ledger.ledger import read_records
from autoquant.ledger.records import Record
from autoquant.ledger.replay import Replayer
from autoquant.market.index_files import read_file
from autoquant.market.parse import parse_funding, parse_klines, unzip
from autoquant.sandbox.gate import check_source
from autoquant.tasks.scan import scan
from autoquant.tasks.solution import read_source
from autoquant.tasks.spec import task

HOME = Path(__file__).resolve().parents[2]
GOLDEN = HOME / "tests" / "golden"
STRATEGY = (HOME / "strategy.py").read_bytes()
SOLUTIONS = tuple(path.read_bytes() for path in sorted((HOME / "autoquant" / "tasks" / "references").glob("*.py")))
LEDGER = (HOME / "tests" / "ledger" / "golden" / "ledger-1-usage.jsonl").read_bytes()
STREAMS = tuple(
    (path.parent.name.split("-")[0], json.loads(line))
    for path in sorted(GOLDEN.rglob("*.jsonl"))
    for line in path.read_text().splitlines()[::5]
    if len(line) < 20_000
)
ROSTER = (HOME / "competitors.toml").read_bytes()
ROW = b"1672531200000,16541.8,16545.7,16508.4,16529.7,4364.8,1672545599999,72148171.0,26000,2111.1,34900000.0,0\n"
KLINES = b"".join(ROW.replace(b"16725312", str(16725312 + 144 * n).encode()) for n in range(4))
FUNDING = b"calc_time,funding_interval_hours,last_funding_rate\n1672531200000,8,0.0001\n1672560000000,8,-0.0002\n"
MINUTES = b"datetime,open,high,low,close,volume\n" + b"".join(
    f"2024-01-01 09:{15 + n}:00,100.5,101,100,100.{n},5\n".encode() for n in range(6)
)
LETTER = {
    "id": "ab" * 16, "kind": "submit", "strategy": "cd" * 32, "description": "an idea", "lineage": None,
    "final": False, "schema_version": 1,
}  # fmt: skip
SPEC = task("easy")
TRIES = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def refused(kind: type[AutoQuantError], read: Callable[[], object]) -> str:
    """The line it was refused with; empty when it was taken."""
    said = ""
    try:
        read()
    except kind as error:
        said = error.message or "nothing said"
    assert "\n" not in said
    return said


@TRIES
@given(edited(STRATEGY))
def test_a_strategy_file_passes_the_gate_or_is_refused_by_name(source: bytes) -> None:
    refused(ImportGateError, lambda: check_source(source))


@TRIES
@given(st.sampled_from(SOLUTIONS).flatmap(edited))
def test_a_solution_is_scanned_and_passes_the_gate_or_is_refused_by_name(source: bytes) -> None:
    assert all("\n" not in finding.words for finding in scan(source))
    problem = read_source(source, SPEC)
    assert problem is None or "\n" not in problem.message


@TRIES
@given(reshaped(LETTER), st.data())
def test_a_request_is_taken_or_refused_with_a_reason(tmp_path: Path, letter: Any, data: st.DataObject) -> None:
    folder = tmp_path / "alice" / ".autoquant" / "requests"
    folder.mkdir(parents=True, exist_ok=True)
    box = RefereeMailbox(AgentFolder(tmp_path, "alice"))
    whole = json.dumps(letter).encode()
    (folder / f"{'ab' * 16}.json").write_bytes(data.draw(st.just(whole) | edited(whole)))
    item = box.next_request()
    assert isinstance(item, Request | Refused)
    if isinstance(item, Request):
        assert "ab" * 16 == item.id
    box.take(item)
    assert box.next_request() is None


@TRIES
@given(st.sampled_from(STREAMS).flatmap(lambda one: st.tuples(st.just(one[0]), reshaped(one[1]))), st.data())
def test_a_line_of_a_cli_gives_events_and_nothing_else(line: tuple[str, Any], data: st.DataObject) -> None:
    reader = ADAPTERS[line[0]].reader()
    text = json.dumps(line[1])
    cut = data.draw(edited(text.encode())).decode(errors="replace")
    for written in (text, cut):
        for read in (reader.stdout, reader.stderr, reader.transcript):
            assert all(isinstance(event, Event) for event in read(written))


@TRIES
@given(edited(ROSTER))
def test_a_roster_is_read_or_refused_with_its_place(text: bytes) -> None:
    said = refused(ConfigError, lambda: parse_roster(text.decode(errors="replace"), "competitors.toml"))
    assert not said or said.startswith("competitors.toml")


@TRIES
@given(edited(KLINES), edited(FUNDING))
def test_a_csv_of_the_archive_is_read_or_refused_with_its_name(klines: bytes, funding: bytes) -> None:
    span = {"start_ms": 1_672_531_200_000, "end_ms": 1_675_209_600_000}
    for said in (
        refused(DataError, lambda: parse_klines(klines, "x.zip", bar_ms=14_400_000, **span)),
        refused(DataError, lambda: parse_funding(funding, "x.zip", **span)),
    ):
        assert not said or said.startswith("x.zip")


def zipped(content: bytes) -> bytes:
    """A zip of one file, its bytes always the same."""
    kept = BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a.csv"), content)
    return kept.getvalue()


@TRIES
@given(edited(zipped(KLINES)))
def test_a_zip_is_opened_or_refused_with_its_name(content: bytes) -> None:
    said = refused(DataError, lambda: unzip(content, "x.zip"))
    assert not said or said.startswith("x.zip")


@TRIES
@example(b"datetime,open,high,low,close\n,100.5,101,100,100.5\nsoon,100.5,101,100,100.5\n")
@given(edited(MINUTES))
def test_a_table_of_minutes_is_read_or_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "nifty.csv"
    path.write_bytes(content)
    said = refused(DataError, lambda: read_file(path))
    assert not said or said.startswith(str(path))


@TRIES
@given(edited(LEDGER, most=3))
def test_an_edited_ledger_is_a_shorter_one_or_is_refused_with_file_and_line(tmp_path: Path, content: bytes) -> None:
    """INV-20: what is read of it is what was written, up to a torn end."""
    (tmp_path / "whole.jsonl").write_bytes(LEDGER)
    whole = read_records(tmp_path / "whole.jsonl")
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(content)
    records: list[Record] = []
    said = refused(LedgerError, lambda: records.extend(read_records(path)))
    assert not said or said.startswith(f"{path}:")
    assert list(whole[: len(records)]) == records


@TRIES
@given(st.data())
def test_a_record_chained_anew_is_taken_or_refused_with_file_and_line(data: st.DataObject) -> None:
    """INV-20: whoever writes the whole record anew has a sound chain, and what a line says is still looked at."""
    lines = [json.loads(line) for line in LEDGER.splitlines()]
    at, to = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    moved = lines.pop(at)
    kept = moved if at != to else {**moved, "body": data.draw(reshaped(moved["body"]))}
    lines.insert(to, kept)
    previous, written = "0" * 64, b""
    for number, fields in enumerate(lines, start=1):
        fields |= {"seq": number, "previous": previous}
        fields.pop("digest")
        try:
            previous = files.sha256_bytes(codec.canonical(fields).encode())
        except ValueError:  # no line can say this: not a number, half a character
            return
        written += codec.canonical({**fields, "digest": previous}).encode() + b"\n"

    def read() -> None:
        replayer = Replayer("ledger.jsonl")
        for record in chain_of(written, "ledger.jsonl").records:
            replayer.apply(record)

    said = refused(LedgerError, read)
    assert not said or said.startswith("ledger.jsonl:")
