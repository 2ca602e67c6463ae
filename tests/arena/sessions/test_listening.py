"""Streams and transcripts: read as they grow, read again after a kill, harmless whatever stands there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoquant.arena.sessions import listening
from autoquant.arena.sessions.listening import Evidence, FileTail, Listener
from autoquant.arena.sessions.metering import Meter
from autoquant.harness import ADAPTERS
from autoquant.harness.events import Called, Event, Finished, Hurt, ModelSeen, Named, Said, Spent, Trouble, Usage


class Words:
    """A reader for lines like `hurt auth`, `spent c r 10`."""

    def stdout(self, line: str) -> tuple[Event, ...]:
        match line.split():
            case ["named", session]:
                return (Named(session),)
            case ["said"]:
                return (Said("x"),)
            case ["called"]:
                return (Called("bash"),)
            case ["model", model]:
                return (ModelSeen(model),)
            case ["hurt", *trouble]:
                return (Hurt(Trouble(" ".join(trouble)), line, retry_after_seconds=7.0),)
            case ["finished", ok]:
                return (Finished(ok == "yes"),)
            case ["spent", conversation, request, tokens]:
                return (Spent(conversation, request, Usage(input=int(tokens), requests=1)),)
            case _:
                return ()

    def stderr(self, line: str) -> tuple[Event, ...]:
        return self.stdout(line)

    transcript = stdout

    def exit(self, code: int) -> Hurt | None:
        return Hurt(Trouble.AUTH, "exit 41") if code == 41 else None


def evidence(home: Path) -> Evidence:
    return Evidence(Words(), home, ("*.log",), Meter("a", "m"))


def listener(folder: Path, held: Evidence | None = None) -> Listener:
    return Listener(Words(), (folder / "out", folder / "err"), held or evidence(folder))


def test_a_tail_gives_whole_lines_only_and_the_rest_when_it_is_the_last(tmp_path: Path):
    path = tmp_path / "x"
    tail = FileTail(path)
    assert [] == tail.lines()
    path.write_bytes(b"one\ntw")
    assert ["one"] == tail.lines()
    assert [] == tail.lines()
    with path.open("ab") as handle:
        handle.write(b"o\r\nthr\xffee")
    assert ["two"] == tail.lines()
    assert ["thr�ee"] == tail.lines(last=True)


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=6))
def test_however_a_file_grows_the_lines_are_the_same(tmp_path_factory, data: bytes, cuts: list[int]):  # type: ignore[no-untyped-def]
    path = tmp_path_factory.mktemp("tail") / "x"
    tail, seen, before = FileTail(path), [], 0
    for cut in [*sorted(min(c, len(data)) for c in cuts), len(data)]:
        with path.open("ab") as handle:
            handle.write(data[before:cut])
        before = cut
        seen += tail.lines()
    seen += tail.lines(last=True)
    whole = data.decode(errors="replace") if b"\n" not in data else None
    expected = [line.decode(errors="replace") for line in data.split(b"\n")]
    if expected[-1] == "":
        expected.pop()
    assert [line.rstrip("\r") for line in expected] == [line.rstrip("\r") for line in seen]
    assert whole is None or [whole] == seen or whole == ""


def test_a_line_without_end_is_passed_over_and_the_next_one_read(tmp_path: Path, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(listening, "LINE_BYTES", 10)
    path = tmp_path / "x"
    path.write_bytes(b"x" * 50)
    tail = FileTail(path)
    assert [] == tail.lines()
    with path.open("ab") as handle:
        handle.write(b"yy\nshort\n")
    assert ["short"] == tail.lines()


def test_pipes_links_and_folders_in_the_place_of_a_file_do_no_harm(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "folder.log").mkdir()
    (tmp_path / "secret").write_text("spent c r 10\n")
    (tmp_path / "link.log").symlink_to(tmp_path / "secret")
    held = evidence(tmp_path)
    assert not held.look()
    assert 0 == held.meter.total.input


def test_transcripts_are_found_as_they_appear_and_count_once_with_the_stream(tmp_path: Path):
    held = evidence(tmp_path)
    one = listener(tmp_path, held)
    (tmp_path / "a.log").write_text("spent c r1 10\nnamed c\n")
    one.look()
    (tmp_path / "b.log").write_text("spent c r2 20\n")
    (tmp_path / "out").write_text("spent c r1 10\n")
    one.look()
    assert 30 == held.meter.total.input
    assert "c" == held.conversation


def test_a_complaint_lasts_until_something_good_follows(tmp_path: Path):
    one = listener(tmp_path)
    out = tmp_path / "out"
    out.write_text("hurt auth\n")
    one.look()
    assert one.trouble is not None
    assert Trouble.AUTH is one.trouble.trouble
    with out.open("a") as handle:
        handle.write("named c\nmodel m\n")
    one.look()
    assert one.trouble is not None
    with out.open("a") as handle:
        handle.write("called\n")
    one.look()
    assert one.trouble is None
    assert one.last_hurt is not None


def test_a_final_event_that_reports_failure_keeps_the_complaint_and_a_later_event_undoes_the_end(tmp_path: Path):
    one = listener(tmp_path)
    out = tmp_path / "out"
    out.write_text("hurt rate limit\nfinished no\n")
    one.look()
    assert one.trouble is not None
    assert Finished(False) == one.finished
    with out.open("a") as handle:
        handle.write("said\n")
    one.look()
    assert one.finished is None
    with out.open("a") as handle:
        handle.write("hurt rate limit\nfinished yes\n")
    one.look()
    assert (None, Finished(True)) == (one.trouble, one.finished)


def test_an_exit_code_speaks_only_where_the_streams_did_not(tmp_path: Path):
    one = listener(tmp_path)
    one.exit(0)
    assert one.trouble is None
    one.exit(41)
    assert one.trouble is not None
    (tmp_path / "out").write_text("hurt rate limit\n")
    other = listener(tmp_path)
    other.look()
    other.exit(41)
    assert other.trouble is not None
    assert Trouble.RATE_LIMIT is other.trouble.trouble


def test_looking_again_from_the_start_finds_the_same(tmp_path: Path):
    (tmp_path / "out").write_text("named c\nmodel m\nspent c r1 10\nspent c r1 15\nhalf")
    first, held = listener(tmp_path), evidence(tmp_path)
    assert first.look(last=True)
    second, third = listener(tmp_path, held), listener(tmp_path, held)
    second.look(last=True)
    third.look(last=True)
    assert ("c", ("m",)) == (third.conversation, third.models)
    assert 15 == held.meter.total.input
    assert json.dumps(first.models) == json.dumps(second.models)


def test_a_transcript_names_the_conversation_where_the_stream_does_not_and_never_a_former_one(tmp_path: Path):
    held = evidence(tmp_path)
    (tmp_path / "a.log").write_text("named old\n")
    held.look()
    one = listener(tmp_path, held)
    one.look()
    assert one.conversation is None
    with (tmp_path / "a.log").open("a") as handle:
        handle.write("named new\n")
    one.look()
    assert "new" == one.conversation
    (tmp_path / "out").write_text("named told\n")
    one.look()
    assert "told" == one.conversation


def test_a_log_that_is_cut_in_place_is_read_anew_and_counts_once(tmp_path: Path):
    held = evidence(tmp_path)
    log = tmp_path / "a.log"
    log.write_text("spent c r1 10\nspent c r2 10\n")
    held.look()
    log.write_text("spent c r2 10\n")
    held.look()
    with log.open("a") as handle:
        handle.write("spent c r3 10\n")
    held.look()
    assert 30 == held.meter.total.input


def test_a_file_without_bounds_holds_no_watch_up_and_one_look_reads_a_bounded_part(tmp_path: Path, monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(listening, "LOOK_BYTES", 100)
    held = evidence(tmp_path)
    (tmp_path / "a.log").write_text("".join(f"spent c r{n} 1\n" for n in range(100)))
    with (tmp_path / "b.log").open("wb") as handle:
        handle.truncate(15 << 40)
    looks = 0
    while held.look():
        looks += 1
        assert looks < 1000
    assert looks > 5
    assert 100 == held.meter.total.input


def test_transcripts_behind_a_link_are_somebody_elses(tmp_path: Path):
    home, rival = tmp_path / "home", tmp_path / "rival"
    rival.mkdir()
    home.mkdir()
    (rival / "a.log").write_text("spent c r1 10\nnamed rival\n")
    (home / "sessions").symlink_to(rival)
    held = Evidence(Words(), home, ("sessions/*.log",), Meter("a", "m"))
    assert not held.look()
    assert (0, None) == (held.meter.total.input, held.conversation)


@pytest.mark.parametrize("bad", ["--config=web_search=live", "x\x00y", "a/b", "-", "c" * 200])
def test_an_id_that_could_be_an_option_or_no_argument_at_all_is_not_taken(tmp_path: Path, bad: str):
    one = listener(tmp_path)
    (tmp_path / "out").write_text(f"named {bad}\n")
    (tmp_path / "a.log").write_text(f"named {bad}\n")
    one.look()
    assert one.conversation is None


def test_a_complaint_that_was_settled_is_no_verdict_though_both_streams_are_read_at_once(tmp_path: Path):
    golden = Path(__file__).resolve().parents[2] / "golden" / "gemini-0.61.0"
    logs = golden / "rate-limited.stdout.jsonl", golden / "rate-limited.stderr.txt"
    one = Listener(ADAPTERS["gemini"].reader(), logs, evidence(tmp_path))
    one.look(last=True)
    assert one.last_hurt is not None
    assert Trouble.RATE_LIMIT is one.last_hurt.trouble
    assert (None, True) == (one.trouble, one.finished is not None and one.finished.ok)


def test_a_later_complaint_of_the_same_kind_keeps_the_wait_an_earlier_one_named(tmp_path: Path):
    golden = Path(__file__).resolve().parents[2] / "golden" / "opencode-1.18.33"
    logs = golden / "rate-limited.stdout.jsonl", golden / "rate-limited.stderr.log"
    one = Listener(ADAPTERS["opencode"].reader(), logs, evidence(tmp_path))
    one.look(last=True)
    assert one.trouble is not None
    assert (Trouble.RATE_LIMIT, 1.0) == (one.trouble.trouble, one.trouble.retry_after_seconds)


def test_models_are_told_by_transcripts_too(tmp_path: Path):
    held = evidence(tmp_path)
    one = listener(tmp_path, held)
    (tmp_path / "a.log").write_text("model other\n")
    one.look()
    assert ("other",) == one.models
    assert () == listener(tmp_path, held).models
