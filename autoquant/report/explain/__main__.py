"""Write the explainer: `uv run python -m autoquant.report.explain --out docs/how-autoquant-works.html`."""

from __future__ import annotations

import argparse
from pathlib import Path

from autoquant import files
from autoquant.report.explain.page import explainer


def main(argv: list[str] | None = None) -> int:
    """Draw and write, atomically."""
    parser = argparse.ArgumentParser(prog="python -m autoquant.report.explain", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the page to write")
    options = parser.parse_args(argv)
    files.atomic_write(options.out, explainer())
    print(options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
