"""How amounts of tokens, money and time are written, in tables and on the page. Missing is a dash, never 0."""

from __future__ import annotations

DASH = "–"
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def tokens(number: int | None) -> str:
    """A number of tokens in two or three figures.

    >>> tokens(1_240_000), tokens(340_000), tokens(1_900), tokens(999_960), tokens(840), tokens(None)
    ('1.2 M', '340 k', '1.9 k', '1.0 M', '840', '–')
    """
    if number is None:
        return DASH
    for unit, word in _UNITS:
        value = number / unit
        if value >= 0.9995:
            return f"{value:.1f} {word}" if value < 9.95 else f"{value:,.0f} {word}"
    return str(number)


def dollars(amount: float | None) -> str:
    """An amount of US dollars.

    >>> dollars(3.1), dollars(1234.5), dollars(0.0), dollars(0.004), dollars(None)
    ('$3.10', '$1,234.50', '$0.00', '<$0.01', '–')
    """
    if amount is None:
        return DASH
    return "<$0.01" if 0 < amount < 0.005 else f"${amount:,.2f}"


def duration(seconds: float | None) -> str:
    """Hours and minutes, or minutes and seconds below an hour; never less than none.

    >>> duration(8040), duration(75), duration(9), duration(-1), duration(None)
    ('2 h 14 m', '1 m 15 s', '9 s', '0 s', '–')
    """
    if seconds is None:
        return DASH
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours} h {minutes} m"
    return f"{minutes} m {whole % 60} s" if minutes else f"{whole} s"
