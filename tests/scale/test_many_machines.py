"""A scheduler and two workers with folders of their own: the same results as here, whatever dies."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray

pytest.importorskip("distributed", reason="without Dask: uv run --group proof pytest")

import pieces
from cluster import REPOSITORY, Cluster, cluster, wait_until

from autoquant import scale
from autoquant.errors import InfrastructureFault, UserError
from autoquant.executor import LocalPool
from autoquant.market import Panel
from autoquant.oracle.calibrate import NoiseFloor, calibrate
from autoquant.oracle.folds import DAY_MS, Window
from autoquant.oracle.records import Digests
from autoquant.scale.pool import DaskPool

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture
def pool(machines: Cluster) -> Iterator[DaskPool]:
    with scale.open_pool(scale.Scheduler.parse(machines.address)) as made:
        yield made


def a_market(days: int) -> Panel:
    """Four contracts that wander, in four-hour bars."""
    draws, bars = np.random.default_rng(77), days * 6
    prices: dict[str, NDArray[np.float64]] = {}
    for name in ("A", "B", "C", "D"):
        close = 100 * np.exp(np.cumsum(draws.normal(0, 0.01, bars)))
        volume = np.full(bars, 1e5)
        prices[name] = np.stack([close, close * 1.01, close * 0.99, close, volume, close * volume], axis=1)
    times = 1_577_836_800_000 + np.arange(bars, dtype=np.int64) * (DAY_MS // 6)
    return Panel.from_arrays(times, prices, {}, dict.fromkeys(prices, 1), {}, bar_ms=DAY_MS // 6)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_results_keep_the_order_equal_items_are_done_once_and_each_answer_is_told_once(pool: DaskPool) -> None:
    told: list[tuple[int, int]] = []
    seen: list[tuple[int, int]] = []
    items = [3, 1, 3, 2]
    found = pool.map(
        pieces.square, items, on_answer=lambda item, answer: told.append((item, answer)),
        on_result=lambda done, total: seen.append((done, total)),
    )  # fmt: skip
    assert [9, 1, 9, 4] == found
    assert [(1, 1), (2, 4), (3, 9), (3, 9)] == sorted(told)
    assert [(1, 4), (2, 4), (3, 4), (4, 4)] == seen
    assert [] == pool.map(pieces.square, [])


def test_no_more_is_in_flight_than_there_are_slots(pool: DaskPool) -> None:
    known: list[int] = []
    look = partial(pool._client.run_on_scheduler, pieces.known_tasks)
    pool.map(pieces.square, range(100, 130), on_result=lambda done, total: known.append(look()))
    assert max(known) <= 2 + 2, "two slots, and what was answered and is not forgotten yet"


def test_the_first_failure_is_raised_and_the_pool_goes_on(pool: DaskPool) -> None:
    with pytest.raises(ZeroDivisionError):
        pool.map(pieces.divide, [1, 0, 2])
    assert [4] == pool.map(pieces.square, [2])


def test_a_piece_that_kills_whoever_does_it_is_given_up(pool: DaskPool) -> None:
    with pytest.raises(InfrastructureFault, match="ended 3 processes"):
        pool.map(pieces.kill_itself, [1])


def test_data_go_to_each_worker_once_are_checked_and_fetched_again_when_damaged(
    machines: Cluster, tmp_path: Path
) -> None:
    (tmp_path / "panel").write_bytes(os.urandom(9 << 20))
    stock = scale.parcel_of_files("panel", {"panel": tmp_path / "panel"})
    with scale.open_pool(scale.Scheduler.parse(machines.address), needs=lambda item: (stock,)) as pool:
        for _ in range(2):
            assert [9 << 20] * 4 == pool.map(partial(pieces.size_after, "panel"), range(4))
    copies = sorted(machines.folder.glob(f"worker-*/**/{stock.parcel.digest}/panel"))
    assert 2 == len(copies)
    stamp = copies[1].stat().st_mtime_ns
    copies[0].write_bytes(b"x" * (9 << 20))
    with scale.open_pool(scale.Scheduler.parse(machines.address), needs=lambda item: (stock,)) as pool:
        pool.map(partial(pieces.size_after, "panel"), range(4))
    assert (tmp_path / "panel").read_bytes() == copies[0].read_bytes()
    assert stamp == copies[1].stat().st_mtime_ns, "what is whole is not fetched again"


@pytest.fixture(scope="module")
def floor_case() -> partial[NoiseFloor]:
    panel = a_market(days=190)
    start = int(panel.times[0]) + 40 * DAY_MS
    windows = [
        Window(n + 1, start, start, start + n * 70 * DAY_MS, start + n * 70 * DAY_MS + 65 * DAY_MS) for n in range(2)
    ]
    steady = [[0.3, -0.2, 0.2, -0.25]] * len(panel.times)
    digests = Digests(protocol="p", code="c", data="d", strategy="s")
    return partial(calibrate, panel, windows, np.array([steady, steady]), samples=600, seed=5, digests=digests)


@pytest.mark.parametrize("seed", [1, 2])
def test_workers_killed_in_the_middle_change_no_digit(
    floor_case: partial[NoiseFloor], tmp_path: Path, seed: int
) -> None:
    draws = random.Random(seed)
    with LocalPool("threads", 1) as here:
        expected = floor_case(executor=here)
    due = sorted(draws.sample(range(2 * 20, 400, 20), 2))
    with cluster(tmp_path) as machines:
        victims = list(machines.workers)
        draws.shuffle(victims)

        def kill(done: int, total: int) -> None:
            while due and done >= due[0]:
                due.pop(0)
                victims.pop().send_signal(signal.SIGKILL)
                machines.worker()

        with scale.open_pool(scale.Scheduler.parse(machines.address)) as pool:
            found = floor_case(executor=pool, on_progress=kill)
        assert [] == due
        assert -signal.SIGKILL == machines.workers[0].wait()
    assert expected == found
    assert expected.digest == found.digest


def test_what_a_killed_worker_had_started_is_gone_and_its_piece_is_done_elsewhere(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    with cluster(tmp_path / "cluster") as machines, scale.open_pool(scale.Scheduler.parse(machines.address)) as pool:
        killer = threading.Thread(target=kill_the_owner, args=(machines, marks))
        killer.start()
        assert ["done"] == pool.map(pieces.leave_a_mark, [(str(marks), True)])
        killer.join()
        first, second = sorted(marks.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        orphans = [int(pid) for pid in first.read_text().split()]
        wait_until(lambda: not any(lives(pid) for pid in orphans), "a killed worker's processes go on")
        assert first.name != second.name


def test_plain_dask_leaves_the_orphan_running(tmp_path: Path) -> None:
    """What the guard is for, reproduced: the same death without it."""
    from distributed import Client

    marks = tmp_path / "marks"
    marks.mkdir()
    with cluster(tmp_path / "cluster") as machines, Client(machines.address, set_as_default=False) as client:
        killer = threading.Thread(target=kill_the_owner, args=(machines, marks))
        killer.start()
        assert "done" == client.submit(pieces.leave_a_mark, (str(marks), True), pure=False).result(60)
        killer.join()
        first = min(marks.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        orphan = int(first.read_text().split()[1])
        assert lives(orphan)
        os.kill(orphan, signal.SIGKILL)


def kill_the_owner(machines: Cluster, marks: Path) -> None:
    """Kill the worker that the first mark's process belongs to."""
    wait_until(lambda: any(not path.suffix for path in marks.iterdir()), "nobody began")
    pid = int(next(path for path in marks.iterdir() if not path.suffix).name)
    above = {pid, *(parent.pid for parent in psutil.Process(pid).parents())}
    next(worker for worker in machines.workers if worker.pid in above).send_signal(signal.SIGKILL)


def test_a_worker_that_was_only_slow_answers_too_and_the_piece_counts_once(tmp_path: Path) -> None:
    """Stopped past its time, it is taken for dead and its piece is done elsewhere; then it answers too."""
    marks, told = tmp_path / "marks", list[str]()
    marks.mkdir()
    with cluster(tmp_path / "cluster", environment={"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "1s"}) as machines:

        def wake(item: str, answer: str) -> None:
            told.append(answer)
            for worker in machines.workers:
                worker.send_signal(signal.SIGCONT)

        with scale.open_pool(scale.Scheduler.parse(machines.address)) as pool:
            assert ["done"] == pool.map(pieces.stop_the_worker, [str(marks)], on_answer=wake)
            assert [4] * 3 == pool.map(pieces.square, [2] * 3)
    assert (2, ["done"]) == (len(list(marks.iterdir())), told)


def test_ctrl_c_ends_the_work_and_leaves_the_workers_idle(machines: Cluster, tmp_path: Path) -> None:
    script = (
        "import sys; from autoquant import cli, scale; import pieces\n"
        "@cli.command\n"
        "def main(argv=None):\n"
        "    with scale.open_pool(scale.Scheduler.parse(sys.argv[1])) as pool:\n"
        "        pool.map(pieces.leave_a_mark, [(sys.argv[2], True)])\n"
        "sys.exit(main([]))"
    )
    path = os.pathsep.join((str(Path(__file__).parent), str(REPOSITORY)))
    client = subprocess.Popen(
        [sys.executable, "-c", script, machines.address, str(tmp_path)], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    wait_until(lambda: any(not mark.suffix for mark in tmp_path.iterdir()), "nobody began")
    client.send_signal(signal.SIGINT)
    _, said = client.communicate(timeout=60)
    assert (130, "interrupted\n") == (client.returncode, said)
    pids = [int(pid) for pid in next(tmp_path.iterdir()).read_text().split()]
    wait_until(lambda: not any(lives(pid) for pid in pids), "the work of a client that is gone goes on")


def test_a_worker_of_another_code_is_refused_in_one_line(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "autoquant", tmp_path / "other" / "autoquant")
    with (tmp_path / "other" / "autoquant" / "clock.py").open("a") as file:
        file.write("# changed\n")
    with cluster(tmp_path / "cluster", workers=0) as machines:
        machines.worker(environment={"PYTHONPATH": str(tmp_path / "other")})
        with (
            pytest.raises(UserError, match=r"another than this machine: code \w{12}, here \w{12}$") as refused,
            scale.open_pool(scale.Scheduler.parse(machines.address)),
        ):
            pass
    assert "uv sync --extra dask" in refused.value.hint


def test_a_worker_with_other_libraries_that_joins_later_is_refused_by_its_first_piece(
    machines: Cluster, pool: DaskPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from autoquant.scale import pool as module

    other = {**module.identity(), "numpy": "1.0"}
    monkeypatch.setattr(module, "identity", lambda: other)
    with pytest.raises(UserError, match=r"another than this machine: numpy [\d.]+, here [\d.]+"):
        pool.map(pieces.square, [1])


def test_nobody_at_the_address_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoquant.scale.connection.CONNECT_SECONDS", 1.0)
    with pytest.raises(UserError, match="no scheduler answers") as refused, scale.open_pool(
        scale.Scheduler.parse("tcp://127.0.0.1:9")
    ):  # fmt: skip
        pass
    assert "\n" not in refused.value.message


def test_a_port_where_something_else_listens_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's own client waits without end there."""
    monkeypatch.setattr("autoquant.scale.connection.CONNECT_SECONDS", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        with (
            pytest.raises(UserError, match=r"no scheduler answers \(what listens there did not greet") as refused,
            scale.open_pool(scale.Scheduler.parse(address)),
        ):
            pass
    assert "\n" not in refused.value.message


def test_with_certificates_both_sides_show_them_and_without_nobody_answers(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl to make certificates")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = [
        openssl,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    make += ["-subj", "/CN=autoquant", "-keyout", str(key), "-out", str(cert)]
    subprocess.run(make, check=True, capture_output=True)
    options = ("--tls-ca-file", str(cert), "--tls-cert", str(cert), "--tls-key", str(key))
    with cluster(tmp_path / "cluster", workers=1, tls=options) as machines:
        certificates = scale.Certificates(cert, cert, key)
        with scale.open_pool(scale.Scheduler.parse(machines.address, certificates)) as pool:
            assert [9] == pool.map(pieces.square, [3])
        with (
            pytest.raises(UserError, match="TLS needs a certificate"),
            scale.open_pool(scale.Scheduler.parse(machines.address)),
        ):
            pass


def test_a_scheduler_that_strangers_reach_is_refused_by_whatever_name_it_is_called(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=0, host="0.0.0.0") as machines:
        wait_until(lambda: "Scheduler at" in machines.log("scheduler"), "no scheduler")
        with (
            pytest.raises(UserError, match=r"listens on tcp://.* without TLS: whoever reaches a scheduler"),
            scale.open_pool(scale.Scheduler.parse(machines.address)),
        ):
            pass
