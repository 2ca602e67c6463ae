"""A second engine, written from the protocol's text in plain Python: cash, units, one asset at a time.

Slow and free of arrays on purpose; it shares no line with the package.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

DAY = 86_400_000


@dataclass
class Book:
    cash: float = 1.0
    units: list[float] = field(default_factory=list)
    ruined: bool = False
    equity: list[float] = field(default_factory=list)
    fee: float = 0.0
    spread: float = 0.0
    impact: float = 0.0
    funding: float = 0.0
    turnover: float = 0.0
    trades: int = 0
    fills: int = 0
    gross: list[float] = field(default_factory=list)
    daily: list[float] = field(default_factory=list)


def finite(x: float) -> bool:
    return math.isfinite(x)


class Reference:
    def __init__(self, panel, costs, capital, multiplier):
        self.panel, self.costs, self.capital, self.multiplier = panel, costs, capital, multiplier
        self.days = {}
        for t, ms in enumerate(panel.times):
            self.days.setdefault(int(ms) // DAY, []).append(t)

    def daily_close(self, day, a):
        values = [float(self.panel.close[t, a]) for t in self.days.get(day, [])]
        values = [v for v in values if finite(v)]
        return values[-1] if values else None

    def daily_volume(self, day, a):
        values = [float(self.panel.quote_volume[t, a]) for t in self.days.get(day, [])]
        values = [v for v in values if finite(v)]
        return sum(values) if values else None

    def liquidity(self, t, a):
        today = int(self.panel.times[t]) // DAY
        returns, volumes = [], []
        for day in range(today - self.costs.window_days, today):
            now, before = self.daily_close(day, a), self.daily_close(day - 1, a)
            if now is not None and before is not None:
                returns.append(math.log(now / before))
            volume = self.daily_volume(day, a)
            if volume is not None:
                volumes.append(volume)
        enough = self.costs.minimum_days
        sigma = statistics.stdev(returns) if len(returns) >= enough else None
        volume = statistics.median(volumes) if len(volumes) >= enough else None
        return sigma, volume

    def charge(self, book, t, a, traded):
        costs = self.costs
        half = costs.half_spread_tier1_bp if self.panel.tier[a] == 1 else costs.half_spread_tier2_bp
        fee = self.multiplier * traded * costs.taker_bp / 1e4
        spread = self.multiplier * traded * half / 1e4
        impact = 0.0
        sigma, volume = self.liquidity(t, a)
        if costs.impact_y and sigma is not None and volume is not None and volume > 0:
            share = traded * self.capital / volume
            impact = self.multiplier * traded * costs.impact_prefactor * costs.impact_y * sigma * math.sqrt(share)
        book.fee += fee
        book.spread += spread
        book.impact += impact
        book.cash -= fee + spread + impact

    def may_fill(self, t, a):
        panel = self.panel
        if not (finite(panel.open[t, a]) and panel.volume[t, a] > 0):
            return False
        sigma, volume = self.liquidity(t, a)
        if self.costs.history_rule and (sigma is None or volume is None):
            return False
        return volume != 0

    def run(self, weights, first, stop, delay=0):
        panel, assets = self.panel, range(len(self.panel.assets))
        book = Book(units=[0.0 for _ in assets])
        mark = [math.nan for _ in assets]

        def value():
            return book.cash + sum(book.units[a] * mark[a] for a in assets if book.units[a] != 0)

        def ruin():
            if not book.ruined and value() <= 0:
                book.ruined = True
            if book.ruined:
                book.cash = 0.0
                book.units = [0.0 for _ in assets]
            return book.ruined

        def close_position(t, which):
            before = value()
            for a in which:
                traded = abs(book.units[a] * mark[a]) if book.units[a] != 0 else 0.0
                book.cash += book.units[a] * mark[a] if book.units[a] != 0 else 0.0
                book.units[a] = 0.0
                self.charge(book, t, a, traded)
                book.turnover += traded / before
            ruin()

        for t in range(first, stop):
            for a in assets:
                if finite(panel.open[t, a]):
                    mark[a] = float(panel.open[t, a])
            for a in assets:
                if book.units[a] != 0:
                    due = -book.units[a] * mark[a] * float(panel.funding_at_open[t, a])
                    book.cash += due
                    book.funding += due
            if not ruin():
                equity = value()
                row = t - 1 - delay
                orders = []
                if row >= max(first - 1, 0):
                    for a in assets:
                        weight = float(weights[row, a])
                        if math.isnan(weight) or not self.may_fill(t, a):
                            continue
                        change = weight * equity - book.units[a] * mark[a]
                        if self.costs.participation_cap is not None:
                            volume = self.liquidity(t, a)[1]
                            if volume is not None:
                                most = self.costs.participation_cap * volume / self.capital
                                change = max(-most, min(most, change))
                        orders.append((a, change))
                for a, change in orders:
                    book.cash -= change
                    book.units[a] += change / mark[a]
                    self.charge(book, t, a, abs(change))
                    book.turnover += abs(change) / equity
                    book.fills += abs(change) > 1e-12 * equity
                    book.trades += abs(change) > 1e-3 * equity
                for a in assets:
                    if book.units[a] != 0:
                        due = -book.units[a] * mark[a] * float(panel.funding_inside[t, a])
                        book.cash += due
                        book.funding += due
                ruin()
            for a in assets:
                if finite(panel.close[t, a]):
                    mark[a] = float(panel.close[t, a])
            if not ruin():
                dying = [a for a in assets if int(panel.last_bar[a]) == int(panel.times[t])]
                if dying:
                    close_position(t, dying)
                if t == stop - 1 and not book.ruined:
                    close_position(t, assets)
            equity = value()
            book.equity.append(equity)
            gross = sum(abs(book.units[a] * mark[a]) for a in assets if book.units[a] != 0)
            book.gross.append(gross / equity if equity > 0 else 0.0)
        self.sample(book, first, stop)
        return book

    def sample(self, book, first, stop):
        last = 1.0
        for t in range(first, stop):
            closes_at = int(self.panel.times[t]) + self.panel.bar_ms
            if closes_at % DAY == 0 or t == stop - 1:
                equity = book.equity[t - first]
                book.daily.append(equity / last - 1 if last > 0 else 0.0)
                last = equity


def sharpe(returns):
    deviation = statistics.stdev(returns)
    mean = statistics.fmean(returns)
    if deviation == 0 or deviation < 1e-12 * abs(mean):
        return 0.0
    return mean / deviation * math.sqrt(365)


def drawdown(equity):
    peak, worst = 1.0, 0.0
    for value in equity:
        peak = max(peak, value)
        worst = max(worst, 1 - value / peak)
    return worst
