"""Grok Build as a competitor: headless, its stream of JSON events, its own log for tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import tomli_w

from autoquant.harness.agent import AgentHarness, unknown_effort
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_file, from_key, no_login
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


class GrokHarness(AgentHarness):
    """Runs Grok Build without a person."""

    program = "grok"
    proved = PROVED
    keeps: ClassVar[Mapping[str, str]] = {"GROK_HOME": ""}
    overrides = ("--always-approve", "--no-auto-update")
    install = INSTALL
    redirects = ("XAI_*", "GROK_HOME", "GROK_AUTH*", "GROK_CONFIG*", "GROK_*KEY*", "GROK_*URL", "GROK_*ENDPOINT")

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair."""
        return (
            "no web search", "no sub-agents", "no memory", "no titles or summaries by a model", "no auto-update",
            "no telemetry or upload", "no questions or plan mode", "key not in commands' environment",
            "tool time-out 10 h",
        )  # fmt: skip

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The log of all sessions of a home."""
        return (f"{_HOME}/logs/unified.jsonl",)

    def reader(self) -> Reader:
        """A reader for one session."""
        return GrokReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        """In the CLI's own order: a login goes before XAI_API_KEY."""
        own = _GATEWAY_KEY if competitor.base_url else _KEY
        if name := competitor.api_key_env:
            return from_key(machine, (name,), own) or no_login(competitor, LOGIN)
        login = None if competitor.base_url else from_file(machine, "grok", _LOGIN_FILE, _LOGIN_FILE)
        return login or from_key(machine, (_KEY,), own) or no_login(competitor, LOGIN)

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        if not competitor.model:
            return Refusal("no model named", 'model = "grok-4.5"')
        return unknown_effort(competitor, efforts_of(competitor.model), competitor.model)

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Prompt from its file: Grok does not read standard input."""
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
            writes=tuple(path.parent for path in found.links.values()),
        )


def _renewed(found: Credential) -> dict[str, str]:
    """Where a renewed login goes. Grok puts a new file in a link's place, and the user's own login would be void."""
    path = found.links.get(_LOGIN_FILE)
    return {"GROK_AUTH_PATH": str(path)} if path else {}


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
        "toolset": {
            "bash": {
                "timeout_secs": 36_000,
                "max_timeout_secs": 36_000,
                "auto_background_on_timeout": False,  # else a command goes into the background after 15 s
            }
        },
        "models": {
            "default": competitor.model,
            "session_summary": _NOBODY,
            "image_description": competitor.model,
            "web_search": competitor.model,
            "rate_limit_retry_threshold": 12,  # else two 429s in a row end the run
        },
        "model": {competitor.model: model, _NOBODY: nobody},
    }  # fmt: skip
