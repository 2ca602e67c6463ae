"""The status of a race that is asked for several times a second."""

from __future__ import annotations

from collections.abc import Sequence

from autoquant.arena.show.status import CompetitorStatus, RaceStatus, competitor_of, status_of
from autoquant.arena.show.trouble import Pause
from autoquant.ledger.records import Record, SeedScored
from autoquant.ledger.views import CompetitorView, RaceView


class Follower:
    """`status_of`, which looks at a competitor's attempts again only after something of it changed.

    A view that has not changed is the same object; so is the seed's score. What a look costs then follows the
    competitors, and not the thousands of attempts that a long race has.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[CompetitorView, SeedScored | None, Pause | None, CompetitorStatus]] = {}

    def status(self, view: RaceView, arena: str | None, records: Sequence[Record] = ()) -> RaceStatus:
        """What `status_of` says of the same."""
        return status_of(view, arena, records, self._competitor)

    def _competitor(self, racer: CompetitorView, view: RaceView, pause: Pause | None) -> CompetitorStatus:
        if (known := self._known.get(racer.name)) is not None:
            seen, seed, waited, status = known
            if seen is racer and seed is view.seed and waited == pause:
                return status
        status = competitor_of(racer, view, pause)
        self._known[racer.name] = racer, view.seed, pause, status
        return status
