"""Action, observation and state as OpenEnv has them (the optional extra `openenv`)."""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from autoquant.tasks.episode import MAXIMUM_CODE, Kind
from autoquant.tasks.explore import MAXIMUM_ROWS, View


class TaskAction(Action):
    """One step. A `request_id` comes back with the answer; a repeated one is answered from memory."""

    kind: Kind
    code: str | None = Field(default=None, max_length=MAXIMUM_CODE)
    what: View = "summary"
    first: int = Field(default=0, ge=0, le=10_000_000)
    count: int = Field(default=20, ge=0, le=MAXIMUM_ROWS)
    request_id: str | None = Field(default=None, max_length=255)


class TaskObservation(Observation):
    """What an agent gets; the fields of `episode.Observation`, with the score as the reward."""

    request_id: str | None = None
    task: str = ""
    step: int = 0
    steps_left: int = 0
    message: str = ""
    brief: str = ""
    table: str = ""
    score: float | None = None
    best: float | None = None
    final_score: float | None = None
    ladder: list[dict[str, Any]] = Field(default_factory=list)
    figures: dict[str, float] = Field(default_factory=dict)
    findings: list[str] = Field(default_factory=list)


class TaskState(State):
    """Where an episode stands."""

    task: str = ""
    best: float | None = None
    done: bool = False
