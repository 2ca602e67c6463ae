"""`.autoquant/race.json`: how run.py knows that it stands in a worktree of a race. Not secret, and not trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autoquant import codec, files
from autoquant.errors import ConfigError
from autoquant.protocol import SCHEMA_VERSION

MARKER = ".autoquant/race.json"


@dataclass(frozen=True)
class Marker:
    """The race a worktree belongs to. `protected` names the read-only files run.py checks."""

    race: str
    competitor: str
    budget: int
    protected: tuple[str, ...]
    task: str = ""
    """Of the graded track: the task this worktree is for."""
    schema_version: int = SCHEMA_VERSION


def render_marker(marker: Marker) -> bytes:
    """The file's bytes."""
    return (codec.dumps(marker, indent=1) + "\n").encode()


def read_marker(home: Path) -> Marker | None:
    """The marker of the worktree at `home`; None outside a race.

    Raises
    ------
    ConfigError : there is one, but damaged.
    """
    try:
        return codec.loads(Marker, files.read_regular(home, MARKER, 1 << 20), MARKER)
    except FileNotFoundError:
        return None
    except files.NotRegularFile as error:
        raise ConfigError(error.message, "the referee restores it before the next session") from None
