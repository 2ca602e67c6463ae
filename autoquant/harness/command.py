"""Any command line as a competitor: an agent CLI without an adapter, or a script of one's own.

    [[competitor]]
    name = "my-agent"
    harness = "command"
    argv = ["my-agent", "--yes", "--model", "{model}", "--prompt-file", "{prompt_file}"]

The program runs in the worktree. Its standard input is at its end; the kick-off text is the file {prompt_file}. What
it prints is shown and nothing is learnt from it: no tokens, no conversation to resume. A key named in `api_key_env` is
passed on under its own name; a `base_url` reaches the program only where argv says {base_url}. A sealed session sees
the program and what it is known to need, files and folders that argv names in full, and the programs of `needs`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from autoquant.harness.base import Availability, Competitor, Refusal, SessionPlan, SessionRequest
from autoquant.harness.credentials import Credential, from_key, missing_variable
from autoquant.harness.machine import Machine
from autoquant.harness.plain_harness import PlainHarness
from autoquant.harness.programs import program_files

PLACEHOLDERS = ("workspace", "prompt_file", "model", "effort", "session", "base_url", "checkout")
_CHECKOUT = Path(__file__).resolve().parent.parent.parent
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def unknown_placeholders(argv: tuple[str, ...]) -> list[str]:
    """Names in braces that mean nothing here.

    >>> unknown_placeholders(("x", "{model}", "{modell}"))
    ['modell']
    """
    return [name for part in argv for name in _PLACEHOLDER.findall(part) if name not in PLACEHOLDERS]


def fill(argv: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Replace placeholders part by part; a value is never split or read again for placeholders.

    >>> fill(("run", "--in={workspace}"), {"workspace": "/a b/{model}"})
    ('run', '--in=/a b/{model}')
    """
    return tuple(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), part) for part in argv)


class CommandHarness(PlainHarness):
    """Runs a competitor's own argv."""

    def check(self, competitor: Competitor, machine: Machine) -> Availability:
        """Its program must be found, its variables must be set, and nothing configured may be left unused."""
        ready = _ready(competitor, machine)
        if isinstance(ready, Refusal):
            return ready.answer()
        _, key = ready
        if key is None:
            return Availability(ok=True)
        return Availability(ok=True, login=key.login, account=key.account)

    def session(self, competitor: Competitor, request: SessionRequest, machine: Machine) -> SessionPlan:
        """Its argv with every placeholder filled and its args behind it, in the worktree.

        Raises
        ------
        HarnessFault : the program or its key is gone since it was checked.
        """
        ready = _ready(competitor, machine)
        if isinstance(ready, Refusal):
            raise ready.fault(competitor)
        program, key = ready
        values = {
            "workspace": str(request.workspace),
            "prompt_file": str(request.prompt_file),
            "model": competitor.model,
            "effort": competitor.effort,
            "session": str(request.number),
            "base_url": competitor.base_url,
            "checkout": str(_CHECKOUT),
        }
        argv = (program, *fill(competitor.argv[1:], values), *competitor.args)
        named = [Path(part) for part in argv[1:] if part.startswith(os.sep)]
        needed = [path for name in competitor.needs if (found := machine.find(name)) for path in (
            program_files(found, machine))]  # fmt: skip
        return SessionPlan(
            argv=argv,
            cwd=request.workspace,
            env=key.env if key else {},
            reads=(*(path for path in named if path.exists() and path != request.workspace), *needed),
        )


def _ready(competitor: Competitor, machine: Machine) -> tuple[str, Credential | None] | Refusal:
    """The program, and the key if one is named."""
    program = machine.find(competitor.argv[0])
    if program is None:
        hint = "install it, correct its argv, or leave it out: --competitors …"
        return Refusal(f"{competitor.argv[0]} not found", hint)
    for part in competitor.argv[1:]:
        script = Path(fill((part,), {"checkout": str(_CHECKOUT)})[0])
        if part.startswith("{checkout}/") and not script.exists():
            return Refusal(f"{script} not found", "correct its argv")
    if missing := [name for name in competitor.pass_env if name not in machine.env]:
        return missing_variable(missing[0], "pass_env")
    if competitor.base_url and not any("{base_url}" in part for part in competitor.argv):
        hint = "say in argv how the program takes it, or set its variable in env instead"
        return Refusal("base_url is set, but argv has no {base_url}", hint)
    key = from_key(machine, (competitor.api_key_env,))
    if competitor.api_key_env and key is None:
        return missing_variable(competitor.api_key_env, "api_key_env")
    return program, key
