"""An executor whose workers are a Dask scheduler's: `autoquant.executor.Executor` for many machines.

Dask places the work and notices dead workers. What it leaves to its user is here: keys of inputs and code, answers
counted once, no more in flight than slots, data by digest, workers that are refused, and a clean end on Ctrl-C.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from autoquant.errors import InfrastructureFault
from autoquant.files import sha256_bytes
from autoquant.scale import connection, worker
from autoquant.scale.address import Scheduler
from autoquant.scale.arrivals import Arrivals
from autoquant.scale.identity import identity
from autoquant.scale.parcels import Parcel, Stock, parcel_of_bytes

if TYPE_CHECKING:
    from distributed import Client, Future

Item = TypeVar("Item")
Result = TypeVar("Result")
Needs = Callable[[Any], Sequence[Stock]]
"""What an item reads beside its own bytes."""

LIVES = 3
"""How many slots a piece may lose before it is given up: it takes too much memory, or kills itself."""
_LOOK_SECONDS = 0.5


def nothing_more(item: Any) -> Sequence[Stock]:
    """Items that read nothing but themselves."""
    return ()


@contextlib.contextmanager
def open_pool(scheduler: Scheduler, needs: Needs = nothing_more) -> Iterator[DaskPool]:
    """Connect, and leave the workers idle at the end, however it comes.

    Raises
    ------
    UserError : see `connection.connect`.
    """
    client = connection.connect(scheduler)
    with DaskPool(client, needs) as pool:
        yield pool


class DaskPool:
    """Runs functions on the workers of a scheduler. Functions and items are pickled: modules' functions, plain values.

    Parameters
    ----------
    client : connected; this pool's own, closed with it.
    needs : parcels of an item, found in the work by `folder_of`.
    patience_seconds : how long to wait while no worker is there.
    """

    def __init__(self, client: Client, needs: Needs = nothing_more, *, patience_seconds: float = 120.0) -> None:
        self._client = client
        self._needs = needs
        self._patience = patience_seconds
        self._session = uuid.uuid4().hex

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_result: Callable[[int, int], None] | None = None,
        on_answer: Callable[[Item, Result], None] | None = None,
    ) -> list[Result]:
        """Results in the order of `items`; `on_result(done, total)` after each. The first exception is raised.

        Parameters
        ----------
        on_answer : called here, once for each item, as soon as its result has come; what it keeps outlives Ctrl-C.

        Raises
        ------
        UserError : a worker is another than this machine. InfrastructureFault : the scheduler is gone, no worker comes
            back, or a piece kills whoever does it.
        """
        wanted = list(items)
        batch = _Batch(self._client, self._session, function, wanted, self._needs)
        done, results = 0, dict[str, Result]()
        for key, result in batch.answers(self._patience):
            results[key] = result
            for place in batch.places[key]:
                done += 1
                if on_answer is not None:
                    on_answer(wanted[place], result)
                if on_result is not None:
                    on_result(done, len(wanted))
        return [results[key] for key in batch.keys]

    def close(self) -> None:
        """Have the workers end what they do for this pool, and go."""
        with contextlib.suppress(Exception):
            self._client.run(worker.leave, self._session, on_error="ignore")
        with contextlib.suppress(Exception):
            self._client.close(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Batch:
    """One call of `map`."""

    def __init__(
        self, client: Client, session: str, function: Callable[[Any], Any], items: Sequence[Any], needs: Needs
    ) -> None:
        self._client = client
        self._session = session
        code = parcel_of_bytes("function", pickle.dumps(function, pickle.HIGHEST_PROTOCOL))
        self._function = code.parcel
        self._stocks: dict[str, Stock] = {code.parcel.digest: code}
        self._orders: dict[str, tuple[bytes, tuple[Parcel, ...]]] = {}
        self.keys: list[str] = []
        self.places: dict[str, list[int]] = {}
        for place, item in enumerate(items):
            data, parcels = pickle.dumps(item, pickle.HIGHEST_PROTOCOL), []
            for stock in needs(item):
                self._stocks[stock.parcel.digest] = stock
                parcels.append(stock.parcel)
            parts = (identity()["code"], code.parcel.digest, sha256_bytes(data), *(one.digest for one in parcels))
            key = sha256_bytes("\n".join(parts).encode())
            self.keys.append(key)
            self.places.setdefault(key, []).append(place)
            self._orders[key] = (data, tuple(parcels))
        self._arrivals = Arrivals(frozenset(self.keys))
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._flying: dict[Future, str] = {}
        self._tries: Counter[str] = Counter()
        self._broken: Counter[str] = Counter()
        self._slots, self._looked = 0, -_LOOK_SECONDS

    def answers(self, patience: float) -> Iterator[tuple[str, Any]]:
        """(key, result), each key once, as they come."""
        waiting, seen = deque(dict.fromkeys(self.keys)), time.monotonic()
        try:
            while not self._arrivals.whole:
                self._look()
                while waiting and len(self._flying) < self._slots:
                    self._submit(waiting.popleft())
                if self._slots:
                    seen = time.monotonic()
                elif time.monotonic() - seen > patience:
                    raise InfrastructureFault(
                        f"no worker has been there for {patience:.0f} s", "start one; what was stored is kept"
                    )
                try:
                    future = self._ended.get(timeout=_LOOK_SECONDS)
                except queue.Empty:
                    continue
                key = self._flying.get(future)
                if key is None:
                    continue
                answer = self._answer(future)
                if answer is None:
                    continue
                del self._flying[future]
                future.release()
                if answer["kind"] in ("done", "failed"):
                    if not self._arrivals.take(key):
                        continue
                    value = pickle.loads(answer["result"])
                    if answer["kind"] == "failed":
                        raise value
                    yield key, value
                else:
                    self._mend(key, answer)
                    waiting.appendleft(key)
        finally:
            if self._flying:
                with contextlib.suppress(Exception):
                    self._client.cancel(list(self._flying))

    def _submit(self, key: str) -> None:
        item, parcels = self._orders[key]
        order = {
            "identity": identity(),
            "session": self._session,
            "function": self._function,
            "item": item,
            "parcels": parcels,
        }
        self._tries[key] += 1
        name = f"autoquant-{key}-{self._session[:8]}-{self._tries[key]}"
        future = self._client.submit(worker.perform, order, key=name, pure=False)
        self._flying[future] = key
        future.add_done_callback(self._ended.put)

    def _answer(self, future: Future) -> dict[str, Any] | None:
        """What a task came to; None when its worker died before it could hand the answer over, and it runs again."""
        try:
            answer: dict[str, Any] = future.result(timeout=10)
            return answer
        except TimeoutError:
            future.add_done_callback(self._ended.put)
            return None
        except Exception as error:
            if future.status in ("cancelled", "lost"):
                raise InfrastructureFault(
                    "the scheduler is gone", "start it and its workers again; what was stored is kept"
                ) from None
            if type(error).__name__ == "KilledWorker":
                raise InfrastructureFault(
                    "a piece of work was lost with every worker that tried it", "the workers' logs say why they died"
                ) from None
            connection.require_same({"that was asked": error})
            raise

    def _mend(self, key: str, answer: dict[str, Any]) -> None:
        """Do what a piece needs before it can be tried again."""
        match answer["kind"]:
            case "refused":
                connection.refuse(answer["worker"], answer["reason"])
            case "missing":
                for digest in answer["parcels"]:
                    self._send(self._stocks[digest], answer["worker"])
            case "broken":
                self._broken[key] += 1
                if self._broken[key] >= LIVES:
                    raise InfrastructureFault(
                        f"a piece of work ended {LIVES} processes that did it", "most likely memory: fewer --nthreads"
                    )

    def _send(self, stock: Stock, address: str) -> None:
        """Have a worker keep a parcel, unless it got it meanwhile; one that dies over it is no matter."""
        parcel = stock.parcel
        try:
            if self._run(address, worker.has, parcel):
                return
            for piece, offset, chunk in stock.chunks():
                self._run(address, worker.receive, parcel, piece, offset, chunk, self._session)
            whole = self._run(address, worker.finish, parcel, self._session)
        except Exception as error:
            if address in connection.slots(self._client):
                why = f"{type(error).__name__}: {error}".split("\n", 1)[0][:200]
                raise InfrastructureFault(f"worker {address} cannot keep data ({why})", "see its disk") from None
            return
        if not whole:
            raise InfrastructureFault(
                f"worker {address} got other bytes than were sent", "the files here changed meanwhile, or its disk did"
            )

    def _run(self, address: str, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.run(function, *arguments, workers=[address])[address]

    def _look(self) -> None:
        """Count the slots, now and then."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        try:
            self._slots = sum(connection.slots(self._client).values())
        except Exception:
            raise InfrastructureFault(
                "the scheduler is gone", "start it and its workers again; what was stored is kept"
            ) from None
