"""What one competitor spent, from evidence that comes in any order and any number of times. Pure.

Evidence is kept as the largest that was said about each request, and about each conversation as a whole: both only
grow, so that a log read twice, or by a restarted arena from its first line, adds nothing. What is new is always the
difference between everything taken and everything recorded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from autoquant.harness.events import Spent, Usage
from autoquant.harness.prices import Prices, shipped_prices
from autoquant.ledger.records import UsageCounted

BY_CLI = "cli"
"""What `priced_by` says for the program's own figure."""
_ROUNDING = 1e-8
"""Smaller differences of cost are rounding."""


@dataclass(frozen=True)
class Cost:
    """US dollars, and who says so: `cli`, the day of the price table, or nobody, which leaves the amount unknown."""

    usd: float | None
    priced_by: str


_UNKNOWN = Cost(None, "")


class Meter:
    """Counts one competitor's tokens.

    Parameters
    ----------
    competitor : whose they are.
    model : taken for the model of evidence that names none; empty leaves such evidence without a price.
    prices : None for the table of this version.
    """

    def __init__(self, competitor: str, model: str, prices: Prices | None = None) -> None:
        self._competitor = competitor
        self._model = model
        self._prices = prices or shipped_prices()
        self._conversations: dict[str, _Conversation] = {}
        self._gone = Usage()

    def settle(self, recorded: Sequence[UsageCounted]) -> None:
        """All evidence that is left has been taken: what the record holds beyond it came from evidence that is gone.

        Without this, what is spent from now on would first have to fill that gap.
        """
        taken, before = self._taken, _recorded(recorded)
        missing = {name: max(0, getattr(before, name) - getattr(taken, name)) for name in _COUNTS}
        cost = self._own_cost().usd
        known = before.cost_usd or 0.0
        self._gone = Usage(**missing, cost_usd=max(0.0, known - (cost or 0.0)) if any(missing.values()) else None)

    def take(self, spent: Spent) -> None:
        """Take in a piece of evidence; the same again, or an earlier state of it, changes nothing."""
        conversation = self._conversations.setdefault(spent.conversation, _Conversation())
        part = conversation.parts.setdefault(spent.request, _Part())
        part.usage = _larger(part.usage, spent.usage)
        if spent.model:
            part.models.add(spent.model)

    @property
    def total(self) -> Usage:
        """Everything taken; `cost_usd` is None when the cost of any part is unknown, and for nothing at all."""
        return _added([self._taken, self._gone], self._cost().usd)

    @property
    def _taken(self) -> Usage:
        return _added([c.usage for c in self._conversations.values()], None)

    def due(self, recorded: Sequence[UsageCounted], session: int, attempt: int | None) -> UsageCounted | None:
        """What the record lacks of everything taken; None when it lacks nothing.

        Tokens are never taken back, even if the evidence for them is gone. A cost is, when a better one is known now
        for no fewer tokens than are recorded. After a stretch of unknown cost a known one covers that stretch too: then
        the known costs in the record add up to the cost of everything.

        Parameters
        ----------
        recorded : all of the competitor's records so far, of any session.
        session, attempt : what the new record is put down to.
        """
        taken, before = self.total, _recorded(recorded)
        new = {name: max(0, getattr(taken, name) - getattr(before, name)) for name in _COUNTS}
        complete = all(getattr(taken, name) >= getattr(before, name) for name in _COUNTS)
        cost = self._cost()
        change = None if cost.usd is None else round(cost.usd - (before.cost_usd or 0.0), 8) + 0.0
        if change is not None and change < 0 and not complete:
            change = 0.0
        if not any(new.values()) and (change is None or abs(change) < _ROUNDING):
            return None
        models = {model for c in self._conversations.values() for model in c.models(self._model)}
        return UsageCounted(
            competitor=self._competitor,
            session=session,
            attempt=attempt,
            **new,
            cost_usd=change,
            priced_by="" if change is None else cost.priced_by,
            model=models.pop() if len(models) == 1 else None,
        )

    def _cost(self) -> Cost:
        """Of everything, what is gone included."""
        own = self._own_cost()
        if self._gone.cost_usd is None or (own.usd is None and _any_tokens(self._taken)):
            return own
        return Cost((own.usd or 0.0) + self._gone.cost_usd, own.priced_by)

    def _own_cost(self) -> Cost:
        costs = [c.cost(self._prices, self._model) for c in self._conversations.values() if _any_tokens(c.usage)]
        if not costs or any(cost.usd is None for cost in costs):
            return _UNKNOWN
        by_table = [cost.priced_by for cost in costs if cost.priced_by != BY_CLI]
        return Cost(math.fsum(cost.usd or 0.0 for cost in costs), by_table[0] if by_table else BY_CLI)


_COUNTS = ("requests", "input", "cached", "output", "reasoning")


@dataclass
class _Part:
    """The largest that was said about one request, or about a conversation as a whole."""

    usage: Usage = field(default_factory=Usage)
    models: set[str] = field(default_factory=set)

    def model(self, default: str) -> str | None:
        """The one model that was named, or the default if none was; None when several were."""
        return next(iter(self.models or {default})) if len(self.models) < 2 else None


@dataclass
class _Conversation:
    """Requests by id; the running total of the whole under None."""

    parts: dict[str | None, _Part] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        """Tokens: of the requests' sum and the running total, the larger in each field."""
        return _larger(self._sum, self._running.usage)

    def models(self, default: str) -> set[str]:
        """Everybody who spent tokens here."""
        spenders = [part for part in self.parts.values() if _any_tokens(part.usage)]
        return set().union(*(part.models for part in spenders)) or ({default} if spenders and default else set())

    def cost(self, prices: Prices, default: str) -> Cost:
        """The program's own figure where it covers the conversation, else the table's, else none."""
        whole, own = self.usage, []
        if self._running.usage.cost_usd is not None and _covers(self._running.usage, whole):
            own.append(self._running.usage.cost_usd)
        spenders = [part for part in self._requests if _any_tokens(part.usage)]
        amounts = [part.usage.cost_usd for part in spenders]
        known = [amount for amount in amounts if amount is not None]
        if known and len(known) == len(amounts) and _covers(self._sum, whole):
            own.append(math.fsum(known))
        if own:
            return Cost(max(own), BY_CLI)
        return self._by_table(prices, default, spenders, whole)

    def _by_table(self, prices: Prices, default: str, spenders: Sequence[_Part], whole: Usage) -> Cost:
        """Request by request where they are all there; else the whole at once, if one model spent it."""
        if _covers(self._sum, whole) and self._sum.cached == whole.cached:
            found = [(prices.of(part.model(default)), part.usage) for part in spenders]
        else:
            models = self.models(default)
            found = [(prices.of(models.pop()) if len(models) == 1 else None, whole)]
        if any(price is None for price, _ in found):
            return _UNKNOWN
        return Cost(math.fsum(price.cost(usage) for price, usage in found if price is not None), prices.date)

    @property
    def _requests(self) -> list[_Part]:
        return [part for key, part in self.parts.items() if key is not None]

    @property
    def _sum(self) -> Usage:
        return _added([part.usage for part in self._requests], None)

    @property
    def _running(self) -> _Part:
        return self.parts.get(None) or _Part()


def _any_tokens(usage: Usage) -> bool:
    return usage.input > 0 or usage.output > 0


def _covers(part: Usage, whole: Usage) -> bool:
    return part.input >= whole.input and part.output >= whole.output


def _larger(one: Usage, other: Usage) -> Usage:
    costs = [cost for cost in (one.cost_usd, other.cost_usd) if cost is not None]
    return Usage(
        **{name: max(getattr(one, name), getattr(other, name)) for name in _COUNTS},
        cost_usd=max(costs) if costs else None,
    )


def _added(parts: Iterable[Usage], cost_usd: float | None) -> Usage:
    parts = tuple(parts)
    return Usage(**{name: sum(getattr(part, name) for part in parts) for name in _COUNTS}, cost_usd=cost_usd)


def _recorded(records: Sequence[UsageCounted]) -> Usage:
    """The sum of records; the cost is what is known of it."""
    known = [record.cost_usd for record in records if record.cost_usd is not None]
    return Usage(
        **{name: sum(getattr(record, name) for record in records) for name in _COUNTS}, cost_usd=math.fsum(known)
    )
