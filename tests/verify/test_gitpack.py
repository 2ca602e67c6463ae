"""Bundles of commits: equal commits give equal bytes, and a stranger's bytes are refused, never believed."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autoquant.errors import UserError
from autoquant.ledger.commits import encode_commit, object_id
from autoquant.verify.gitpack import LARGEST_CHECKOUT, Commits, read_commits, write_commits

REF = "refs/heads/arena/autumn/alice"


def made(contents: dict[str, bytes]) -> Commits:
    objects = encode_commit(contents, None, "a message", 1_700_000_000)
    return Commits({REF: objects.id}, {object_id(kind, body): (kind, body) for kind, body in objects.members})


@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}\.py)?", fullmatch=True), st.binary(max_size=3000), min_size=1, max_size=6
    ).filter(lambda tree: len({name.split("/")[0] for name in tree}) == len(tree))
)
@settings(max_examples=40, deadline=None)
def test_what_was_written_is_read_and_no_order_of_making_shows(contents: dict[str, bytes]):
    """INV-36."""
    commits = made(contents)
    data = write_commits(commits)
    backwards = Commits(commits.refs, dict(reversed(commits.objects.items())))
    assert data == write_commits(backwards)
    again = read_commits(data)
    assert (commits.refs, commits.objects) == (again.refs, again.objects)
    tree, parents, _ = again.commit(again.refs[REF]) or ("", ["?"], b"")
    assert [] == parents
    files = {path: again.blob(blob) for path, blob in (again.tree(tree) or {}).items()}
    assert contents == files


WHOLE = write_commits(made({"strategy.py": b"x = 1\n" * 50, "autoquant/cli.py": b"y\n"}))


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
@settings(max_examples=120, deadline=None)
@example(0, 1)
def test_a_changed_byte_is_refused_or_changes_the_commits(at: int, flip: int):
    changed = WHOLE[:at] + bytes([WHOLE[at] ^ flip]) + WHOLE[at + 1 :]
    try:
        found = read_commits(changed)
    except UserError:
        return
    assert found.refs != read_commits(WHOLE).refs


@given(st.binary(max_size=300))
@settings(max_examples=150, deadline=None)
def test_no_bytes_of_a_stranger_break_the_reader(tail: bytes):
    for head in (b"", b"# v2 git bundle\n\n", WHOLE[: WHOLE.index(b"PACK") + 12]):
        with pytest.raises(UserError):
            read_commits(head + tail)


def pack_of(head: bytes, body: bytes) -> bytes:
    pack = struct.pack(">4sII", b"PACK", 2, 1) + head + body
    return b"# v2 git bundle\n\n" + pack + hashlib.sha1(pack, usedforsecurity=False).digest()


@pytest.mark.parametrize(
    ("head", "body", "words"),
    [
        (b"\xb0\x01", zlib.compress(bytes(1 << 20)), "larger than its head says"),
        (b"\xbf" + b"\xff" * 4 + b"\x7f", b"", "larger than any race's"),
        (b"\xbf" + b"\xff" * 12, b"", "head does not end"),
        (b"\x60", zlib.compress(b""), "no commit, tree or whole file"),
        (b"\x7a", zlib.compress(b"delta"), "no commit, tree or whole file"),
        (b"\x35", zlib.compress(b"abc"), "smaller than its head says"),
        (b"\x33", b"not zlib at all", "cannot be unpacked"),
    ],
)
def test_a_bomb_a_delta_and_a_lie_about_a_size_are_refused(head: bytes, body: bytes, words: str):
    with pytest.raises(UserError, match=words):
        read_commits(pack_of(head, body))


@pytest.mark.parametrize("depth", [3, 18])
def test_a_few_trees_that_spell_out_more_files_than_there_are_atoms_are_no_tree(depth: int):
    """Thirty entries, each the same tree below: no byte too many in the file, 30 to the power of the depth unpacked."""
    blob = object_id("blob", b"x")
    objects, inner, mode = {blob: ("blob", b"x")}, blob, b"100644"
    for _ in range(depth + 1):
        content = b"".join(mode + b" %02d\0" % number + bytes.fromhex(inner) for number in range(30))
        inner, mode = object_id("tree", content), b"40000"
        objects[inner] = ("tree", content)
    assert read_commits(write_commits(Commits({REF: inner}, objects))).tree(inner) is None


def test_a_large_file_that_a_tree_names_over_and_over_is_not_checked_out():
    large = b"x" * (LARGEST_CHECKOUT // 4)
    commits = made({f"f{number}": large for number in range(5)})
    assert {} == commits.files(commits.refs[REF])
