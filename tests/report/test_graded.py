"""The graded track on a race's page: shown where the race's agents took part, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from html_reading import read
from race_cases import RaceCase, searched

from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.protocol import PROTOCOL
from autoquant.report.page import page

UTC = "2026-11-02T08:00:00Z"
WHY = "for 0.85: <b>pnl</b> is off"


def record(state: Path, agent: str, source: str = "files") -> None:
    """A record in which the agent finished the easy task, tries the medium one and has not begun the hard one."""
    layout = RaceLayout(state / "tasks", "graded")
    layout.root.mkdir(parents=True)
    ledger = Ledger.open(layout.ledger)

    def add(body: r.RecordBody) -> None:
        ledger.append(body, UTC)

    pin = r.DataPin(source, "11" * 32, "22" * 32, "33" * 32)
    add(r.RaceCreated("graded", "tasks", PROTOCOL.digest, {}, "44" * 32, pin, 0.0, 0, "", "", "", 20, None, "sealed"))
    for task in ("easy", "medium", "hard"):
        name = f"{agent}-{task}"
        add(r.CompetitorJoined(name, "codex", "m", "high", "#112233", 20, group=agent, task=task))
    for name, number, score, final in (("easy", 1, 0.6, False), ("easy", 2, 1.0, True), ("medium", 1, 0.7, False)):
        racer = f"{agent}-{name}"
        add(r.AttemptOpened(racer, number, f"{number:032x}", "55" * 32, "", number - 1, final=final))
        decision = r.DecisionSummary(reason="" if score == 1.0 else WHY)
        add(r.AttemptClosed(racer, number, "graded", score, None, None, None, decision))
    add(r.CompetitorEnded(f"{agent}-easy", "done"))


def drawn(tmp_path: Path) -> str:
    return page(tmp_path, "autumn", home=tmp_path)


def race(tmp_path: Path) -> None:
    case = RaceCase(tmp_path)
    case.join("sol", "codex")
    searched(case, "sol", 3, 7)


def test_an_agent_of_the_race_is_shown_with_its_score_its_steps_and_why_it_stopped(tmp_path: Path) -> None:
    race(tmp_path)
    record(tmp_path, "sol")
    reading = read(drawn(tmp_path))
    assert [] == reading.problems
    text = reading.text
    assert "8 Graded tasks" in text
    assert "easy 1.00" in text
    assert "2 / 20" in text
    assert "medium 0.70 backtest" in text
    assert WHY in text
    assert "<b>pnl</b>" not in drawn(tmp_path)


def test_another_agents_record_is_not_shown_beside_this_race(tmp_path: Path) -> None:
    race(tmp_path)
    record(tmp_path, "somebody-else")
    assert "Graded tasks" not in drawn(tmp_path)


def test_synthetic_bars_are_called_that(tmp_path: Path) -> None:
    race(tmp_path)
    record(tmp_path, "sol", "synthetic")
    assert "On synthetic bars: no market result." in read(drawn(tmp_path)).text


def test_a_broken_record_of_the_graded_track_spoils_no_page(tmp_path: Path) -> None:
    race(tmp_path)
    record(tmp_path, "sol")
    ledger = RaceLayout(tmp_path / "tasks", "graded").ledger
    ledger.write_bytes(ledger.read_bytes().replace(b'"score":1.0', b'"score":0.9'))
    assert "Graded tasks" not in drawn(tmp_path)
