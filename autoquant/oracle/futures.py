"""Another future for the same past: the bars after a cut, block-shuffled and compounded on from the cut's close.

It looks real because it is made of the real bars: same returns, ranges, volumes and funding in blocks of days, in
another order, over the same pattern of live contracts.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from autoquant.oracle.draws import Draws
from autoquant.sandbox import CallFrames

Floats = NDArray[np.float64]


def shuffle_future(frames: CallFrames, cut: int, draws: Draws) -> CallFrames:
    """`frames` with every row after `cut` replaced; rows up to it are untouched.

    Blocks are about a quarter of the future, at most five days' worth of a 4-hour grid (30 bars); the first block never
    stays first, so that the very next bar differs. A contract that lives in a target row and not in the row drawn for
    it keeps its own bar's shape.
    """
    cube = frames.cube.copy()
    layer = {name: cube[k] for k, name in enumerate(frames.fields)}
    count = len(frames.times) - cut - 1
    source = _block_order(count, draws) + cut + 1
    target = np.arange(cut + 1, cut + 1 + count)

    live = np.isfinite(layer["close"])
    usable = live[target] & live[source]
    assets = np.arange(cube.shape[2])
    rows = np.where(usable, source[:, None], target[:, None])
    before = _before(layer["open"], layer["close"])
    growth = np.where(live[target], layer["close"][rows, assets] / before[rows, assets], 1.0)
    start = _level(layer["open"], layer["close"], cut)
    level = start * np.cumprod(growth, axis=0)
    previous = level / growth

    new = {name: layer[name][rows, assets] for name in frames.fields}
    for name in ("open", "high", "low"):
        new[name] = previous * new[name] / before[rows, assets]
    new["volume"] = new["volume"] * new["close"] / level
    new["close"] = level
    for name, values in new.items():
        layer[name][target] = np.where(live[target], values, np.nan)
    cube.setflags(write=False)
    return dataclasses.replace(frames, cube=cube)


def _block_order(count: int, draws: Draws) -> NDArray[np.int64]:
    """A permutation of 0 … count−1 in whole blocks, the first one moved."""
    size = max(1, min(30, count // 4))
    blocks = -(-count // size)
    order = draws.shuffled(blocks)
    if blocks > 1 and order[0] == 0:
        order = order[1:] + order[:1]
    return np.concatenate([np.arange(b * size, min((b + 1) * size, count)) for b in order]).astype(np.int64)


def _before(opens: Floats, closes: Floats) -> Floats:
    """Last known close before each row; a contract's own open on its first bar."""
    known = _carried(closes)
    before = np.vstack([np.full((1, closes.shape[1]), np.nan), known[:-1]])
    return np.where(np.isnan(before), opens, before)


def _level(opens: Floats, closes: Floats, cut: int) -> Floats:
    """Price each contract starts from: its last close up to the cut, or its first open after it."""
    known = _carried(closes[: cut + 1])[-1]
    later = opens[cut + 1 :]
    first = np.isfinite(later).argmax(axis=0)
    level: Floats = np.where(np.isfinite(known), known, later[first, np.arange(later.shape[1])])
    return level


def _carried(values: Floats) -> Floats:
    """Each column's last finite value so far."""
    rows = np.where(np.isfinite(values), np.arange(len(values))[:, None], -1)
    last = np.maximum.accumulate(rows, axis=0)
    return np.where(last >= 0, values[np.maximum(last, 0), np.arange(values.shape[1])], np.nan)
