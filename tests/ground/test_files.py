"""Old content or new, never a half; no link is followed."""

from __future__ import annotations

import errno
import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from autoquant import files
from autoquant.errors import InfrastructureFault, UserError


def test_an_atomic_write_replaces_the_whole_file(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file.txt"
    files.atomic_write(target, "old, and longer")
    files.atomic_write(target, "new")
    assert target.read_text() == "new"
    assert [target] == list(target.parent.iterdir())


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_full_disk_leaves_the_old_content_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    target = tmp_path / "file.txt"
    files.atomic_write(target, "old")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(InfrastructureFault, match=r"file\.txt: No space left"):
        files.atomic_write(target, "new")
    monkeypatch.undo()
    assert target.read_text() == "old"
    assert [target] == list(tmp_path.iterdir())


def test_a_line_cut_short_by_a_full_disk_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal"
    files.append_line(journal, "one")
    real = os.write

    def short_then_full(descriptor: int, data: bytes) -> int:
        if len(data) > 2:
            return real(descriptor, bytes(data)[:2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", short_then_full)
    with pytest.raises(InfrastructureFault):
        files.append_line(journal, "abc")
    monkeypatch.undo()
    files.append_line(journal, "two")
    assert journal.read_text() == "one\ntwo\n"


def test_a_line_holds_no_newline(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one line"):
        files.append_line(tmp_path / "journal", "a\nb")


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_text("text")
    assert files.read_regular(tmp_path, "a/b", 4) == b"text"
    assert files.digest_regular(tmp_path, "a/b", 4) == files.sha256_bytes(b"text")


def test_a_digest_holds_no_more_than_a_piece_of_a_large_file(tmp_path: Path) -> None:
    large = os.urandom(1 << 20) * 24
    (tmp_path / "large").write_bytes(large)
    tracemalloc.start()
    try:
        digest = files.digest_regular(tmp_path, "large", len(large))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert digest == files.sha256_bytes(large)
    assert peak < len(large) / 4


@pytest.mark.parametrize("read", [files.read_regular, files.digest_regular])
def test_anything_but_a_plain_file_is_refused(tmp_path: Path, read: Callable[[Path, str, int], object]) -> None:
    (tmp_path / "real").write_text("secret")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "linked_folder").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "x").write_text("x")
    os.link(tmp_path / "real", tmp_path / "hard")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "linked_folder/x", "folder", "hard", "pipe", "../real", "real/x"):
        with pytest.raises(files.NotRegularFile):
            read(tmp_path, name, 100)
    os.unlink(tmp_path / "hard")
    with pytest.raises(files.NotRegularFile, match="at most 3"):
        read(tmp_path, "real", 3)
    with pytest.raises(FileNotFoundError):
        read(tmp_path, "absent", 3)


def test_the_second_holder_of_a_lock_is_told_who_the_first_is(tmp_path: Path) -> None:
    refused: list[str] = []

    def second() -> None:
        try:
            with files.exclusive_lock(tmp_path / "lock", "second"):
                pass
        except UserError as error:
            refused.append(error.message)

    with files.exclusive_lock(tmp_path / "lock", "first, pid 7"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert refused == [f"{tmp_path.name}/lock: held by first, pid 7"]
    with files.exclusive_lock(tmp_path / "lock", "third"):
        pass
