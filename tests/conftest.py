"""Fixtures for every test: the shared folder, when it is there."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).resolve().parent.parent
IN_MEMORY = Path("/dev/shm")
"""Thousands of small folders are made and removed; on a disk that alone takes minutes."""
ROOM_BYTES = 6 << 30
"""Three times what a whole run was seen to hold on disk; what belongs to a test that passed goes at once."""
HAD_IN_CI = ("../shared", ".ci/proof", "--group proof")
"""Words in the reason of a skip that .ci/run leaves no ground for."""


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


def pytest_configure() -> None:
    """Folders of tests in memory, where that holds them; and Ctrl-C heard.

    A shell starts what runs in its background deaf to Ctrl-C, children included; some tests send one.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if holds_folders(IN_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))


def holds_folders(place: Path) -> bool:
    """Whether tests may write there, run what they wrote, and leave the machine enough memory."""
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        return False
    system = os.statvfs(place)
    runs = not system.f_flag & getattr(os, "ST_NOEXEC", 0)
    return runs and min(system.f_bavail * system.f_frsize, psutil.virtual_memory().available) > ROOM_BYTES


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """CI asks for what it has set up to be used: a skip for want of ../shared, a browser or a package is a failure."""
    outcome = yield
    report = outcome.get_result()
    missing = [what for what in HAD_IN_CI if report.skipped and what in str(report.longrepr)]
    if os.environ.get("AUTOQUANT_NO_SKIP") and missing:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped although CI has this: {report.longrepr}"
