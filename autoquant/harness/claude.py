"""Claude Code as a competitor: `claude -p`, its stream of JSON events, its session file for a resume and for tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from autoquant.errors import HarnessFault
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.claude_reader import ClaudeReader
from autoquant.harness.credentials import Credential, from_file, from_key
from autoquant.harness.events import Reader
from autoquant.harness.machine import Machine

PROVED = "2.1.332"
"""Version of tests/golden; every fact below was seen with it, against the scripted server."""

EFFORTS = ("low", "medium", "high", "xhigh", "max")
INSTALL = "npm install -g @anthropic-ai/claude-code"
LOGIN = "set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from `claude setup-token`, or run `claude` and /login"

ALIASES = frozenset({"default", "best", "opus", "sonnet", "haiku", "fable", "opusplan"})
"""Names that another CLI version reads as another model."""

NO_EFFORT = re.compile(r"claude-3-|claude-opus-4-[01]\b|claude-sonnet-4-[05]\b|claude-haiku-4-5")
"""Models for which the CLI leaves the effort out of the request, whatever it is told."""

DISALLOWED = (
    "WebSearch", "WebFetch",                                        # the race is without the web
    "Task", "Agent", "Workflow", "SendMessage", "ListAgents",       # one agent per competitor
    "EnterWorktree", "ExitWorktree",                                # the arena's worktree is the workspace
    "CronCreate", "CronDelete", "CronList", "ScheduleWakeup",       # nothing wakes a session that has ended
)  # fmt: skip

_LONG = "3600000"  # milliseconds; the default of 2 minutes loses a run.py (design note, section 4)

_FIXED_ENV = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_UPDATES": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_CRON": "1",
    "CLAUDE_CODE_ALWAYS_ENABLE_EFFORT": "1",  # else a model it does not know gets none
    "CLAUDE_CODE_NO_MODEL_FALLBACK": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",
    "BASH_DEFAULT_TIMEOUT_MS": _LONG,
    "BASH_MAX_TIMEOUT_MS": _LONG,
}

_MODEL_ENV = (
    "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_FABLE_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_WORKFLOW_SUBAGENT_MODEL",
)  # fmt: skip
"""Every name under which the CLI could ask for another model than the competitor's."""

_SETTINGS = {"permissions": {"deny": ["WebSearch", "WebFetch"]}, "disableAllHooks": True}


@dataclass(frozen=True)
class ClaudeHarness:
    """Runs Claude Code without a person."""

    program: str = "claude"

    @property
    def settings(self) -> tuple[str, ...]:
        """What is set so that the race is fair."""
        return (
            "no web search or fetch", "no subagents", "no auto-update", "no telemetry", "no auto-memory",
            "helper models pinned", "no model fallback", "project settings ignored", "tool time-out 60 min",
        )  # fmt: skip

    @property
    def transcripts(self) -> tuple[str, ...]:
        """The CLI's session files: one line per content block, written before its tool starts."""
        return (".claude/projects/*/*.jsonl",)

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Installed, logged in, and the model and effort are ones it takes; no request is made."""
        path = machine.find(self.program)
        if path is None:
            return Availability(ok=False, problem=f"{self.program} not found", hint=INSTALL)
        answer = machine.ask((path, "--version"))
        number = re.search(r"\d+\.\d+\.\d+", answer.stdout) if answer else None
        if number is None:
            return Availability(ok=False, problem=f"{path} --version gives no version", hint=INSTALL)
        version = f"claude {number[0]}"
        if not competitor.model:
            return Availability(ok=False, version=version, problem="no model named", hint='model = "claude-opus-4-5"')
        if competitor.model in ALIASES:
            problem = f"{competitor.model} is an alias whose meaning moves"
            return Availability(ok=False, version=version, problem=problem, hint="name the model: claude-opus-4-5")
        if competitor.effort not in EFFORTS:
            problem = f"effort {competitor.effort!r} unknown to {self.program}"
            return Availability(ok=False, version=version, problem=problem, hint=f"one of {', '.join(EFFORTS)}")
        found = _credential(competitor, machine)
        if found is None:
            problem, hint = _missing(competitor)
            return Availability(ok=False, version=version, problem=problem, hint=hint)
        notes = []
        if number[0] != PROVED:
            notes.append(f"proved with {PROVED}")
        if NO_EFFORT.search(competitor.model):
            notes.append(f"sends no effort for {competitor.model}")
        return Availability(True, version, found.login, found.account, note="; ".join(notes))

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Prompt on standard input, everything else on the command line and in the environment.

        Raises
        ------
        HarnessFault : the program or its credentials are gone since they were checked.
        """
        path = machine.find(self.program)
        if path is None:
            raise HarnessFault(f"{competitor.name}: {self.program} not found", INSTALL)
        found = _credential(competitor, machine)
        if found is None:
            problem, hint = _missing(competitor)
            raise HarnessFault(f"{competitor.name}: {problem}", hint)
        argv = (
            path, "-p", "--verbose", "--output-format", "stream-json",
            "--model", competitor.model, "--effort", competitor.effort,
            "--permission-mode", "bypassPermissions",
            "--disallowedTools", ",".join(DISALLOWED),
            "--setting-sources", "user",    # what the agent writes into the workspace's .claude/ configures nothing
            "--strict-mcp-config",
            *(("--resume", request.resume) if request.resume else ()),
            *competitor.args,
        )  # fmt: skip
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env={**_environment(competitor, request, machine), **found.env, **_refresh(found)},
            stdin=request.prompt.encode(),
            files={".claude/settings.json": json.dumps(_SETTINGS, indent=2) + "\n"},
            links=found.links,
        )

    def reader(self) -> Reader:
        """A reader for one session."""
        return ClaudeReader()


def _credential(competitor: Competitor, machine: Machine) -> Credential | None:
    if competitor.api_key_env:
        return from_key(machine, (competitor.api_key_env,), "ANTHROPIC_API_KEY")
    return (
        from_key(machine, ("ANTHROPIC_API_KEY",))
        or from_key(machine, ("CLAUDE_CODE_OAUTH_TOKEN",))
        or from_file(machine, "claude", ".claude/.credentials.json", ".claude/.credentials.json")
    )


def _refresh(found: Credential) -> Mapping[str, str]:
    """Where a renewed token goes. The CLI replaces its login file, and a link with it: the user's would be void."""
    folders = [str(path.parent) for path in found.links.values()]
    return {"CLAUDE_SECURESTORAGE_CONFIG_DIR": folders[0]} if folders else {}


def _missing(competitor: Competitor) -> tuple[str, str]:
    """Problem and hint when there is no credential."""
    if name := competitor.api_key_env:
        return f"environment variable {name} is not set", f"set {name}, or leave api_key_env out"
    return "not logged in", LOGIN


def _environment(competitor: Competitor, request: SessionRequest, machine: Machine) -> Mapping[str, str]:
    env = {
        **_FIXED_ENV,
        **dict.fromkeys(_MODEL_ENV, competitor.model),
        "CLAUDE_CONFIG_DIR": str(request.home / ".claude"),
        "CLAUDE_CODE_EFFORT_LEVEL": competitor.effort,
        "CLAUDE_CODE_SUBAGENT_EFFORT": competitor.effort,
    }
    if machine.is_root:
        env["IS_SANDBOX"] = "1"  # without it: exit 1, "cannot be used with root/sudo privileges"
    if competitor.base_url:
        env["ANTHROPIC_BASE_URL"] = competitor.base_url
    return env
