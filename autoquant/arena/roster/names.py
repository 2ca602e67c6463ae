"""What competitors and races may be called."""

from __future__ import annotations

import re

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
"""Safe as a file name, a git ref component and a table cell."""
RESERVED_NAMES = frozenset({"all", "seed", "head"})
NAME_RULE = "lower-case letters, digits, '-', '_', '.', at most 40"


def valid_name(name: str) -> bool:
    """Whether a competitor or a race may be called so.

    >>> valid_name("codex-sol-high"), valid_name("../x"), valid_name("a.lock")
    (True, False, False)
    """
    return (
        NAME.fullmatch(name) is not None
        and ".." not in name
        and not name.endswith((".", ".lock"))
        and name not in RESERVED_NAMES
    )
