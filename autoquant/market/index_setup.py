"""Set the indices of the graded track up: from the user's files, or made up."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from autoquant.errors import UserError
from autoquant.market.index_files import merge
from autoquant.market.index_synthetic import DEFAULT_SEED, synthetic_indices
from autoquant.market.indices import IMPORTED, NAMES, SPLIT, SYNTHETIC, IndexManifest, index_folder, save_indices

USAGE = "for example: --indices nifty=NIFTY.csv banknifty=BANKNIFTY.csv"


@dataclass(frozen=True)
class IndexSummary:
    """What a set-up of the indices left behind, as setup_data.py prints it."""

    directory: str
    manifest: IndexManifest

    def text(self) -> str:
        """A few lines for a terminal."""
        found = self.manifest
        lines = [f"indices     {found.origin}"]
        for one in found.files:
            lines.append(
                f"            {one.name}: {one.rows:,} rows, {one.bad:,} bad, {one.duplicates:,} duplicate, "
                f"{one.unmatched:,} without a match"
            )
        for title, part in (("shown", found.shown), ("hidden", found.hidden)):
            lines.append(f"{title:<12}{part.rows:,} bars, {part.first} to {part.last} IST")
        return "\n".join([*lines, f"where       {self.directory}"])


def set_up_indices(
    data_root: Path, items: list[str], *, split: str | None = None, synthetic: bool = False, seed: int | None = None
) -> IndexSummary:
    """Import two files of minute bars, or make a pair, and make it the current set. The files stay the user's.

    Parameters
    ----------
    items : `nifty=FILE` and `banknifty=FILE`; none for a synthetic pair.
    split : first hidden day; 2023-01-01 by default.

    Raises
    ------
    UserError : items, split or seed make no sense. DataError : a file cannot be read or aligned.
    """
    day = _day(split or SPLIT)
    if synthetic:
        if items:
            raise UserError("--synthetic makes a pair: it takes no files", "leave the files out, or --synthetic")
        number = DEFAULT_SEED if seed is None else seed
        manifest = save_indices(
            data_root, synthetic_indices(number, split=day), source=SYNTHETIC, split=day, seed=number
        )
    else:
        bars, notes = merge(_paths(items))
        manifest = save_indices(data_root, bars, source=IMPORTED, split=day, made_from=notes)
    return IndexSummary(str(index_folder(data_root)), manifest)


def _paths(items: list[str]) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if not equals or not path or name not in NAMES:
            raise UserError(f"--indices {item}: not NAME=FILE with nifty or banknifty", USAGE)
        if name in paths:
            raise UserError(f"--indices names {name} twice", USAGE)
        paths[name] = Path(path)
    missing = [name for name in NAMES if name not in paths]
    if missing:
        raise UserError(f"--indices lacks {' and '.join(missing)}", USAGE)
    return paths


def _day(text: str) -> str:
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise UserError(f"--split {text}: not a day", "for example --split 2023-01-01") from None
