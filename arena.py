"""Run a race of coding agents: doctor, start, stop, status, lockbox, report, demo."""

from __future__ import annotations

from autoquant.arena.command import main

if __name__ == "__main__":
    raise SystemExit(main())
