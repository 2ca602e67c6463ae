"""What the arena's starts say of a race: how doctor found the ground, and whom the arena left alone."""

from __future__ import annotations

from collections.abc import Iterable

from autoquant.ledger import records as r
from autoquant.ledger.views import RaceView
from autoquant.report.model import Readiness
from autoquant.report.text import clean


def readiness_of(view: RaceView) -> Readiness:
    """Doctor's checks as far as they are on record; a start of an older version has none."""
    found = [checked for checked in view.readiness if checked is not None]
    return Readiness(
        starts=len(view.starts),
        checked=len(found),
        unverified=sum(not checked.manifest_verified for checked in found),
        problems=tuple(dict.fromkeys(clean(words, 200) for checked in found for words in checked.problems)),
    )


def left_alone(records: Iterable[r.Record]) -> dict[str, str]:
    """Of whom no session is started any more although they have not ended, and the class of the fault, by name.

    A fault of no attempt that no session followed leaves a competitor, until a start runs it again.
    """
    found: dict[str, str] = {}
    ended: set[str] = set()
    for record in records:
        match record.body:
            case r.ArenaStarted(competitors=names):
                found = {name: why for name, why in found.items() if names and name not in names}
            case r.CompetitorEnded(competitor=name):
                ended.add(name)
            case r.SessionStarted(competitor=name) | r.SessionEnded(competitor=name):
                found.pop(name, None)
            case r.FaultSeen(competitor=str(name), attempt=None, kind=kind):
                found[name] = clean(kind, 40)
            case _:
                pass
    return {name: why for name, why in found.items() if name not in ended}
