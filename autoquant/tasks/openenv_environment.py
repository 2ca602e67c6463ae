"""One session of the server: an episode behind OpenEnv's interface (the optional extra `openenv`)."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import asdict
from typing import Any

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from autoquant.errors import AutoQuantError, UserError
from autoquant.tasks import episode
from autoquant.tasks.openenv_models import TaskAction, TaskObservation, TaskState
from autoquant.tasks.spec import ORDER

MAXIMUM_ID = 255
"""Characters of an episode's name that are kept, whatever the client sent for one."""
REMEMBERED = 32
"""Answers kept by request id, for a client that asks again after its own time-out."""


class TaskEnvironment(Environment[TaskAction, TaskObservation, TaskState]):
    """An episode of one of the three tasks. Sessions share nothing but the data and the room for gradings."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, session: episode.QuantResearchEnv) -> None:
        super().__init__()
        self._episode = session
        self._id = ""
        self._task = ""
        self._answers: OrderedDict[str, TaskObservation] = OrderedDict()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, task: str = ORDER[0], **kwargs: Any
    ) -> TaskObservation:
        """Begin an episode of a task; `seed` changes nothing, the data are what they are."""
        try:
            observation = self._episode.reset(str(task)[:40])
        except UserError as error:
            return self._refused(f"{error.message}; {error.hint}")
        self._answers.clear()
        self._id, self._task = str(episode_id or uuid.uuid4())[:MAXIMUM_ID], observation.task
        return _told(observation)

    def step(self, action: TaskAction, timeout_s: float | None = None, **kwargs: Any) -> TaskObservation:
        """Take a step. What goes wrong is told in `message`; a machine's failure costs no step."""
        request = action.request_id
        if request is not None and request in self._answers:
            return self._answers[request]
        asked = episode.Action(action.kind, action.code, action.what, action.first, action.count)
        try:
            answer = _told(self._episode.step(asked))
        except UserError as error:
            answer = self._refused(f"{error.message}; {error.hint}")
        except AutoQuantError:
            failed = self._refused("the machine failed; the step was not used, ask again")
            failed.request_id = request
            return failed  # not remembered: the same request may be asked again
        if request is not None:
            answer.request_id = request
            self._answers[request] = answer
            while len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
        return answer

    def _refused(self, message: str) -> TaskObservation:
        """An answer to what was no step."""
        begun, used = bool(self._task), self._episode.steps_used
        return TaskObservation(
            message=message,
            task=self._task,
            step=used,
            steps_left=self._episode.steps - used if begun else 0,
            best=self._episode.best,
            done=begun and self._episode.done,
        )

    @property
    def state(self) -> TaskState:
        """Where the episode stands."""
        return TaskState(
            episode_id=self._id or None,
            step_count=self._episode.steps_used,
            task=self._task,
            best=self._episode.best,
            done=self._episode.done,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """What this environment is."""
        return EnvironmentMetadata(
            name="autoquant-tasks", description="Three graded quant tasks on two indices", version="1"
        )


def _told(observation: episode.Observation) -> TaskObservation:
    plain = asdict(observation)
    done = plain.pop("done")
    reward = observation.final_score if observation.final_score is not None else observation.score
    return TaskObservation(
        done=done,
        reward=reward,
        **{**plain, "ladder": list(plain["ladder"]), "findings": list(plain["findings"])},
    )
