"""Replicates: one roster entry that races several times, each under a name, a shade and a seed of its own.

How often is the entry's key `replicates`, or the option `--replicates`, which goes before it for everybody chosen.
"""

from __future__ import annotations

import colorsys
import itertools
from collections.abc import Sequence
from dataclasses import replace

from autoquant.arena.roster.names import NAME_RULE, valid_name
from autoquant.errors import UserError
from autoquant.harness import Competitor

MOST = 20
"""Replicates of one entry."""
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


def with_replicates(
    chosen: Sequence[Competitor], count: int | None, roster: Sequence[Competitor], where: str
) -> tuple[Competitor, ...]:
    """Everybody chosen, `count` times each, whatever the roster says; as they are for None.

    Parameters
    ----------
    chosen : of the roster, replicates one by one.
    roster : everybody in it; no name of theirs may come about twice.
    where : the roster's file.

    Raises
    ------
    UserError : too many, one replicate chosen without its siblings, or a name that is there already.
    """
    if count is None:
        return tuple(chosen)
    if count > MOST:
        raise UserError(f"--replicates {count}: at most {MOST}")
    names = dict.fromkeys(competitor.group or competitor.name for competitor in chosen)
    _require_whole_entries(chosen, roster)
    others = {word for c in roster for word in (c.group, c.name) if (c.group or c.name) not in names}
    racers: list[Competitor] = []
    for name in names:
        first = next(competitor for competitor in chosen if (competitor.group or competitor.name) == name)
        made = replicas(replace(first, name=name, group=""), count)
        if not valid_name(made[-1].name):
            raise UserError(f"--replicates makes {made[-1].name!r}, which cannot be used", NAME_RULE)
        new = {racer.name for racer in made} - {name}
        if taken := sorted(new & (others | set(names) | {racer.name for racer in racers})):
            hint = "rename one of them: replicates are called NAME-1, NAME-2, …"
            raise UserError(f"--replicates makes {taken[0]!r} of {name!r}, which is in {where} already", hint)
        racers += made
    return tuple(racers)


def _require_whole_entries(chosen: Sequence[Competitor], roster: Sequence[Competitor]) -> None:
    for competitor in chosen:
        siblings = [one.name for one in roster if competitor.group and one.group == competitor.group]
        if not {*siblings} <= {one.name for one in chosen}:
            raise UserError(
                f"--replicates: {competitor.name!r} is one replicate of {competitor.group!r}",
                f"name {competitor.group}, or leave --replicates out",
            )


def require_different_searches(chosen: Sequence[Competitor]) -> None:
    """Two controls of one searcher and one seed are one run twice, and would count as two.

    Raises
    ------
    UserError : names both.
    """
    seen: dict[tuple[str, int], str] = {}
    for competitor in chosen:
        if competitor.harness != "control":
            continue
        search = competitor.model, competitor.seed or 0
        if search in seen:
            raise UserError(
                f"{seen[search]} and {competitor.name} are one search: {search[0]}, seed {search[1]}",
                "give one of them another seed, or leave it out",
            )
        seen[search] = competitor.name


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
