"""How far one head carries a race on many machines: a simulation in steps of events, with its assumptions as options.

    uv run python bench/many_machines.py

Nothing here is measured on a cluster; the times of one attempt are those of the other benchmarks of this folder.
"""

from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass

ROWS = ((10, 100, 180, 8), (100, 1000, 180, 8), (100, 1000, 180, 16), (100, 1000, 20, 8), (100, 1000, 20, 64))
"""Machines, competitors, seconds of thought, cores of the head."""


@dataclass(frozen=True)
class Assumptions:
    """What the simulation takes for granted; in seconds."""

    attempts: int = 50
    think: float = 180.0
    """An agent's time between two attempts: median; log-normal, sigma 0.8."""
    screen: float = 2.0
    """One evaluation on one core of a machine."""
    confirm: float = 12.0
    confirm_share: float = 0.15
    cores: int = 8
    lease: float = 120.0
    """A machine that did not renew for so long has lost its competitors."""
    mean_life_hours: float = 24.0
    """Of a machine, exponential; each death costs the attempts in hand and one lease."""
    restart: float = 300.0
    """Until a machine is there again."""
    verify: float = 0.03
    """Head, each attempt: chain, digests, the decision made again, git objects."""
    again_share: float = 0.05
    """Attempts that the head evaluates again itself, drawn by lot; every acceptance beside them."""
    head_cores: int = 8
    append: float = 0.002
    """Head: one durable append; one at a time."""


@dataclass
class Outcome:
    """What came of one race."""

    hours: float = 0.0
    ideal_hours: float = 0.0
    lost: int = 0
    head_busy: float = 0.0
    append_busy: float = 0.0
    worst_wait: float = 0.0


def simulate(machines: int, competitors: int, seed: int, a: Assumptions) -> Outcome:
    """One race. Each competitor lives on one machine at a time, whose cores its evaluations queue for."""
    draws, out = random.Random(seed), Outcome()
    cores = [[0.0] * a.cores for _ in range(machines)]
    death = [draws.expovariate(1 / (a.mean_life_hours * 3600)) for _ in range(machines)]
    head = [0.0] * a.head_cores
    busy = appended = 0.0
    home = [racer % machines for racer in range(competitors)]
    clean = [0.0] * competitors
    done = [0] * competitors
    events: list[tuple[float, int, float, bool]] = [(0.0, racer, -1.0, False) for racer in range(competitors)]
    heapq.heapify(events)
    while events:
        now, racer, work, accepted = heapq.heappop(events)
        if work < 0:  # the agent has thought; an evaluation begins as soon as a core of its machine is free
            now += (think := a.think * draws.lognormvariate(0.0, 0.8))
            accepted = draws.random() < a.confirm_share
            work = a.screen + (a.confirm if accepted else 0.0)
            pool, machine = cores[home[racer]], home[racer]
            end = max(now, pool[0]) + work
            if end > death[machine]:
                back = max(now - think, death[machine])
                death[machine] = back + a.restart + draws.expovariate(1 / (a.mean_life_hours * 3600))
                cores[machine] = [back + a.restart] * a.cores
                home[racer] = draws.randrange(machines)
                out.lost += 1
                heapq.heappush(events, (back + a.lease, racer, -1.0, False))
                continue
            heapq.heapreplace(pool, end)
            clean[racer] += think + work
            heapq.heappush(events, (end, racer, work, accepted))
            continue
        # The segment reaches the head, in the order of time; the agent goes on meanwhile.
        check = a.verify + (work if accepted or draws.random() < a.again_share else 0.0)
        begun = max(now, head[0])
        heapq.heapreplace(head, begun + check)
        appended_at = begun + check + a.append
        out.worst_wait = max(out.worst_wait, begun - now)
        busy, appended = busy + check, appended + a.append
        done[racer] += 1
        out.hours = max(out.hours, appended_at / 3600)
        if done[racer] < a.attempts:
            heapq.heappush(events, (now, racer, -1.0, False))
    out.ideal_hours = max(clean) / 3600
    out.head_busy = busy / (out.hours * 3600 * a.head_cores)
    out.append_busy = appended / (out.hours * 3600)
    return out


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    titles = ("machines", "competitors", "think, s", "head's cores", "hours", "slowest racer alone", "attempts lost")
    titles += ("head busy", "append", "longest wait for the head")
    print(f"| {' | '.join(titles)} |")
    print("|---:" * len(titles) + "|")
    for machines, competitors, think, head in ROWS:
        assumed = Assumptions(think=float(think), head_cores=head)
        runs = [simulate(machines, competitors, seed, assumed) for seed in range(options.seeds)]
        count = len(runs)
        hours, ideal = sum(run.hours for run in runs) / count, sum(run.ideal_hours for run in runs) / count
        lost, busy = sum(run.lost for run in runs) / count, sum(run.head_busy for run in runs) / count
        append, wait = sum(run.append_busy for run in runs) / count, max(run.worst_wait for run in runs)
        print(
            f"| {machines} | {competitors:,} | {think} | {head} | {hours:.2f} | {ideal:.2f} | {lost:.0f} "
            f"| {busy:.0%} | {append:.1%} | {wait:,.0f} s |"
        )


if __name__ == "__main__":
    main()
