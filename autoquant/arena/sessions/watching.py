"""Watches over one running session: answers its requests, listens, and says why it is over."""

from __future__ import annotations

import re
from collections.abc import Callable

from autoquant.arena.sessions.activity import Activity
from autoquant.arena.sessions.listening import Listener
from autoquant.arena.sessions.place import home_of, temporary_of
from autoquant.arena.sessions.session import LOG_BYTES, Session
from autoquant.arena.sessions.track import Track
from autoquant.arena.sessions.watchdogs import Limits, Signs, overdue
from autoquant.harness import Competitor, harness_of
from autoquant.harness.events import Hurt, Trouble
from autoquant.ledger.views import CompetitorView

HOPELESS = frozenset({Trouble.AUTH, Trouble.QUOTA, Trouble.SETUP})
"""Complaints that a program's own retries do not mend."""
_NOISE = re.compile(r"\[1m\]$|:[a-z]+$|-v\d+(:\d+)?$|^(us|eu|apac|global)?\.?(anthropic|openai|google|xai)\.")
"""Size of the context, tier of a reseller, version and vendor in a cloud's name for the same model."""
_DATED = re.compile(r"([-@:](\d{3,4}|\d{6,8}|\d{4}-\d{2}-\d{2}|latest|preview|exp))*")
"""What may follow a model's name without making it another model: a date, a build, a channel."""


class Watch:
    """One session being watched.

    Parameters
    ----------
    track, competitor, session, listener : what is watched, and how it is heard.
    count : records usage; called with the attempt that was just made, or None.
    """

    def __init__(
        self,
        track: Track,
        competitor: Competitor,
        session: Session,
        listener: Listener,
        count: Callable[[int | None], None],
    ) -> None:
        self._track = track
        self._competitor = competitor
        self._session = session
        self.listener = listener
        self._count = count
        self._limits = Limits(
            first_output=min(track.pace.first_output, competitor.silent_minutes * 60),
            silent=competitor.silent_minutes * 60,
            quiet=competitor.quiet_minutes * 60,
            session=competitor.session_minutes * 60,
            output_bytes=LOG_BYTES,
        )
        layout, name = track.layout, competitor.name
        worktree = layout.worktree(name)
        self._activity = Activity(
            session.pid,
            (home_of(layout, name), temporary_of(layout, name), worktree),
            worktree,
            every_seconds=track.pace.sample,
            disk_every_seconds=4 * track.pace.sample,
        )
        self._last_output: float | None = None
        self._last_activity: float | None = None
        self._finished: float | None = None
        self._hurting: tuple[Hurt, float] | None = None
        self._good, self._last_good = 0, session.started
        self._asked = harness_of(competitor).asked_model(competitor)
        self._listened = session.started
        self.reason = "fault"
        """Why the session is over, in the words of the record."""
        self.progress = session.started
        """Moment of the last attempt that was opened or closed."""
        self.judging = 0.0
        """Seconds the referee took for its attempts."""

    def run(self) -> None:
        """Answer requests until the session is over."""
        track, name = self._track, self._competitor.name
        attempts, farewell = len(self._racer().attempts), 0.0
        while True:
            if track.stopping.is_set():
                self.reason = "paused"
                return
            if self._session.exit_code() is not None:
                self.reason = "exited"
                return
            before = track.clock.monotonic()
            self._listen(before)
            if self.switched:
                self.reason = "model switched"
                return
            answered = track.referee.poll(name)
            now, racer = track.clock.monotonic(), self._racer()
            if answered:  # whoever waits for the referee is not idle
                self._last_activity = now
            if racer.ended is not None:
                self.reason = racer.ended
                return
            if len(racer.attempts) > attempts:
                attempts = len(racer.attempts)
                self.judging += now - before
                self.progress = now
                self.listener.look()
                self._count(attempts)
            if racer.left == 0:
                farewell = farewell or now
                if now - farewell > track.pace.farewell:
                    self.reason = "budget used"
                    return
            elif (reason := self._overdue(now)) is not None:
                self.reason = reason
                return
            if not answered:
                track.stopping.wait(track.pace.poll)

    def _listen(self, now: float) -> None:
        if now - self._listened < self._track.pace.listen and now > self._listened:
            return
        self._listened = now
        if self.listener.look():
            self._last_output = now
        if self._activity.sample(now):
            self._last_activity = now
        if self.listener.good != self._good:
            self._good, self._last_good = self.listener.good, now
        finished = self.listener.finished
        self._finished = None if finished is None else (now if self._finished is None else self._finished)
        hurt = self.listener.trouble
        if hurt is None or hurt.trouble not in HOPELESS:
            self._hurting = None
        elif self._hurting is None:
            self._hurting = (hurt, now)

    @property
    def switched(self) -> str:
        """The first model that answered and is not the one asked for; empty when there is none."""
        others = (seen for seen in self.listener.models if self._asked and not same_model(self._asked, seen))
        return next(others, "")

    def wasted(self, ended: float) -> float:
        """Seconds before `ended` in which nothing came of the session: no text, tool call or attempt, and unless its
        program or provider complained, no work of its processes either.
        """
        moments = [self._session.started, self.progress, self._last_good]
        if self.listener.trouble is None and self._last_activity is not None:
            moments.append(self._last_activity)
        return max(0.0, ended - max(moments))

    def _overdue(self, now: float) -> str | None:
        if self._hurting is not None and now - self._hurting[1] > self._track.pace.hopeless:
            return self._hurting[0].trouble.value
        signs = Signs(
            self._session.started,
            self._last_output,
            self._last_activity,
            self.progress,
            self._finished,
            self.listener.output_bytes,
            self._activity.disk.bytes,
            self._activity.disk.files,
        )
        return overdue(signs, self._limits, now, farewell=self._track.pace.farewell)

    def _racer(self) -> CompetitorView:
        return self._track.ledger.view.competitors[self._competitor.name]


def same_model(asked: str, seen: str) -> bool:
    """Whether the model that answered is the one that was asked for: prefixes of a provider and a date may differ.

    >>> same_model("gpt-5.6-sol", "gpt-5.6-sol-2026-10-01"), same_model("gpt-5", "gpt-5-mini")
    (True, False)
    >>> same_model("openrouter/z-ai/glm-5", "z-ai/glm-5"), same_model("sonnet", "claude-sonnet-5-20260901")
    (True, True)
    """
    short, found = (_NOISE.sub("", name.lower().rpartition("/")[2]) for name in (asked, seen))
    if not any(character.isdigit() for character in short):
        return short in found
    return found.startswith(short) and _DATED.fullmatch(found.removeprefix(short)) is not None
