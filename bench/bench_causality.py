"""How often each leak is caught and each honest strategy troubled: uv run python bench/bench_causality.py [--json]

Every strategy of tests/leaks and tests/honest goes through every depth under `--secrets` race secrets (20): about an
hour. Prints, for each strategy that was not treated the same by all of them, the share that caught it, and per depth
the mean over leaks and every false alarm. An honest strategy must be caught by none; exit code 1 says that one was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from strategy_lab import Lab, corpus, open_lab

DEPTHS = ("screen", "confirm", "lockbox")


def rates(lab: Lab, strategies: dict[str, bytes], depth: str, secrets: int) -> dict[str, float]:
    """Share of secrets that catch each strategy."""
    found = {}
    for number, (name, source) in enumerate(strategies.items(), 1):
        found[name] = lab.rate(source, depth, secrets)
        if sys.stderr.isatty():
            print(f"\r{depth}: {number} of {len(strategies)} {name:40.40}", end="", file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--secrets", type=int, default=20, metavar="N", help="race secrets per strategy and depth")
    parser.add_argument("--depth", choices=DEPTHS, action="append", help="only this one; may be given again")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    answer: dict[str, object] = {"secrets": options.secrets}
    alarms = 0
    with open_lab() as lab:
        for depth in options.depth or DEPTHS:
            start = time.monotonic()
            caught = {kind: rates(lab, corpus(kind), depth, options.secrets) for kind in ("leaks", "honest")}
            wrong = {name: share for name, share in caught["honest"].items() if share}
            alarms += len(wrong)
            answer[depth] = {
                "leaks": len(caught["leaks"]),
                "caught_always": sum(share == 1.0 for share in caught["leaks"].values()),
                "caught_sometimes": {n: s for n, s in caught["leaks"].items() if 0 < s < 1},
                "caught_never": [n for n, s in caught["leaks"].items() if not s],
                "honest": len(caught["honest"]),
                "false_alarms": wrong,
                "minutes": round((time.monotonic() - start) / 60, 1),
            }
            if not options.json:
                print(depth, json.dumps(answer[depth], indent=2), flush=True)
    if options.json:
        print(json.dumps(answer))
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
