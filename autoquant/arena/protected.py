"""The protected files: what is in the set, their digests, and whether a folder still holds them unchanged.

The set is the package with its templates, the five commands, program.md and pyproject.toml. The digests stand in the
committed `protected.sha256`, in the format of sha256sum:

    python -m autoquant.arena.protected --write     # after a change to any of them
    python -m autoquant.arena.protected --check     # exit 3 and one line per difference; CI does this
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autoquant import files
from autoquant.errors import ConfigError, UserError, Violation

NAME = "protected.sha256"
COMMANDS = ("arena.py", "dashboard.py", "evaluate.py", "run.py", "setup_data.py")
TEXTS = ("program.md", "pyproject.toml")
PACKAGE = "autoquant"
WRITE_HINT = "python -m autoquant.arena.protected --write, when the change is meant"

_LIMIT = 4 << 20
_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")
_LEFTOVER = re.compile(
    r".*\.py[co]$|.*~$|\..*\.sw[a-p]$|\.#.*|#.*#$|4913$|\.DS_Store$|.*\.aside$|\..*\.tmp$|.*\.orig$|\.nfs[0-9a-f]+$"
    r"|\._.*|\..*\.kate-swp$|\.goutputstream-.*|\.fuse_hidden[0-9a-f]+$|Thumbs\.db$|desktop\.ini$"
)


@dataclass(frozen=True)
class Difference:
    """One protected file that is not as recorded. Digests are empty for a missing (or irregular) file."""

    path: str
    kind: str
    """changed, missing or extra."""
    before: str
    after: str


def is_leftover(path: str) -> bool:
    """True for what interpreters and editors leave beside a file: bytecode, swap and backup files.

    >>> is_leftover("autoquant/__pycache__/cli.cpython-311.pyc"), is_leftover("autoquant/.cli.py.swp")
    (True, True)
    >>> is_leftover("autoquant/cli.py")
    False
    """
    parts = PurePosixPath(path).parts
    return "__pycache__" in parts[:-1] or _LEFTOVER.fullmatch(parts[-1]) is not None


def names(home: Path) -> list[str]:
    """The protected set as it stands in a checkout: paths relative to `home`, sorted, with forward slashes.

    A command or text that is missing is left out here; `verify` names it from the recorded set.
    """
    package = [
        path.relative_to(home).as_posix() for path in (home / PACKAGE).rglob("*") if path.is_file() or path.is_symlink()
    ]
    single = [name for name in (*COMMANDS, *TEXTS) if (home / name).is_file()]
    return sorted([name for name in package if not is_leftover(name)] + single)


def compute(home: Path) -> dict[str, str]:
    """Digest of every protected file of a checkout; empty for one that is not a plain file."""
    return files.tree_digest(home, names(home))


def render(digests: Mapping[str, str]) -> str:
    """Text of `protected.sha256`."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def parse(text: str, where: str = NAME) -> dict[str, str]:
    """Digests from the text of `protected.sha256`.

    Raises
    ------
    ConfigError : names file and line.
    """
    digests: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        found = _LINE.fullmatch(line)
        if found is None or found[2] in digests or ".." in PurePosixPath(found[2]).parts or found[2].startswith("/"):
            raise ConfigError(f"{where}:{number}: not a digest and a new file name below the checkout", WRITE_HINT)
        digests[found[2]] = found[1]
    if not digests:
        raise ConfigError(f"{where}:1: no digests", WRITE_HINT)
    return digests


def load(home: Path) -> dict[str, str]:
    """The recorded digests of the checkout or worktree at `home`.

    Raises
    ------
    UserError : there is no protected.sha256.
    ConfigError : it is damaged.
    """
    return parse(_text(home), str(home / NAME))


def code_digest(home: Path) -> str:
    """sha256 of protected.sha256: one name for the whole protected set.

    Raises
    ------
    UserError : there is no protected.sha256.
    """
    return files.sha256_bytes(_text(home).encode())


def compare(recorded: Mapping[str, str], found: Mapping[str, str]) -> tuple[Difference, ...]:
    """Differences between recorded digests and those found, by path."""
    differences = []
    for path in sorted(recorded.keys() | found.keys()):
        before, after = recorded.get(path, ""), found.get(path, "")
        if before != after:
            kind = "extra" if path not in recorded else "changed" if after else "missing"
            differences.append(Difference(path, kind, before, after))
    return tuple(differences)


def verify(
    home: Path, *, only: Collection[str] | None = None, recorded: Mapping[str, str] | None = None
) -> tuple[Difference, ...]:
    """Protected files of `home` that are changed, missing or extra.

    Parameters
    ----------
    home : a checkout, or a worktree.
    only : in a worktree, the names that should be there; others of the recorded set are not looked for.
    recorded : digests to hold against; None reads protected.sha256 of `home`.
    """
    digests = dict(load(home) if recorded is None else recorded)
    if only is not None:
        digests = {name: digest for name, digest in digests.items() if name in only}
    here = names(home) if only is None else [name for name in names(home) if name.startswith(f"{PACKAGE}/")]
    return compare(digests, files.tree_digest(home, sorted({*digests, *here})))


def require(home: Path, *, only: Collection[str] | None = None) -> None:
    """Refuse to go on when a protected file differs.

    Raises
    ------
    Violation : names the first file and counts the rest.
    """
    differences = verify(home, only=only)
    if differences:
        first = differences[0]
        rest = f" (and {len(differences) - 1} more)" if len(differences) > 1 else ""
        mend = f"git checkout -- {first.path}" if first.kind != "extra" else f"remove {first.path}"
        raise Violation(
            f"{first.path}: protected file is {first.kind}{rest}; only strategy.py may be edited",
            mend if only is not None else f"{mend}; or {WRITE_HINT}",
        )


def _text(home: Path) -> str:
    try:
        return files.read_regular(home, NAME, _LIMIT).decode()
    except FileNotFoundError:
        raise UserError(f"{home / NAME}: not found", WRITE_HINT) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{home / NAME}:1: not text", WRITE_HINT) from None


def main(argv: list[str] | None = None) -> int:
    """The command that writes or checks protected.sha256; exit 0, or 3 when a file differs."""
    parser = argparse.ArgumentParser(prog="python -m autoquant.arena.protected", allow_abbrev=False)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="record the digests of the files as they are")
    action.add_argument("--check", action="store_true", help="name every file that differs from its record")
    parser.add_argument("--home", type=Path, default=Path(__file__).resolve().parents[2], metavar="DIR")
    options = parser.parse_args(argv)
    if options.write:
        files.atomic_write(options.home / NAME, render(compute(options.home)))
        return 0
    try:
        differences = verify(options.home)
    except UserError as error:
        print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    for difference in differences:
        print(f"error: {difference.path}: {difference.kind}", file=sys.stderr)
    if differences:
        print(f"hint: {WRITE_HINT}", file=sys.stderr)
    return Violation.exit_code if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
