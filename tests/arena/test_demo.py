"""The demo with the real oracle: a whole race on synthetic data, end to end."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from referee_world import make_home

from autoquant.arena import demo as demo_of
from autoquant.arena.demo import demo
from autoquant.arena.opening import LockboxOptions, open_lockbox_of
from autoquant.arena.roster.load import choose, load_roster
from autoquant.arena.show.status import read_view
from autoquant.arena.show.voice import Voice
from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.report import render_report
from autoquant.sandbox import strategy_level
from autoquant.sealing import Level
from autoquant.verify.export import export
from autoquant.verify.private import Private
from autoquant.verify.records import as_text
from autoquant.verify.verify import VerifyOptions, verify_bundle


def no_page(state: Path, race: str, page: Path) -> None:
    raise AssertionError("nothing to show")


@pytest.mark.parametrize("stranger", ["notes.txt", "state-of-the-art"])
def test_a_folder_that_is_not_a_demos_is_refused(tmp_path: Path, stranger: str):
    (tmp_path / stranger).touch()
    with pytest.raises(UserError, match=f"is not a demo's folder .holds {stranger}"):
        demo(tmp_path, tmp_path, 1, no_page, Voice())


def test_a_crowded_folder_is_refused_in_a_short_line(tmp_path: Path):
    for number in range(9):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(UserError, match=r"holds 0.txt, 1.txt, 2.txt and 6 more.$"):
        demo(tmp_path, tmp_path, 1, no_page, Voice())


def test_a_file_in_the_way_is_refused(tmp_path: Path):
    (tmp_path / "demo").touch()
    with pytest.raises(UserError, match="is not a demo's folder"):
        demo(tmp_path, tmp_path / "demo", 1, no_page, Voice())


def test_a_state_without_synthetic_data_beside_it_is_not_a_demos(tmp_path: Path):
    (tmp_path / "state").mkdir()
    with pytest.raises(UserError, match="is not a demo's folder"):
        demo(tmp_path, tmp_path, 1, no_page, Voice())


def test_a_demo_that_would_not_be_sealed_is_refused_before_a_market_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing is on the PATH, bubblewrap neither. What strategies get is tried once per process, so before that."""
    strategy_level()
    monkeypatch.setenv("PATH", str(tmp_path))
    out = tmp_path / "demo"
    with pytest.raises(UserError, match="--require sealed: this race would be tamper-evident"):
        demo(tmp_path, out, 1, no_page, Voice(), require=Level.SEALED)
    assert not out.exists()


@pytest.mark.slow
def test_the_demo_races_opens_the_lockbox_and_writes_a_page(
    tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two of its three controls: both keep the seed, so that the sealed year is judged once and not three times.

    A sealed champion is the matter of test_lockbox.py.
    """
    whole = choose(load_roster(repository / "competitors.toml"), demo_of.COMPETITORS)
    assert ["random", "hillclimb-1", "hillclimb-2"] == [control.name for control in whole]
    monkeypatch.setattr(demo_of, "COMPETITORS", "random,hillclimb-2")
    monkeypatch.setattr(demo_of, "SAMPLES", 20)
    said: list[str] = []
    home = make_home(tmp_path / "checkout")
    for name in ("strategy.py", "competitors.toml"):
        (home / name).write_bytes((repository / name).read_bytes())
    out = tmp_path / "a demo"
    assert 0 == demo(
        home, out, 1, lambda state, race, page: render_report(state, race, page, home=home), Voice(said.append)
    )
    view = read_view(RaceLayout(out / "state", "demo"))
    assert view is not None
    assert ("demo", "synthetic", True) == (view.created.kind, view.created.data.source, view.lockbox.is_closed)
    for racer in view.competitors.values():
        assert ("done", 1, 0, 0) == (racer.ended, len(racer.attempts), len(racer.faults), len(racer.violations))
        assert not any(attempt.status in ("invalid", "crash", "timeout", "violation") for attempt in racer.attempts)
    assert "<html" in (out / "report.html").read_text()[:200]
    assert said[-1].endswith(f"open {out / 'report.html'}")
    assert any("PSR" in line for line in said)
    assert ["data", "report.html", "state"] == sorted(path.name for path in out.iterdir())
    with pytest.raises(UserError, match="it opens once"):
        open_lockbox_of(LockboxOptions(home, out / "data", out / "state", yes=True), Voice())
    verifies_from_its_bundle_alone(home, out, tmp_path)


def verifies_from_its_bundle_alone(home: Path, out: Path, elsewhere: Path) -> None:
    """INV-33: by the real oracle, in worker processes, after everything else of the race was deleted."""
    bundle = elsewhere / "demo.zip"
    private = Private({}, (elsewhere,), "")
    export(RaceLayout(out / "state", "demo"), bundle, home=home, data_root=out / "data", private=private)
    shutil.rmtree(out)
    answer = verify_bundle(bundle, VerifyOptions(home, elsewhere / "nothing"))
    assert (0, "verified") == (answer.exit_code, answer.verdict), as_text(answer)
    assert "to the last digit: the seed and every accepted attempt" in as_text(answer)
    assert "every entry of the lockbox, and the market" in as_text(answer)
