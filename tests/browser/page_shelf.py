"""Pages to open: a finished race with all that can happen in one, a running one, and the empty states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from climbing_cases import climb
from race_cases import SEED_FOLDS, RaceCase, shifted

from autoquant.ledger import records as r
from autoquant.report import render_report
from autoquant.report.explain.page import explainer

HOSTILE = "</script><script>alert(1)</script> {{ 7 * 7 }} \u202egnp <img src=https://x.invalid/x onerror=alert(1)>"
KINDS = ("finished", "running", "demo", "journal", "empty", "how")
BUDGET = 30


@dataclass(frozen=True)
class Shelf:
    """Each page is drawn when it is first asked for."""

    folder: Path

    @cached_property
    def finished(self) -> Path:
        """Four racers and a control to the end, one without a champion; lockbox open, faults, a violation."""
        return self._drawn(self.finished_case)

    @cached_property
    def finished_case(self) -> RaceCase:
        """The race behind `finished`."""
        case = RaceCase(self.folder / "finished")
        case.join("codex-sol-high", "codex", colour="#F59E0B", budget=BUDGET)
        case.join("grok-fast", "grok", colour="#1D9BF0", budget=BUDGET, model="grok-4.5")
        case.join("claude-opus", "claude", colour="#D97757", budget=BUDGET, model="claude-opus-5")
        case.join("nothing-found", "opencode", colour="#22C55E", budget=BUDGET, model="local/tiny")
        case.join("hillclimb", "control", colour="#8A8F98", budget=BUDGET, model="hillclimb")
        names = tuple(case.ledger.view.competitors)
        for name in names[:-1]:
            case.session(name, seconds=5_400.0, judging=900.0, lost=60.0)
            case.spend(name, None, 40_000, 4_000, 0.31)
        case.attempt("nothing-found", "discard", shifted(SEED_FOLDS, -0.3), description=HOSTILE)
        for _ in range(BUDGET - 1):
            case.attempt("nothing-found", "discard", shifted(SEED_FOLDS, -0.3), description="=1+1, reversal")
        climb(case, ("codex-sol-high", "grok-fast", "claude-opus", "hillclimb"), BUDGET, seed=3)
        for number in range(1, 9):
            case.spend("codex-sol-high", number, 90_000, 7_000, 0.42)
            case.spend("grok-fast", number, 70_000, 5_000, None)
        case.add(r.FaultSeen("grok-fast", 3, "rate_limit", "429, waited 60 s"))
        case.add(r.FaultSeen("codex-sol-high", None, "network", "no route to the provider"))
        case.add(r.ViolationFound("codex-sol-high", 2, "run.py", "00" * 32, "11" * 32))
        case.add(r.IncidentSeen("another worktree was touched"))
        case.end(*names)
        view = case.ledger.view.competitors
        verdicts = ("confirmed", "insufficient evidence", "rejected", "insufficient evidence")
        drifts = (0.002, 0.0004, -0.001, 0.0002)
        found = [name for name in names if view[name].champion]
        judged = {
            name: (name, view[name].champion, verdict, drift)
            for name, verdict, drift in zip(found, verdicts, drifts, strict=False)
        }
        case.open_lockbox({"seed": (None, 0, "insufficient evidence", 0.0002), **judged})
        return case

    @cached_property
    def running(self) -> Path:
        """Two racers in the middle."""
        return self._drawn(self.running_case)

    @cached_property
    def running_case(self) -> RaceCase:
        """The race behind `running`; a test may go on with it."""
        case = RaceCase(self.folder / "running", source="http://mirror.example")
        case.join("codex-sol-high", "codex", colour="#F59E0B")
        case.join("hillclimb", "control", colour="#8A8F98", model="hillclimb")
        case.session("codex-sol-high", "lost")
        climb(case, ("codex-sol-high", "hillclimb"), 9, seed=3)
        case.spend("codex-sol-high", 1, 40_000, 4_000, 0.31)
        return case

    @cached_property
    def demo(self) -> Path:
        """A race on synthetic data that has found nothing."""
        case = RaceCase(self.folder / "demo", source="synthetic", kind="demo", samples=40)
        case.join("random", "control", colour="#8A8F98", model="random", budget=3)
        for _ in range(3):
            case.attempt("random", "discard", shifted(SEED_FOLDS, -0.4))
        return self._drawn(case)

    @cached_property
    def journal(self) -> Path:
        """Experiments outside a race."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        (home / "results.tsv").write_text("attempt\tstatus\tscore\n1\tkeep\t0.5\n2\tdiscard\t0.4\n3\tcrash\t\n")
        return render_report(self.folder / "none", None, self.folder / "journal.html", home=home).path

    @cached_property
    def empty(self) -> Path:
        """Nothing at all."""
        return render_report(self.folder / "none", None, self.folder / "empty.html", home=self.folder / "none").path

    @cached_property
    def how(self) -> Path:
        """The explainer."""
        file = self.folder / "how.html"
        file.write_text(explainer())
        return file

    def page(self, kind: str) -> Path:
        """The page of one of `KINDS`."""
        return getattr(self, kind)

    def _drawn(self, case: RaceCase) -> Path:
        return render_report(case.state, None, case.state / "page.html", home=case.state).path
