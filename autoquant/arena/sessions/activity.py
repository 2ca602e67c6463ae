"""Signs of life beside output: processor time and changed files, sampled now and then. Also how much disk is taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoquant import process

NOT_THE_AGENTS = frozenset({".autoquant", "results.tsv", "score.json", "data", ".git"})
"""Top-level names in a worktree that the referee writes, or that were there before."""
BUSY_SHARE = 0.02
"""Part of one processor; an event loop that only waits uses less."""
MOST_FILES = 300_000
"""More files than that in a competitor's folders are refused like too many bytes: they could not be watched."""


@dataclass(frozen=True)
class Volume:
    """Files below some folders."""

    bytes: int
    newest: float
    """Latest change, seconds since 1970; 0 without files."""
    files: int = 0


def volume(folders: Sequence[Path], leave_out: Path) -> Volume:
    """Sizes of regular files below `folders`, links not followed; `NOT_THE_AGENTS` directly below `leave_out` do not
    count. Stops counting at `MOST_FILES`, which is itself too many.
    """
    total, newest = 0, 0.0
    number = 0
    for number, facts in enumerate(_walk(folders, leave_out), start=1):
        total += facts.st_blocks * 512
        newest = max(newest, facts.st_mtime)
        if number >= MOST_FILES:
            break
    return Volume(total, newest, number)


def _walk(folders: Sequence[Path], leave_out: Path) -> Iterator[os.stat_result]:
    waiting = [str(folder) for folder in folders]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if folder == str(leave_out) and entry.name in NOT_THE_AGENTS:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False)
        except OSError:  # it vanished, or may not be read
            continue


class Activity:
    """Samples one session.

    Parameters
    ----------
    pid : root of the session's processes.
    folders : home, temporary folder and worktree.
    worktree : the one among them in which `NOT_THE_AGENTS` do not count.
    every_seconds, disk_every_seconds : between two samples of processors and of files.
    """

    def __init__(
        self,
        pid: int,
        folders: Sequence[Path],
        worktree: Path,
        *,
        every_seconds: float = 5.0,
        disk_every_seconds: float = 20.0,
        busy: Callable[[int], float] = process.busy_seconds,
    ) -> None:
        self._pid = pid
        self._folders = tuple(folders)
        self._worktree = worktree
        self._every, self._disk_every = every_seconds, disk_every_seconds
        self._busy = busy
        self._sampled: float | None = None
        self._seconds = 0.0
        self._walked: float | None = None
        self._newest = 0.0
        self.disk = Volume(0, 0.0)

    def sample(self, now: float) -> bool:
        """Take a sample if one is due; whether it shows work done since the one before."""
        active = False
        if self._sampled is None or now - self._sampled >= self._every:
            seconds = self._busy(self._pid)
            if self._sampled is not None:
                active = abs(seconds - self._seconds) > BUSY_SHARE * (now - self._sampled)
            self._sampled, self._seconds = now, seconds
        if self._walked is None or now - self._walked >= self._disk_every:
            found = volume(self._folders, self._worktree)
            active |= self._walked is not None and found.newest != self._newest
            self._walked, self._newest, self.disk = now, found.newest, found
        return active
