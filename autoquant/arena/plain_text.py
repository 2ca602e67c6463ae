"""Text that came from an agent, made inert: one line, no control or direction characters, a fixed length."""

from __future__ import annotations


def plain(text: str, limit: int) -> str:
    """`text` as one printable line of at most `limit` characters.

    >>> plain("a\\tb\\n" + chr(27) + "[31m" + chr(0x202e), 100)
    'a b \\\\x1b[31m\\\\u202e'
    """
    line = " ".join(text.split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"
