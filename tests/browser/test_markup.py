"""The markup is valid: HTML, SVG and CSS by the Nu checker, the one behind the W3C's validator."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from browser_stand import nothing
from page_shelf import KINDS, Shelf

from autoquant import process

NOT_KNOWN_TO_THE_CHECKER = ("CSS: “paint-order”", "CSS: “vector-effect”")
"""Valid today (SVG 2), but not in the checker's list."""


def checker() -> list[str]:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autoquant" / "proof"
    jar = Path(os.environ.get("AUTOQUANT_PROOF") or cache) / "vnu.jar"
    if not jar.exists():
        pytest.skip("the Nu HTML checker is not installed: .ci/proof installs it")
    java = shutil.which("java")
    if java is None:
        pytest.skip("no Java on this machine: .ci/proof installs Debian's")
    quick = ("-Xss4m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # half the time: it runs for two seconds
    return [java, *quick, "-jar", str(jar), "--errors-only", "--exit-zero-always", "--format", "json"]


def errors(*files: Path) -> list[str]:
    """What the checker holds against the files, a line each."""
    done = process.run([*checker(), *map(str, files)], cwd=files[0].parent, timeout_seconds=120)
    found = json.loads(done.stderr)["messages"]
    lines = [f"{Path(m['url']).name}:{m.get('lastLine')} {m['message']} {m.get('extract', '')!r}" for m in found]
    return [line for line in lines if not any(known in line for known in NOT_KNOWN_TO_THE_CHECKER)]


def test_every_kind_of_page_is_valid_and_one_that_is_not_is_seen(shelf: Shelf, tmp_path: Path):
    bad = tmp_path / "bad.html"
    bad.write_text("<!doctype html><html lang=en><title>x</title><b id=a></b><i id=a></i>")
    found = errors(bad, *(shelf.page(kind) for kind in KINDS))
    assert any("Duplicate ID" in line for line in found)
    nothing([line for line in found if not line.startswith("bad.html:")])
