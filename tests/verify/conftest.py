"""One small race, run once with real referee, repository, ledger and lockbox; the judge reads scores off the texts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "arena"))

from referee_fixtures import data, home  # noqa: F401
from verify_world import Finished, finish_a_race


@pytest.fixture(scope="session")
def finished(home: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Finished:  # noqa: F811
    return finish_a_race(tmp_path_factory.mktemp("finished"), home, data)
