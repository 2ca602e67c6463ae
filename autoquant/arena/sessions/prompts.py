"""What an agent is told at the start of a session: the same words for everybody."""

from __future__ import annotations

from typing import Protocol

from autoquant import amounts
from autoquant.arena.show.status import number
from autoquant.ledger.views import AttemptView, CompetitorView, RaceView

_RECENT = 5


class Prompt(Protocol):
    """Makes the text of a session's start."""

    def __call__(self, racer: CompetitorView, race: RaceView, *, resumed: bool, seconds_left: float | None) -> str:
        """The text."""
        ...


def prompt_for(racer: CompetitorView, race: RaceView, *, resumed: bool, seconds_left: float | None) -> str:
    """The text for the next session: kick-off, reminder in a conversation that goes on, or kick-off with a summary."""
    used, budget = len(racer.attempts), racer.joined.budget
    time = "" if seconds_left is None else f" This session may last {amounts.duration(seconds_left)} more."
    if resumed:
        return (
            f"{used} of {budget} experiments are used, {budget - used} are left. The budget is not used up, so the\n"
            "race is not over: go on as program.md says, with the next experiment, without asking anybody, until\n"
            f"run.py says that no attempts are left.{time}\n"
        )
    text = (
        "You are in a race of quant researchers. Read program.md in this folder first: it is your whole task.\n"
        f"You have {budget} experiments. Edit strategy.py, submit each experiment with `python run.py -m TEXT`, learn\n"
        "from its answer, and go on without asking anybody until the budget is used. If your tool cuts run.py off or\n"
        f"puts it into the background, run it again and wait for its answer: nothing is charged twice.{time}\n"
    )
    return text + (_summary(racer, race) if used else "")


def _summary(racer: CompetitorView, race: RaceView) -> str:
    """What a new conversation has to know of the former ones."""
    used, budget = len(racer.attempts), racer.joined.budget
    seed = race.seed.score if race.seed else None
    lines = [
        f"\n{used} of {budget} experiments are used, by you, in a conversation that is gone. results.tsv has all of "
        "them, scratch/ your notes.",
        f"The seed scores {number(seed)}; the champion is {_named(racer, racer.champion)}, the working parent (in "
        f"strategy.py) {_named(racer, racer.working)}. The last ones:",
    ]
    lines += [f"  {_line(attempt)}" for attempt in racer.closed[-_RECENT:]]
    return "\n".join(lines) + "\nGo on from there.\n"


def _named(racer: CompetitorView, attempt: int) -> str:
    found = racer.find(attempt)
    return "the seed" if found is None else f"#{attempt} ({number(found.score)})"


def _line(attempt: AttemptView) -> str:
    score = "no score" if attempt.score is None else number(attempt.score)
    return f"#{attempt.attempt} {attempt.status}, {score}: {' '.join(attempt.description.split())[:160]}"
