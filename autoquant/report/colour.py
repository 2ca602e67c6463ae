"""Competitors' colours, made readable on light and on dark paper by moving lightness alone.

Lightness, chroma and hue are those of OKLCH (Ottosson 2020); contrast is the ratio of WCAG 2.2, 1 … 21.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

LIGHT_PAPER = "#ffffff"
DARK_PAPER = "#131416"
READABLE = 4.5
"""Contrast that small text needs (WCAG AA)."""

FALLBACK = ("#2f6fb3", "#b3572f", "#3f8a4d", "#8a4fb0", "#a3892b", "#2b8f8f", "#b0447a", "#6a6a6a")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")

_TO_LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


@dataclass(frozen=True)
class Ink:
    """One colour, as it is drawn on light and on dark paper (`#rrggbb`)."""

    light: str
    dark: str


def ink(colour: str, position: int) -> Ink:
    """The roster's colour for both papers; anything that is not `#rrggbb` gets a colour of ours by position.

    >>> ink("url(x)", 0) == ink(FALLBACK[0], 0)
    True
    """
    base = colour if _HEX.fullmatch(colour) else FALLBACK[position % len(FALLBACK)]
    return Ink(readable(base, LIGHT_PAPER), readable(base, DARK_PAPER))


def readable(colour: str, paper: str, target: float = READABLE) -> str:
    """`colour` with as little change of lightness as reaches `target` contrast against `paper`."""
    if contrast(colour, paper) >= target:
        return colour.lower()
    lab = _lab(colour)
    goal = 0.0 if _luminance(paper) > 0.5 else 1.0
    for share in np.linspace(0.0, 1.0, 101):
        moved = _hex(np.array([lab[0] + share * (goal - lab[0]), lab[1], lab[2]]))
        if contrast(moved, paper) >= target:
            return moved
    return "#000000" if goal == 0.0 else "#ffffff"


def contrast(first: str, second: str) -> float:
    """WCAG contrast ratio of two colours.

    >>> round(contrast("#000000", "#ffffff"), 6)
    21.0
    """
    darker, lighter = sorted((_luminance(first), _luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def _linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    return float(_linear(colour) @ np.array([0.2126, 0.7152, 0.0722]))


def _lab(colour: str) -> np.ndarray:
    return np.asarray(_TO_LAB @ np.cbrt(_TO_LMS @ _linear(colour)))


def _hex(lab: np.ndarray) -> str:
    linear = np.linalg.solve(_TO_LMS, np.linalg.solve(_TO_LAB, lab) ** 3)
    linear = np.clip(linear, 0.0, 1.0)
    channels = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{round(255 * float(c)):02x}" for c in channels)
