"""Errors, and whose fault they are.

AutoQuantError
├── UserError             the command line, a config file, data not set up       exit 2
│   ├── ConfigError       names file, line, key
│   └── DataError         names file or URL, contract, month
├── AgentFault            the strategy or the agent broke a rule                 exit 3, counts as an attempt
│   ├── ImportGateError   does not parse, forbidden import, no target_weights
│   ├── OutputError       rows, columns or values of the answer; not deterministic
│   ├── CausalityError    a decision used a later bar
│   ├── LimitError        CPU, memory, file, process or output limit
│   ├── CrashError        the strategy raised
│   └── Violation         a protected file was touched
└── InfrastructureFault   network, disk, harness, rate limit                     exit 4, never counts, never scores
    ├── LedgerError       names file and line
    ├── EvaluationCut     cut down from outside; the third time it counts as a crash
    └── HarnessFault      a coding-agent CLI did not do its part

Each carries a `hint` (what to do next) and prints as one line; tracebacks only with --debug.
"""

from __future__ import annotations


class AutoQuantError(Exception):
    """Base of everything this program raises on purpose.

    Parameters
    ----------
    message : what is wrong and where (file, line, field), in one line.
    hint : what to do next, in one line; may be empty.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(AutoQuantError):
    """Bad command line, configuration or missing set-up."""

    exit_code = 2


class ConfigError(UserError):
    """A configuration file is wrong; the message names file, line and key."""


class DataError(UserError):
    """Market data is missing or wrong; the message names file or URL, contract and month."""


class AgentFault(AutoQuantError):
    """The strategy or the agent broke a rule of the contest; counts as an attempt.

    Parameters
    ----------
    kind : exception class, or a word for the rule that was broken; safe to show in a race.
    line : line of strategy.py, when one is to blame.
    text : what the exception said; None in a race, where it could carry prices.
    """

    exit_code = 3

    def __init__(
        self, message: str, hint: str = "", *, kind: str = "", line: int | None = None, text: str | None = None
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind or type(self).__name__
        self.line = line
        self.text = text


class ImportGateError(AgentFault):
    """The file does not parse, imports something not allowed, or defines no target_weights."""


class OutputError(AgentFault):
    """The answer has wrong rows, columns or values, or differs between two equal calls."""


class CausalityError(AgentFault):
    """A decision changed when later bars were removed or replaced."""


class LimitError(AgentFault):
    """The strategy hit a CPU, memory, file, process or output limit."""


class CrashError(AgentFault):
    """The strategy raised an exception."""


class Violation(AgentFault):
    """A protected file was changed."""


class InfrastructureFault(AutoQuantError):
    """The machine, the network or a harness failed; never counts, never scores."""

    exit_code = 4


class LedgerError(InfrastructureFault):
    """The record of a race is broken; the message names file and line."""


class EvaluationCut(InfrastructureFault):
    """A strategy call was killed from outside or never came back; repeated, it is the attempt's own loss."""


class HarnessFault(InfrastructureFault):
    """A coding-agent CLI failed for a reason that is not the agent's."""
