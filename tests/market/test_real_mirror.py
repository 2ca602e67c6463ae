"""The whole way on real prices: killed again and again, finished, verified, held against the shared tables, opened."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from autoquant.files import sha256_file
from autoquant.market import load_manifest, load_panel, open_lockbox, verify
from autoquant.market.manifest import data_directory

pytestmark = [pytest.mark.shared, pytest.mark.slow, pytest.mark.xdist_group("mirror")]


def whole_archives(data: Path) -> int:
    """How many archives stand in place; each must fit its checksum."""
    found = [path for path in data.rglob("*.zip") if not path.name.startswith(".")]
    for path in found:
        assert sha256_file(path) == path.with_name(path.name + ".CHECKSUM").read_text()[:64], path
    return len(found)


def test_setup_killed_at_random_moments_ends_with_the_real_prices(
    mirror: Path, serve, shared: Path, repository: Path, tmp_path: Path
):
    import pandas as pd

    data, url = tmp_path / "data", serve(mirror)
    argv = [sys.executable, str(repository / "setup_data.py"), "--base-url", url, "--data-dir", str(data)]
    moments, kept = random.Random(20), 0
    for _ in range(4):
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 120
        while not any(data.rglob("[!.]*.zip")) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(moments.uniform(0.0, 1.0))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not list(data.rglob("manifest.json"))
        kept, before = whole_archives(data), kept
        assert before <= kept
    assert 0 < kept
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    assert "14 days repaired" in done.stdout

    folder = data_directory(data)
    manifest, panel = load_manifest(folder), load_panel(folder, "valid")
    assert [] == verify(folder)
    assert not list(folder.rglob("*.tmp"))
    assert {"EOSUSDT", "MATICUSDT", "LUNAUSDT", "FTTUSDT", "SRMUSDT"} == {
        contract.symbol for contract in manifest.contracts if contract.last_bar is not None
    }
    assert [] == [*manifest.gaps, *manifest.funding_gaps]
    table = pd.read_parquet(shared / "data" / "perps_4h.parquet")
    for field in ("open", "high", "low", "close", "volume"):
        real = table.pivot(index="open_time", columns="symbol", values=field)
        wanted = real.reindex(index=panel.times, columns=list(panel.assets)).to_numpy()
        np.testing.assert_array_equal(wanted, panel.frame(field).to_numpy())

    opened = open_lockbox(folder, tmp_path / "lockbox")
    assert 360 == len(opened.record.files)
    assert panel.digest == opened.panel.slice(0, len(panel)).digest
    alive = np.isfinite(opened.panel.close[-1])
    assert 15 == alive.sum()
