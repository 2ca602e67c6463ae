"""The static gate: what a strategy file may import. It explains early; the barrier is the operating system."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from autoquant.errors import ImportGateError
from autoquant.protocol import PROTOCOL, Limits

PACKAGES = ("numpy", "pandas", "scipy")
PURE_STANDARD_LIBRARY = (
    "__future__", "abc", "array", "bisect", "cmath", "collections", "copy", "dataclasses", "datetime", "decimal",
    "enum", "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "random", "re", "statistics",
    "string", "typing", "warnings",
)  # fmt: skip
REFUSED_PARTS = (
    "numpy.ctypeslib", "numpy.distutils", "numpy.f2py", "numpy.testing", "pandas.io", "pandas.testing",
    "pandas.util.testing", "scipy.datasets", "scipy.io", "scipy.misc",
)  # fmt: skip
"""Parts of the packages that read, write, compile or load programs."""
PANEL_ARGUMENTS = "panel, train_end"
NO_ENTRY = {"target_weights": "NoTargetWeights", "generate_trades": "NoGenerateTrades"}
"""Kinds of a file without the function that is called."""
REFUSED_CALLS = ("__import__", "breakpoint", "compile", "eval", "exec", "input", "open")
PRELOADED = tuple(
    f"scipy.{name}"
    for name in (
        "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial",
        "special", "stats",
    )
)  # fmt: skip


@dataclass(frozen=True)
class SourceFacts:
    """What the gate read off a file that passed."""

    lines: int
    imports: tuple[str, ...]
    """Dotted names, sorted; `from a import b` counts as both a and a.b."""

    @property
    def preload(self) -> tuple[str, ...]:
        """Public scipy packages worth importing in a warm parent."""
        named = {".".join(name.split(".")[:2]) for name in self.imports}
        return tuple(sorted(named & set(PRELOADED)))


def check_source(
    source: bytes, limits: Limits = PROTOCOL.limits, *, entry: str = "target_weights", arguments: str = PANEL_ARGUMENTS
) -> SourceFacts:
    """Facts of a strategy file that may be run.

    Raises
    ------
    ImportGateError : too long, not UTF-8, does not parse, imports or calls something outside the interface, or
        does not define `entry` at top level; names the line.
    """
    if len(source) > limits.strategy_bytes:
        raise _refused(f"{len(source)} bytes, at most {limits.strategy_bytes}", None, "TooLong")
    try:
        text = source.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused("not UTF-8", source[: error.start].count(b"\n") + 1, "NotUtf8") from None
    lines = len(text.splitlines())
    if lines > limits.strategy_lines:
        raise _refused(f"{lines} lines, at most {limits.strategy_lines}", None, "TooLong")
    tree = _parse(text)
    imports: set[str] = set()
    for node in ast.walk(tree):
        imports |= _imports_of(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in REFUSED_CALLS:
            raise _refused(f"calls {node.func.id}()", node.lineno, "ForbiddenCall")
    if not any(isinstance(node, ast.FunctionDef) and node.name == entry for node in tree.body):
        raise _refused(f"defines no {entry}({arguments})", None, NO_ENTRY[entry])
    return SourceFacts(lines, tuple(sorted(imports)))


def _parse(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, "strategy.py")
    except SyntaxError as error:
        raise _refused(error.msg or "does not parse", error.lineno, "SyntaxError") from None
    except (ValueError, RecursionError, MemoryError):
        raise _refused("does not parse: nested too deeply, or a null byte", None, "SyntaxError") from None


def _imports_of(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        names = {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
        if node.level:
            raise _refused("a relative import; a strategy is one file", node.lineno, "ForbiddenImport")
        module = node.module or ""
        names = {module} | {f"{module}.{alias.name}" for alias in node.names if alias.name != "*"}
    else:
        return set()
    for name in sorted(names):
        allowed = name.split(".")[0] in PACKAGES + PURE_STANDARD_LIBRARY
        if not allowed or any(name == part or name.startswith(part + ".") for part in REFUSED_PARTS):
            raise _refused(f"imports {name}, which is not allowed", node.lineno, "ForbiddenImport")
    return names


def _refused(what: str, line: int | None, kind: str) -> ImportGateError:
    where = "strategy.py" if line is None else f"strategy.py line {line}"
    hint = "numpy, pandas, scipy and the pure part of the standard library; one file, no I/O"
    return ImportGateError(f"{where}: {what}", hint, kind=kind, line=line)
