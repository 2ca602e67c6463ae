"""When a session has lasted, been silent or grown too long. Pure: signs in, a reason or nothing out.

Silence alone is no stall: a program that uses the processor or changes files is at work.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Seconds and bytes."""

    first_output: float
    """Nothing printed, no processor used, no file changed since the start."""
    silent: float
    """The same, once something was printed."""
    quiet: float
    """No attempt opened, whatever else happened."""
    session: float
    """Since the start."""
    output_bytes: int = 64 * MIB
    """Of one stream; more than that is not kept."""
    disk_bytes: int = 8192 * MIB
    """Of the competitor's home, temporary folder and worktree."""
    disk_files: int = 300_000


@dataclass(frozen=True)
class Signs:
    """Moments (monotonic seconds) and sizes of one session."""

    started: float
    last_output: float | None = None
    last_activity: float | None = None
    """When the processor was used or a file changed, as far as was sampled."""
    last_progress: float | None = None
    """When an attempt was last opened or closed."""
    finished: float | None = None
    """When the final event came, if nothing came after it."""
    output_bytes: int = 0
    disk_bytes: int = 0
    disk_files: int = 0


def overdue(signs: Signs, limits: Limits, now: float, *, farewell: float) -> str | None:
    """Why the session has to be ended, in the words of the record; None while it may go on.

    >>> limits = Limits(first_output=600, silent=1800, quiet=5400, session=21600)
    >>> overdue(Signs(started=0.0), limits, 601.0, farewell=30.0)
    'no first output'
    >>> overdue(Signs(started=0.0, last_activity=500.0), limits, 601.0, farewell=30.0) is None
    True
    """
    if signs.finished is not None and now - signs.finished > farewell:
        return "did not exit"
    if signs.output_bytes >= limits.output_bytes:
        return "output limit"
    if signs.disk_bytes >= limits.disk_bytes or signs.disk_files >= limits.disk_files:
        return "disk limit"
    if now - signs.started > limits.session:
        return "time limit"
    alive = max(moment for moment in (signs.started, signs.last_output, signs.last_activity) if moment is not None)
    patience, word = (
        (limits.first_output, "no first output") if signs.last_output is None else (limits.silent, "silent")
    )
    if now - alive > patience:
        return word
    if now - (signs.started if signs.last_progress is None else signs.last_progress) > limits.quiet:
        return "no progress"
    return None
