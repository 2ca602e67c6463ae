"""Gemini CLI as a competitor: headless, its stream of JSON events, its own chat file for a resume and for tokens."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_key
from autoquant.harness.events import Reader
from autoquant.harness.gemini_reader import GeminiReader
from autoquant.harness.gemini_resume import mended_chats
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


@dataclass(frozen=True)
class GeminiHarness:
    """Runs Gemini CLI without a person."""

    program: str = "gemini"

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

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Installed, a key is there, and the model and effort are ones it takes; no request is made."""
        path = machine.find(self.program)
        if path is None:
            return Availability(ok=False, problem=f"{self.program} not found", hint=INSTALL)
        answer = machine.ask((path, "--version"))
        number = re.search(r"\d+\.\d+\.\d+", answer.stdout) if answer else None
        if number is None:
            return Availability(ok=False, problem=f"{path} --version gives no version", hint=INSTALL)
        version = f"gemini {number[0]}"

        def no(problem: str, hint: str) -> Availability:
            return Availability(ok=False, version=version, problem=problem, hint=hint)

        if not competitor.model:
            return no("no model named", 'model = "gemini-3.5-flash"')
        if ROUTERS.match(competitor.model):
            return no(f"{competitor.model} lets the CLI choose the model", "name the model: gemini-3.5-flash")
        if competitor.model.startswith(("gemini-1", "gemini-2")):
            return no(f"{competitor.model} takes no thinking level", "name a model of Gemini 3 or later")
        if competitor.effort not in EFFORTS:
            return no(f"effort {competitor.effort!r} unknown to {self.program}", f"one of {', '.join(EFFORTS)}")
        url = urlsplit(competitor.base_url)
        if url.scheme == "http" and url.hostname not in ("localhost", "127.0.0.1", "::1"):
            return no("base_url must be https outside this machine", "the CLI refuses plain http elsewhere")
        found = _credential(competitor, machine)
        if found is None:
            return no(*_missing(competitor))
        note = "" if number[0] == PROVED else f"proved with {PROVED}"
        return Availability(True, version, found.login, found.account, note=note)

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Prompt on standard input, the rest in a settings file that overrules the agent's own.

        Raises
        ------
        HarnessFault : the program or its key is gone since they were checked.
        """
        path = machine.find(self.program)
        if path is None:
            raise HarnessFault(f"{competitor.name}: {self.program} not found", INSTALL)
        found = _credential(competitor, machine)
        if found is None:
            problem, hint = _missing(competitor)
            raise HarnessFault(f"{competitor.name}: {problem}", hint)
        argv = (
            path, "--approval-mode", "yolo", "--skip-trust", "-o", "stream-json", "-m", competitor.model,
            *(("--resume", request.resume) if request.resume else ()),
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
            files={
                **dict.fromkeys(_SETTINGS_FILES, settings),
                **(mended_chats(request.home, request.resume) if request.resume else {}),
            },
            links=found.links,
        )

    def reader(self) -> Reader:
        """A reader for one session."""
        return GeminiReader()


def _credential(competitor: Competitor, machine: Machine) -> Credential | None:
    return from_key(machine, (competitor.api_key_env or KEY,), KEY)


def _missing(competitor: Competitor) -> tuple[str, str]:
    """Problem and hint when there is no key."""
    if name := competitor.api_key_env:
        return f"environment variable {name} is not set", f"set {name}, or leave api_key_env out"
    return "not logged in", f"set {KEY}; the CLI's logins of people have ended"


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
