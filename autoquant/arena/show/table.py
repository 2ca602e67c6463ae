"""The table of a race: the text of its cells, plain lines around it, and how numbers are written there."""

from __future__ import annotations

from autoquant import amounts
from autoquant.arena.roster.budgets import unequal_budgets
from autoquant.arena.show.status import CompetitorStatus, Last, RaceStatus, number
from autoquant.arena.show.trouble import FaultStatus, ViolationStatus

AMOUNTS = 5
"""The first of the columns that are set flush right."""


def attempt_text(last: Last | None) -> str:
    """`#17 search +0.09 5/6`; a dash before the first verdict.

    >>> attempt_text(Last(17, "search", 0.7, 0.091, 5))
    '#17 search +0.09 5/6'
    """
    if last is None:
        return "–"
    parts = [f"#{last.attempt}", f"{last.status} ({last.gate})" if last.gate else last.status]
    if last.delta is not None:
        parts.append(signed(last.delta))
    if last.folds_better is not None:
        parts.append(f"{last.folds_better}/6")
    return " ".join(parts)


def signed(value: float) -> str:
    """Two decimals with a sign.

    >>> signed(-0.039), signed(0.45), signed(-0.001)
    ('−0.04', '+0.45', '+0.00')
    """
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def headings(status: RaceStatus) -> tuple[str, ...]:
    """Titles of the columns."""
    return (f"race {status.race}", "attempts", "champion", "working", "last", "tokens", "cost")


def table_rows(status: RaceStatus) -> list[tuple[str, ...]]:
    """The text of each cell, in the order of `headings`."""
    return [_row(racer, status) for racer in status.competitors]


def _row(racer: CompetitorStatus, status: RaceStatus) -> tuple[str, ...]:
    gain, usage = racer.champion.gain, racer.usage
    champion = number(racer.champion.score) + (f" ▲{gain:.2f}" if racer.champion.attempt and gain else "")
    return (
        racer.name,
        f"{racer.attempts}/{racer.budget}",
        champion,
        number(racer.working.score),
        last_text(racer, status),
        amounts.tokens(usage.tokens if usage else None),
        amounts.dollars(usage.cost_usd if usage else None),
    )


def last_text(racer: CompetitorStatus, status: RaceStatus) -> str:
    """What a competitor did last, or why it does nothing: its end, the attempt that is judged, what it waits for."""
    last = racer.last
    if racer.evaluating is not None:
        return ("" if last is None else f"#{last.attempt} {last.status}, ") + f"judging #{racer.evaluating}"
    if racer.state not in ("racing", "left"):
        return racer.state
    return pause_text(racer, status) or attempt_text(last)


def pause_text(racer: CompetitorStatus, status: RaceStatus) -> str:
    """Why a competitor that races has no session, and since when; empty while it has one.

    The day is told where it is not that of the race's last record.
    """
    pause = racer.pause
    if pause is None:
        return ""
    word = "left" if pause.left else "waits" if status.state == "running" else "waited"
    day, time = pause.since_utc[:10], pause.since_utc[11:16]
    return f"{word}: {pause.why} since {'' if day == status.updated[:10] else f'{day[5:]} '}{time} UTC"


def plain_table(status: RaceStatus) -> str:
    """The table and its footer as plain text."""
    rows = [headings(status), *table_rows(status)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(_fit(cell, width, n) for n, (cell, width) in enumerate(zip(row, widths, strict=True))).rstrip()
        for row in rows
    ]
    lines += [footer(status), *cost_lines(status), *session_lines(status)]
    lines += [*fault_lines(status), *violation_lines(status), *lockbox_lines(status)]
    return "\n".join(lines)


def _fit(cell: str, width: int, column: int) -> str:
    return cell.rjust(width) if column >= AMOUNTS else cell.ljust(width)


def cost_lines(status: RaceStatus) -> list[str]:
    """What an official keep cost each competitor that has one and whose cost is known; nothing when there is none."""
    known = [(racer.name, racer.cost_per_keep_usd) for racer in status.competitors]
    shown = [f"{name} {amounts.dollars(cost)}" for name, cost in known if cost is not None]
    return [f"cost per keep: {', '.join(shown)}"] if shown else []


def session_lines(status: RaceStatus) -> list[str]:
    """How each competitor's sessions ended, of those with an end other than `done`; nothing when there is none."""
    shown = [racer for racer in status.competitors if set(racer.endings) - {"done"}]
    width = max((len(racer.name) for racer in shown), default=0)
    lines = [
        f"  {racer.name.ljust(width)}  {', '.join(f'{number} {how}' for how, number in racer.endings.items())}"
        for racer in shown
    ]
    return ["sessions ended", *lines] if lines else []


def fault_lines(status: RaceStatus) -> list[str]:
    """The newest faults, one line each, the last one at the end; nothing when none is named."""
    shown = status.newest_faults
    more = "" if status.faults <= len(shown) else f", the newest {len(shown)} of {status.faults}"
    return [f"faults{more}", *(f"  {fault_text(fault)}" for fault in shown)] if shown else []


def fault_text(fault: FaultStatus) -> str:
    """When, who, at which attempt, what.

    >>> fault_text(FaultStatus("2026-11-30T03:12:09Z", "sol", None, "auth", "left alone after auth: 401"))
    '2026-11-30 03:12 UTC  sol  auth: left alone after auth: 401'
    """
    who = (fault.competitor or "the race") + ("" if fault.attempt is None else f" #{fault.attempt}")
    return f"{fault.utc[:16].replace('T', ' ')} UTC  {who}  {fault.kind}: {fault.message}"


def violation_lines(status: RaceStatus) -> list[str]:
    """The newest forbidden changes, one line each; nothing when there is none."""
    shown = status.newest_violations
    more = "" if status.violations <= len(shown) else f", the newest {len(shown)} of {status.violations}"
    return [f"violations{more}", *(f"  {violation_text(one)}" for one in shown)] if shown else []


def violation_text(one: ViolationStatus) -> str:
    """When, who, at which attempt, which file, from which bytes to which, and where the diff is.

    >>> violation_text(ViolationStatus("2026-11-30T03:12:09Z", "sol", 3, "run.py", "ab" * 32, "", ""))
    '2026-11-30 03:12 UTC  sol #3  run.py removed (abababababab → nothing)'
    """
    who = one.competitor + ("" if one.attempt is None else f" #{one.attempt}")
    what = "removed" if not one.after else "added" if not one.before else "changed"
    change = f"{one.before[:12] or 'nothing'} → {one.after[:12] or 'nothing'}"
    where = f", diff in evidence/{one.diff}" if one.diff else ""
    return f"{one.utc[:16].replace('T', ' ')} UTC  {who}  {one.path} {what} ({change}){where}"


def footer(status: RaceStatus) -> str:
    """State, counts of what went wrong, provenance, level of isolation."""
    return " · ".join([status.state, *counts(status), *provenance(status), status.isolation])


def provenance(status: RaceStatus) -> list[str]:
    """What has to be known about prices and fairness; nothing for the public archive's and equal budgets."""
    notes = [] if status.allow_source is None else [f"source {status.source} (allowed by option)"]
    if status.kind == "demo":
        notes = ["synthetic data: no score here is a market result"]
    unequal = unequal_budgets({racer.name: racer.budget for racer in status.competitors})
    return [*notes, unequal] if unequal else notes


def counts(status: RaceStatus) -> list[str]:
    """Faults, violations and, where there are any, incidents."""
    parts = [counted(status.faults, "fault"), counted(status.violations, "violation")]
    return parts + ([counted(status.incidents, "incident")] if status.incidents else [])


def counted(value: int, word: str) -> str:
    """`1 fault`, `2 faults`."""
    return f"{value} {word}" + ("" if value == 1 else "s")


def lockbox_lines(status: RaceStatus) -> list[str]:
    """One line per lockbox entry, nothing before the lockbox is reserved."""
    if status.lockbox is None:
        return []
    width = max(len(row.name) for row in status.lockbox)
    kept_seed = {racer.name for racer in status.competitors if racer.champion.attempt == 0}
    lines = ["lockbox"]
    for row in status.lockbox:
        probability = "" if row.probability is None else f"  PSR {row.probability:.3f}"
        sharpe = f"  Sharpe {number(row.sharpe)}" if row.verdict else ""
        own = "  kept the seed" if row.name in kept_seed else ""
        lines.append(f"  {row.name.ljust(width)}  {row.verdict or 'pending'}{sharpe}{probability}{own}")
    return [*lines, *climb_lines(status)]


def climb_lines(status: RaceStatus) -> list[str]:
    """One line per competitor: how it climbed. Areas are the mean gain over the seed, over attempts."""
    width = max((len(racer.name) for racer in status.competitors), default=0)
    lines = []
    for racer in status.competitors:
        if (climb := racer.climb) is not None:
            per_keep = "–" if climb.attempts_per_keep is None else f"{climb.attempts_per_keep:.1f}"
            lines.append(
                f"  {racer.name.ljust(width)}  promotions {climb.confirmed_promotions}, search steps "
                f"{climb.search_acceptances}, attempts per keep {per_keep}, area official "
                f"{_area(climb.official_area)}, working {_area(climb.working_area)}"
            )
    return ["climb", *lines] if lines else []


def _area(value: float | None) -> str:
    return "–" if value is None else signed(value)
