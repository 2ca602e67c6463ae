"""The chain: what was appended is there, and what was done to it shows."""

from __future__ import annotations

import errno
import json
import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from ledger_cases import (
    UTC,
    closed,
    counted,
    created,
    joined,
    older_race,
    opened,
    referenced_race,
    todays_race,
    whole_race,
    write,
)

from autoquant import codec
from autoquant.errors import InfrastructureFault, LedgerError
from autoquant.files import sha256_bytes
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger, read_records
from autoquant.ledger.lines import seal
from autoquant.oracle.records import Status


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def test_every_kind_of_record_comes_back_as_it_was_appended(path: Path) -> None:
    bodies = todays_race()
    written = write(path, bodies)
    assert set(get_args(r.RecordBody)) == {type(body) for body in bodies}
    again = Ledger.open(path)
    assert bodies == [record.body for record in read_records(path)]
    assert (written.head, written.length, written.view) == (again.head, again.length, again.view)
    assert written.view == again.view
    assert again.notices == ()
    assert list(range(1, len(bodies) + 1)) == [record.seq for record in read_records(path)]


def test_the_first_record_names_64_zeros_and_each_further_one_its_predecessor(path: Path) -> None:
    assert "0" * 64 == Ledger.open(path).head
    ledger = write(path, whole_race())
    records = read_records(path)
    assert ["0" * 64, *(record.digest for record in records[:-1])] == [record.previous for record in records]
    assert ledger.head == records[-1].digest


def test_a_line_is_canonical_json_with_the_documented_keys(path: Path) -> None:
    write(path, [created()])
    line = path.read_text().splitlines()[0]
    fields = json.loads(line)
    assert ["body", "digest", "kind", "previous", "schema_version", "seq", "utc"] == list(fields)
    assert line == json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


GOLDEN = Path(__file__).parent / "golden"


def test_a_ledger_from_before_usage_stays_readable_with_the_defaults_for_what_it_does_not_say(path: Path) -> None:
    golden = GOLDEN / "ledger-1.jsonl"
    bodies = [record.body for record in read_records(golden)]
    assert older_race() == bodies
    assert b"settings" not in golden.read_bytes()
    (join,) = (body for body in bodies if body == joined())
    assert ("", "", (), ()) == (join.group, join.endpoint, join.args, join.settings)  # type: ignore[union-attr]


def test_a_ledger_from_before_usage_goes_on_with_todays_records_byte_for_byte(path: Path) -> None:
    old = (GOLDEN / "ledger-1.jsonl").read_bytes()
    path.write_bytes(old)
    ledger = Ledger.open(path)
    assert ledger.notices == ()
    ledger.append(counted(), UTC)
    ledger.append(r.BackedOff("random", 60.0, "rate limit"), UTC)
    assert path.read_bytes().startswith(old)
    view = Ledger.open(path).view.competitors["random"]
    assert (1_000, 60.0) == (view.usage.input, view.infrastructure_seconds)


def test_a_ledger_from_before_details_stays_readable(path: Path) -> None:
    golden = GOLDEN / "ledger-1-usage.jsonl"
    assert whole_race() == [record.body for record in read_records(golden)]


def test_a_ledger_from_before_readiness_and_references_stays_readable(path: Path) -> None:
    golden = GOLDEN / "ledger-1-details.jsonl"
    assert whole_race() == [record.body for record in read_records(golden)]


def test_a_ledger_from_before_diffs_of_violations_stays_readable(path: Path) -> None:
    golden = GOLDEN / "ledger-1-references.jsonl"
    assert referenced_race() == [record.body for record in read_records(golden)]


def test_a_ledger_from_before_environments_stays_readable(path: Path) -> None:
    golden = GOLDEN / "ledger-1-diffs.jsonl"
    assert referenced_race() == [record.body for record in read_records(golden)]


def test_a_ledger_with_todays_records_stays_readable_and_writable(path: Path) -> None:
    golden = GOLDEN / "ledger-1-environment.jsonl"
    assert todays_race() == [record.body for record in read_records(golden)]
    write(path, todays_race())
    assert golden.read_bytes() == path.read_bytes()


def test_statuses_are_those_of_the_oracle() -> None:
    assert sorted(Status) == sorted(r.STATUSES)


def test_any_changed_byte_is_found_and_its_line_named(path: Path) -> None:
    """INV-20."""
    write(path, [created(), joined(), opened(1)])
    whole = path.read_bytes()
    ends = [i for i, byte in enumerate(whole) if byte == 10]
    for offset in range(0, len(whole) - 1, 7):
        if whole[offset] == 10:
            continue
        path.write_bytes(whole[:offset] + bytes([whole[offset] ^ 1]) + whole[offset + 1 :])
        number = 1 + sum(end < offset for end in ends)
        with pytest.raises(LedgerError, match=f"ledger.jsonl:{number}: "):
            Ledger.open(path)
    path.write_bytes(whole)
    assert 3 == Ledger.open(path).length


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [lines[0], *lines[2:]], 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], 2),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: [*lines, lines[-1]], 6),
        (lambda lines: [*lines[:2], b"", *lines[2:]], 3),
        (lambda lines: [*lines[:2], b"{", *lines[2:]], 3),
        (lambda lines: [lines[0].replace(b'":', b'": ', 1), *lines[1:]], 1),
    ],
    ids=["deleted", "first deleted", "swapped", "repeated", "last repeated", "blank", "broken JSON", "reformatted"],
)
def test_a_broken_middle_stops_with_file_and_line(
    path: Path, change: Callable[[list[bytes]], list[bytes]], line: int
) -> None:
    """INV-20."""
    write(path, [created(), r.SeedScored("0c" * 32, 0.4), joined(), opened(1), closed(1)])
    broken = b"".join(text + b"\n" for text in change(path.read_bytes().splitlines()))
    path.write_bytes(broken)
    with pytest.raises(LedgerError, match=f"ledger.jsonl:{line}: "):
        Ledger.open(path)
    assert broken == path.read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "coffee_made"}, "unknown kind 'coffee_made'"),
        ({"kind": ["race_created"]}, "unknown kind"),
        ({"previous": {"digest": "0" * 64}}, "does not follow the line before"),
        ({"schema_version": 2}, "schema version 2"),
        ({"extra": 1}, "keys differ"),
    ],
)
def test_a_well_chained_line_of_another_program_is_refused(path: Path, change: dict[str, Any], message: str) -> None:
    _, line = seal(created(), seq=1, utc=UTC, previous="0" * 64)
    path.write_text(_resealed(json.loads(line) | change))
    with pytest.raises(LedgerError, match=message):
        Ledger.open(path)


def test_an_unknown_key_in_a_body_is_refused_by_name(path: Path) -> None:
    _, line = seal(created(), seq=1, utc=UTC, previous="0" * 64)
    fields = json.loads(line)
    fields["body"]["motto"] = "faster"
    path.write_text(_resealed(fields))
    with pytest.raises(LedgerError, match=r"ledger.jsonl:1: race_created: unknown key 'motto'"):
        Ledger.open(path)


def test_a_torn_last_line_is_dropped_at_every_byte_offset(path: Path) -> None:
    write(path, [created(), joined()])
    before = path.read_bytes()
    write(path, [opened(1)])
    line = path.read_bytes()[len(before) :]
    for length in range(1, len(line) - 1):
        path.write_bytes(before + line[:length])
        assert 2 == len(read_records(path))
        assert before + line[:length] == path.read_bytes()
        ledger = Ledger.open(path)
        assert 2 == ledger.length
        assert (f"{path}:3: dropped a torn last line of {length} bytes",) == ledger.notices
        assert before == path.read_bytes()
    ledger.append(opened(1), UTC)
    assert before + line == path.read_bytes()


def test_a_torn_first_line_leaves_an_empty_ledger(path: Path) -> None:
    write(path, [created()])
    line = path.read_bytes()
    for length in range(1, len(line) - 1, 41):
        path.write_bytes(line[:length])
        assert 0 == Ledger.open(path).length
        assert b"" == path.read_bytes()


def test_a_whole_last_line_without_its_newline_is_kept_and_mended(path: Path) -> None:
    write(path, [created(), joined()])
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert 2 == len(read_records(path))
    ledger = Ledger.open(path)
    assert 2 == ledger.length
    assert (f"{path}:2: the last line lacked its newline",) == ledger.notices
    assert whole == path.read_bytes()
    ledger.append(opened(1), UTC)
    assert 3 == Ledger.open(path).length


def test_zero_bytes_after_a_power_cut_are_a_torn_line(path: Path) -> None:
    write(path, [created()])
    whole = path.read_bytes()
    path.write_bytes(whole + bytes(300))
    assert 1 == Ledger.open(path).length
    assert whole == path.read_bytes()


@pytest.mark.parametrize(
    "meddle",
    [
        lambda data: data + b"\n",
        lambda data: data[:-5],
        lambda data: data[: data[:-1].rindex(b"\n") + 1],
        lambda data: data[:-9] + b"X" + data[-8:],
        lambda data: b"",
    ],
    ids=["longer", "shorter", "without its last record", "same length", "emptied"],
)
def test_an_append_refuses_a_file_that_no_longer_ends_with_the_head(
    path: Path, meddle: Callable[[bytes], bytes]
) -> None:
    ledger = write(path, [created(), joined()])
    meddled = meddle(path.read_bytes())
    path.write_bytes(meddled)
    with pytest.raises(LedgerError, match=r"ledger.jsonl:2: the file does not end"):
        ledger.append(opened(1), UTC)
    assert meddled == path.read_bytes()
    assert 2 == ledger.length


def test_an_append_refuses_a_file_that_was_removed(path: Path) -> None:
    ledger = write(path, [created()])
    path.unlink()
    with pytest.raises(LedgerError, match="does not end"):
        ledger.append(joined(), UTC)
    assert not path.exists()


def test_a_second_ledger_on_one_file_is_noticed_by_the_first(path: Path) -> None:
    first = write(path, [created()])
    Ledger.open(path).append(joined(), UTC)
    with pytest.raises(LedgerError, match="does not end"):
        first.append(joined("other"), UTC)
    assert 2 == Ledger.open(path).length


def test_a_record_that_breaks_a_rule_or_a_type_is_never_written(path: Path) -> None:
    ledger = write(path, [created(), joined()])
    before = path.read_bytes()
    for body in (opened(2), closed(1), joined(), created()):
        with pytest.raises(LedgerError):
            ledger.append(body, UTC)
    with pytest.raises(LedgerError, match=r"record 3 is not written: seed_scored.score: expected a number"):
        ledger.append(r.SeedScored("0c" * 32, "much"), UTC)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match="not written: a record holds nan"):
        ledger.append(r.SeedScored("0c" * 32, float("nan")), UTC)
    with pytest.raises(LedgerError, match="str is not a kind"):
        ledger.append("note", UTC)  # type: ignore[arg-type]
    assert before == path.read_bytes()
    ledger.append(opened(1), UTC)
    assert 3 == Ledger.open(path).length


def test_a_broken_rule_in_a_sound_chain_stops_with_its_line(path: Path) -> None:
    lines, head = [], "0" * 64
    for seq, body in enumerate([created(), joined(), opened(1), opened(2)], start=1):
        record, line = seal(body, seq=seq, utc=UTC, previous=head)
        lines.append(line + "\n")
        head = record.digest
    path.write_text("".join(lines))
    with pytest.raises(LedgerError, match=r"ledger.jsonl:4: attempt_opened: attempt 2 opened while 1 is open"):
        Ledger.open(path)


def test_hostile_text_is_carried_without_breaking_a_line(path: Path) -> None:
    text = 'tab\t newline\n nul\0 \u2028 \u2029 \x85 \x1b[31m "quote" \\ \ud800 lone \U0001f600'
    ledger = write(path, [created(), joined()])
    record = ledger.append(opened(1, description=text), UTC)
    assert text.replace("\ud800", "\ufffd") == record.body.description  # type: ignore[union-attr]
    assert record == read_records(path)[-1]
    assert ledger.view == Ledger.open(path).view


@pytest.mark.parametrize("room", [0, 1, 100, 400])
def test_a_full_disk_is_a_fault_and_a_later_append_works(
    path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    ledger = write(path, [created(), joined()])
    before, write_ = path.read_bytes(), os.write
    left = [room]

    def full(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = write_(descriptor, data[: left[0]])
        left[0] -= taken
        return taken

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(InfrastructureFault, match="No space left"):
        ledger.append(opened(1), UTC)
    monkeypatch.undo()
    assert before == path.read_bytes()
    assert 2 == ledger.length
    ledger.append(opened(1), UTC)
    assert (ledger.view, ledger.head) == ((again := Ledger.open(path)).view, again.head)


def test_a_real_file_size_limit_is_a_fault_and_a_later_append_works(path: Path) -> None:
    ledger = write(path, [created(), joined()])
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
    try:
        with pytest.raises(InfrastructureFault, match="File too large"):
            ledger.append(opened(1), UTC)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert before == path.read_bytes()
    ledger.append(opened(1), UTC)
    assert (ledger.view, ledger.head) == ((again := Ledger.open(path)).view, again.head)


def test_a_failing_fsync_takes_the_line_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = write(path, [created(), joined()])
    before = path.read_bytes()

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(InfrastructureFault, match="Input/output"):
        ledger.append(opened(1), UTC)
    monkeypatch.undo()
    assert before == path.read_bytes()
    ledger.append(opened(1), UTC)
    assert 3 == Ledger.open(path).length


def test_threads_append_one_after_the_other(path: Path) -> None:
    ledger = write(path, [created()])

    def chatter(name: str) -> None:
        for number in range(25):
            ledger.append(r.IncidentSeen(f"{name} {number}"), UTC)

    threads = [threading.Thread(target=chatter, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = read_records(path)
    assert 101 == len(records)
    for name in "abcd":
        said = [x.body.message for x in records if isinstance(x.body, r.IncidentSeen) and x.body.message[0] == name]
        assert [f"{name} {number}" for number in range(25)] == said


def test_an_append_costs_the_same_at_any_length(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    ledger = write(path, [created()])

    def seconds(count: int) -> float:
        begin = time.process_time()
        for number in range(count):
            ledger.append(r.IncidentSeen(str(number)), UTC)
        return time.process_time() - begin

    early = min(seconds(100) for _ in range(5))
    seconds(5000)
    late = min(seconds(100) for _ in range(5))
    assert late < 3 * early + 0.02


def test_a_folder_in_the_ledgers_place_is_a_ledger_error(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="Is a directory"):
        Ledger.open(tmp_path)


def _resealed(fields: dict[str, Any]) -> str:
    """A line whose digest is right, whatever else is in it."""
    fields.pop("digest")
    return codec.dumps(fields | {"digest": sha256_bytes(codec.dumps(fields).encode())}) + "\n"
