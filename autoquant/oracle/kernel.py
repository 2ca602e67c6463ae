"""The time loop compiled by numba (extra `fast`), where thousands of paths are traded by this program itself.

A race is judged by numpy, always: an attempt's accounts take a twentieth of its time, and what compiles itself at run
time has no place where an agent's result is decided. The same digits are no promise of a compiler; so each process that
compiles trades a small market both ways first, and takes numpy when one bit differs (docs/adr/0022).

Nothing compiled is kept on disk. Numba's cache is machine code that is loaded unseen: whoever can write it decides what
it does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib.util import find_spec
from types import FunctionType
from typing import Any

import numpy as np

from autoquant.oracle import kernel_loop
from autoquant.oracle.blocks import MOST, Block
from autoquant.oracle.book import Book
from autoquant.oracle.engine import Compiled, trade
from autoquant.oracle.orders import Orders
from autoquant.oracle.tally import Trail
from autoquant.oracle.tape import Tape

WORTH_EVALUATIONS = 600
"""Evaluations (six folds, three scenarios) of one process from which compiling pays: it takes 3 to 4 s of processor
time there, and as much at the head, and saves 12 ms each."""


@dataclass(frozen=True)
class Kernel:
    """What there is: a compiled loop, or why there is none."""

    compiled: Compiled | None
    words: str
    """Its name and version, or the reason."""


def is_installed() -> bool:
    """Whether the extra `fast` is there; imports nothing."""
    return find_spec("numba") is not None


@cache
def load() -> Kernel:
    """Compile, once per process, and check it against numpy; seconds."""
    if not is_installed():
        return Kernel(None, "numba is not installed: uv sync --extra fast")
    try:
        import numba

        words, compiled = f"numba {numba.__version__}", _compile(numba)
    except Exception as error:  # whatever a compiler or its libraries fall over: numpy does the same work
        return Kernel(None, f"numba cannot compile the accounts here ({_first_line(error)})")
    return judged(compiled, words)


def judged(compiled: Compiled, words: str) -> Kernel:
    """A kernel that comes to numpy's digits, or the reason why it is left."""
    for tape, orders in _examples():
        if not same_bits(trade(tape, orders), trade(tape, orders, compiled)):
            return Kernel(None, f"{words} comes to other digits than numpy here")
    return Kernel(compiled, words)


def same_bits(one: Trail, other: Trail) -> bool:
    """Whether two runs agree in every number."""
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name), equal_nan=True) for field in fields(Trail)
    )


def _compile(numba: Any) -> Compiled:
    """Numbers one at a time, for exactly these types: nothing is compiled later, in the middle of the work."""
    one, two, three, flags = "float64[::1]", "float64[:,::1]", "float64[:,:,::1]", "boolean[::1]"
    build = partial(_build, numba)
    add_up = build(kernel_loop.add_up, [two, one])
    value = build(kernel_loop.value, [two, two, two, one], add_up=add_up)
    pay = build(kernel_loop.pay, [one] * 4)
    types = ["int64", "int64", one, two, two, "boolean", *[flags] * 3, *[three] * 11, *[two] * 4]
    run = build(kernel_loop.run_block, types, add_up=add_up, value=value, pay=pay)
    types = ["int64", "int64", "float64", "float64", one, three, "boolean", *[three] * 6, *[two] * 6]
    tally = build(kernel_loop.tally_block, [*types, *["int64[::1]"] * 2], add_up=add_up)
    return Compiled(partial(run_block, run), tally)


def _build(numba: Any, function: Callable[..., None], types: list[str], **names: Any) -> Callable[..., None]:
    """One function of `kernel_loop`, with the compiled ones it calls in place of those of its module."""
    assert isinstance(function, FunctionType)
    bound = FunctionType(function.__code__, {**function.__globals__, **names}, function.__name__)
    # No fastmath: additions stay in their order. numpy's own rule for division by zero. No cache on disk.
    made = numba.njit(f"void({','.join(types)})", error_model="numpy", fastmath=False, nogil=True, cache=False)(bound)
    if not hasattr(made, "signatures"):
        raise RuntimeError("NUMBA_DISABLE_JIT is set")
    return made  # type: ignore[no-any-return]


def run_block(compiled: Callable[..., None], book: Book, block: Block, start: int, stop: int) -> None:
    """A `RunBlock` of `kernel_loop.run_block`, compiled."""
    compiled(
        start, stop, book.cash, np.ascontiguousarray(book.units), block.rate, block.has_impact,
        np.array(block.pays_open), np.array(block.pays_inside), np.array(block.has_orders),
        block.open, block.close, block.target, block.limit, block.floor, block.impact,
        block.funding_open, block.funding_inside, block.traded, block.root, block.held,
        block.opening, block.worth, block.ending, block.received,
    )  # fmt: skip
    book.units = block.held[stop - 1]


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _examples() -> list[tuple[Tape, Orders]]:
    """Small markets with caps, impact, funding, settlements and held units: many lanes, and single ones.

    Longer than a block: sums are compiled for blocks in which nothing is closed by force.
    """
    shapes = ((9, 2, (0.0, 1.0, 2.0, 3.0)), (20, 1, (1.0,)), (5, 1, (2.0,)))
    return [_example(number, *shape) for number, shape in enumerate(shapes)]


def _example(seed: int, assets: int, folds: int, multiples: tuple[float, ...]) -> tuple[Tape, Orders]:
    rng, bars = np.random.default_rng(seed), MOST + 40
    shape = (bars, assets, folds)
    close = np.exp(rng.normal(0, 0.02, shape).cumsum(axis=0))
    open_ = close * np.exp(rng.normal(0, 0.002, shape))
    tape = Tape(
        times=np.zeros((folds, bars), dtype=np.int64),
        bar_ms=3_600_000,
        mark_open=open_,
        mark_close=close,
        funding_open=np.where(np.arange(bars)[:, None, None] % 4 == 0, 1e-3 * open_ * rng.normal(size=shape), 0.0),
        funding_inside=np.where(np.arange(bars)[:, None, None] % 7 == 0, 1e-3 * open_ * rng.normal(size=shape), 0.0),
        tradable=rng.random(shape) < 0.9,
        cap=np.where(rng.random(shape) < 0.5, np.inf, 0.05 * rng.random(shape)),
        impact=0.01 * rng.random(shape),
        settles=np.broadcast_to((np.arange(bars) == bars - 9)[:, None, None], shape) & (rng.random(shape) < 0.3),
        taker=5e-4,
        half_spread=5e-4 * rng.random(assets),
    )
    decisions = rng.normal(0, 1 / assets, (bars, assets, folds, 1))
    decisions[rng.random(decisions.shape) < 0.2] = np.nan
    decisions[::5] = np.nan
    return tape, Orders(decisions, (0,) * len(multiples), np.array(multiples))
