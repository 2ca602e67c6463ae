"""Gemini CLI as a competitor: headless, its stream of JSON events, its own chat file for a resume and for tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from autoquant.harness.agent import AgentHarness, unknown_effort
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_key, no_login
from autoquant.harness.events import Reader
from autoquant.harness.gemini_reader import GeminiReader
from autoquant.harness.gemini_resume import mended_chat
from autoquant.harness.machine import Machine

PROVED = "0.61.0"
"""Version of tests/golden; every fact below was seen with it, against the scripted server."""

EFFORTS = ("minimal", "low", "medium", "high")
INSTALL = "npm install -g @google/gemini-cli"
KEY = "GEMINI_API_KEY"

ROUTERS = re.compile(r"auto\b|pro$|flash$|flash-lite$")
"""Names behind which the CLI chooses a model itself."""

_SETTINGS_FILES = (".gemini/race-settings.json", ".gemini/settings.json")
"""The first overrules what the agent writes into the workspace's .gemini, but the CLI passes over it where a folder
above can be written by others (a sticky /tmp, an umask of 002); the second is always read.
"""

_HELPERS = (
    "classifier", "prompt-completion", "fast-ack-helper", "edit-corrector", "summarizer-default", "summarizer-shell",
    "loop-detection", "loop-detection-double-check", "llm-edit-fixer", "next-speaker-checker", "context-snapshotter",
    "chat-compression-3-pro", "chat-compression-3-flash", "chat-compression-3.1-flash-lite", "chat-compression-2.5-pro",
    "chat-compression-2.5-flash", "chat-compression-2.5-flash-lite", "chat-compression-default",
    "agent-history-provider-summarizer",
)  # fmt: skip
"""Names of the CLI's own side tasks, which would ask other models; a compression would ask gemini-3-pro-preview."""

_EXCLUDED = [
    "google_web_search",
    "web_fetch",
    "save_memory",
    "ask_user",
    "enter_plan_mode",
    "exit_plan_mode",
    "invoke_agent",
]


class GeminiHarness(AgentHarness):
    """Runs Gemini CLI without a person."""

    program = "gemini"
    proved = PROVED
    keeps: ClassVar[Mapping[str, str]] = {"GEMINI_CLI_HOME": ""}
    overrides = ("--approval-mode",)
    install = INSTALL
    redirects = (
        "GOOGLE_*", "CLOUDSDK_*", "CODE_ASSIST_*", "GEMINI_API_KEY*", "GEMINI_MODEL", "GEMINI_DEFAULT_AUTH_TYPE",
        "GEMINI_CLI_HOME", "GEMINI_CLI_SYSTEM_*", "GEMINI_CLI_CUSTOM_HEADERS", "GEMINI_CLI_USE_*",
    )  # fmt: skip

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair."""
        return (
            "no web search or fetch", "no subagents", "no auto-update", "no usage statistics", "no memory tool",
            "no loop detection", "helper models pinned", "project settings overruled", "tool time-out 60 min",
        )  # fmt: skip

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The CLI's chat files: a line per message, written as soon as the message is complete."""
        return (".gemini/tmp/*/chats/*.jsonl", ".gemini/tmp/*/chats/*/*.jsonl")

    def reader(self) -> Reader:
        """A reader for one session."""
        return GeminiReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        found = from_key(machine, (competitor.api_key_env or KEY,), KEY)
        return found or no_login(competitor, f"set {KEY}; the CLI's logins of people have ended")

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        model, url = competitor.model, urlsplit(competitor.base_url)
        if not model:
            return Refusal("no model named", 'model = "gemini-3.5-flash"')
        if ROUTERS.match(model):
            return Refusal(f"{model} lets the CLI choose the model", "name the model: gemini-3.5-flash")
        if model.startswith(("gemini-1", "gemini-2")):
            return Refusal(f"{model} takes no thinking level", "name a model of Gemini 3 or later")
        if url.scheme == "http" and url.hostname not in ("localhost", "127.0.0.1", "::1"):
            return Refusal("base_url must be https outside this machine", "the CLI refuses plain http elsewhere")
        return unknown_effort(competitor, EFFORTS, self.program)

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Prompt on standard input, the rest in a settings file that overrules the agent's own."""
        resume = request.resume
        mended = mended_chat(request.home, resume) if resume else {}
        argv = (
            path, "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json", "-m", competitor.model,
            *(("--resume", resume) if resume and mended is not None else ()),
            *competitor.args,
        )  # fmt: skip
        env = {
            "GEMINI_CLI_HOME": str(request.home),
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(request.home / _SETTINGS_FILES[0]),
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",  # else it starts itself again as a child, which outlives it
            "GEMINI_TELEMETRY_ENABLED": "false",
            **({"GOOGLE_GEMINI_BASE_URL": competitor.base_url} if competitor.base_url else {}),
            **found.env,
        }
        settings = json.dumps(_settings(competitor), indent=2) + "\n"
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env=env,
            stdin=request.prompt.encode(),
            files={**dict.fromkeys(_SETTINGS_FILES, settings), **(mended or {})},
            links=found.links,
        )


def _settings(competitor: Competitor) -> dict[str, Any]:
    """Settings at the CLI's highest level: the agent's own .gemini/settings.json cannot change them."""
    thinking = {"includeThoughts": True, "thinkingLevel": competitor.effort.upper()}
    return {
        "security": {"auth": {"selectedType": "gemini-api-key"}},  # with a base URL it would guess a gateway and fail
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": 10,
            "plan": {"enabled": False, "modelRouting": False},
            "sessionRetention": {"enabled": False},
        },
        "tools": {"shell": {"inactivityTimeout": 3600}, "exclude": _EXCLUDED},
        "model": {"disableLoopDetection": True, "skipNextSpeakerCheck": True},
        "experimental": {"enableAgents": False, "autoMemory": False},
        "hooksConfig": {"enabled": False},
        "modelConfigs": {
            "customAliases": {
                name: {"extends": "chat-base", "modelConfig": {"model": competitor.model}} for name in _HELPERS
            },
            # An alias with the effort would lose it after the first request; an override keeps it.
            "customOverrides": [
                {
                    "match": {"model": competitor.model},
                    "modelConfig": {"generateContentConfig": {"thinkingConfig": thinking}},
                }
            ],
        },
    }
