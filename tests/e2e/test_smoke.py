"""The smoke test of the specification, command by command, on a fresh checkout without market history."""

from __future__ import annotations

import pytest
from e2e_checkout import Checkout

from autoquant import codec
from autoquant.ratchet.score_file import ScoreFile


@pytest.mark.slow
def test_the_smoke_test_runs_as_written(checkout: Checkout) -> None:
    checkout.run("setup_data.py", "--synthetic", "--force")
    assert "noise floor" in checkout.run("evaluate.py", "--calibrate", "--samples", "40")
    assert "warning" in checkout.run("arena.py", "doctor", "--skip-harnesses")
    checkout.run("evaluate.py")
    scored = codec.loads(ScoreFile, (checkout.root / "score.json").read_bytes())
    assert ("scored", None, 6) == (scored.status, scored.decision, len(scored.folds))
    assert "score" in checkout.run("run.py")
    judged = codec.loads(ScoreFile, (checkout.root / "score.json").read_bytes())
    assert judged.status == "keep"
    assert scored.score == pytest.approx(judged.score, abs=1e-9), "another mask, the same score"
    checkout.run("dashboard.py", "--out", "docs/index.html")
    page = (checkout.root / "docs" / "index.html").read_text()
    assert "synthetic" in page.lower()
    assert "http://" not in page.replace("http://www.w3.org", "")
    rows = (checkout.root / "results.tsv").read_text().splitlines()
    assert 2 == len(rows)
    refuses_to_race_on_synthetic_data(checkout)


def refuses_to_race_on_synthetic_data(checkout: Checkout) -> None:
    """INV-16: whatever is allowed."""
    start = ["arena.py", "start", "--competitors", "random"]
    assert "synthetic" in checkout.refusal(*start)
    assert "synthetic" in checkout.refusal(*start, "--allow-source", "synthetic")


def test_before_set_up_every_command_says_what_to_do(checkout: Checkout) -> None:
    for command in (["evaluate.py"], ["run.py"], ["arena.py", "start", "--competitors", "random"]):
        assert "setup_data.py" in checkout.refusal(*command)
