"""Claude Code as a competitor: `claude -p`, its stream of JSON events, its session file for a resume and for tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from autoquant.harness.agent import AgentHarness, unknown_effort
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest, lasting_name
from autoquant.harness.claude_reader import ClaudeReader
from autoquant.harness.credentials import Credential, from_file, from_key, no_login
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

LOWERED = (
    (re.compile(r"claude-opus-4-5"), ("xhigh", "max")),
    (re.compile(r"claude-(opus|sonnet)-4-6"), ("xhigh",)),
)
"""Models, and the efforts that the CLI sends as high for them."""

_LOGIN_FILE = ".claude/.credentials.json"

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


def sent_effort(model: str, effort: str) -> str:
    """What stands in the requests when the CLI is told this effort; empty for nothing.

    >>> [sent_effort(f"claude-{name}", "max") for name in ("opus-4-5", "opus-4-6", "sonnet-4-5-20250929")]
    ['high', 'max', '']
    """
    if NO_EFFORT.search(model):
        return ""
    lowered = any(pattern.search(model) and effort in efforts for pattern, efforts in LOWERED)
    return "high" if lowered else effort


class ClaudeHarness(AgentHarness):
    """Runs Claude Code without a person."""

    program = "claude"
    proved = PROVED
    overrides = ("--permission-mode", "--settings", "--setting-sources", "--fallback-model")
    install = INSTALL
    redirects = (
        "ANTHROPIC_*", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_OAUTH_*", "CLAUDE_CODE_GATEWAY_*", "CLAUDE_CODE_*TOKEN",
        "CLAUDE_CODE_*URL", "CLAUDE_CODE_*_MODEL", "CLAUDE_*CONFIG_DIR", "CLAUDE_API_KEY", "AWS_*", "CLOUD_ML_*",
    )  # fmt: skip

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

    def asked_model(self, competitor: Competitor) -> str:
        """Without the mark of a longer context, which the CLI keeps to itself: claude-sonnet-4-6[1m]."""
        return lasting_name(competitor.model.removesuffix("[1m]"))

    def reader(self) -> Reader:
        """A reader for one session."""
        return ClaudeReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        """An endpoint of one's own never sees a login of the user."""
        if name := competitor.api_key_env:
            return from_key(machine, (name,), "ANTHROPIC_API_KEY") or no_login(competitor, LOGIN)
        key = from_key(machine, ("ANTHROPIC_API_KEY",))
        if competitor.base_url:
            return key or no_login(competitor, LOGIN)
        token = from_key(machine, ("CLAUDE_CODE_OAUTH_TOKEN",))
        return key or token or from_file(machine, "claude", _LOGIN_FILE, _LOGIN_FILE) or no_login(competitor, LOGIN)

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        if not competitor.model:
            return Refusal("no model named", 'model = "claude-opus-4-5"')
        if competitor.model in ALIASES:
            return Refusal(f"{competitor.model} is an alias whose meaning moves", "name the model: claude-opus-4-5")
        if not competitor.effort and NO_EFFORT.search(competitor.model):
            return None
        return unknown_effort(competitor, EFFORTS, self.program)

    def _notes(self, competitor: Competitor, machine: Machine, number: str) -> Iterable[str]:
        yield from super()._notes(competitor, machine, number)
        model, effort = competitor.model, competitor.effort
        sent = sent_effort(model, effort)
        if effort and not sent:
            yield f"effort {effort} is without effect: the CLI sends none for {model}"
        elif sent != effort:
            yield f"effort {effort} is sent as {sent} for {model}"
        if machine.is_root:
            yield "as root: IS_SANDBOX=1 is set"

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Prompt on standard input, everything else on the command line and in the environment."""
        argv = (
            path, "-p", "--verbose", "--output-format", "stream-json",
            "--model", competitor.model, *(("--effort", competitor.effort) if competitor.effort else ()),
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
            writes=tuple(path.parent for path in found.links.values()),
        )


def _refresh(found: Credential) -> Mapping[str, str]:
    """Where a renewed token goes. The CLI replaces its login file, and a link with it: the user's would be void."""
    folders = [str(path.parent) for path in found.links.values()]
    return {"CLAUDE_SECURESTORAGE_CONFIG_DIR": folders[0]} if folders else {}


def _environment(competitor: Competitor, request: SessionRequest, machine: Machine) -> Mapping[str, str]:
    env = {
        **_FIXED_ENV,
        **dict.fromkeys(_MODEL_ENV, competitor.model),
        "CLAUDE_CONFIG_DIR": str(request.home / ".claude"),
    }
    if competitor.effort:
        env |= dict.fromkeys(("CLAUDE_CODE_EFFORT_LEVEL", "CLAUDE_CODE_SUBAGENT_EFFORT"), competitor.effort)
    if machine.is_root:
        env["IS_SANDBOX"] = "1"  # without it: exit 1, "cannot be used with root/sudo privileges"
    if competitor.base_url:
        env["ANTHROPIC_BASE_URL"] = competitor.base_url
    return env
