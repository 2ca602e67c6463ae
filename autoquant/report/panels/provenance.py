"""Can I check: digests, the commands that make every number again, downloads, and the words of the page."""

from __future__ import annotations

import shlex
from typing import Any

from autoquant.protocol import PROTOCOL
from autoquant.report import commands, sources
from autoquant.report.model import Race
from autoquant.stats.conventions import CONVENTIONS

FILES = 50
"""Evaluation files not as recorded that are named."""


def context(race: Race) -> dict[str, Any]:
    """Names for `panels/provenance.html.j2` and `panels/glossary.html.j2`."""
    champions = [(entrant, entrant.champion) for entrant in race.entrants if entrant.champion]
    return {
        "p": race.provenance,
        "files_limit": FILES,
        "check_data": _data(race),
        "check_floor": _floor(race),
        "check_seed": commands.score_again(race, race.provenance.seed_strategy),
        "check_record": _on_record("uv run arena.py status", race),
        "check_champions": [(e, a, commands.score_again(race, a.strategy)) for e, a in champions],
        "check_page": _on_record("uv run dashboard.py", race) + " --out report.html",
        "protocol": PROTOCOL,
        "stated_conventions": CONVENTIONS,
    }


def _data(race: Race) -> str:
    """What sets up or holds up the market that the race ran on."""
    if race.demo:
        return f"uv run setup_data.py --verify --synthetic{commands.data_option(race)}"
    if race.source.synthetic:
        return "uv run setup_data.py --synthetic --force"
    if race.source.name == sources.ARCHIVE:
        return "uv run setup_data.py"
    return f"uv run setup_data.py --base-url {shlex.quote(race.source.name)}"


def _floor(race: Race) -> str:
    samples = race.noise_floor_samples
    fewer = f" --samples {samples}" if samples != PROTOCOL.calibration.samples else ""
    return f"uv run evaluate.py --calibrate{fewer}{commands.data_option(race)}"


def _on_record(command: str, race: Race) -> str:
    return f"{command}{commands.race_option(race)}{commands.state_option(race)}"
