"""The controls' family of strategies: one template, twenty-odd numbers, every combination a valid causal file.

A member is a dictionary of the parameters in `SPACE`. `render` writes it as strategy.py with the dictionary as a
constant at the top, `parse` reads it back. Nothing here knows which member is good.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Mapping
from pathlib import Path

Value = int | float | str
Member = dict[str, Value]

SPACE: dict[str, tuple[Value, ...]] = {
    "lookback_days": (15, 20, 30, 45, 60, 75, 90, 120, 150, 180),
    "skip_days": (0, 0, 1, 2, 3, 5, 7),
    "direction": (1, 1, 1, -1),
    "second_lookback_days": (20, 30, 60, 90, 120, 200),
    "second_share": (0.0, 0.0, 0.25, 0.5, -0.25),
    "scale_by_volatility": (0, 1),
    "weighting": ("rank", "sign", "zscore"),
    "market_neutral": (1, 1, 0),
    "top": (0, 0, 2, 3, 4, 6),
    "inverse_volatility": (0, 1),
    "volatility_days": (20, 30, 60),
    "drop_wildest": (0.0, 0.0, 0.1, 0.2, 0.3),
    "funding_tilt": (0.0, 0.0, 0.25, 0.5, 1.0, -0.25),
    "funding_days": (7, 14, 30),
    "liquidity_floor": (0.0, 0.0, 0.2, 0.4),
    "tranches": (7, 10, 14, 21, 28, 35),
    "volatility_target": (0.1, 0.15, 0.2, 0.25, 0.3),
    "target_days": (20, 30, 60),
    "gross_limit": (0.6, 0.8, 1.0),
}
"""Admissible values; a value that stands twice is drawn twice as often."""

SEED_LIKE: Member = {
    "lookback_days": 60,
    "skip_days": 0,
    "direction": 1,
    "second_lookback_days": 60,
    "second_share": 0.0,
    "scale_by_volatility": 0,
    "weighting": "rank",
    "market_neutral": 1,
    "top": 0,
    "inverse_volatility": 0,
    "volatility_days": 30,
    "drop_wildest": 0.0,
    "funding_tilt": 0.0,
    "funding_days": 7,
    "liquidity_floor": 0.0,
    "tranches": 7,
    "volatility_target": 0.2,
    "target_days": 30,
    "gross_limit": 1.0,
}
"""The member nearest to the seed strategy: where a climb starts, since the seed itself holds no dictionary."""

MEMORY_DAYS = 400
"""No member's weights depend on an older bar: its longest windows one behind the other come to 304 days."""

_IDLE_WITHOUT = {"second_lookback_days": "second_share", "funding_days": "funding_tilt"}
"""Parameters that say nothing while another one is 0."""

_MARK = "PARAMETERS"
_TEMPLATE = Path(__file__).with_name("family_strategy.py.tmpl")


def draw(rng: random.Random) -> Member:
    """A member with every parameter drawn on its own."""
    return {name: rng.choice(values) for name, values in SPACE.items()}


def mutate(member: Mapping[str, Value], rng: random.Random) -> Member:
    """A copy with one or two parameters changed: numbers to a neighbouring value, words to another one."""
    result = dict(member)
    speaking = [name for name in sorted(SPACE) if member[_IDLE_WITHOUT.get(name, name)] or name not in _IDLE_WITHOUT]
    for name in rng.sample(speaking, rng.choice((1, 1, 2))):
        ordered = _ordered(name)
        here = ordered.index(result[name])
        if isinstance(ordered[0], str):
            options = [value for value in ordered if value != result[name]]
        else:
            options = [ordered[i] for i in range(max(0, here - 2), min(len(ordered), here + 3)) if i != here]
        result[name] = rng.choice(options)
    return result


def _ordered(name: str) -> list[Value]:
    values = set(SPACE[name])
    return sorted(values, key=str) if isinstance(SPACE[name][0], str) else sorted(values, key=float)


def render(member: Mapping[str, Value]) -> str:
    """The member as a complete strategy.py."""
    constant = f"{_MARK} = {{\n" + "".join(f"    {name!r}: {member[name]!r},\n" for name in SPACE) + "}\n"
    head, _, tail = _TEMPLATE.read_text(encoding="utf-8").partition(f"{_MARK} = {{}}\n")
    return head + constant.replace("'", '"') + tail


def parse(source: str) -> Member | None:
    """The member that `source` was rendered from; None for any other strategy."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="PARAMETERS")], value=value):
                try:
                    found = ast.literal_eval(value)
                except ValueError:
                    return None
                return found if _is_member(found) else None
    return None


def _is_member(found: object) -> bool:
    return (
        isinstance(found, dict) and found.keys() == SPACE.keys() and all(found[name] in SPACE[name] for name in SPACE)
    )
