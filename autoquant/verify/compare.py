"""Are two records the same? To the last digit where the environment is the same, else within a stated tolerance."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from autoquant import codec
from autoquant.protocol import PROTOCOL

TOLERANCE = PROTOCOL.causality.mask_tolerance
"""Largest difference of a number that other library versions or another instruction set may make: 1e-6.

It is the contest's own word for nothing: both ratchets count no fold and no archive slot as better by so little, since
another order of the same sums already moves the last digits. What differs by more is another result.
"""
ROUNDING = 1.5e-4
"""The same for numbers that were rounded to four digits: one unit of the last digit, and half a unit more."""


def difference(expected: Any, found: Any, tolerance: float = 0.0) -> str:
    """Where two records differ first, in words; empty when they do not.

    Parameters
    ----------
    tolerance : for floats, absolute; 0 asks for equality to the last digit.

    >>> difference({"a": (1.0, 2.0)}, {"a": (1.0, 2.5)})
    'a[1]: 2.5 where 2.0 was recorded'
    >>> difference({"a": 1.0}, {"a": 1.0 + 1e-9}, 1e-6)
    ''
    """
    if is_dataclass(expected) and expected == found:  # the same class, so the same fields of the same types
        return ""
    return _differs(codec.encode(expected), codec.encode(found), tolerance, "")


def _differs(expected: Any, found: Any, tolerance: float, path: str) -> str:
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        parts = ((f"{path}.{key}" if path else str(key), expected[key], found[key]) for key in expected)
        return next((words for key, a, b in parts if (words := _differs(a, b, tolerance, key))), "")
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return next((words for n, (a, b) in pairs if (words := _differs(a, b, tolerance, f"{path}[{n}]"))), "")
    if isinstance(expected, float) and isinstance(found, float) and abs(expected - found) <= tolerance:
        return ""
    if expected == found and type(expected) is type(found):
        return ""
    return f"{path or 'value'}: {_short(found)} where {_short(expected)} was recorded"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
