"""Requests are one plain file each, and anything else is taken away unread."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referee_world import World, answer, ask, submit, text

from autoquant import codec
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.desk import REFUSALS_RECORDED
from autoquant.arena.referee.mailbox import RefereeMailbox, Refused, Reply, ReplyKind, Request, RequestKind, new_id
from autoquant.arena.referee.referee import Referee

ID = "ab" * 16


@pytest.fixture
def box(tmp_path: Path) -> RefereeMailbox:
    (tmp_path / "alice" / ".autoquant" / "requests").mkdir(parents=True)
    return RefereeMailbox(AgentFolder(tmp_path, "alice"))


def put(box: RefereeMailbox, content: bytes, name: str = f"{ID}.json") -> Path:
    path = box._folder.path / ".autoquant" / "requests" / name
    path.write_bytes(content)
    return path


def request_with(**changes: object) -> bytes:
    whole = codec.encode(Request(ID, RequestKind.SUBMIT, "0" * 64, "text")) | changes
    return json.dumps(whole).encode()


def test_a_request_is_read_and_stays_until_it_is_taken(box: RefereeMailbox):
    path = put(box, request_with())
    item = box.next_request()
    assert Request(ID, RequestKind.SUBMIT, "0" * 64, "text") == item
    assert path.exists()
    box.take(item)
    assert box.next_request() is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (request_with(extra=1), "unknown key 'extra'"),
        (request_with(id="../../../x"), "id"),
        (request_with(id="cd" * 16), "id"),
        (request_with(kind="delete"), "kind"),
        (request_with(strategy="zz"), "strategy"),
        (request_with(kind="restore", lineage="../best"), "lineage"),
        (request_with(description="x" * 501), "description"),
        (request_with(schema_version=99), "schema version"),
        (request_with(description=3), "description"),
        (b"[" * 10_000, "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"", "JSON"),
        (b"x" * (17 << 10), "at most"),
        (b'{"id":NaN}', "JSON"),
    ],
)
def test_what_is_not_exactly_a_request_is_refused_with_a_reason(box: RefereeMailbox, content: bytes, reason: str):
    put(box, content)
    item = box.next_request()
    assert isinstance(item, Refused)
    assert reason in item.reason
    box.take(item)
    assert box.next_request() is None


def test_pipes_links_folders_and_odd_names_are_refused_without_waiting(box: RefereeMailbox, tmp_path: Path):
    folder = box._folder.path / ".autoquant" / "requests"
    os.mkfifo(folder / f"{ID}.json")
    (folder / f"{'cd' * 16}.json").symlink_to("/etc/hostname")
    (folder / f"{'ef' * 16}.json").mkdir()
    (folder / "-rf \x1b[31m\n.json").write_bytes(request_with())
    for _ in range(4):
        item = box.next_request()
        assert isinstance(item, Refused)
        box.take(item)
    assert box.next_request() is None


def test_a_folder_swapped_for_a_link_holds_no_requests(box: RefereeMailbox, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"{ID}.json").write_bytes(request_with())
    folder = box._folder.path / ".autoquant" / "requests"
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert box.next_request() is None


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_reader(box: RefereeMailbox, content: bytes):
    put(box, content)
    item = box.next_request()
    assert item is not None
    box.take(item)


def test_a_reply_replaces_whatever_was_put_there(box: RefereeMailbox, tmp_path: Path):
    replies = box._folder.path / ".autoquant" / "replies"
    replies.mkdir()
    (tmp_path / "target").write_bytes(b"before")
    (replies / f"{ID}.json").symlink_to(tmp_path / "target")
    box.reply(Reply(ID, ReplyKind.REFUSED, "no", 0, 5, 0, "", {}))
    assert b"before" == (tmp_path / "target").read_bytes()
    assert box.has_reply(ID)


def test_ids_are_not_repeated():
    assert 100 == len({new_id() for _ in range(100)})


def test_bad_requests_are_recorded_up_to_a_limit_and_never_charged(world: World, referee: Referee):
    folder = world.worktree / ".autoquant" / "requests"
    for number in range(REFUSALS_RECORDED + 5):
        (folder / f"{number:032x}.json").write_bytes(b"{}")
    while referee.poll("alice"):
        pass
    racer = world.racer()
    assert (0, REFUSALS_RECORDED) == (len(racer.attempts), len(racer.violations))
    assert "missing" in racer.violations[0].path
    submit(referee, world.worktree, text(0.9))
    assert 1 == len(world.racer().attempts)


def test_two_requests_at_once_are_served_one_after_the_other(world: World, referee: Referee):
    first = ask(world.worktree, text(0.9), request="0" * 32)
    second = ask(world.worktree, None, request="1" * 32)
    assert referee.poll("alice")
    assert referee.poll("alice")
    assert not referee.poll("alice")
    assert [ReplyKind.VERDICT, ReplyKind.RECORD] == [answer(world.worktree, r).kind for r in (first, second)]
    assert 1 == len(world.racer().attempts)
