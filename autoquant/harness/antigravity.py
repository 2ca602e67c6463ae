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
import re
from dataclasses import dataclass

from autoquant.errors import HarnessFault
from autoquant.harness.antigravity_reader import AntigravityReader
from autoquant.harness.base import Availability, Competitor, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_file, from_key
from autoquant.harness.machine import Machine

PROGRAM = "agy"
DOCUMENTED = "1.2"
"""Versions whose documentation this follows."""
INSTALL = "see https://antigravity.google/docs/cli/install"
EFFORTS = ("low", "medium", "high")

_KEY = "GEMINI_API_KEY"
_FOLDER = ".gemini/antigravity-cli"
_LOGIN = f"{_FOLDER}/antigravity-oauth-token"
_LOGIN_HINT = f"set {_KEY}, or sign in once: start agy in a terminal"


@dataclass(frozen=True)
class AntigravityHarness:
    """Starts `agy` in print mode."""

    @property
    def settings(self) -> tuple[str, ...]:
        """See `Harness.settings`. There is no option to switch web search off."""
        return ("no auto-update", "no slash commands", "print time-out 24 h", "private settings")

    @property
    def transcripts(self) -> tuple[str, ...]:
        """None: the stream has tokens per step."""
        return ()

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Installed, a key or a login file, and a model and effort that go together."""
        program = machine.find(PROGRAM)
        if program is None:
            return Availability(ok=False, problem=f"{PROGRAM} not found", hint=f"install it: {INSTALL}")
        answer = machine.ask((program, "--version"))
        number = re.search(r"\d+\.\d+\.\d+", answer.stdout if answer else "")
        if number is None:
            return Availability(ok=False, problem=f"{program} --version gives no version", hint=f"reinstall: {INSTALL}")
        credential, problem, hint = _credential(competitor, machine)
        if not problem:
            _, problem, hint = _model_options(competitor)
        return Availability(
            ok=not problem,
            version=f"agy {number[0]}",
            login=credential.login if credential else "",
            account=credential.account if credential else "",
            problem=problem,
            hint=hint,
            note=f"never run against a real agy; written from the documentation of {DOCUMENTED}",
        )

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Prompt glued to its option, settings in the private home, key by variable or the login file by link.

        Raises
        ------
        HarnessFault : the program or its credentials are gone since they were checked.
        """
        program = machine.find(PROGRAM)
        if program is None:
            raise HarnessFault(f"{competitor.name}: {PROGRAM} not found", f"install it: {INSTALL}")
        credential, problem, hint = _credential(competitor, machine)
        if credential is None:
            raise HarnessFault(f"{competitor.name}: {problem}", hint)
        options, problem, hint = _model_options(competitor)
        if problem:
            raise HarnessFault(f"{competitor.name}: {problem}", hint)
        by_key = not credential.links
        return SessionPlan(
            argv=(
                *(program, "--dangerously-skip-permissions", "--disable-slash-commands", "--print-timeout", "24h"),
                *("--output-format", "stream-json", "--add-dir", str(request.workspace)),
                *options,
                *(("--conversation", request.resume) if request.resume else ()),
                *competitor.args,
                f"--prompt={request.prompt}",
            ),
            cwd=request.workspace,
            env={
                "AGY_CLI_DISABLE_AUTO_UPDATE": "true",
                **({"GOOGLE_GEMINI_BASE_URL": competitor.base_url} if competitor.base_url else {}),
                **credential.env,
            },
            files={f"{_FOLDER}/settings.json": json.dumps({"modelProvider": "gemini"} if by_key else {})},
            links=credential.links,
        )

    def reader(self) -> AntigravityReader:
        """A new reader."""
        return AntigravityReader()


def _credential(competitor: Competitor, machine: Machine) -> tuple[Credential | None, str, str]:
    """The login, or a problem and how to mend it."""
    name = competitor.api_key_env or _KEY
    if found := from_key(machine, (name,), target=_KEY):
        return found, "", ""
    if competitor.api_key_env or competitor.base_url:
        return None, f"environment variable {name} is not set", f"set {name}; a base_url needs one too, of any text"
    if found := from_file(machine, "antigravity", _LOGIN, _LOGIN):
        return found, "", ""
    return None, "not logged in (a login in the system's keyring cannot be used by a race)", _LOGIN_HINT


def _model_options(competitor: Competitor) -> tuple[tuple[str, ...], str, str]:
    """Options for model and effort; or none, a problem and how to mend it.

    >>> _model_options(Competitor("x", "antigravity", "gemini-3.6-flash-high", "high", "#000000"))[0]
    ('--model', 'gemini-3.6-flash', '--effort', 'high')
    """
    model, effort = competitor.model, competitor.effort
    if not model:
        return (), "no model", "see: agy models"
    if effort and effort not in EFFORTS:
        return (), f"effort {effort!r} is unknown", f"one of {', '.join(EFFORTS)}"
    base, _, ending = model.rpartition("-")
    if ending not in EFFORTS:
        base, ending = model, ""
    if not model.startswith("gemini-"):
        if effort and effort != ending:
            return (), f"model {model} takes no effort", "remove effort"
        return ("--model", model), "", ""
    if effort and ending and effort != ending:
        return (), f"model {model} and effort {effort!r} contradict each other", f'effort = "{ending}"'
    chosen = effort or ending
    return (("--model", base, "--effort", chosen) if chosen else ("--model", base)), "", ""
