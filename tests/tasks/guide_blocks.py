"""Parts of docs/task_evaluation_guide.md that are made from the code; `python tests/tasks/guide_blocks.py` writes them.

A part stands between `<!-- name -->` and `<!-- end -->`. Those whose names begin with `real` need the real minutes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from task_cases import EARLY, LATE, ground_of, minutes_of_2024, scored

from autoquant.market.index_files import SPELLINGS
from autoquant.market.index_synthetic import synthetic_indices
from autoquant.market.indices import SPLIT, Bars, split_at
from autoquant.sandbox import WarmParent
from autoquant.tasks import lookahead, text
from autoquant.tasks.grade import Verdict, climb, figure
from autoquant.tasks.grader import Ground
from autoquant.tasks.replay import BARS_PER_YEAR, COST_RATE, EXPOSURE_LIMIT, EXPOSURE_SLACK, Replay
from autoquant.tasks.solution import LIMITS, MAXIMUM_POSITION
from autoquant.tasks.spec import ORDER, Tolerance, task
from autoquant.tasks.truth import reference_source

PAGE = Path(__file__).resolve().parents[2] / "docs" / "task_evaluation_guide.md"
BLOCK = re.compile(r"(<!-- (?!end)([\w ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
WORDS = {
    "trades": "trades", "entries": "spread entries", "pnl": "pnl, points", "max_drawdown": "largest drawdown, points",
    "sharpe": "Sharpe ratio",
}  # fmt: skip


def blocks_of(page: str) -> dict[str, str]:
    """Name to content of each generated part."""
    return {name: content for _, name, content, _ in BLOCK.findall(page)}


def plain_blocks() -> dict[str, str]:
    """Parts that only need the code."""
    made = {"tasks": tasks_table(), "limits": limits(), "replay": replay_numbers(), "probes": probe_numbers()}
    made |= {f"ladder {name}": ladder(name) for name in ORDER}
    made |= {f"tolerances {name}": tolerances(name) for name in ORDER if task(name).published}
    return made | {"hidden sharpe": hidden_sharpe(), "columns": columns()}


def rows(head: tuple[str, ...], *lines: tuple[str, ...]) -> str:
    shown = [head, tuple("---" for _ in head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in shown)


def tasks_table() -> str:
    lines = [
        (f"`{spec.name}`", spec.title, f"`{spec.signature}`", ", ".join(f"`{column}`" for column in spec.columns))
        for spec in map(task, ORDER)
    ]
    return rows(("task", "", "you define", "you return a DataFrame of"), *lines)


def ladder(name: str) -> str:
    spec = task(name)
    return rows(("score", "when"), ("0.00", spec.base), *((f"{rung.score:.2f}", rung.words) for rung in spec.rung))


def tolerances(name: str) -> str:
    spec = task(name)
    holds = {rung.check: Verdict(True) for rung in spec.rung if rung.check}
    *_, last = climb(spec, holds, spec.published_figures, spec.published_figures)[1]
    lines = [
        (
            WORDS[one.metric],
            _width(spec.tolerances[one.metric]),
            *(figure(one.metric, value) for value in (one.target, one.low, one.high)),
        )
        for one in last.comparisons
    ]
    return rows(("metric", "tolerance", "published", "from", "to"), *lines)


def hidden_sharpe() -> str:
    points = task("hard").out_of_sample
    lines = [(f"{sharpe:g}", f"{score:.2f}") for sharpe, score in points]
    lines[0], lines[-1] = (f"{points[0][0]:g} or less", lines[0][1]), (f"{points[-1][0]:g} or more", lines[-1][1])
    return rows(("Sharpe ratio on the hidden bars", "score"), *lines)


def limits() -> str:
    return (
        f"- {LIMITS.cpu_seconds:.0f} s of CPU time and {LIMITS.memory_bytes >> 20:,} MiB of memory a run\n"
        f"- a file of at most {LIMITS.strategy_bytes:,} bytes and {LIMITS.strategy_lines} lines\n"
        f"- positions of at most {MAXIMUM_POSITION:,.0f} units either way\n"
    )


def replay_numbers() -> str:
    return (
        f"- costs: {COST_RATE:.5f} of the traded value, per leg\n"
        f"- Sharpe ratio: mean over standard deviation of the bars' pnl, times the root of {BARS_PER_YEAR:,}\n"
        f"- exposure: {EXPOSURE_LIMIT:.2f} is the limit, above {EXPOSURE_LIMIT + EXPOSURE_SLACK:.2f} a bar counts as a "
        "violation\n"
    )


def probe_numbers() -> str:
    removed = ", ".join(f"{bars:,}" for bars in lookahead.REMOVED)
    replaced = ", ".join(f"{100 * share:.0f} %" for share in lookahead.REPLACED_AT)
    places = len({share for share, _, _ in lookahead.JUMPS})
    return (
        f"- {len(lookahead.REMOVED)} runs without the last {removed} bars\n"
        f"- {len(lookahead.REPLACED_AT)} runs whose bars behind {replaced} of the data are others, each cut in the "
        "middle of a session: every move is turned round, up for down\n"
        f"- {len(lookahead.JUMPS)} runs whose bars are others from {places} of your own trades on, after a jump of "
        f"{100 * lookahead.JUMP:.0f} % on the very bar of the trade, and with their moves in another order\n"
        f"- up to {2 * lookahead.DRAWN} runs whose bars are others from a change of position on that earned, every "
        "other one with a jump the other way on its very bar: drawn by what they earned, and nobody knows beforehand "
        "which\n"
    )


def columns() -> str:
    lines = [(meaning, ", ".join(f"`{name}`" for name in names)) for meaning, names in SPELLINGS.items()]
    return rows(("", "any of these, whatever their case and punctuation"), *lines)


def example(parent: WarmParent, ground: Ground) -> str:
    """`arena.py tasks grade` of a cooldown one bar too long, on the made-up pair."""
    told = text.graded(scored(parent, ground, LATE))
    return f"```\n$ uv run arena.py tasks grade solution.py --task medium\n{told}\n```\n"


def slips(parent: WarmParent, ground: Ground) -> str:
    """What one bar of cooldown more or less comes to."""
    sources = {"as the rule says": reference_source("medium"), "one bar longer": LATE, "one bar shorter": EARLY}
    lines = []
    for name, source in sources.items():
        found = scored(parent, ground, source)
        came = found.replay
        assert came is not None
        lines.append((name, f"{came.trades:,}", f"{came.pnl:,.2f}", f"{came.sharpe:.4f}", f"{found.score:.2f}"))
    return rows(("cooldown", "trades", "pnl", "Sharpe ratio", "score"), *lines)


def references(parent: WarmParent, bars: Bars) -> str:
    """What the three reference solutions come to."""
    lines = []
    for name in ORDER:
        found = scored(parent, ground_of(parent, name, bars), reference_source(name))
        assert found.replay is not None
        lines.append((f"`{name}`", *_figures(found.replay), f"{found.score:.2f}"))
    return rows(("reference of", "trades", "entries", "pnl", "drawdown", "Sharpe ratio", "score"), *lines)


def _figures(came: Replay) -> tuple[str, ...]:
    entries = f"{came.entries:,}" if len(came.leg_trades) == 2 else "–"
    return f"{came.trades:,}", entries, f"{came.pnl:,.2f}", f"{came.max_drawdown:,.2f}", f"{came.sharpe:.4f}"


def _width(tolerance: Tolerance) -> str:
    return f"± {tolerance.absolute:g}" if tolerance.absolute is not None else f"± {100 * (tolerance.relative or 0):g} %"


def main() -> None:
    shared = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE.parents[2] / "shared"
    with WarmParent(LIMITS) as parent:
        made = split_at(synthetic_indices(), SPLIT)[0]
        medium = ground_of(parent, "medium", made)
        blocks = plain_blocks() | {"example": example(parent, medium), "slips": slips(parent, medium)}
        real = minutes_of_2024(shared)
        blocks |= {"real references": references(parent, real)}
        blocks |= {"real slips": slips(parent, ground_of(parent, "medium", real))}
    page = PAGE.read_text()
    PAGE.write_text(BLOCK.sub(lambda found: f"{found[1]}{blocks[found[2]]}{found[4]}", page))


if __name__ == "__main__":
    main()
