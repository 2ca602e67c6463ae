"""What a task's rule gives on some data: the published figures on the reference set, else those of our own solution."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import InfrastructureFault
from autoquant.market.indices import Bars
from autoquant.sandbox import WarmParent
from autoquant.tasks.replay import Replay
from autoquant.tasks.solution import replayed, run
from autoquant.tasks.spec import TaskSpec, metrics, task

PUBLISHED, REFERENCE = "published", "reference"


@dataclass(frozen=True)
class Truth:
    """Figures to compare with, and whose they are."""

    origin: str
    """`published`: of the reference data set; `reference`: our own solution's on these bars."""
    figures: dict[str, float]


def reference_source(name: str) -> bytes:
    """Text of a task's reference solution."""
    return (Path(__file__).parent / "references" / f"{name}.py").read_bytes()


def reference_replay(parent: WarmParent, name: str, bars: Bars) -> Replay:
    """What a task's reference solution comes to on some bars.

    Raises
    ------
    InfrastructureFault : it did not run: our doing, or the machine's.
    """
    spec = task(name)
    ran = run(parent, reference_source(name), spec.shown(bars), spec)
    if ran.trades is None:
        reason = ran.fault.message if ran.fault else ran.problem
        raise InfrastructureFault(f"the reference solution of {name} gave no trades: {reason}")
    return replayed(ran.trades, spec.shown(bars), spec)


def truth_of(parent: WarmParent, spec: TaskSpec, bars: Bars) -> Truth:
    """The figures a task is graded by on these bars.

    The published ones are used only where the bars prove to be theirs: as many as the reference set has, and our
    crossover comes to its published figures.
    """
    own = metrics(reference_replay(parent, spec.name, bars))
    if spec.published is not None and is_reference_set(parent, bars, own if spec.name == "easy" else None):
        return Truth(PUBLISHED, spec.published_figures)
    return Truth(REFERENCE, {name: own[name] for name in spec.tolerances})


def is_reference_set(parent: WarmParent, bars: Bars, easy: dict[str, float] | None = None) -> bool:
    """Whether the bars are those that the published figures belong to.

    Parameters
    ----------
    easy : metrics of the easy task's reference solution on them, when they are known.
    """
    spec = task("easy")
    if spec.published is None or len(bars) != spec.published.rows:
        return False
    return matches(spec, easy or metrics(reference_replay(parent, "easy", bars)))


def matches(spec: TaskSpec, figures: dict[str, float]) -> bool:
    """Whether figures are the published ones, within the task's tolerances."""
    return all(spec.tolerances[name].holds(figures[name], value) for name, value in spec.published_figures.items())
