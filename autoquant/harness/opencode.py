"""Adapter of opencode (`opencode run`), any provider it knows, or any OpenAI-compatible endpoint.

    model = "anthropic/claude-opus-5-5"     # provider/model, as `opencode models` lists them
    model = "qwen3-coder"                   # with base_url: whatever that endpoint calls it (base_url ends in /v1)

Proved with 1.18.33 against the scripted server; what its stream tells is in `opencode_reader`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from autoquant.harness import jsonl
from autoquant.harness.agent import AgentHarness, unknown_effort
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest, lasting_name
from autoquant.harness.credentials import Credential, from_file, from_key, no_login
from autoquant.harness.machine import Machine
from autoquant.harness.opencode_reader import OpencodeReader

PROVED = "1.18.33"
INSTALL = "npm install -g opencode-ai"
LOGIN = "opencode auth login"

KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "google": ("GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
}
"""Provider of a model, variables that hold its key; opencode reads the first one of each."""
ENDPOINT = "endpoint"
"""Our name for the provider behind base_url."""
ENDPOINT_KEY = "AUTOQUANT_ENDPOINT_KEY"
ENDPOINT_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")

_AUTH = ".local/share/opencode/auth.json"
_XDG = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}
_SWITCHES = {
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    # The list of models and prices that is built in is used instead of models.dev's of today.
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    # An opencode.json or .opencode/ in the worktree would be the agent's own doing.
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_PURE": "1",
    "OPENCODE_EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS": "3600000",
}
_SILENCE_MS = 900_000
"""How long a model may think before its next byte; opencode's own 300 s cut high efforts short."""


class OpencodeHarness(AgentHarness):
    """Starts `opencode run`."""

    program = "opencode"
    proved = PROVED
    keeps: ClassVar[Mapping[str, str]] = _XDG
    overrides = ("--agent",)
    install = INSTALL
    redirects = (
        "OPENCODE_CONFIG*", "OPENCODE_AUTH*", "OPENCODE_MODELS*", "OPENCODE_*TOKEN", "XDG_*_HOME", "OPENAI_*",
        "ANTHROPIC_*", "GOOGLE_*", "GEMINI_*", "XAI_*", "OPENROUTER_*", "AWS_*", "AZURE_*",
    )  # fmt: skip

    @property
    def settings(self) -> tuple[str, ...]:
        """See `Harness.settings`. Sub-agents are off because their requests are not in the stream."""
        return (
            "no auto-update",
            "no sharing",
            "no web search or fetch",
            "no sub-agents",
            "no plugins",
            "no project configuration",
            "no models.dev",
            "tool time-out 1 h",
        )

    def asked_model(self, competitor: Competitor) -> str:
        """Without the provider, as the log names it."""
        return lasting_name(_model(competitor).partition("/")[2])

    def reader(self) -> OpencodeReader:
        """A new reader."""
        return OpencodeReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        if competitor.base_url:
            names = (competitor.api_key_env or "OPENAI_API_KEY",)
            return from_key(machine, names, target=ENDPOINT_KEY) or no_login(competitor, "")
        provider, _, rest = competitor.model.partition("/")
        if not provider or not rest:
            return Refusal(f"model {competitor.model!r} is not provider/model", "see: opencode models")
        known = KEYS.get(provider, ())
        if competitor.api_key_env:
            if not known:
                return Refusal(f"api_key_env does not go with provider {provider}", LOGIN)
            return from_key(machine, (competitor.api_key_env,), target=known[0]) or no_login(competitor, "")
        if found := from_key(machine, known, target=known[0] if known else None):
            return found
        if (login := from_file(machine, "opencode", _AUTH, _AUTH)) and provider in _logins(machine):
            return Credential(login.login, f"opencode/{provider}/login", links=login.links)
        hint = f"set {known[-1]}, or log in: {LOGIN}" if known else LOGIN
        return Refusal(f"not logged in at {provider}", hint)

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        if not competitor.base_url:
            return _unknown_to_vendor(competitor, machine, path)
        if not competitor.model:
            return Refusal("no model", "model: what the endpoint calls it")
        return unknown_effort(competitor, ("", *ENDPOINT_EFFORTS), "the protocol")

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Configuration in the private home, key by variable or the user's auth.json by link, prompt as argument."""
        argv = (
            *(path, "run", "--format", "json", "--print-logs", "--log-level", "INFO", "--thinking", "--auto"),
            # A title of our own: otherwise the first request asks a model for one (without effort).
            *("--title", "autoquant", "--dir", str(request.workspace), "--model", _model(competitor)),
            *(("--variant", competitor.effort) if competitor.effort and not competitor.base_url else ()),
            *(("--session", request.resume) if request.resume else ()),
            *competitor.args,
            *("--", request.prompt),
        )
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env={name: str(request.home / folder) for name, folder in _XDG.items()} | _SWITCHES | dict(found.env),
            files={
                ".config/opencode/opencode.json": json.dumps(_config(competitor), indent=1),
                # Read on top of it: the agent's shell can write them, for its own next session.
                ".config/opencode/opencode.jsonc": "{}",
                ".config/opencode/config.json": "{}",
                # Else opencode installs @opencode-ai/plugin from the npm registry at every first start.
                ".config/opencode/package-lock.json": json.dumps(
                    {"packages": {"": {"dependencies": {"@opencode-ai/plugin": PROVED}}}}
                ),
                ".config/opencode/node_modules/.keep": "",
            },
            links=found.links,
        )


def _model(competitor: Competitor) -> str:
    return f"{ENDPOINT}/{competitor.model}" if competitor.base_url else competitor.model


def _config(competitor: Competitor) -> dict[str, Any]:
    model = _model(competitor)
    patience = {"chunkTimeout": _SILENCE_MS, "headerTimeout": _SILENCE_MS}
    provider: dict[str, Any] = {"options": patience}
    if competitor.base_url:
        # An option of the model goes with every request, a summary of the history included; a variant of a model
        # that opencode does not know is dropped without a word.
        options = {"reasoningEffort": competitor.effort} if competitor.effort else {}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": ENDPOINT,
            "options": {"baseURL": competitor.base_url, "apiKey": f"{{env:{ENDPOINT_KEY}}}", **patience},
            "models": {competitor.model: {"name": competitor.model, "options": options}},
        }
    return {
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "formatter": False,
        "lsp": False,
        "model": model,
        "small_model": model,
        "enabled_providers": [model.partition("/")[0]],
        "permission": {"*": "allow", "task": "deny", "websearch": "deny", "webfetch": "deny", "question": "deny"},
        "provider": {model.partition("/")[0]: provider},
    }


def _logins(machine: Machine) -> set[str]:
    """Providers in the user's auth.json: its keys, nothing below them."""
    try:
        text = (machine.home / _AUTH).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return set(jsonl.parse(text))


def _unknown_to_vendor(competitor: Competitor, machine: Machine, program: str) -> Refusal | None:
    """A model or effort that this version does not know."""
    provider = competitor.model.partition("/")[0]
    # The list is built in. A key of any text makes opencode show a provider's models; folders of its own, because it
    # creates a data base wherever it looks.
    env, scratch = dict(_SWITCHES), dict(_XDG)
    if provider in KEYS:
        env[KEYS[provider][0]] = "x"
    else:
        env["XDG_DATA_HOME"] = str(machine.home / scratch.pop("XDG_DATA_HOME"))
    answer = machine.ask((program, "models", provider, "--verbose"), env, scratch)
    variants = _variants(answer.stdout if answer else "", competitor.model)
    if variants is None:
        return Refusal(f"this opencode knows no model {competitor.model}", f"see: opencode models {provider}")
    if competitor.effort and not variants:
        return Refusal(f"{competitor.model} takes no effort", "remove effort")
    return unknown_effort(competitor, ("", *variants), competitor.model)


def _variants(listing: str, model: str) -> tuple[str, ...] | None:
    """Efforts of a model in the output of `opencode models --verbose`: its name on a line, then its JSON.

    >>> _variants('a/b\\n{\\n "variants": {"low": {}, "high": {}}\\n}\\na/c\\n{}\\n', "a/b")
    ('low', 'high')
    >>> _variants('a/bc\\n{}\\n', "a/b") is None
    True
    """
    start = re.search(rf"^{re.escape(model)}$", listing, re.MULTILINE)
    if start is None:
        return None
    try:
        facts, _ = json.JSONDecoder().raw_decode(listing[start.end() :].lstrip())
    except ValueError:
        return ()
    return tuple(jsonl.child(facts, "variants"))
