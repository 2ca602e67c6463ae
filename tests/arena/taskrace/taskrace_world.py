"""A record of the graded track on disk: a real checkout copy, real gradings; requests as run.py sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from referee_world import TickingClock, created_in

from autoquant import files
from autoquant.arena.referee.mailbox import ClientMailbox, Reply, Request, RequestKind, new_id
from autoquant.arena.taskrace.referee import TaskReferee
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.views import AttemptView, CompetitorView
from autoquant.sandbox import WarmParent
from autoquant.tasks.grader import Ground
from autoquant.tasks.spec import ORDER

RACE = "graded"


@dataclass
class TaskWorld:
    """One agent on each of the three tasks."""

    root: Path
    home: Path
    data: Path
    grounds: Mapping[str, Ground]
    parent: WarmParent
    clock: TickingClock = field(default_factory=TickingClock)
    budget: int = 4
    gradings: int = 0
    """Clean processes given so far."""

    @property
    def layout(self) -> RaceLayout:
        return RaceLayout(self.root / "state" / "tasks", RACE)

    def create(self) -> TaskWorld:
        self.layout.root.mkdir(parents=True)
        ledger = Ledger.open(self.layout.ledger)
        utc = "2026-11-30T00:00:00Z"
        created = created_in(self.home, RACE, "", self.budget)
        ledger.append(replace(created, kind="tasks", data=r.DataPin("files", "m", "s", "h")), utc)
        for name in ORDER:
            joined = r.CompetitorJoined(
                f"alice-{name}", "command", "m", None, "#112233", self.budget, group="alice", task=name
            )
            ledger.append(joined, utc)
        return self

    def give(self) -> AbstractContextManager[WarmParent]:
        self.gradings += 1
        return nullcontext(self.parent)

    def referee(
        self, ledger: Ledger | None = None, parent: Callable[[], AbstractContextManager[WarmParent]] | None = None
    ) -> TaskReferee:
        """A referee over the record as it is on disk, as a restarted arena would make it."""
        return TaskReferee(
            self.layout, ledger or Ledger.open(self.layout.ledger), self.grounds, parent or self.give, self.clock,
            self.home, self.data,
        )  # fmt: skip

    def worktree(self, task: str) -> Path:
        return self.layout.worktree(f"alice-{task}")

    def racer(self, task: str = "easy") -> CompetitorView:
        """The racer as the ledger on disk says."""
        return Ledger.open(self.layout.ledger).view.competitors[f"alice-{task}"]

    def last(self, task: str = "easy") -> AttemptView:
        return self.racer(task).attempts[-1]


def ask(worktree: Path, source: bytes | None, *, final: bool = False, request: str | None = None) -> Request:
    """Write solution.py (unless None) and drop a request, as run.py does."""
    solution = worktree / "solution.py"
    if source is not None:
        solution.unlink(missing_ok=True)
        solution.write_bytes(source)
    try:
        digest = files.sha256_bytes(files.read_regular(worktree, "solution.py", 1 << 18))
    except (OSError, files.NotRegularFile):
        digest = ""
    item = Request(request or new_id(), RequestKind.SUBMIT, digest, "a try", final=final)
    ClientMailbox(worktree).send(item)
    return item


def answer(worktree: Path, request: Request) -> Reply:
    """The reply to a request; it has to be there."""
    reply = ClientMailbox(worktree).reply(request)
    assert reply is not None
    return reply


def submit(
    referee: TaskReferee, worktree: Path, source: bytes | None, *, final: bool = False, request: str | None = None
) -> Reply:
    """Ask, have it served, and read the reply."""
    item = ask(worktree, source, final=final, request=request)
    assert referee.poll(worktree.name)
    return answer(worktree, item)
