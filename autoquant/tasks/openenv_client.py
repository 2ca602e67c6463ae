"""A client of the served tasks (the optional extra `openenv`): `openenv-core`'s own, with our types and request ids.

    async with TaskClient(base_url="http://127.0.0.1:8000") as client:
        await client.reset(task="easy")
        await client.step(TaskAction(kind="submit_code", code=text))

An answer that comes after the client has given up waiting is not taken for the answer to a later question.
"""

from __future__ import annotations

import uuid
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient

from autoquant.tasks.openenv_models import TaskAction, TaskObservation, TaskState


class TaskClient(EnvClient[TaskAction, TaskObservation, TaskState]):
    """One session with the server, which answers every message once and in order."""

    _owed = 0
    """Answers that are still to come."""

    def _step_payload(self, action: TaskAction) -> dict[str, Any]:
        payload: dict[str, Any] = action.model_dump()
        payload["request_id"] = payload["request_id"] or str(uuid.uuid4())
        return payload

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[TaskObservation]:
        content = dict(payload["observation"])
        observation = TaskObservation(**content | {"reward": payload.get("reward"), "done": payload.get("done", False)})
        return StepResult(observation=observation, reward=payload.get("reward"), done=payload.get("done", False))

    def _parse_state(self, payload: dict[str, Any]) -> TaskState:
        return TaskState(**payload)

    async def connect(self) -> TaskClient:
        """Open the connection unless it is open."""
        if self._ws is None:
            self._owed = 0
        await super().connect()
        return self

    async def _send(self, message: dict[str, Any]) -> None:
        await super()._send(message)
        self._owed += 1

    async def _receive(self) -> dict[str, Any]:
        while True:
            answer: dict[str, Any] = await super()._receive()
            self._owed -= 1
            if not self._owed:
                return answer
