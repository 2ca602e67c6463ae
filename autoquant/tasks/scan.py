"""Look-ahead that can be read off the text: each finding has a line and a reason. It explains; the run proves.

Only what nearly always uses later rows is named; statistics of a whole column are left to the run, since most of them
are taken over a window that the text does not show.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

Keywords: TypeAlias = dict[str, ast.expr]

BACKWARD_FILLS = ("bfill", "backfill")
CENTRED = (
    "savgol_filter", "filtfilt", "sosfiltfilt", "medfilt", "gaussian_filter", "gaussian_filter1d", "uniform_filter",
    "uniform_filter1d", "median_filter",
)  # fmt: skip
"""Functions of scipy whose window reaches to both sides."""
CONVOLUTIONS = ("convolve", "correlate", "fftconvolve", "oaconvolve")
RUNNING = (
    "accumulate", "bfill", "cummax", "cummin", "cumprod", "cumsum", "diff", "ewm", "expanding", "ffill", "pct_change",
    "rolling", "shift",
)  # fmt: skip
"""What takes rows in their order: on rows turned round, from the last one on."""


@dataclass(frozen=True)
class Finding:
    """One suspicious place."""

    line: int
    what: str
    why: str

    @property
    def words(self) -> str:
        """For whoever reads a grade."""
        return f"line {self.line}: {self.what} {self.why}"


def scan(source: bytes) -> tuple[Finding, ...]:
    """What looks ahead in a file, in order of lines; nothing for a file that does not parse.

    >>> scan(b"y = x.shift(-1)")
    (Finding(line=1, what='shift(-1)', why='takes the value of a later row'),)
    """
    try:
        tree = parsed(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found = {finding for node in ast.walk(tree) for finding in _of(node)}
    return tuple(sorted(found, key=lambda finding: (finding.line, finding.what)))


def parsed(source: bytes) -> ast.Module:
    """The tree of the text that runs: UTF-8, whatever a coding line in it says.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError : it is no Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source.decode())


def _of(node: ast.AST) -> Iterator[Finding]:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        keywords = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        for what, why in (
            *_moved(node, name, keywords),
            *_joined(node, name, keywords),
            *_spread(node, name, keywords),
        ):
            yield Finding(node.lineno, what, why)


def _moved(node: ast.Call, name: str, keywords: Keywords) -> Iterator[tuple[str, str]]:
    """Rows moved against time."""
    steps = _number(keywords.get("periods", _argument(node, 0)))
    if name in ("shift", "diff", "pct_change") and not _is_numpy(node) and steps is not None and steps < 0:
        yield f"{name}({steps:g})", "takes the value of a later row"
    steps = _number(keywords.get("shift", _argument(node, 1)))
    if name == "roll" and _is_numpy(node) and steps is not None and steps < 0:
        yield f"roll({steps:g})", "brings later values forward"
    if name in RUNNING and any(_is_turned(part) for part in (_owner(node), *node.args)):
        yield f"[::-1] … {name}()", "turned round, it starts at the last row"


def _joined(node: ast.Call, name: str, keywords: Keywords) -> Iterator[tuple[str, str]]:
    """Gaps and joins filled from later rows."""
    method = _text(keywords.get("method"))
    if name in BACKWARD_FILLS:
        yield f"{name}()", "fills a gap from a later row"
    if name in ("fillna", "reindex", "asfreq", "get_indexer") and method in BACKWARD_FILLS:
        yield f'{name}(method="{method}")', "fills a gap from a later row"
    if name == "interpolate" and isinstance(node.func, ast.Attribute) and method not in ("pad", "ffill"):
        yield "interpolate()", "draws a line to a later row"
    way = _text(keywords.get("direction")) if name == "merge_asof" else method
    if name in ("merge_asof", "reindex", "get_indexer") and way in ("forward", "nearest"):
        yield f'{name}(…="{way}")', "joins a row to a later one"


def _spread(node: ast.Call, name: str, keywords: Keywords) -> Iterator[tuple[str, str]]:
    """Windows that reach to both sides."""
    if name == "rolling" and _is_true(keywords.get("center", _argument(node, 2))):
        yield "rolling(center=True)", "half of the window lies in later rows"
    if name == "FixedForwardWindowIndexer":
        yield f"{name}()", "makes windows of later rows"
    if name in CENTRED:
        yield f"{name}()", "smooths with rows on both sides"
    if name == "gradient" and _is_numpy(node):
        yield "gradient()", "differences reach one row ahead"
    if name in CONVOLUTIONS and _text(keywords.get("mode", _argument(node, 2))) == "same":
        yield f'{name}(mode="same")', "centres the kernel: half of it lies in later rows"


def _is_turned(node: ast.expr | None) -> bool:
    """`x[::-1]`, also behind `.iloc`, `.values` and the like."""
    if isinstance(node, ast.Attribute):
        return _is_turned(node.value)
    part = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(part, ast.Slice) and part.lower is None and part.upper is None and _number(part.step) == -1


def _owner(node: ast.Call) -> ast.expr | None:
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _argument(node: ast.Call, place: int) -> ast.expr | None:
    return node.args[place] if len(node.args) > place else None


def _is_numpy(node: ast.Call) -> bool:
    owner = _owner(node)
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
