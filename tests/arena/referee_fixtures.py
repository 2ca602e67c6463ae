"""Fixtures over `referee_world`, shared by tests/arena and tests/exploits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from referee_world import World, make_data, make_home

from autoquant.arena.referee.referee import Referee


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_home(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("data") / "synthetic")


@pytest.fixture
def world(tmp_path: Path, home: Path, data: Path) -> World:
    return World(tmp_path, home, data).create()


@pytest.fixture
def referee(world: World) -> Iterator[Referee]:
    with world.referee() as made:
        made.prepare("alice")
        yield made
