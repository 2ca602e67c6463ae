"""Texts of the record without the places of this machine: a record is chained and published, nothing can be taken out.

Programs, disks and agents name files by their whole path. What stands below the folder that holds `state/` is named
from there, the home folder is `~`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoquant.ledger import records as r

TOLD: dict[type, tuple[str, ...]] = {
    r.ReadinessChecked: ("problems", "warnings", "left_out"),
    r.ArenaStopped: ("reason",),
    r.SessionEnded: ("detail",),
    r.BackedOff: ("reason",),
    r.AttemptOpened: ("description",),
    r.FaultSeen: ("message",),
    r.IncidentSeen: ("message",),
    r.CompetitorEnded: ("reason",),
}
"""Fields that hold what somebody said, by kind. No other field is touched: the rest is names, numbers and digests."""


def nameless(ledger: Path, home: Path) -> Callable[[r.RecordBody], r.RecordBody]:
    """What takes this machine's places out of a record's texts.

    Parameters
    ----------
    ledger : `…/state/races/<race>/ledger.jsonl`; of any other path only the home folder is hidden.
    home : of the user.

    >>> hide = nameless(Path("/srv/aq/state/races/x/ledger.jsonl"), Path("/home/ann"))
    >>> hide(r.IncidentSeen("/srv/aq/state/arena.git: full; see /home/ann/notes, not /home/anna")).message
    'state/arena.git: full; see ~/notes, not /home/anna'
    """
    rules: list[tuple[re.Pattern[str], str]] = []
    above = ledger.absolute().parents
    if len(above) > 4 and above[1].name == "races" and len(above[3].parts) > 1:
        rules.append((re.compile(rf"(?<![\w.-]){re.escape(str(above[3]))}/"), ""))
    if len(home.parts) > 1:
        rules.append((re.compile(rf"(?<![\w.-]){re.escape(str(home))}(?![\w-])"), "~"))

    def hide(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(hide(item) for item in value)
        for pattern, word in rules if isinstance(value, str) else ():
            value = pattern.sub(word, value)
        return value

    def hidden(body: r.RecordBody) -> r.RecordBody:
        fields = TOLD.get(type(body), ())
        changed = {name: hide(getattr(body, name)) for name in fields}
        return replace(body, **changed) if changed else body

    return hidden
