"""Speed beside what people would take instead: uv run bench/run.py [--json] [--only PART …] [--repeats N]

Every row is a ratio taken in one run: both sides are run in turn and the medians compared, so that a busy machine slows
both. The other libraries live in an environment of their own (`bench/rivals.py` names them; uv makes it); a row whose
library is not there says why. Accounts must agree to 1e-9, or the row fails.

Parts: `accounting`, `replay`, `startup`, `attempt` (needs --data-dir, prepared and calibrated), `growth`, `life`,
`setup` (needs --base-url of a mirror). Without --json a Markdown table for docs/performance.md is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import run_accounting
import run_growth
import run_race
from run_rows import Rivals, Row, table

from autoquant import cli

PARTS = ("accounting", "replay", "startup", "attempt", "growth", "life", "setup")


def machine(rivals: Rivals) -> dict[str, object]:
    """What the figures were taken on."""
    processor = next(
        (line.split(":", 1)[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")),
        platform.processor(),
    )
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()}",
        "load_1_minute": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pandas": pd.__version__,
        "beside": rivals.versions,
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


@cli.command
def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a Markdown table")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS[:3] + PARTS[4:6], metavar="PART")
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="of each side of a row (default: 5; start-up: 9 or more)"
    )
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="for the part attempt")
    parser.add_argument("--base-url", metavar="URL", help="for the part setup")
    parser.add_argument("--rivals-python", metavar="FILE", help="an interpreter that has the other libraries already")
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    options = parser.parse_args(argv)
    if options.repeats < 1:
        parser.error("--repeats takes a number from 1")
    if options.rivals_python is not None and shutil.which(options.rivals_python) is None:
        parser.error(f"--rivals-python {options.rivals_python}: no program there")
    wanted = set(options.only)
    rows: list[Row] = []
    with Rivals(options.rivals_python, wanted=bool(wanted & {"accounting", "replay"})) as rivals:
        about = machine(rivals)
        if "accounting" in wanted:
            rows += run_accounting.accounting(rivals, options.repeats)
        if "replay" in wanted:
            rows += run_accounting.replays(rivals, options.repeats)
    if "startup" in wanted:
        rows += run_race.startup(options.repeats)
    if "attempt" in wanted:
        rows += run_race.attempt(options.data_dir, options.repeats)
    if "growth" in wanted:
        rows += run_growth.growth(options.repeats)
    if "life" in wanted:
        rows += run_growth.life(options.repeats)
    if "setup" in wanted:
        rows += run_race.setup(options.base_url)
    if options.json:
        print(json.dumps({"machine": about, "rows": [asdict(row) for row in rows]}, sort_keys=True))
    else:
        print("\n".join(f"- {name}: {value}" for name, value in about.items()))
        print("\n" + table(rows))
    return 1 if any(row.fails for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
