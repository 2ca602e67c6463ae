"""Fixtures for every test: the shared folder, when it is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """The read-only material beside the checkout, or None for a stranger who has none."""
    named = os.environ.get("AUTOQUANT_SHARED")
    folder = Path(named) if named else REPOSITORY.parent / "shared"
    return folder if (folder / "design").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("needs the ../shared folder (real prices, mirror tools), which is not part of the repository")
    return folder


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY
