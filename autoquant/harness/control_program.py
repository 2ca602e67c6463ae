"""The control competitor's own process: write a strategy, call run.py, look what stands there afterwards, repeat.

    python -m autoquant.harness.control_program --workspace=DIR --searcher=hillclimb --seed=1 --used=0

It keeps the parent it started from in scratch/, so that a session cut short in the middle of an experiment goes on
from the same parent with the same draw.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from autoquant import files, process
from autoquant.harness.family import Member, parse, render
from autoquant.harness.searchers import DRAWS_PER_EXPERIMENT, SEARCHERS, stream

RUN_TIMEOUT_SECONDS = 3600.0
NOTE = Path("scratch") / "control.json"


@dataclass(frozen=True)
class Workspace:
    """The worktree as a control sees it."""

    root: Path

    @property
    def strategy(self) -> Path:
        """The one file that may change."""
        return self.root / "strategy.py"

    def used(self) -> int:
        """Experiments counted so far: rows of results.tsv behind its header."""
        try:
            lines = (self.root / "results.tsv").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return 0
        return max(0, len([line for line in lines if line]) - 1)

    def budget(self) -> int:
        """Experiments this race grants."""
        return int(json.loads((self.root / ".autoquant" / "race.json").read_text(encoding="utf-8"))["budget"])

    def parent(self, experiment: int) -> Member | None:
        """What stands in strategy.py, or what stood there when this same experiment was begun before."""
        try:
            saved = json.loads((self.root / NOTE).read_text(encoding="utf-8"))
            if saved["experiment"] == experiment:
                return parse(saved["parent"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        text = self.strategy.read_text(encoding="utf-8")
        files.atomic_write(self.root / NOTE, json.dumps({"experiment": experiment, "parent": text}))
        return parse(text)

    def submit(self, member: Member, message: str) -> int:
        """Write the strategy and wait for the referee's answer; returns run.py's exit code."""
        files.atomic_write(self.strategy, render(member))
        finished = process.run(
            [sys.executable, "run.py", "-m", message[:200], "--json"],
            cwd=self.root,
            env=os.environ,
            timeout_seconds=RUN_TIMEOUT_SECONDS,
        )
        sys.stdout.write(finished.stdout.decode(errors="replace"))
        sys.stderr.write(finished.stderr.decode(errors="replace"))
        sys.stdout.flush()
        return finished.returncode


def search(workspace: Workspace, searcher: str, seed: int, used: int) -> int:
    """Spend what is left of the budget; returns the exit code."""
    budget = workspace.budget()
    while (experiment := max(used, workspace.used()) + 1) <= budget:
        draws = SEARCHERS[searcher](workspace.parent(experiment), stream(seed, experiment))
        for _, (member, message) in zip(range(DRAWS_PER_EXPERIMENT), draws, strict=False):
            code = workspace.submit(member, message)
            if workspace.used() >= experiment:
                break
            if code != 0:
                time.sleep(1.0)
        else:
            print(f"experiment {experiment} was not counted after {DRAWS_PER_EXPERIMENT} tries", file=sys.stderr)
            return 1
    return 0


def main(argv: list[str] | None = None) -> int:
    """Entry point of the process."""
    parser = argparse.ArgumentParser(prog="control_program", description=__doc__, allow_abbrev=False)
    parser.add_argument("--workspace", type=Path, required=True)
    parser.add_argument("--searcher", choices=sorted(SEARCHERS), required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--used", type=int, required=True)
    options = parser.parse_args(argv)
    return search(Workspace(options.workspace), options.searcher, options.seed, options.used)


if __name__ == "__main__":
    raise SystemExit(main())
