"""What an agent finds in the folder of one task: its text, a solution to write, the bars, a way to load them."""

from __future__ import annotations

from pathlib import Path

from autoquant.arena.referee.worktrees import Shape
from autoquant.market.indices import index_folder
from autoquant.tasks.spec import TaskSpec

SOLUTION = "solution.py"
PROGRAM = "program.md"
LOADER = "load.py"

_PROGRAM = """# {title}

You write one file, `{solution}`, which defines `{signature}`. A strict grader runs it and gives a score from 0 to 1.

{brief}

## How you are graded

Each rung asks for itself and for every rung above it in this list.

{ladder}

## How to work

- `python run.py -m "what this tries"` is one backtest: it runs `{solution}` on the bars you see, prints the rung it
  reaches and why it stops there, and uses one step.
- `python run.py --final -m "why this one"` hands `{solution}` in for good{hidden}. It ends the task. The score of the
  final submission is the one that counts; without one, that of your best backtest.
- You have {budget} steps, the final one included. run.py says how many are left. What run.py does not judge costs
  nothing: explore as much as you like.
- The bars are in `data/`. `from load import frames` and `frames()` give you the DataFrames that `{function}` gets.
- A solution may import numpy, pandas, scipy and the pure part of the standard library. It may not read or write files,
  and has 30 seconds of processor time and 2 GiB. The same bars must give the same trades.
- Edit `{solution}` and your own files under `scratch/`. Everything else is put back if it changes, and the change is
  recorded. Ask nobody; nobody answers. If your tool cuts run.py off, call it again: nothing is charged twice.
"""

_STUB = '''"""Your solution. See program.md."""

import pandas as pd


def {signature}:
    return pd.DataFrame(columns={columns})
'''

_LOADER = '''"""The bars of this task as the DataFrames that generate_trades gets. Read only.

    from load import frames
    {names} = frames()
"""

from pathlib import Path

import numpy as np
import pandas as pd

COLUMNS = {columns}


def frames():
    """One DataFrame per argument of generate_trades."""
    folder = Path(__file__).parent / "data"
    prices = np.load(folder / "bars.npy", mmap_mode="r")
    times = pd.DatetimeIndex(np.load(folder / "times.npy").astype("datetime64[ms]").astype("datetime64[ns]"))
    times.name = "datetime"
    found = {{}}
    for row, (frame, column) in zip(prices, COLUMNS, strict=True):
        found.setdefault(frame, {{}})[column] = row
    made = [pd.DataFrame(columns, index=times) for columns in found.values()]
    return made[0] if len(made) == 1 else tuple(made)
'''


def program(spec: TaskSpec, budget: int) -> bytes:
    """program.md of a task's folder."""
    ladder = "\n".join([f"- 0.00 {spec.base}", *(f"- {rung.score:.2f} {rung.words}" for rung in spec.rung)])
    if spec.out_of_sample:
        points = ", ".join(f"{sharpe:g} is {score:.2f}" for sharpe, score in spec.out_of_sample)
        ladder += (
            f"\n- then, in the final submission, the Sharpe ratio on years you do not see: {points}, straight between"
        )
    text = _PROGRAM.format(
        title=spec.title,
        solution=SOLUTION,
        signature=spec.signature,
        function="generate_trades",
        brief=spec.brief.strip(),
        ladder=ladder,
        hidden=", and runs it once on bars you do not see" if spec.out_of_sample else "",
        budget=budget,
    )
    return text.encode()


def stub(spec: TaskSpec) -> bytes:
    """The solution everybody starts from: it runs and trades nothing."""
    return _STUB.format(signature=spec.signature, columns=list(spec.columns)).encode()


def loader(spec: TaskSpec) -> bytes:
    """load.py of a task's folder."""
    columns = spec.shown_columns
    return _LOADER.format(names=", ".join(spec.arguments), columns=columns).encode()


def shape(specs: dict[str, TaskSpec], budget: int) -> Shape:
    """What each competitor's folder holds.

    Parameters
    ----------
    specs : task by competitor.
    """
    extra = {name: {PROGRAM: program(spec, budget), LOADER: loader(spec)} for name, spec in specs.items()}
    return Shape(genome=SOLUTION, commands=("run.py",), texts=("protected.sha256",), extra=extra, data=shown_files)


def shown_files(data_root: Path, cache: Path) -> list[tuple[str, Path]]:
    """The shown bars, as the data root's current index set has them."""
    folder = index_folder(data_root)
    return [("data/bars.npy", folder / "shown.npy"), ("data/times.npy", folder / "shown-times.npy")]
