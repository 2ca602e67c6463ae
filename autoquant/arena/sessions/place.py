"""Where a competitor's sessions live: private folders, logs, run mark, and the environment their programs see."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from autoquant import files, process
from autoquant.harness import Competitor, SessionPlan
from autoquant.ledger.layout import RaceLayout

PASSED_ON = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
)  # fmt: skip
"""How to reach the network is the machine's business, not the competitor's."""


def run_mark(layout: RaceLayout, competitor: str) -> str:
    """Value of AUTOQUANT_RUN: the same for every arena on this race, different between folders of races."""
    place = files.sha256_bytes(str(layout.root.resolve()).encode())[:16]
    return f"{layout.race}/{competitor}/{place}"


def home_of(layout: RaceLayout, competitor: str) -> Path:
    """The competitor's private HOME."""
    return layout.homes / competitor / "home"


def temporary_of(layout: RaceLayout, competitor: str) -> Path:
    """The competitor's private TMPDIR, emptied before each session."""
    return layout.homes / competitor / "tmp"


def prompt_of(layout: RaceLayout, competitor: str) -> Path:
    """The kick-off text of its next session, where no session of its own has a reason to write."""
    return layout.root / "prompts" / f"{competitor}.md"


def logs_of(layout: RaceLayout, competitor: str, number: int) -> tuple[Path, Path]:
    """Logs of a session's standard output and standard error."""
    folder = layout.logs / competitor
    return folder / f"{number:04d}.stdout", folder / f"{number:04d}.stderr"


PROFILES = (".bash_profile", ".profile", ".zprofile")
"""Read by login shells after the system's own profile, which sets PATH anew. Codex runs each command in one."""


def profiles(path: str) -> dict[str, str]:
    """Files below HOME that keep the session's PATH in login shells."""
    return dict.fromkeys(PROFILES, f"export PATH={shlex.quote(path)}\n")


def python_folder(layout: RaceLayout) -> Path:
    """Folder with `python` and `python3` that start the arena's own interpreter, in its environment.

    Scripts and not links: an interpreter started through a link does not find the environment it belongs to.
    """
    folder = layout.root / "bin"
    script = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'.encode()
    for name in ("python", "python3"):
        path = folder / name
        if not path.is_file() or path.read_bytes() != script:
            files.atomic_write(path, script, mode=0o555)
            path.chmod(0o555)
    return folder


def environment(
    layout: RaceLayout, competitor: Competitor, plan: SessionPlan, surroundings: Mapping[str, str]
) -> dict[str, str]:
    """Everything the session's program sees of the environment; nothing else of the arena's is passed on."""
    home = home_of(layout, competitor.name)
    temporary = temporary_of(layout, competitor.name)
    return {
        **of_no_place(competitor, plan, surroundings),
        "PATH": f"{python_folder(layout)}{os.pathsep}{surroundings.get('PATH', os.defpath)}",
        "HOME": str(home),
        "TMPDIR": str(temporary),
        process.RUN_MARK: run_mark(layout, competitor.name),
    }


def of_no_place(competitor: Competitor, plan: SessionPlan, surroundings: Mapping[str, str]) -> dict[str, str]:
    """The part of `environment` that is the same in every race."""
    names = (*PASSED_ON, *competitor.pass_env)
    return {
        **{name: surroundings[name] for name in names if name in surroundings},
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        **plan.env,
        **competitor.env,
    }
