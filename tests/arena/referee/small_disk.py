"""Run as a program on a small disk: fills it up to its last blocks around each attempt, and tells what became of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from referee_world import World, answer, ask, make_data, make_home, text

from autoquant.arena.referee.mailbox import ReplyKind
from autoquant.errors import InfrastructureFault

STEPS = 16
GAIN = 0.4
"""Every attempt is an official step: its commit has to be written too."""
BLOCK = 4096


def fill(disk: Path, blocks: int) -> Path:
    """A file that leaves so many blocks free."""
    ballast = disk / "ballast"
    room = os.statvfs(disk)
    with ballast.open("wb") as handle:
        os.posix_fallocate(handle.fileno(), 0, max(1, (room.f_bavail * room.f_frsize) - (blocks + 1) * BLOCK))
    return ballast


def main(disk: Path, elsewhere: Path) -> None:
    """Print, per attempt, whether the disk refused it, and what the record says once there is room again."""
    world = World(disk, make_home(elsewhere / "home"), make_data(elsewhere / "data"), budget=STEPS).create()
    with world.referee() as referee:
        referee.prepare("alice")
    told = []
    for step in range(STEPS):
        request = ask(world.worktree, text((step + 1) * GAIN))
        ballast, refused = fill(disk, step), ""
        try:
            with world.referee() as referee:
                while referee.poll("alice"):
                    pass
        except InfrastructureFault as fault:
            refused = fault.message
        ballast.unlink()
        with world.referee() as referee:
            referee.recover()
            while referee.poll("alice"):
                pass
        reply = answer(world.worktree, request)
        attempts = world.racer().attempts
        answered = reply.kind in (ReplyKind.VERDICT, ReplyKind.RECORD)
        told.append([refused, [one.score for one in attempts], answered, [one.commit for one in attempts]])
    print(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
