"""The real agent CLIs and the scripted model server they talk to, for end-to-end tests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoquant import process


def clis_folder() -> Path:
    """Where .ci/clis puts the CLIs."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(os.environ.get("AUTOQUANT_CLIS") or cache / "autoquant" / "clis")


def require_cli(kind: str) -> Path:
    """Path of an installed CLI; skips the test, for everybody to see, where there is none."""
    found = shutil.which(kind, path=f"{clis_folder() / 'bin'}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"the CLI {kind} is not installed: .ci/clis installs it")
    return Path(found)


@dataclass(frozen=True)
class Asked:
    """One model request as the server saw it."""

    at: float
    path: str
    body: dict[str, Any]
    fault: str | None
    answered: bool
    base: int
    """Input tokens reported for a conversation without tool results."""

    @property
    def results(self) -> int:
        """Tool results in the request."""
        body = self.body
        if isinstance(body.get("input"), list):
            kinds = ("function_call_output", "local_shell_call_output", "custom_tool_call_output")
            return sum(1 for item in body["input"] if item.get("type") in kinds)
        if "contents" in body:
            parts = (part for content in body["contents"] for part in content.get("parts", []))
            return sum(1 for part in parts if "functionResponse" in part)
        blocks = 0
        for message in body.get("messages", []):
            content = message.get("content")
            blocks += message.get("role") == "tool"
            blocks += sum(1 for c in content if c.get("type") == "tool_result") if isinstance(content, list) else 0
        return blocks

    @property
    def has_tools(self) -> bool:
        """Whether it belongs to the conversation and is not a helper's (a title, a summary)."""
        items = self.body.get("input")
        extra = isinstance(items, list) and any(item.get("type") == "additional_tools" for item in items)
        return bool(self.body.get("tools")) or extra

    @property
    def input_tokens(self) -> int:
        """What the server reported for it; the Anthropic protocol's figure does not grow."""
        return self.base if self.path.endswith("/messages") else self.base + 50 * self.results


@dataclass(frozen=True)
class ModelServer:
    """A running scripted server."""

    url: str
    log: Path

    def asked(self) -> list[Asked]:
        """Model requests so far, in order."""
        found = []
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            entry = json.loads(line)
            path = entry["path"].split("?")[0]
            is_model = path.endswith(("/responses", "/chat/completions", "/messages")) or "enerateContent" in path
            if entry["method"] == "POST" and is_model:
                facts = (entry["t"], path, entry["body"], entry["fault"], entry["answered"], entry["usage"])
                found.append(Asked(*facts))
        return found


@contextlib.contextmanager
def model_server(
    shared: Path, folder: Path, commands: list[str], *, model: str, options: tuple[str, ...] = ()
) -> Iterator[ModelServer]:
    """Serve `commands`, one per request, then a final message.

    Parameters
    ----------
    folder : for its log and port.
    model : the name it answers under.
    options : further options of fake_models.py, for example ("--fault", "429@2-3").
    """
    folder.mkdir(parents=True, exist_ok=True)
    port, log = folder / "port", folder / "requests.jsonl"
    script = [arg for command in commands for arg in ("--cmd", command)]
    server = process.spawn(
        [
            sys.executable,
            str(shared / "tools" / "fake_models.py"),
            f"--log={log}",
            f"--portfile={port}",
            f"--model={model}",
            "--full",
            *script,
            *options,
        ],
        cwd=folder,
        env=os.environ,
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 30
        while not (port.exists() and port.read_text()):
            assert time.monotonic() < deadline, "the model server did not start"
            time.sleep(0.05)
        yield ModelServer(f"http://127.0.0.1:{port.read_text()}", log)
    finally:
        process.end_tree(server.pid)
        server.wait()
