"""The Antigravity agent itself, through the vendor's SDK: its CLI `agy` is on no package registry."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_world import clis_folder

from autoquant import process

PYTHON = clis_folder() / "antigravity-sdk-0.1.22" / "bin" / "python"
SESSION = Path(__file__).with_name("antigravity_sdk_session.py")
RUN = "antigravity-sdk-test"

pytestmark = [pytest.mark.slow, pytest.mark.shared]


@pytest.fixture(scope="session")
def antigravity_python() -> Path:
    if not PYTHON.is_file():
        pytest.skip("the Antigravity SDK is not installed: .ci/clis installs it")
    if process.run([str(PYTHON), "-c", "import google.antigravity"], cwd=Path("/")).returncode != 0:
        pytest.skip(f"{PYTHON} has no google-antigravity")
    return PYTHON


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work tree"
    root.mkdir()
    (root / "strategy.py").write_text("x = 1\n")
    return root


@pytest.fixture
def model_server(shared: Path, tmp_path: Path, workspace: Path) -> Iterator[str]:
    """Address of a scripted model that edits strategy.py, then runs it, then says that it is done."""
    portfile = tmp_path / "port"
    commands = ["echo 'x = 2' > strategy.py", f"{sys.executable} strategy.py && echo ran > ran.txt"]
    server = process.spawn(
        [
            sys.executable, str(shared / "tools" / "fake_models.py"), "--port=0", f"--portfile={portfile}",
            f"--log={tmp_path / 'server.jsonl'}", "--full", f"--cwd={workspace}",
            *(f"--cmd={command}" for command in commands),
        ],
        cwd=tmp_path, env=os.environ, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    while server.poll() is None and not (portfile.is_file() and portfile.read_text()):
        time.sleep(0.02)
    yield f"http://127.0.0.1:{portfile.read_text()}"
    process.end_tree(server.pid)
    server.wait()


def test_the_agent_edits_and_runs_and_thinks_hard_on_every_request(
    antigravity_python: Path, model_server: str, workspace: Path, tmp_path: Path
):
    state = tmp_path / "home"
    state.mkdir()
    done = process.run(
        [
            str(antigravity_python), str(SESSION), f"--base-url={model_server}", f"--workspace={workspace}",
            f"--state={state}", "--model=gemini-3.6-flash", "--prompt=Improve strategy.py, then run it.",
        ],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "HOME": str(state), process.RUN_MARK: RUN},
        timeout_seconds=120,
    )  # fmt: skip
    left = [alive.pid for alive in process.marked(RUN)]
    process.end_marked(RUN)
    assert (0, []) == (done.returncode, left), done.stderr.decode(errors="replace")
    assert "x = 2\n" == (workspace / "strategy.py").read_text()
    assert "ran\n" == (workspace / "ran.txt").read_text()

    logged = [json.loads(line) for line in (tmp_path / "server.jsonl").read_text().splitlines()]
    requests = [line for line in logged if line["method"] == "POST"]
    levels = [line["body"]["generationConfig"]["thinkingConfig"]["thinkingLevel"] for line in requests]
    assert ["high"] * 3 == levels
    told = json.loads(done.stdout)
    assert "Done: scripted run finished." == told["said"]
    # The server counts 1,000 input tokens and 50 more per tool result; 400 cached, 32 + 8 output each.
    assert 1000 + 1050 + 1100 == sum(1000 + 50 * _results(line) for line in requests) == told["input"]
    assert (3 * 400, 3 * 40, 3 * 8) == (told["cached"], told["output"], told["reasoning"])


def _results(line: dict[str, object]) -> int:
    return sum("functionResponse" in part for turn in line["body"]["contents"] for part in turn["parts"])  # type: ignore[index]
