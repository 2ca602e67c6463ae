"""What a last digit depends on, in words."""

from __future__ import annotations

import os
import platform
import socket

from autoquant.environment import DECISIVE, differing, environment_here


def test_an_environment_differs_from_itself_in_nothing_and_names_what_does():
    here = environment_here()
    assert () == differing(here, here)
    other = {**here, "numpy": "1.0.0", "system": "Plan 9"}
    assert (f"numpy 1.0.0, here {here['numpy']}",) == differing(other, here)
    assert len(DECISIVE) - 1 == len(differing({}, here))
    assert ("kernel numba 0.68.1, here numpy",) == differing({**here, "kernel": "numba 0.68.1"}, here)


def test_a_record_that_names_no_kernel_was_judged_by_numpy():
    here = environment_here()
    assert "numpy" == here["kernel"]
    assert () == differing({name: value for name, value in here.items() if name != "kernel"}, here)


def test_it_names_versions_and_the_processors_family_and_nothing_of_host_or_user():
    """INV-37."""
    here = environment_here()
    assert platform.python_version() == here["python"]
    assert all(here[name] for name in ("numpy", "pandas", "scipy", "machine"))
    words = " ".join(here.values()).split()
    assert not {socket.gethostname(), os.path.expanduser("~")} & set(words)
