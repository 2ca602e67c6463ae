"""Small data of both indices, one clean parent, and a record of the graded track for each test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from graded_cases import Secrets, make_data, market, secrets
from task_cases import ground_of
from taskrace_world import TaskWorld

from autoquant.arena.taskrace.referee import TaskReferee
from autoquant.sandbox import WarmParent
from autoquant.tasks.grader import Ground
from autoquant.tasks.solution import LIMITS
from autoquant.tasks.spec import ORDER


@pytest.fixture(scope="session")
def parent() -> Iterator[WarmParent]:
    with WarmParent(LIMITS) as parent:
        yield parent


@pytest.fixture(scope="session")
def index_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("index-data"))


@pytest.fixture(scope="session")
def grounds(parent: WarmParent) -> Mapping[str, Ground]:
    shown, hidden = market()
    return {name: ground_of(parent, name, shown, hidden if name == "hard" else None) for name in ORDER}


@pytest.fixture(scope="session")
def kept(parent: WarmParent) -> Secrets:
    return secrets(parent)


@pytest.fixture
def tasks(tmp_path: Path, home: Path, index_data: Path, grounds: Mapping[str, Ground], parent: WarmParent) -> TaskWorld:
    return TaskWorld(tmp_path, home, index_data, grounds, parent).create()


@pytest.fixture
def referee(tasks: TaskWorld) -> Iterator[TaskReferee]:
    with tasks.referee() as made:
        made.prepare("alice-easy")
        yield made
