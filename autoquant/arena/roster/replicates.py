"""Replicates: one roster entry that races several times, each under a name, a shade and a seed of its own."""

from __future__ import annotations

import colorsys
import itertools
from dataclasses import replace

from autoquant.harness import Competitor

REACH = 0.18
"""How far a shade's lightness (0 … 1) may lie from the middle one."""
DARKEST, LIGHTEST = 0.1, 0.9


def replicas(competitor: Competitor, count: int) -> tuple[Competitor, ...]:
    """NAME-1 … NAME-count of a competitor; itself, alone, for a count of 1."""
    if count == 1:
        return (competitor,)
    return tuple(
        replace(
            competitor,
            name=f"{competitor.name}-{number}",
            group=competitor.name,
            colour=colour,
            seed=(competitor.seed or 0) + number - 1 if competitor.harness == "control" else None,
        )
        for number, colour in enumerate(shades(competitor.colour, count), start=1)
    )


def shades(colour: str, count: int) -> list[str]:
    """`count` different colours of one hue, `colour` first. A longer list begins with the shorter one.

    Lightness is drawn from halves, quarters, eighths … of the room around it, so that few shades lie far apart.

    >>> shades("#1D9BF0", 3)
    ['#1D9BF0', '#0B68A6', '#48AEF3']
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)))
    middle = min(max(lightness, DARKEST + REACH), LIGHTEST - REACH)
    found = [colour.upper()]
    for number in itertools.count(1):
        if len(found) >= count:
            break
        share = (_radical_inverse(number) + 0.5) % 1.0 - 0.5
        channels = colorsys.hls_to_rgb(hue, middle + 2 * REACH * share, saturation)
        shade = "#" + "".join(f"{round(255 * channel):02X}" for channel in channels)
        if shade not in found:
            found.append(shade)
    return found


def _radical_inverse(number: int) -> float:
    """Binary digits mirrored at the point: 1/2, 1/4, 3/4, 1/8, 5/8, …"""
    return int(f"{number:b}"[::-1], 2) / 2.0 ** number.bit_length()
