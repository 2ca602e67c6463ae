"""What must not leave with a race: keys, logins, and where on this machine things stand.

The record's texts come from programs and disks, and are chained: what once stands in them cannot be taken out. So an
export looks before it packs, and says file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_KEYLIKE = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
_SHORTEST_KEY = 12
_KNOWN_KEYS = re.compile(
    rb"\b(?:sk-[A-Za-z0-9_-]{20,}|xai-[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35}|gh[pousr]_[A-Za-z0-9]{36}|AKIA[A-Z0-9]{16})"
    rb"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)


@dataclass(frozen=True)
class Leak:
    """A line of a piece that holds something of the user's. `is_key` is never let out."""

    where: str
    what: str
    is_key: bool


@dataclass(frozen=True)
class Private:
    """What to look for.

    Parameters
    ----------
    environment : of this process; values of variables that are called like keys are looked for.
    folders : places on this machine, for example the home folder.
    login : name of the user, looked for in paths and addresses.
    """

    environment: Mapping[str, str]
    folders: tuple[Path, ...]
    login: str

    def leaks(self, name: str, content: bytes) -> list[Leak]:
        """Lines of a piece that hold something private."""
        found: list[Leak] = []
        for what, pattern, is_key in self._patterns():
            for match in pattern.finditer(content):
                line = content.count(b"\n", 0, match.start()) + 1
                found.append(Leak(f"{name}:{line}", what, is_key))
        return found

    def _patterns(self) -> list[tuple[str, re.Pattern[bytes], bool]]:
        patterns = [("what looks like a key", _KNOWN_KEYS, True)]
        for name, value in sorted(self.environment.items()):
            if _KEYLIKE.search(name) and len(value) >= _SHORTEST_KEY and not Path(value).is_absolute():
                patterns.append((f"the value of {name}", re.compile(re.escape(value.encode())), True))
        for folder in self.folders:
            if len(folder.parts) > 1:
                text = re.escape(str(folder).encode())
                patterns.append((f"the folder {folder}", re.compile(rb"(?<![\w.-])" + text + rb"(?![\w-])"), False))
        if self.login:
            text = re.escape(self.login.encode())
            pattern = re.compile(rb"[/\\]" + text + rb"(?=[/\\])|(?<![\w.-])" + text + rb"@")
            patterns.append((f"the login {self.login}", pattern, False))
        return patterns
