"""Adapter of the Antigravity CLI (`agy`), Google's successor of the Gemini CLI.

    model = "gemini-3.6-flash-high"     # or "gemini-3.6-flash" with effort = "high"

`agy` is on no package registry, so nothing here was run against it. Documented by the vendor or read in the adapters
of others, **not proved**: every option, variable, file and event below, the exit codes, and that `--conversation`
resumes. What is proved, with the vendor's SDK (google-antigravity 0.1.22, tests/e2e/test_antigravity_sdk.py), is the
agent below both: it edits, runs commands and keeps its thinking level on every request.

What its documentation and their observations warn of, and what is done about it:

* Without `--add-dir` files go to a scratch folder; a folder that does not exist is ignored in silence.
* `-p` takes the next argument, whatever it is: the prompt is glued to `--prompt=`.
* Print mode ends after 5 minutes by default (before 1.2.6), with status SUCCESS: 24 h here.
* Effort is either the end of the model's id or `--effort`, never both; only `gemini-…` ids take it.
* The variable GEMINI_API_KEY alone does nothing: settings.json must choose the provider.
* A turn may end with a command still running, killed 5 s later, with status SUCCESS: run.py is attached to again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from autoquant.harness.agent import AgentHarness
from autoquant.harness.antigravity_reader import AntigravityReader
from autoquant.harness.base import Competitor, Refusal, SessionPlan, SessionRequest, lasting_name
from autoquant.harness.credentials import Credential, from_file, from_key, no_login
from autoquant.harness.machine import Machine

DOCUMENTED = "1.2"
"""Versions whose documentation this follows."""
INSTALL = "install it: see https://antigravity.google/docs/cli/install"
EFFORTS = ("low", "medium", "high")

_KEY = "GEMINI_API_KEY"
_FOLDER = ".gemini/antigravity-cli"
_LOGIN = f"{_FOLDER}/antigravity-oauth-token"
_LOGIN_HINT = f"set {_KEY}, or sign in once: start agy in a terminal (a login in the system's keyring is no use here)"


class AntigravityHarness(AgentHarness):
    """Starts `agy` in print mode."""

    program = "agy"
    proved = ""
    install = INSTALL
    redirects = ("GOOGLE_*", "GEMINI_*", "AGY_*URL", "AGY_*HOME")

    @property
    def settings(self) -> tuple[str, ...]:
        """See `Harness.settings`. There is no option to switch web search off."""
        return ("no auto-update", "no slash commands", "print time-out 24 h", "private settings")

    def asked_model(self, competitor: Competitor) -> str:
        """Without the effort at its end, which goes into an option of its own."""
        chosen = _chosen(competitor)
        return "" if isinstance(chosen, Refusal) else lasting_name(chosen[0])

    def reader(self) -> AntigravityReader:
        """A new reader."""
        return AntigravityReader()

    def _credential(self, competitor: Competitor, machine: Machine) -> Credential | Refusal:
        if found := from_key(machine, (competitor.api_key_env or _KEY,), target=_KEY):
            return found
        own = competitor.api_key_env or competitor.base_url
        return (None if own else from_file(machine, "antigravity", _LOGIN, _LOGIN)) or no_login(competitor, _LOGIN_HINT)

    def _objection(self, competitor: Competitor, machine: Machine, path: str) -> Refusal | None:
        chosen = _chosen(competitor)
        return chosen if isinstance(chosen, Refusal) else None

    def _notes(self, competitor: Competitor, machine: Machine, number: str) -> Iterable[str]:
        return (f"never run against a real agy; written from the documentation of {DOCUMENTED}",)

    def _plan(
        self, path: str, competitor: Competitor, request: SessionRequest, found: Credential, machine: Machine
    ) -> SessionPlan:
        """Prompt glued to its option, settings in the private home, key by variable or the login file by link."""
        chosen = _chosen(competitor)
        if isinstance(chosen, Refusal):
            raise chosen.fault(competitor)
        model, effort = chosen
        by_key = not found.links
        return SessionPlan(
            argv=(
                *(path, "--dangerously-skip-permissions", "--disable-slash-commands", "--print-timeout", "24h"),
                *("--output-format", "stream-json", "--add-dir", str(request.workspace)),
                *("--model", model),
                *(("--effort", effort) if effort else ()),
                *(("--conversation", request.resume) if request.resume else ()),
                *competitor.args,
                f"--prompt={request.prompt}",
            ),
            cwd=request.workspace,
            env={
                "AGY_CLI_DISABLE_AUTO_UPDATE": "true",
                **({"GOOGLE_GEMINI_BASE_URL": competitor.base_url} if competitor.base_url else {}),
                **found.env,
            },
            files={f"{_FOLDER}/settings.json": json.dumps({"modelProvider": "gemini"} if by_key else {})},
            links=found.links,
        )


def _chosen(competitor: Competitor) -> tuple[str, str] | Refusal:
    """What goes into --model and, unless empty, into --effort.

    >>> _chosen(Competitor("x", "antigravity", "gemini-3.6-flash-high", "high", "#000000"))
    ('gemini-3.6-flash', 'high')
    """
    model, effort = competitor.model, competitor.effort
    if not model:
        return Refusal("no model", "see: agy models")
    if effort and effort not in EFFORTS:
        return Refusal(f"effort {effort!r} is unknown", f"one of {', '.join(EFFORTS)}")
    base, _, ending = model.rpartition("-")
    if ending not in EFFORTS:
        base, ending = model, ""
    if not model.startswith("gemini-"):
        if effort and effort != ending:
            return Refusal(f"model {model} takes no effort", "remove effort")
        return model, ""
    if effort and ending and effort != ending:
        return Refusal(f"model {model} and effort {effort!r} contradict each other", f'effort = "{ending}"')
    return base, effort or ending
