"""run.py's side of an experiment: check the protected files, hand the strategy in, wait for the verdict.

In a race this is a thin client of the arena. It may be killed at any moment: the request stays in the mailbox, the
attempt goes on, and the next call attaches to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.arena import protected
from autoquant.arena.referee.mailbox import (
    DESCRIPTION_LIMIT,
    LINEAGES,
    ClientMailbox,
    Reply,
    ReplyKind,
    Request,
    RequestKind,
    new_id,
)
from autoquant.arena.referee.marker import read_marker
from autoquant.clock import Clock, SystemClock
from autoquant.errors import InfrastructureFault, UserError
from autoquant.protocol import PROTOCOL

STRATEGY = "strategy.py"
SOLUTION = "solution.py"
"""What is edited in the graded track."""
_EDITED = "strategy.py was edited meanwhile and will be put back: keep your edit in scratch/"
EXIT_CODES = {ReplyKind.BUDGET: 2, ReplyKind.REFUSED: 3}
"""Of an answer that is no verdict."""


@dataclass(frozen=True)
class Patience:
    """How often to look and how long to wait for a sign of life, in seconds."""

    look: float = 0.1
    silence: float = 30.0
    remind: float = 30.0
    resend: float = 5.0


@dataclass(frozen=True)
class Answers:
    """What one call of run.py has to show: the answer to an earlier request first, when its caller was cut off."""

    earlier: Reply | None
    reply: Reply
    graded: bool = False
    """Of the graded track: what is charged is a step."""

    @property
    def exit_code(self) -> int:
        """0 when a verdict was given, whatever it is."""
        return EXIT_CODES.get(self.reply.kind, 0)


def run_experiment(
    home: Path,
    *,
    description: str,
    lineage: str | None,
    data_root: Path,
    task: str | None = None,
    final: bool = False,
    say: Callable[[str], None],
    clock: Clock | None = None,
    patience: Patience | None = None,
) -> Answers:
    """One experiment, in the race this folder belongs to or, outside a race, in place.

    Parameters
    ----------
    home : checkout or worktree.
    description : what the experiment tries; at most 500 characters are kept.
    lineage : restore this archive tip into strategy.py instead of submitting.
    data_root : market data, used outside a race only.
    task : of the graded track; the folder has to be for that one.
    final : in the graded track, hand the solution in for good.
    say : takes progress, one line at a time.

    Raises
    ------
    Violation : a protected file differs; it is named.
    UserError : the folder is not for that task, or what was asked belongs to another track.
    InfrastructureFault : no arena answers.
    """
    marker = read_marker(home)
    _require_track("" if marker is None else marker.task, task, final, lineage)
    protected.require(home, only=None if marker is None else marker.protected)
    if marker is None:
        from autoquant.arena.client.standalone import experiment, restore

        if lineage is not None:
            return Answers(None, restore(home, lineage))
        return Answers(None, experiment(home, data_root, description[:DESCRIPTION_LIMIT], say))
    genome = SOLUTION if marker.task else STRATEGY
    client = Client(home, say, clock or SystemClock(), patience or Patience(), genome)
    if lineage is not None:
        return client.restore(lineage)
    return client.submit(description[:DESCRIPTION_LIMIT], final=final)


def _require_track(here: str, task: str | None, final: bool, lineage: str | None) -> None:
    """Refuse options that mean nothing in this folder."""
    if not here and (task is not None or final):
        raise UserError("--task and --final belong to the graded track, and this folder does not", "see arena.py tasks")
    if here and task not in (None, here):
        raise UserError(f"this folder is for the task {here}, not for {task}", f"leave --task out, or --task {here}")
    if here and lineage is not None:
        raise UserError("--from belongs to the race; there is no archive in the graded track")


class Client:
    """Talks to the referee through the mailbox of the worktree at `home`."""

    def __init__(
        self, home: Path, say: Callable[[str], None], clock: Clock, patience: Patience, genome: str = STRATEGY
    ) -> None:
        self._home = home
        self._genome = genome
        self._say = say
        self._clock = clock
        self._patience = patience
        self._mailbox = ClientMailbox(home)

    def submit(self, description: str, *, final: bool = False) -> Answers:
        """Hand the file in; a pending request is attached to first."""
        earlier, graded = self._attach(), self._genome == SOLUTION
        digest = self._digest()
        if earlier is not None and (digest == earlier.working_strategy or _is_final(earlier)):
            return Answers(None, earlier, graded)
        reply = self._ask(Request(new_id(), RequestKind.SUBMIT, digest, description, final=final))
        return Answers(earlier, reply, graded)

    def restore(self, lineage: str) -> Answers:
        """Have strategy.py replaced by an archive tip; nothing is charged."""
        if lineage not in LINEAGES:
            raise UserError(f"--from {lineage}: no such lineage", f"one of {', '.join(LINEAGES)}")
        earlier = self._attach()
        return Answers(earlier, self._ask(Request(new_id(), RequestKind.RESTORE, lineage=lineage)))

    def _attach(self) -> Reply | None:
        """The answer to a request that was sent before and not shown yet, if there is one."""
        pending = self._mailbox.pending()
        if pending is None:
            return None
        if self._mailbox.reply(pending) is None:
            self._say("an earlier request is still being answered: waiting for that one first")
            if pending.kind is RequestKind.SUBMIT and self._digest() != pending.strategy:
                self._say(_EDITED if self._genome == STRATEGY else f"{self._genome} was edited meanwhile")
        return self._wait(pending)

    def _ask(self, request: Request) -> Reply:
        self._mailbox.send(request)
        return self._wait(request)

    def _wait(self, request: Request) -> Reply:
        life = _Life(self._clock, self._patience)
        while True:
            reply = self._mailbox.reply(request)
            if reply is not None:
                self._mailbox.finish()
                return reply
            beat = self._mailbox.heartbeat()
            life.see(None if beat is None else (beat.beat, beat.state))
            if life.is_silent:
                raise InfrastructureFault(
                    "no arena is serving this worktree",
                    "the request is kept: call run.py again once the race is resumed, nothing is charged twice",
                )
            if life.is_forgotten and not self._mailbox.is_waiting(request):
                self._mailbox.resend(request)
            if (news := life.news()) is not None:
                self._say(news)
            self._clock.sleep(self._patience.look)

    def _digest(self) -> str:
        try:
            return files.sha256_bytes(files.read_regular(self._home, self._genome, PROTOCOL.limits.strategy_bytes))
        except (OSError, files.NotRegularFile):
            return ""


def _is_final(reply: Reply) -> bool:
    """Whether it answers a final submission of the graded track: there is nothing more to ask."""
    return reply.kind is ReplyKind.VERDICT and (reply.score or {}).get("final_score") is not None


class _Life:
    """What the heartbeat says, over time."""

    def __init__(self, clock: Clock, patience: Patience) -> None:
        self._clock = clock
        self._patience = patience
        self._last: tuple[int, str] | None = None
        self._beaten = self._ready = self._told = clock.monotonic()
        self._state = ""
        self._begun = self._told

    def see(self, beat: tuple[int, str] | None) -> None:
        now = self._clock.monotonic()
        if beat is not None and beat != self._last:
            if self._last is not None:
                self._beaten = now
            self._last = beat
        if beat is None or beat[1] != "ready":
            self._ready = now

    @property
    def is_silent(self) -> bool:
        """Nothing has moved for too long."""
        return self._clock.monotonic() - self._beaten > self._patience.silence

    @property
    def is_forgotten(self) -> bool:
        """The arena has been idle for a while: it may not know the request."""
        if self._clock.monotonic() - self._ready < self._patience.resend:
            return False
        self._ready = self._clock.monotonic()
        return True

    def news(self) -> str | None:
        """A line when the state changed, and a reminder now and then."""
        now = self._clock.monotonic()
        state = "" if self._last is None else self._last[1]
        if state == "ready":
            state = "waiting for the arena"
        if state == self._state and now - self._told < self._patience.remind:
            return None
        changed = state != self._state
        self._state, self._told = state, now
        seconds = now - self._begun
        return (state if changed else f"{state}, {seconds:.0f} s") if state else None


def answer_text(answers: Answers) -> str:
    """The answers for a terminal; text of a strategy's own in it is not made printable yet."""
    from autoquant.arena.client.task_text import task_text
    from autoquant.arena.client.verdict_text import verdict_text

    def words(reply: Reply) -> str:
        return task_text(reply) if answers.graded else verdict_text(reply)

    earlier = "" if answers.earlier is None else f"earlier request:\n{words(answers.earlier)}\n\n"
    return earlier + words(answers.reply)
