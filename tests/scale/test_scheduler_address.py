"""Which addresses are refused, and what it says without Dask."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from autoquant.errors import UserError
from autoquant.scale import Certificates, Scheduler, add_options, connection, scheduler_of


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1", "tls://head:8786"]
)
def test_loopback_and_tls_are_taken(address: str) -> None:
    assert address == Scheduler.parse(address).address


@pytest.mark.parametrize(
    "address", ["tcp://10.0.0.7:8786", "tcp://head:8786", "tcp://0.0.0.0:8786", "tcp://[fe80::1]:1"]
)
def test_plain_tcp_beyond_this_machine_is_refused_with_the_reason(address: str) -> None:
    with pytest.raises(UserError, match="whoever reaches a scheduler runs any code on its workers") as refused:
        Scheduler.parse(address)
    assert "tls://" in refused.value.hint
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    "address", ["127.0.0.1:8786", "http://127.0.0.1:8786", "tcp://127.0.0.1", "tcp://[", "tcp://h:x"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UserError, match="not an address of a scheduler"):
        Scheduler.parse(address)


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ca\.pem: no such certificate file"):
        Scheduler.parse("tls://head:8786", Certificates(ca_file=tmp_path / "ca.pem"))


def options(*argv: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int)
    add_options(parser)
    return parser.parse_args(argv)


def test_options_that_do_not_go_together_are_refused() -> None:
    assert scheduler_of(options("--jobs", "2")) is None
    for argv, words in (
        (["--tls-key", "key.pem"], "go with --scheduler"),
        (["--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "--jobs counts workers here"),
        (["--scheduler", "tcp://127.0.0.1:1", "--tls-key", "key.pem"], "certificates go with tls"),
    ):
        with pytest.raises(UserError, match=words):
            scheduler_of(options(*argv))


BLOCKED = """\
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("distributed", "dask"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
from autoquant import cli, scale

@cli.command
def main(argv=None):
    with scale.open_pool(scale.Scheduler.parse("tcp://127.0.0.1:9")):
        return 0

sys.exit(main([]))
"""


def test_without_dask_one_line_says_how_to_install_it(repository: Path) -> None:
    command = [sys.executable, "-c", BLOCKED]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert 2 == done.returncode, done.stderr
    error, hint = done.stderr.splitlines()
    assert "error: --scheduler needs Dask, which is not installed (distributed)" == error
    assert "uv sync --extra dask" in hint


def test_help_imports_neither_dask_nor_numpy(repository: Path) -> None:
    """The import budget: whoever asks for --help, or runs without --scheduler, pays nothing for it."""
    for command in ("arena", "run", "evaluate"):
        code = (
            f"import contextlib, sys, {command}\n"
            f"with contextlib.suppress(SystemExit): {command}.main(['--help'])\n"
            "print(sorted({'distributed', 'dask', 'numpy'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True)
        assert "[]" == done.stdout.splitlines()[-1]


@pytest.mark.parametrize("address", ["tls://127.0.0.1:8786", "tcp://127.0.0.1:8786"])
def test_a_worker_that_listens_to_everyone_without_tls_is_refused_behind_any_scheduler(address: str) -> None:
    scheduler = Scheduler.parse(address)
    connection._require_closed("worker", scheduler, ["tls://0.0.0.0:1", "tcp://127.0.0.1:1"])
    with pytest.raises(UserError, match=r"listens on tcp://0\.0\.0\.0:1 without TLS"):
        connection._require_closed("worker", scheduler, ["tls://0.0.0.0:1", "tcp://0.0.0.0:1"])


def test_pages_with_tasks_and_logs_are_open_to_this_machine_alone() -> None:
    scheduler = Scheduler.parse("tls://head:8786")
    connection._require_closed("scheduler", scheduler, ["tls://0.0.0.0:8786", "http://127.0.0.1:8787"])
    with pytest.raises(UserError, match=r"shows its tasks and logs to anybody on http://0\.0\.0\.0:8787") as refused:
        connection._require_closed("scheduler", scheduler, ["tls://0.0.0.0:8786", "http://0.0.0.0:8787"])
    assert "--dashboard-address 127.0.0.1:0" in refused.value.hint
