"""The table of a worker's slots: what a client that leaves has hung up on serves nobody after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from autoquant.scale import worker

ORDER = {"session": "one"}


class PaperSlot:
    """Answers at once; `meanwhile` happens before it does."""

    made: ClassVar[list[PaperSlot]] = []
    meanwhile: ClassVar[Callable[[], object]] = staticmethod(lambda: None)

    def __init__(self, store: Path) -> None:
        self.said: list[str] = []
        PaperSlot.made.append(self)

    def perform(self, order: dict[str, Any]) -> dict[str, Any]:
        PaperSlot.meanwhile()
        return {"kind": "answer"}

    def hang_up(self) -> None:
        self.said.append("hung up")

    def end(self) -> None:
        self.said.append("ended")


@pytest.fixture
def slots(monkeypatch: pytest.MonkeyPatch) -> worker.Slots:
    monkeypatch.setattr(worker, "SlotProcess", PaperSlot)
    monkeypatch.setattr(PaperSlot, "made", [])
    return worker.Slots()


def test_a_slot_is_used_again(slots: worker.Slots, tmp_path: Path) -> None:
    assert [{"kind": "answer"}] * 2 == [slots.perform(ORDER, tmp_path) for _ in range(2)]
    assert 1 == len(PaperSlot.made)


@pytest.mark.parametrize("leaves", ["one", "other"])
def test_a_slot_whose_client_left_while_it_answered_is_not_used_again(
    slots: worker.Slots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves: str
) -> None:
    monkeypatch.setattr(PaperSlot, "meanwhile", staticmethod(lambda: slots.leave(leaves)))
    slots.perform(ORDER, tmp_path)
    (first,) = PaperSlot.made
    assert (["hung up", "ended"] if leaves == "one" else []) == first.said
    monkeypatch.setattr(PaperSlot, "meanwhile", staticmethod(lambda: None))
    slots.perform(ORDER, tmp_path)
    assert (2 if leaves == "one" else 1) == len(PaperSlot.made)
