"""The served tasks: the real process, the real client of openenv-core, and clients that behave badly."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
from graded_cases import HIDDEN_TELLERS, NEAR, Secrets, make_data, quoting, secrets
from task_cases import single

from autoquant import process
from autoquant.sandbox import WarmParent
from autoquant.tasks.spec import ORDER

pytest.importorskip("openenv", reason="needs openenv-core: uv sync --extra openenv, or uv run --group proof pytest")

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from autoquant.tasks.openenv_client import TaskClient
from autoquant.tasks.openenv_models import MAXIMUM_CODE, TaskAction, TaskState
from autoquant.tasks.server import MAXIMUM_MESSAGE, SESSIONS

pytestmark = pytest.mark.xdist_group("task server")
FLAT = single("return pd.DataFrame({'bar': [1], 'position': [0]})").decode()
SPINS = single("while True:", "    pass").decode()
SLOW = single("for _ in range(50_000_000): pass", "return pd.DataFrame({'bar': [1], 'position': [0]})").decode()
"""About a second, well over 0.2 on any machine, and it ends."""


@dataclass
class Served:
    """A server's process and all that was said to it in answers."""

    process: subprocess.Popen[bytes]
    url: str
    heard: list[str] = field(default_factory=list)

    @property
    def ws(self) -> str:
        return self.url.replace("http", "ws", 1) + "/ws"

    def gradings(self) -> list[psutil.Process]:
        """Processes below it that live."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [one for one in below if one.status() != psutil.STATUS_ZOMBIE]


def begin(data: Path, repository: Path, *more: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "arena.py", "tasks", "serve", "--data-dir", str(data), *more]
    return process.spawn(argv, cwd=repository, env=os.environ, stderr=subprocess.PIPE)


def serving(data: Path, repository: Path) -> Served:
    begun = begin(data, repository, "--port", "0")
    assert begun.stderr is not None
    line = begun.stderr.readline().decode()
    assert "Ctrl-C ends it" in line, line + begun.stderr.read().decode()
    return Served(begun, line.split(" on ")[1].split(";")[0])


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_data(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def server(data: Path, repository: Path) -> Iterator[Served]:
    served = serving(data, repository)
    yield served
    process.end_tree(served.process.pid)
    served.process.communicate()


@pytest.fixture(scope="session")
def kept(parent: WarmParent) -> Secrets:
    return secrets(parent)


class Plain(EnvClient[dict[str, Any], dict[str, Any], dict[str, Any]]):
    """What anybody would write for openenv-core: no types of ours."""

    def _step_payload(self, action: dict[str, Any]) -> dict[str, Any]:
        return action

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[dict[str, Any]]:
        return StepResult(payload["observation"], payload.get("reward"), payload.get("done", False))

    def _parse_state(self, payload: dict[str, Any]) -> dict[str, Any]:
        return payload


def act(kind: str, **more: Any) -> TaskAction:
    return TaskAction(kind=kind, **more)  # type: ignore[arg-type]


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 100))


@contextlib.asynccontextmanager
async def raw(server: Served) -> AsyncIterator[ClientConnection]:
    """A connection without a client's manners."""
    async with connect(server.ws, max_size=None) as connection:
        yield connection


async def ask(server: Served, connection: ClientConnection, message: Any) -> dict[str, Any]:
    """The answer to a message, which is sent as it is when it is text."""
    await connection.send(message if isinstance(message, str) else json.dumps(message))
    text = str(await connection.recv())
    server.heard.append(text)
    return dict(json.loads(text))


def step(**action: Any) -> dict[str, Any]:
    return {"type": "step", "data": action}


async def settled(server: Served) -> None:
    """Wait until no grading runs."""
    while server.gradings():
        await asyncio.sleep(0.05)


async def enter(server: Served) -> ClientConnection:
    """A connection that has a place, once there is one."""
    while True:
        connection = await connect(server.ws)
        with contextlib.suppress(ConnectionClosed):
            await connection.send(json.dumps({"type": "state"}))
            if json.loads(await connection.recv())["type"] == "state":
                return connection
        await connection.close()
        await asyncio.sleep(0.05)


@pytest.mark.slow
def test_eight_sessions_work_side_by_side_and_a_ninth_is_refused(server: Served) -> None:
    async def one(client: TaskClient, name: str) -> tuple[float | None, bool, int]:
        assert (await client.reset(task=name)).observation.task == name
        await client.step(act("submit_code", code=NEAR[name].decode()))
        final = await client.step(act("submit_final"))
        return final.reward, final.done, (await client.state()).step_count

    async def story() -> None:
        clients = [TaskClient(base_url=server.url, message_timeout_s=90) for _ in range(SESSIONS)]
        async with contextlib.AsyncExitStack() as all_open:
            for client in clients:
                await all_open.enter_async_context(client)
                await client.reset(task="easy")
            async with raw(server) as ninth:
                answer = json.loads(await ninth.recv())
                assert ("error", "CAPACITY_REACHED") == (answer["type"], answer["data"]["code"])
            names = [("easy", "medium", "easy", "hard", "easy", "medium", "easy", "easy")[k] for k in range(SESSIONS)]
            found = await asyncio.gather(*(one(client, name) for client, name in zip(clients, names, strict=True)))
            scores = {"easy": 0.9, "medium": 0.85, "hard": 1.0}
            assert [(scores[name], True, 2) for name in names] == found
        await (await enter(server)).close()

    run(story())


def test_a_plain_client_of_openenv_plays_an_episode(server: Served) -> None:
    async def story() -> None:
        async with Plain(base_url=server.url) as client:
            first = await client.reset(task="medium", seed=3)
            assert ("medium", 20) == (first.observation["task"], first.observation["steps_left"])
            assert "set a counter to 30" in first.observation["brief"]
            looked = await client.step({"kind": "explore_data", "what": "days", "count": 2})
            assert 3 == len(looked.observation["table"].splitlines())
            await client.step({"kind": "submit_code", "code": FLAT})
            assert 0.05 == (await client.step({"kind": "run_backtest"})).reward
            state = await client.state()
            assert (3, "medium", 0.05, False) == (state["step_count"], state["task"], state["best"], state["done"])

    run(story())


def test_a_client_without_async_plays_too(server: Served) -> None:
    with TaskClient(base_url=server.url).sync() as client:
        assert ("hard", 0) == ((first := client.reset(task="hard").observation).task, first.step)
        assert "14 sessions" in client.step(act("explore_data")).observation.table


def test_a_client_that_dies_in_a_backtest_frees_its_place(server: Served) -> None:
    async def story() -> None:
        async with contextlib.AsyncExitStack() as crowd:
            places = [await enter(server) for _ in range(SESSIONS)]
            for connection in places:
                crowd.push_async_callback(connection.close)
            await ask(server, places[0], {"type": "reset", "data": {"task": "easy"}})
            await ask(server, places[0], step(kind="submit_code", code=SLOW))
            await places[0].send(json.dumps(step(kind="run_backtest")))
            while not server.gradings():
                await asyncio.sleep(0.02)
            places[0].transport.abort()
            await (await enter(server)).close()
        await settled(server)

    run(story())


def test_a_place_that_no_connection_holds_cannot_be_taken(server: Served) -> None:
    """OpenEnv's tool interface gives sessions that only a message would free."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/create", "params": {}}
    for _ in range(SESSIONS + 1):
        request = urllib.request.Request(f"{server.url}/mcp", json.dumps(message).encode(), method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=20)
        assert 404 == refused.value.code
        refused.value.close()

    async def story() -> None:
        await (await enter(server)).close()

    run(story())


def test_a_question_after_a_time_out_gets_its_own_answer(server: Served) -> None:
    async def story() -> None:
        async with TaskClient(base_url=server.url, message_timeout_s=60) as client:
            await client.reset(task="easy")
            await client.step(act("submit_code", code=SLOW))
            client._message_timeout = 0.2
            with pytest.raises(TimeoutError):
                await client.step(act("run_backtest"))
            with pytest.raises(TimeoutError):
                await client.state()
            client._message_timeout = 60
            looked = await client.step(act("explore_data", request_id="mine"))
            assert ("mine", 3) == (looked.observation.request_id, looked.observation.step)
            assert "14 sessions" in looked.observation.table
            client._message_timeout = 0.2
            with pytest.raises(TimeoutError):
                await client.step(act("run_backtest"))
            client._message_timeout = 60
            assert "medium" == (await client.reset(task="medium")).observation.task, "not the late backtest"
            assert isinstance(await client.state(), TaskState)

    run(story())


def test_a_refusal_that_comes_late_is_not_taken_for_the_next_answer(server: Served) -> None:
    async def story() -> None:
        async with TaskClient(base_url=server.url, message_timeout_s=60) as client:
            await client.reset(task="easy")
            await client._send({"type": "nonsense"})
            assert "easy" == (await client.state()).task
            with pytest.raises(RuntimeError, match="Unknown message type"):
                await client._send_and_receive({"type": "nonsense"})
            assert 1 == (await client.step(act("explore_data"))).observation.step

    run(story())


def test_a_repeated_request_is_answered_from_memory_without_a_step(server: Served) -> None:
    async def story() -> None:
        async with raw(server) as connection:
            await ask(server, connection, {"type": "reset", "data": {"task": "easy"}})
            await ask(server, connection, step(kind="submit_code", code=FLAT))
            first = await ask(server, connection, step(kind="run_backtest", request_id="a"))
            other = await ask(server, connection, step(kind="explore_data", request_id="b"))
            again = await ask(server, connection, step(kind="run_backtest", request_id="a"))
            assert first == again
            assert 3 == other["data"]["observation"]["step"]
            final = await ask(server, connection, step(kind="submit_final", request_id="c"))
            assert final == await ask(server, connection, step(kind="submit_final", request_id="c"))
            over = await ask(server, connection, step(kind="submit_final"))
            assert "the episode is over; reset begins another" == over["data"]["observation"]["message"]
            assert (4, True) == (over["data"]["observation"]["step"], over["data"]["done"])
            await ask(server, connection, {"type": "reset", "data": {"task": "easy"}})
            fresh = await ask(server, connection, step(kind="explore_data", request_id="a"))
            assert 1 == fresh["data"]["observation"]["step"], "another episode"

    run(story())


BAD = {
    "not JSON": "{",
    "nothing": "",
    "a word": '"step"',
    "a list": "[1, 2]",
    "null": "null",
    "a number": "7",
    "no type": {"data": {}},
    "an unknown type": {"type": "steal"},
    "a type that is a list": {"type": ["step"]},
    "a step of nothing": {"type": "step"},
    "a step that is a list": {"type": "step", "data": [1]},
    "an unknown action": step(kind="buy"),
    "no action": step(code="x"),
    "an unknown field": step(kind="run_backtest", task="hard"),
    "code that is a list": step(kind="submit_code", code=["x"]),
    "code that no file can hold": '{"type": "step", "data": {"kind": "submit_code", "code": "\\ud800"}}',
    "a word that no text can hold": '{"type": "reset", "data": {"task": "\\udfff"}}',
    "a number that JSON does not have": '{"type": "step", "data": {"kind": "explore_data", "first": NaN}}',
    "a number beyond all": '{"type": "step", "data": {"kind": "explore_data", "first": 1e999}}',
    "a number of 5,000 digits": '{"type": "step", "data": {"kind": "explore_data", "first": ' + "9" * 5_000 + "}}",
    "oversized code": step(kind="submit_code", code="#" * (MAXIMUM_CODE + 1)),
    "oversized code of wide characters": step(kind="submit_code", code="é" * MAXIMUM_CODE),
    "rows before the first": step(kind="explore_data", what="rows", first=-1),
    "too many rows": step(kind="explore_data", what="rows", count=201),
    "an endless request id": step(kind="run_backtest", request_id="i" * 256),
    "something hidden to explore": step(kind="explore_data", what="hidden"),
    "a task of another name": {"type": "reset", "data": {"task": "harder"}},
    "a task that is a list": {"type": "reset", "data": {"task": [["easy"]]}},
    "a reset of itself": {"type": "reset", "data": {"self": 1}},
    "a reset that is a list": {"type": "reset", "data": [1]},
    "a tool": {"type": "mcp", "data": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}},
    "a state with arguments": {"type": "state", "data": {"x": 1}},
    "deep nesting": "[" * 100_000 + "]" * 100_000,
}


def test_no_message_takes_the_server_down_or_costs_a_step(server: Served) -> None:
    async def story() -> None:
        for name, message in BAD.items():
            async with raw(server) as connection:
                await ask(server, connection, {"type": "reset", "data": {"task": "easy"}})
                await ask(server, connection, message)
                state = await ask(server, connection, {"type": "state"})
                assert ("easy", 0) == (state["data"]["task"], state["data"]["step_count"]), name
        assert server.process.poll() is None
        async with raw(server) as connection:
            assert "observation" == (await ask(server, connection, {"type": "reset", "data": {}}))["type"]

    run(story())


def test_a_step_before_the_first_reset_is_told_so(server: Served) -> None:
    async def story() -> None:
        async with raw(server) as connection:
            answer = await ask(server, connection, step(kind="explore_data", request_id="early"))
            assert "no episode has begun; reset with a task first" == answer["data"]["observation"]["message"]
            assert ("early", False) == (answer["data"]["observation"]["request_id"], answer["data"]["done"])

    run(story())


@pytest.mark.parametrize(("name", "kept_as"), [(["x"], "['x']"), ("e" * 1_000, "e" * 255), ("mine", "mine")])
def test_an_episode_has_a_name_of_a_kind_that_can_be_told(server: Served, name: Any, kept_as: str) -> None:
    async def story() -> None:
        async with raw(server) as connection:
            await ask(server, connection, {"type": "reset", "data": {"task": "easy", "episode_id": name}})
            assert kept_as == (await ask(server, connection, {"type": "state"}))["data"]["episode_id"]

    run(story())


def test_a_message_of_many_megabytes_closes_its_own_connection_alone(server: Served) -> None:
    async def story() -> None:
        async with raw(server) as other:
            await ask(server, other, {"type": "reset", "data": {"task": "easy"}})
            async with raw(server) as connection:
                with contextlib.suppress(ConnectionClosed):
                    await connection.send("#" * (4 * MAXIMUM_MESSAGE))
                with pytest.raises(ConnectionClosed):
                    await connection.recv()
                assert connection.close_code in (1006, 1009)
            assert 1 == (await ask(server, other, step(kind="explore_data")))["data"]["observation"]["step"]

    run(story())


def test_the_routes_without_a_session_answer_and_hold_nothing(server: Served) -> None:
    def post(path: str, body: Any) -> str:
        request = urllib.request.Request(
            server.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                text = str(answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
        server.heard.append(text)
        return text

    assert "healthy" in urllib.request.urlopen(f"{server.url}/health", timeout=20).read().decode()
    assert '"task":"easy"' in post("/reset", {"task": "easy"})
    assert "no episode has begun" in post("/step", {"action": {"kind": "run_backtest"}})
    for body in ({"action": [1]}, {"action": 1}, {"action": {"kind": "buy"}}, {}):
        assert "detail" in post("/step", body)


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (
            b'{"action": {"kind": "submit_code", "code": "' + b"#" * MAXIMUM_MESSAGE + b'"}}',
            413,
            "more than 2,097,152 b",
        ),
        (b'{"action": {"kind": "submit_code", "code": "\\ud800"}}', 400, "a number or a character that JSON does not"),
        (b'{"action": {"kind": "explore_data", "first": NaN}}', 400, "a number or a character that JSON does not have"),
        (b'{"seed": 1e999}', 400, "a number or a character that JSON does not have"),
        (b"[" * 100_000, 400, "the message is not JSON"),
        (b"\xff\xfe", 400, "the message is not JSON"),
        (b"[1]", 400, "the message is not a JSON object"),
    ],
)
@pytest.mark.parametrize("path", ["/step", "/reset"])
def test_a_body_that_cannot_be_taken_has_one_clear_answer(server: Served, path: str, body: bytes, code, words) -> None:
    request = urllib.request.Request(server.url + path, body, {"Content-Type": "application/json"}, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=20)
    with refused.value as answer:
        text = answer.read().decode()
    server.heard.append(text)
    assert code == answer.code
    assert words in json.loads(text)["detail"]


def test_a_body_without_end_costs_no_memory_and_no_other_client_its_answer(server: Served) -> None:
    before = psutil.Process(server.process.pid).memory_info().rss
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as slow:
        slow.sendall(b"POST /reset HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            for _ in range(48):
                slow.sendall(b"#" * (1 << 20))
        assert "healthy" in urllib.request.urlopen(f"{server.url}/health", timeout=20).read().decode()
    assert psutil.Process(server.process.pid).memory_info().rss - before < 24 << 20


@pytest.mark.slow
def test_nothing_hidden_is_in_any_answer(server: Served, kept: Secrets) -> None:
    """INV-31: raw text of whole episodes with solutions that tell all they know, and of every refusal so far."""

    async def story() -> None:
        async with raw(server) as connection:
            for name in ORDER:
                await ask(server, connection, {"type": "reset", "data": {"task": name}})
                for what in ("summary", "rows", "days"):
                    await ask(server, connection, step(kind="explore_data", what=what, first=4_850, count=200))
                await ask(server, connection, step(kind="submit_code", code=quoting(name).decode()))
                await ask(server, connection, step(kind="run_backtest"))
                last = HIDDEN_TELLERS[0] if name == "hard" else NEAR[name]
                await ask(server, connection, step(kind="submit_code", code=last.decode()))
                assert (await ask(server, connection, step(kind="submit_final")))["data"]["done"]
                await ask(server, connection, {"type": "state"})

    run(story())
    assert 24 <= len(server.heard)
    for text in server.heard:
        assert [] == kept.found_in(text)
        assert "Traceback" not in text
        assert "site-packages" not in text
        assert "/autoquant" not in text


def test_a_failure_of_the_machine_is_not_what_a_repeated_request_is_answered_with() -> None:
    from contextlib import contextmanager

    from graded_cases import market

    from autoquant.errors import InfrastructureFault
    from autoquant.tasks.episode import QuantResearchEnv
    from autoquant.tasks.grader import Ground
    from autoquant.tasks.openenv_environment import TaskEnvironment
    from autoquant.tasks.spec import task

    tries = []

    @contextmanager
    def failing() -> Iterator[WarmParent]:
        tries.append(1)
        raise InfrastructureFault("no process could be started")
        yield

    ground = Ground(task("easy"), market()[0], market()[1], "files", None)
    session = TaskEnvironment(QuantResearchEnv(lambda name: ground, failing))
    session.reset(task="easy")
    session.step(act("submit_code", code=FLAT))
    for count in (1, 2):
        answer = session.step(act("run_backtest", request_id="a"))
        assert "the machine failed; the step was not used, ask again" == answer.message
        assert ("a", 1, 19, False) == (answer.request_id, answer.step, answer.steps_left, answer.done)
        assert count == len(tries)


@pytest.mark.slow
def test_ctrl_c_in_the_middle_of_a_backtest_ends_everything_at_once(data: Path, repository: Path) -> None:
    served = serving(data, repository)

    async def story() -> None:
        async with raw(served) as connection:
            await ask(served, connection, {"type": "reset", "data": {"task": "easy"}})
            await ask(served, connection, step(kind="submit_code", code=SPINS))
            await connection.send(json.dumps(step(kind="run_backtest")))
            while len(served.gradings()) < 3:
                await asyncio.sleep(0.02)
            children = served.gradings()
            served.process.send_signal(signal.SIGINT)
            said = await asyncio.to_thread(served.process.communicate)
            assert (130, "interrupted\n") == (served.process.returncode, said[1].decode())
            assert [] == [one for one in children if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    try:
        run(story())
    finally:
        process.end_tree(served.process.pid)


def refusal(data: Path, repository: Path, *more: str) -> list[str]:
    begun = begin(data, repository, *more)
    said = begun.communicate(timeout=60)[1].decode()
    assert 2 == begun.returncode, said
    return said.splitlines()


def test_what_keeps_it_from_serving_is_said_in_one_line(data: Path, repository: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words, hint = refusal(data, repository, "--port", str(port))
    assert f"error: port {port} of 127.0.0.1: Address already in use" == words
    assert "hint: choose another one: --port N" == hint
    assert "ports run from 0 to 65535" in refusal(data, repository, "--port", "70000")[0]
    words, hint = refusal(tmp_path, repository, "--port", "0")
    assert "error: no index data" in words
    assert "setup_data.py --indices" in hint


def test_without_the_extra_it_says_how_to_get_it(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    from autoquant.arena import command

    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None)
    assert 2 == command.main(["tasks", "serve", "--data-dir", str(data)])
    assert "error: serving needs openenv-core\nhint: uv sync --extra openenv\n" == capsys.readouterr().err


def test_at_most_two_gradings_run_at_a_time(data: Path) -> None:
    from autoquant.tasks.server import AT_ONCE, Shop

    shop, running, most = Shop(data), [0], [0]
    lock, together = threading.Lock(), threading.Barrier(AT_ONCE)

    def grade(first: bool) -> None:
        with shop.parent():
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            if first:
                together.wait(30)
            with lock:
                running[0] -= 1

    threads = [threading.Thread(target=grade, args=(k < AT_ONCE,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert AT_ONCE == most[0]
    shop.close()
