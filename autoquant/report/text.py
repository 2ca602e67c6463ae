"""Words and figures for readers: hostile text made inert, missing numbers named, one typographic style."""

from __future__ import annotations

import unicodedata

MINUS = "−"
_MAXIMUM = 600
_COMBINING_RUN = 2


def clean(text: str, limit: int = _MAXIMUM) -> str:
    """Text from an agent as one harmless line: control and bidirectional characters are spelled out, marks are thinned.

    Escaping for HTML is the template's and `figures.tag`'s business; this keeps what survives escaping from steering
    the reader's eye: direction overrides, terminal codes, towers of combining marks, endless lines.

    >>> clean("a" + chr(27) + "[31m" + chr(0x202E) + "b")
    'a\\\\x1b[31m\\\\u202eb'
    >>> clean("  two\\n lines ")
    'two lines'
    """
    return visible(" ".join(text.split()), limit)


def visible(line: str, limit: int) -> str:
    """As `clean`, spaces left as they are: for lines of code.

    >>> visible("    x = 1" + chr(9) + chr(0x202E), 40), visible("abcdef", 4)
    ('    x = 1\\\\t\\\\u202e', 'abc…')
    """
    if line.isprintable() and (line.isascii() or not any(map(unicodedata.combining, set(line)))):
        return line if len(line) <= limit else line[: limit - 1] + "…"
    result: list[str] = []
    marks = 0
    for character in line:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _COMBINING_RUN:
            continue
        result.append(character if character.isprintable() else character.encode("unicode_escape").decode())
        if len(result) > limit:
            break
    whole = "".join(result)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def fixed(value: float, digits: int = 3, *, sign: bool = False) -> str:
    """A number with a true minus sign; nothing rounds to a negative zero.

    >>> fixed(-0.0391, 2), fixed(0.45, 2, sign=True), fixed(-0.0001, 2)
    ('−0.04', '+0.45', '0.00')
    """
    rounded = round(value, digits)
    if rounded == 0:
        return f"{0:.{digits}f}"
    body = f"{abs(rounded):,.{digits}f}"
    if rounded < 0:
        return MINUS + body
    return ("+" if sign else "") + body


def plain(value: float) -> str:
    """A round number as short as it is, with a true minus sign.

    >>> plain(-0.5), plain(2.0)
    ('−0.5', '2')
    """
    return f"{value:g}".replace("-", MINUS)


def percent(value: float, digits: int = 1, *, sign: bool = False) -> str:
    """A fraction as a percentage, thin space before the sign.

    >>> percent(0.174)
    '17.4\\u202f%'
    """
    return f"{fixed(100 * value, digits, sign=sign)}\u202f%"


def chance(value: float) -> str:
    """A probability as a percentage that is never told as certain.

    >>> chance(0.9997), chance(0.0002), chance(0.5)
    ('> 99.9\\u202f%', '< 0.1\\u202f%', '50.0\\u202f%')
    """
    if value > 0.9995:
        return f"> {percent(0.999)}"
    return f"< {percent(0.001)}" if value < 0.0005 else percent(value)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun.

    >>> count(1, "fault"), count(0, "fault"), count(1200, "bar")
    ('1 fault', '0 faults', '1,200 bars')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listing(items: list[str]) -> str:
    """Items as a phrase.

    >>> listing(["a", "b", "c"])
    'a, b and c'
    """
    if len(items) < 2:
        return "".join(items)
    return ", ".join(items[:-1]) + " and " + items[-1]


def short(digest: str) -> str:
    """The first twelve characters of a digest."""
    return digest[:12]


def shorten(name: str, limit: int) -> str:
    """A name that fits a chart label.

    >>> shorten("gemini-3.6-flash-high", 12)
    'gemini-3.6-…'
    """
    return name if len(name) <= limit else name[: limit - 1] + "…"


def moment(utc: str) -> str:
    """A stored time for reading: `2026-11-30 14:05`."""
    return utc[:16].replace("T", " ")
