"""What a competitor's search took, and how its program was set: from the record's view to the page's model."""

from __future__ import annotations

import re
from collections import Counter

from autoquant.ledger.views import CompetitorView
from autoquant.report.model import Setup, Work
from autoquant.report.text import clean

VERSIONS = 8
"""So many versions of a program are listed; of more, how many more."""


def work_of(view: CompetitorView) -> Work:
    """Tokens, cost, sessions and time of a competitor."""
    usage = view.usage if view.spent else None
    ended = [session for session in view.sessions if session.reason is not None]
    return Work(
        usage=usage,
        priced_by=tuple(sorted({clean(part.priced_by, 20) for part in view.spent if part.priced_by})),
        cost_per_keep=view.cost_per_keep_usd,
        sessions=len(view.sessions),
        resumed=sum(session.resumes is not None for session in view.sessions),
        endings=tuple(Counter(clean(s.outcome or s.reason or "", 40) for s in ended).most_common()),
        agent_seconds=view.agent_seconds if ended else None,
        infrastructure_seconds=view.infrastructure_seconds if ended or view.waits else None,
    )


def attempt_amounts(view: CompetitorView) -> dict[int, tuple[int, float | None]]:
    """Tokens and cost by the attempt they led to; an attempt that nothing was put down to is not in it.

    A later and better figure for the whole (the program's own, behind the table's) is recorded as a correction, which
    belongs to no single attempt: where there was one, attempts have tokens and no cost.
    """
    one_yardstick = len({part.priced_by for part in view.spent}) == 1
    corrected = any(part.cost_usd is None or part.cost_usd < 0 for part in view.spent)
    totals: dict[int, tuple[int, float]] = {}
    for part in view.spent:
        if part.attempt is not None:
            tokens, cost = totals.get(part.attempt, (0, 0.0))
            totals[part.attempt] = tokens + part.input + part.output, cost + (part.cost_usd or 0.0)
    priced = one_yardstick and not corrected
    return {attempt: (tokens, cost if priced else None) for attempt, (tokens, cost) in totals.items()}


def setup_of(view: CompetitorView) -> Setup:
    """How the competitor's program was set. A user and password in an endpoint stay out of the page."""
    joined = view.joined
    versions = tuple(dict.fromkeys(clean(session.version, 80) for session in view.sessions if session.version))
    more = (f"{len(versions) - VERSIONS} more",) if len(versions) > VERSIONS else ()
    return Setup(
        replicate_of=clean(joined.group, 80),
        versions=(*versions[:VERSIONS], *more),
        endpoint=re.sub(r"//[^/@]*@", "//", clean(joined.endpoint, 200)),
        args=tuple(clean(arg, 120) for arg in joined.args),
        settings=tuple(clean(setting, 120) for setting in joined.settings),
    )
