"""Look-ahead that can be read off the text: each finding has a line and a reason. It explains; the run proves.

Only what nearly always uses later rows is named; statistics of a whole column are left to the run, since most of them
are taken over a window that the text does not show.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

BACKWARD_FILLS = ("bfill", "backfill")
CENTRED = ("savgol_filter", "filtfilt", "sosfiltfilt", "gaussian_filter1d", "uniform_filter1d", "median_filter")
"""Functions of scipy whose window reaches to both sides."""


@dataclass(frozen=True)
class Finding:
    """One suspicious place."""

    line: int
    what: str
    why: str


def scan(source: bytes) -> tuple[Finding, ...]:
    """What looks ahead in a file, in order of lines; nothing for a file that does not parse.

    >>> scan(b"y = x.shift(-1)")
    (Finding(line=1, what='shift(-1)', why='takes the value of a later row'),)
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = {finding for node in ast.walk(tree) for finding in _of(node)}
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.what)))


def _of(node: ast.AST) -> Iterator[Finding]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        yield from _call(node, name)
    elif isinstance(node, ast.Subscript):
        yield from _slice(node)


def _call(node: ast.Call, name: str) -> Iterator[Finding]:
    keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    line = node.lineno
    if name in ("shift", "diff", "pct_change", "tshift"):
        steps = keywords.get("periods", node.args[0] if node.args and not _is_numpy(node) else None)
        if (number := _number(steps)) is not None and number < 0:
            yield Finding(line, f"{name}({number:g})", "takes the value of a later row")
    if name == "roll" and _is_numpy(node) and len(node.args) + len(keywords) > 1:
        steps = keywords.get("shift", node.args[1] if len(node.args) > 1 else None)
        if (number := _number(steps)) is not None and number < 0:
            yield Finding(line, f"roll({number:g})", "brings later values forward")
    if name == "rolling" and _is_true(keywords.get("center")):
        yield Finding(line, "rolling(center=True)", "half of the window lies in later rows")
    if name in BACKWARD_FILLS:
        yield Finding(line, f"{name}()", "fills a gap from a later row")
    if name in ("fillna", "reindex", "asfreq", "replace") and _text(keywords.get("method")) in BACKWARD_FILLS:
        yield Finding(line, f'{name}(method="{_text(keywords["method"])}")', "fills a gap from a later row")
    if name == "interpolate" and not _is_numpy(node) and isinstance(node.func, ast.Attribute):
        yield Finding(line, "interpolate()", "draws a line to a later row")
    if name in ("merge_asof", "reindex", "get_indexer"):
        way = _text(keywords.get("direction")) or _text(keywords.get("method"))
        if way in ("forward", "nearest"):
            yield Finding(line, f'{name}(…="{way}")', "joins a row to a later one")
    if name in CENTRED:
        yield Finding(line, f"{name}()", "smooths with rows on both sides")
    if name == "gradient" and _is_numpy(node):
        yield Finding(line, "gradient()", "differences reach one row ahead")
    if name == "convolve" and _text(keywords.get("mode") or (node.args[2] if len(node.args) > 2 else None)) == "same":
        yield Finding(line, 'convolve(mode="same")', "centres the kernel: half of it lies in later rows")


def _slice(node: ast.Subscript) -> Iterator[Finding]:
    """A reversed series on which something is accumulated: `x[::-1].cumsum()` adds up from the end."""
    part = node.slice
    if isinstance(part, ast.Slice) and part.lower is None and part.upper is None and _number(part.step) == -1:
        yield Finding(node.lineno, "[::-1]", "turned round, whatever accumulates starts at the last row")


def _is_numpy(node: ast.Call) -> bool:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id in ("np", "numpy")


def _number(node: ast.expr | None) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_true(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True
