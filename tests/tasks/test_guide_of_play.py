"""What docs/task_evaluation_guide.md says of episodes, server and race is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autoquant.tasks.episode import ACTIONS
from autoquant.tasks.explore import MAXIMUM_ROWS, WHAT
from autoquant.tasks.server import AT_ONCE, MAXIMUM_MESSAGE, SESSIONS
from autoquant.tasks.spec import STEPS


@pytest.fixture(scope="module")
def guide(repository: Path) -> str:
    return " ".join((repository / "docs" / "task_evaluation_guide.md").read_text().split())


def test_the_numbers_are_the_codes(guide: str) -> None:
    assert f"an episode of {STEPS} steps" in guide
    assert f"at most {MAXIMUM_ROWS} lines" in guide
    assert f"Up to {SESSIONS} sessions run side by side" in guide
    assert f"At most {AT_ONCE} gradings run at a time" in guide
    assert f"A message may have {MAXIMUM_MESSAGE >> 20} MB" in guide
    assert f"with {STEPS} steps (`--steps N`)" in guide


def test_every_action_and_every_view_of_the_data_is_explained(guide: str) -> None:
    assert list(ACTIONS) == re.findall(r"\| `(explore_data|submit_code|run_backtest|submit_final)` \|", guide)
    assert all(f"`{what}`" in guide for what in WHAT)


def test_what_is_remembered_by_request_id_is_what_the_guide_says(guide: str) -> None:
    pytest.importorskip("openenv", reason="needs openenv-core: uv run --group proof pytest")
    from autoquant.tasks.openenv_environment import REMEMBERED

    assert f"the last {REMEMBERED} of an episode" in guide


def test_every_option_the_guide_names_is_a_commands(guide: str, capsys: pytest.CaptureFixture[str]) -> None:
    from autoquant.arena import command

    commands = set(re.findall(r"arena\.py tasks ([a-z]+)", guide))
    assert {"list", "show", "grade", "serve", "race", "status"} == commands
    for name in commands:
        with pytest.raises(SystemExit):
            command.main(["tasks", name, "--help"])
        text = capsys.readouterr().out
        for line in re.findall(rf"arena\.py tasks {name}[^#`]*?(?= uv run|$|`)", guide):
            assert all(option in text for option in re.findall(r"--[a-z-]+", line)), line
