"""Run a race of coding agents: `arena.py --help` names the commands."""

from __future__ import annotations

from autoquant.arena.command import main

if __name__ == "__main__":
    raise SystemExit(main())
