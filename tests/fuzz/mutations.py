"""Inputs that are almost right: what a cut connection, an edit by hand or a hostile writer makes of a good one."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

ODD = (
    b"\x00", b"\xff", b"\n", b"\r", b"\t", b" ", b"\\", b'"', b"'", b"{", b"}", b"[", b"]", b"(", b":", b",", b"=",
    b"#", b"-", b"1e999", b"NaN", b"-0", b"99999999999999999999", b"null", b"true", b"import os", b"__", b"..",
    b"lambda:", b"/", b"%s", b"\x1b[2J", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), "\u202e".encode(),
)  # fmt: skip
VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    | st.sampled_from([[], {}, [[]], [None], {"": None}, 10**30, -1, 2**63, "x" * 5_000, "\u202e</script>", "1e999"])
)  # fmt: skip


@st.composite
def edited(draw: st.DrawFn, good: bytes, most: int = 6) -> bytes:
    """`good` after up to `most` edits: bytes cut out, doubled, replaced, moved, or odd ones put in."""
    text = good
    for _ in range(draw(st.integers(1, most))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(st.sampled_from(ODD) | st.just(b"") | st.just(text[start:end] * 2) | st.just(text[end : end + 30]))
        text = text[:start] + piece + text[end:]
    return text[: draw(st.integers(0, len(text)))] if draw(st.booleans()) and draw(st.booleans()) else text


@st.composite
def reshaped(draw: st.DrawFn, good: Any) -> Any:
    """A JSON value with one node replaced by something of another kind, removed, or put in twice."""
    match good:
        case dict() if good and draw(st.integers(0, 3)):
            key = draw(st.sampled_from(sorted(good)))
            if not draw(st.integers(0, 5)):
                return {name: value for name, value in good.items() if name != key}
            return {**good, key: draw(reshaped(good[key]))}
        case list() if good and draw(st.integers(0, 3)):
            place = draw(st.integers(0, len(good) - 1))
            return [*good[:place], draw(reshaped(good[place])), *good[place + draw(st.integers(0, 1)) :]]
        case _:
            return draw(VALUES)
