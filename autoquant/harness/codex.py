"""OpenAI Codex as a competitor: `codex exec`, its stream of JSON events, its session file for tokens."""

from __future__ import annotations

from typing import Any

import tomli_w

from autoquant.harness.agent import AgentHarness, unknown_effort
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest
from autoquant.harness.codex_reader import CodexReader
from autoquant.harness.credentials import Credential, from_file, from_key, no_login
from autoquant.harness.events import Reader
from autoquant.harness.machine import Machine

PROVED = "0.171.0"
"""Version of tests/golden; every fact below was seen with it, against the scripted server."""

EFFORTS = ("low", "medium", "high", "xhigh", "max", "ultra")
_HIGHEST = (("luna", "max"), ("gpt-5.5", "xhigh"))
"""Where a model of the CLI's catalogue takes less than all. The CLI itself sends any word on, unchecked."""

INSTALL = "npm install -g @openai/codex"
LOGIN = "codex login, or set OPENAI_API_KEY"

_HOME = ".codex"
_LOGIN_FILE = f"{_HOME}/auth.json"
_KEY = "CODEX_API_KEY"
"""What `codex exec` itself reads; OPENAI_API_KEY it does not."""
_GATEWAY_KEY = "AUTOQUANT_GATEWAY_KEY"


def efforts_of(model: str) -> tuple[str, ...]:
    """Efforts a model takes; a model that is not in the catalogue may take any.

    >>> efforts_of("gpt-5.6-luna")[-1], efforts_of("gpt-5.6-sol")[-1], efforts_of("gpt-5.5")[-1], efforts_of("mine")[-1]
    ('max', 'ultra', 'xhigh', 'ultra')
    """
    last = next((effort for word, effort in _HIGHEST if word in model), EFFORTS[-1])
    return EFFORTS[: EFFORTS.index(last) + 1]


class CodexHarness(AgentHarness):
    """Runs Codex without a person."""

    program = "codex"
    proved = PROVED
    overrides = (
        "model",
        "model_reasoning_effort",
        "model_provider",
        "web_search",
        "-cmodel",
        "--config=model",
        "-s",
        "--sandbox",
    )
    install = INSTALL
    redirects = ("OPENAI_*", "CODEX_HOME", "CODEX_ACCESS_TOKEN", "CODEX_*URL")

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair."""
        return (
            "no web search", "no plugins or apps", "sub-agents only at effort ultra", "no memories", "no auto-update",
            "no analytics", "key not in commands' environment", "waits for commands up to 60 min",
        )  # fmt: skip

    @property
    def transcripts(self) -> tuple[str, ...]:
        """Session files; a sub-agent has one of its own."""
        return (f"{_HOME}/sessions/*/*/*/rollout-*.jsonl",)

    def reader(self) -> Reader:
        """A reader for one session."""
        return CodexReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        """In the CLI's own order: its variable, its login. OPENAI_API_KEY only if there is neither.

        The login file is linked: the CLI renews it through the link and under a lock beside the user's file.
        """
        own = _GATEWAY_KEY if competitor.base_url else _KEY
        if name := competitor.api_key_env:
            return from_key(machine, (name,), own) or no_login(competitor, LOGIN)
        login = None if competitor.base_url else from_file(machine, "codex", _LOGIN_FILE, _LOGIN_FILE)
        key = from_key(machine, (_KEY,), own)
        return key or login or from_key(machine, ("OPENAI_API_KEY",), own) or no_login(competitor, LOGIN)

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        if not competitor.model:
            return Refusal("no model named", 'model = "gpt-5.6-luna"')
        return unknown_effort(competitor, efforts_of(competitor.model), competitor.model)

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Prompt on standard input; everything else on the command line and in the configuration."""
        argv = (
            path, "exec", *(("resume",) if request.resume else ()), "--json", "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox", "--model", competitor.model,
            "-c", f'model_reasoning_effort="{competitor.effort}"',  # gpt-5.6-sol would otherwise think little
            *competitor.args,
            *((request.resume,) if request.resume else ()), "-",
        )  # fmt: skip
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env={"CODEX_HOME": str(request.home / _HOME), **found.env},
            stdin=request.prompt.encode(),
            files={f"{_HOME}/config.toml": tomli_w.dumps(_configuration(competitor))},
            links=found.links,
        )


def _configuration(competitor: Competitor) -> dict[str, Any]:
    """config.toml. The vendor's own provider cannot be changed: it keeps its 4 and 5 retries."""
    settings: dict[str, Any] = {
        "check_for_update_on_startup": False,
        "web_search": "disabled",
        "cli_auth_credentials_store": "file",
        "background_terminal_max_timeout": 3_600_000,  # how long the model may wait for a command at once
        "agents": {"enabled": competitor.effort == "ultra"},  # ultra is max with delegation
        "analytics": {"enabled": False},
        "otel": {"exporter": "none"},
        "features": {
            "plugins": False,  # they ask github.com and chatgpt.com at every start
            "apps": False,
            "memories": False,
            "unbounded_connection_retries": False,  # else it waits for a network for ever, and says so
        },
        "shell_environment_policy": {"exclude": [_KEY, _GATEWAY_KEY]},
    }
    if competitor.base_url:
        settings["model_provider"] = "arena"
        settings["model_providers"] = {
            "arena": {
                "name": "arena",
                "base_url": competitor.base_url,
                "wire_api": "responses",
                "env_key": _GATEWAY_KEY,
                "supports_websockets": False,
                "request_max_retries": 4,  # of a 5xx or a failed connection, within each of the next
                "stream_max_retries": 10,  # waits double from 0.2 s, 4 minutes of 5xx; a 429 only if it says how long
                "stream_idle_timeout_ms": 600_000,
            }
        }
    return settings
