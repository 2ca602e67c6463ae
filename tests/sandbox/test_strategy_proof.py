"""The proof finds what is open, and finds nothing open around strategy code."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from autoquant.sandbox import StrategyIsolation
from autoquant.sandbox.interpreter import this_interpreter
from autoquant.sandbox.proof import Escape, prove, prove_strategy
from autoquant.sealing import Level, Seal, sealed_prefix


def by_program(*prefix: str) -> Callable[[str], str]:
    """A plain interpreter without any of the sandbox's own walls."""

    def ask(program: str) -> str:
        argv = [*prefix, this_interpreter().program, "-S", "-c", f"{program}\nprint(look())"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]

    return ask


def open_doors(attempts: tuple[Escape, ...]) -> list[str]:
    return [f"{one.name}: {one.said}" for one in attempts if not one.stopped]


def test_where_nothing_stands_in_the_way_every_attempt_succeeds() -> None:
    assert [] == [one.name for one in prove(by_program()) if one.stopped]


def test_the_seal_alone_stops_every_attempt(real_seal: Seal) -> None:
    """INV-34."""
    assert [] == open_doors(prove(by_program(*sealed_prefix(real_seal))))


def test_strategy_code_gets_nowhere(seal: Seal | None) -> None:
    """INV-34, and at the evident level what the inner walls give: on a kernel with Landlock, the same."""
    level = Level.EVIDENT if seal is None else Level.SEALED
    doors = open_doors(prove_strategy(StrategyIsolation(level, "", seal)))
    if doors and seal is None:
        pytest.skip(f"the evident level leaves open here: {doors}")
    assert [] == doors
