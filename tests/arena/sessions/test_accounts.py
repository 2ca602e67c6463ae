from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from autoquant.arena.sessions.accounts import Accounts

TIMEOUT = 20.0
"""Seconds after which a test gives up; nothing waits so long unless it is broken."""


class Racer(threading.Thread):
    """Takes one slot, says so in `order`, and holds it until it is let go."""

    def __init__(self, accounts: Accounts, account: str, stopping: threading.Event, order: list[Racer]) -> None:
        super().__init__(daemon=True)
        self.accounts, self.account, self.stopping, self.order = accounts, account, stopping, order
        self.entered, self.release = threading.Event(), threading.Event()
        self.got: bool | None = None
        self.start()

    def run(self) -> None:
        with self.accounts.slot(self.account, self.stopping) as self.got:
            self.order.append(self)
            self.entered.set()
            self.release.wait(TIMEOUT)

    def leave(self) -> None:
        self.release.set()
        self.join(TIMEOUT)


@pytest.fixture
def stopping() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def queued(accounts: Accounts, account: str, count: int) -> None:
    """Wait until `count` racers stand in the queue."""
    for _ in range(int(TIMEOUT * 100)):
        with accounts._changed:
            if len(accounts._queues.get(account, ())) == count:
                return
        threading.Event().wait(0.01)
    raise AssertionError(f"never {count} in the queue")


def test_no_more_sessions_than_the_limit_hold_an_account_and_the_first_to_come_is_the_next(stopping: threading.Event):
    accounts, order = Accounts(2), []
    racers = []
    for waiting in (0, 0, 1, 2, 3):
        racers.append(Racer(accounts, "a", stopping, order))
        if waiting:
            queued(accounts, "a", waiting)
        else:
            assert racers[-1].entered.wait(TIMEOUT)
    assert racers[:2] == order
    for number in range(3):
        racers[number].leave()
        assert racers[number + 2].entered.wait(TIMEOUT)
        assert racers[: number + 3] == order
    assert [True] * 5 == [racer.got for racer in racers]


def test_accounts_do_not_wait_for_each_other(stopping: threading.Event):
    accounts, order = Accounts(1), []
    for name in ("a", "b", "c"):
        assert Racer(accounts, name, stopping, order).entered.wait(TIMEOUT)
    Racer(accounts, "b", stopping, order)
    queued(accounts, "b", 1)
    assert 3 == len(order)


@pytest.mark.parametrize(("account", "default"), [("", 1), ("a", None)])
def test_nobody_waits_without_account_or_limit(stopping: threading.Event, account: str, default: int | None):
    accounts, order = Accounts(default), []
    racers = [Racer(accounts, account, stopping, order) for _ in range(4)]
    assert all(racer.entered.wait(TIMEOUT) and racer.got for racer in racers)


def test_who_waits_when_the_arena_stops_gets_nothing_and_holds_nothing(stopping: threading.Event):
    accounts, order = Accounts(1), []
    holder = Racer(accounts, "a", stopping, order)
    assert holder.entered.wait(TIMEOUT)
    waiting = Racer(accounts, "a", stopping, order)
    queued(accounts, "a", 1)
    stopping.set()
    assert waiting.entered.wait(TIMEOUT)
    assert (True, False) == (holder.got, waiting.got)
    waiting.leave()
    holder.leave()
    with accounts.slot("a", threading.Event()) as got:
        assert got


@pytest.mark.parametrize(("account", "default"), [("a", 1), ("a", None), ("", 1)])
def test_nothing_is_given_once_the_arena_is_stopping(stopping: threading.Event, account: str, default: int | None):
    stopping.set()
    with Accounts(default).slot(account, stopping) as got:
        assert not got


def test_a_slot_is_free_again_after_an_error(stopping: threading.Event):
    accounts = Accounts(1)

    def lose() -> None:
        with accounts.slot("a", stopping) as got:
            assert got
            raise RuntimeError("lost")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="lost"):
            lose()


def test_a_rate_limit_holds_the_whole_account_back_until_the_latest_time_named():
    accounts = Accounts(None)
    assert 0.0 == accounts.held_back("a", 100.0)
    accounts.hold_back("a", 130.0)
    accounts.hold_back("a", 110.0)
    assert (30.0, 5.0, 0.0) == tuple(accounts.held_back("a", now) for now in (100.0, 125.0, 131.0))
    assert 0.0 == accounts.held_back("b", 100.0)


def test_an_empty_account_is_nobodys_and_is_never_held_back():
    accounts = Accounts(None)
    accounts.hold_back("", 130.0)
    assert 0.0 == accounts.held_back("", 100.0)
