"""Grok Build as a competitor: headless, its stream of JSON events, its own log for tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import tomli_w

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_file, from_key
from autoquant.harness.events import Reader
from autoquant.harness.grok_reader import GrokReader
from autoquant.harness.machine import Machine

PROVED = "1.0.41"
"""Version of tests/golden; every fact below was seen with it, against the scripted server."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_MENUS = {"grok-4.5": EFFORTS[2:5], "grok-4.6": EFFORTS[2:6]}
"""What the models of the CLI's catalogue take; any other model may take any."""

INSTALL = "npm install -g @xai-official/grok"
LOGIN = "grok login, or set XAI_API_KEY"

_HOME = ".grok"
_LOGIN_FILE = f"{_HOME}/auth.json"
_KEY = "XAI_API_KEY"
_GATEWAY_KEY = "AUTOQUANT_GATEWAY_KEY"
_NOBODY = "untitled"
"""A model behind a closed port. Grok asks for a title of each conversation, without effort and without counting the
tokens; asked of nobody, it takes the prompt's first words."""


def efforts_of(model: str) -> tuple[str, ...]:
    """Efforts a model takes.

    >>> efforts_of("grok-4.5"), efforts_of("grok-4.6")[-1], efforts_of("mine")[-1]
    (('low', 'medium', 'high'), 'xhigh', 'max')
    """
    return _MENUS.get(model, EFFORTS)


@dataclass(frozen=True)
class GrokHarness:
    """Runs Grok Build without a person."""

    program: str = "grok"

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair."""
        return (
            "no web search", "no sub-agents", "no memory", "no titles or summaries by a model", "no auto-update",
            "no telemetry or upload", "no questions or plan mode", "key hidden from commands", "tool time-out 10 h",
        )  # fmt: skip

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The log of all sessions of a home."""
        return (f"{_HOME}/logs/unified.jsonl",)

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Installed, logged in, and the model takes the effort; no request is made."""
        path = machine.find(self.program)
        if path is None:
            return Availability(ok=False, problem=f"{self.program} not found", hint=INSTALL)
        answer = machine.ask((path, "--version"))
        number = re.search(r"\d+\.\d+\.\d+", answer.stdout) if answer else None
        if number is None:
            return Availability(ok=False, problem=f"{path} --version gives no version", hint=INSTALL)
        version = f"grok {number[0]}"
        if not competitor.model:
            return Availability(ok=False, version=version, problem="no model named", hint='model = "grok-4.5"')
        efforts = efforts_of(competitor.model)
        if competitor.effort not in efforts:
            problem = f"effort {competitor.effort!r} unknown to {competitor.model}"
            return Availability(ok=False, version=version, problem=problem, hint=f"one of {', '.join(efforts)}")
        found = _credential(competitor, machine)
        if found is None:
            problem, hint = _missing(competitor)
            return Availability(ok=False, version=version, problem=problem, hint=hint)
        note = "" if number[0] == PROVED else f"proved with {PROVED}"
        return Availability(True, version, found.login, found.account, note=note)

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Prompt from its file: Grok does not read standard input.

        Raises
        ------
        HarnessFault : the program or its login is gone since they were checked.
        """
        path = machine.find(self.program)
        if path is None:
            raise HarnessFault(f"{competitor.name}: {self.program} not found", INSTALL)
        found = _credential(competitor, machine)
        if found is None:
            problem, hint = _missing(competitor)
            raise HarnessFault(f"{competitor.name}: {problem}", hint)
        argv = (
            path, "--no-auto-update", "--prompt-file", str(request.prompt_file), "--always-approve",
            "--output-format", "streaming-json", "--model", competitor.model, "--reasoning-effort", competitor.effort,
            "--disable-web-search", "--no-subagents", "--no-plan",
            *(("--resume", request.resume) if request.resume else ()),
            *competitor.args,
        )  # fmt: skip
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env={
                "GROK_HOME": str(request.home / _HOME),
                "GROK_DISABLE_AUTOUPDATER": "1",
                "GROK_MEMORY": "0",
                "DISABLE_ERROR_REPORTING": "1",
                **found.env,
                **_renewed(found),
            },
            files={f"{_HOME}/config.toml": tomli_w.dumps(_configuration(competitor))},
            links=found.links,
        )

    def reader(self) -> Reader:
        """A reader for one session."""
        return GrokReader()


def _credential(competitor: Competitor, machine: Machine) -> Credential | None:
    """In the CLI's own order: a login goes before XAI_API_KEY."""
    own = _GATEWAY_KEY if competitor.base_url else _KEY
    if name := competitor.api_key_env:
        return from_key(machine, (name,), own)
    login = None if competitor.base_url else from_file(machine, "grok", _LOGIN_FILE, _LOGIN_FILE)
    return login or from_key(machine, (_KEY,), own)


def _renewed(found: Credential) -> dict[str, str]:
    """Where a renewed login goes. Grok puts a new file in a link's place, and the user's own login would be void."""
    path = found.links.get(_LOGIN_FILE)
    return {"GROK_AUTH_PATH": str(path)} if path else {}


def _missing(competitor: Competitor) -> tuple[str, str]:
    """Problem and hint when there is no credential."""
    if name := competitor.api_key_env:
        return f"environment variable {name} is not set", f"set {name}, or leave api_key_env out"
    if competitor.base_url:
        return "no key for base_url", "set api_key_env to a variable with the key; any text will do for a local server"
    return "not logged in", LOGIN


def _configuration(competitor: Competitor) -> dict[str, Any]:
    """config.toml.

    A model that is not in the catalogue loses its effort without a word unless its entry names the efforts. A key named
    in a catalogue model's entry would send that model's requests to another host: for the vendor there is none.
    """
    model: dict[str, Any] = {"model": competitor.model, "reasoning_efforts": [{"value": competitor.effort}]}
    if competitor.base_url:
        model |= {"base_url": competitor.base_url, "env_key": _GATEWAY_KEY}
    nobody = {"model": _NOBODY, "base_url": "http://127.0.0.1:9/v1", "api_key": "none", "max_retries": 0}
    return {
        "cli": {"auto_update": False, "use_leader": False},
        "features": {
            "telemetry": False, "feedback": False, "campaigns": False,
            "title_refresh": False, "turn_summary": False, "session_recap": False,
            "ask_user_question": False, "image_gen": False, "video_gen": False, "backend_tools": False,
            **({"remote_fetch": False} if competitor.base_url else {}),
        },
        "harness": {"disable_codebase_upload": True, "disable_workspace_teleport": True},
        "telemetry": {"trace_upload": False},
        "memory": {"enabled": False},
        "memory_v2": {"enabled": False},
        "subagents": {"enabled": False},  # --no-subagents alone leaves the tool in place
        "ui": {"prompt_suggestions": False},
        "shell_environment_policy": {"exclude": [_KEY, _GATEWAY_KEY]},
        "toolset": {"bash": {"timeout_secs": 36_000, "max_timeout_secs": 36_000}},
        "models": {
            "default": competitor.model,
            "session_summary": _NOBODY,
            "image_description": competitor.model,
            "web_search": competitor.model,
            "rate_limit_retry_threshold": 12,  # else two 429s in a row end the run
        },
        "model": {competitor.model: model, _NOBODY: nobody},
    }  # fmt: skip
