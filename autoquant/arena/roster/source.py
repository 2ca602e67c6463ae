"""The text of a roster file: finds the line of a key, since tomllib keeps no positions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autoquant.errors import ConfigError

_HEADER = re.compile(r"\s*\[\[\s*competitor\s*\]\]")


@dataclass(frozen=True)
class RosterSource:
    """A roster's lines, and how the file is called in complaints."""

    where: str
    lines: list[str]

    def complaint(self, entry: int | None, key: str, problem: str, hint: str = "") -> ConfigError:
        """An error at `key` of the entry with that number; None for a key outside of all entries."""
        return ConfigError(f"{self.where}:{self.line(entry, key)}: {problem}", hint)

    def line(self, entry: int | None, key: str) -> int:
        """Line of `key` in the entry, or of the entry's header, or 1."""
        wanted = re.compile(rf"\s*\[?\[?\s*(competitor\s*\.\s*)?[\"']?{re.escape(key)}[\"']?\s*[].=]")
        current, header_line = -1, 1
        for number, line in enumerate(self.lines, start=1):
            if _HEADER.match(line):
                current += 1
                if current == entry:
                    header_line = number
            if (entry is None or current == entry) and wanted.match(line):
                return number
        return header_line
