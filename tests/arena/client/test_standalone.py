"""run.py without a race."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from autoquant import files
from autoquant.arena.client import standalone
from autoquant.errors import UserError


def test_a_second_run_meanwhile_is_refused_and_takes_no_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "open_judge", lambda *_, **__: (nullcontext(), None))
    (tmp_path / "strategy.py").write_text("")
    place = tmp_path / "state" / "standalone"
    with (
        files.exclusive_lock(place / "lock", "another run.py, process 7"),
        pytest.raises(UserError, match=r"standalone/lock: held by another run\.py, process 7"),
    ):
        standalone.experiment(tmp_path, tmp_path / "data", "an idea", print)
    assert ["lock"] == [path.name for path in place.iterdir()]
