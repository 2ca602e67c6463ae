"""JSON lines of foreign programs: whatever stands there, reading it never raises."""

from __future__ import annotations

import json
from typing import Any


def parse(line: str) -> dict[str, Any]:
    """The object of a line; empty when it holds none.

    >>> parse('{"a": 1}'), parse('{"a": '), parse("[1]"), parse("hello")
    ({'a': 1}, {}, {}, {})
    """
    if not line.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def child(value: Any, *path: str) -> dict[str, Any]:
    """The object below `path`; empty when something else stands there.

    >>> child({"a": {"b": {"c": 1}}}, "a", "b"), child({"a": 3}, "a", "b")
    ({'c': 1}, {})
    """
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def text(value: Any, limit: int = 2_000) -> str:
    """A text, cut; empty when it is none."""
    return value[:limit] if isinstance(value, str) else ""


def count(value: Any) -> int:
    """A whole number of tokens; 0 when it is none.

    >>> count(3), count(3.0), count(-1), count(True), count("3"), count(None), count(float("inf"))
    (3, 3, 0, 0, 0, 0, 0)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        return 0
    return int(value)


def money(value: Any) -> float | None:
    """An amount in US dollars; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        return None
    return float(value)
