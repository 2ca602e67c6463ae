"""The lockbox opens once, whatever dies, whoever else opens, and wherever a copy of the race stands. X21."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))  # the job of `every_death` loads this file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from killing import every_death
from referee_world import SEED_TEXT, evaluate, text

from autoquant import files
from autoquant.arena.lockbox import Opening, open_once
from autoquant.arena.referee.standing import SEED
from autoquant.clock import SystemClock
from autoquant.errors import DataError, InfrastructureFault, LedgerError, UserError
from autoquant.ledger import records as r
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger, read_records
from autoquant.oracle.records import Evaluation

UTC = "2026-11-30T00:00:00Z"
NEW = text(0.9)
BY = r.OpenedBy("p", "c", {"python": "3.11"})


@dataclass(frozen=True)
class FakeRecord:
    panel: str = "p"
    accept_changed: bool = False


@dataclass(frozen=True)
class FakeData:
    record: FakeRecord = FakeRecord()


@dataclass
class Sealed:
    """A sealed period on paper: it is fetched into a file of the race, as the real one is."""

    layout: RaceLayout
    pause: float = 0.0
    judged: list[str] = field(default_factory=list)

    def fetch(self) -> FakeData:
        assert Ledger.open(self.layout.ledger).view.lockbox.is_reserved
        files.atomic_write(self.layout.lockbox / "lockbox.npy", b"bars")
        return FakeData()

    def judge(self, source: bytes, data: FakeData, entry: r.LockboxEntry) -> Evaluation:
        self.judged.append(entry.name)
        time.sleep(self.pause)
        told = evaluate(source)
        return replace(told, folds=told.folds[:1], daily_returns=told.daily_returns[:1])

    def opening(self, **changes: object) -> Opening:
        facts: dict[str, object] = {
            "fetch": self.fetch,
            "judge": self.judge,
            "refer": {"market": lambda data: evaluate(text(0.4))},
            "accept_changed": False,
            "by": BY,
        }
        return Opening(**(facts | changes))  # type: ignore[arg-type]


def layout_of(folder: Path) -> RaceLayout:
    return RaceLayout(folder / "state", "autumn")


def end_a_race(folder: Path) -> RaceLayout:
    """A record whose two competitors have ended: a control that kept, one that has kept the seed."""
    layout, seed = layout_of(folder), files.sha256_bytes(SEED_TEXT)
    for source in (SEED_TEXT, NEW):
        files.atomic_write(layout.blob(files.sha256_bytes(source)), source)
    files.atomic_write(layout.evaluation(SEED, 0), b"{}")
    ledger = Ledger.open(layout.ledger)
    pin = r.DataPin("synthetic", "m", "t", "v")
    bodies: list[r.RecordBody] = [
        r.RaceCreated("autumn", "demo", "p", {}, "c", pin, 0.3, 9, "n", "s", seed, 2, None, "tamper-evident")
    ]
    for name in ("alice", "bob"):
        bodies.append(r.CompetitorJoined(name, "control", None, None, "#112233", 2))
    bodies += [
        r.AttemptOpened("alice", 1, "q", files.sha256_bytes(NEW), "", 0),
        r.AttemptClosed("alice", 1, "keep", 0.9, 0.8, None, None),
        r.CompetitorEnded("alice", "done"),
        r.CompetitorEnded("bob", "done"),
    ]
    for body in bodies:
        ledger.append(body, UTC)
    return layout


def open_it(layout: RaceLayout, **changes: object) -> Sealed:
    sealed = Sealed(layout)
    open_once(layout, Ledger.open(layout.ledger), sealed.opening(**changes), SystemClock())
    return sealed


def bodies_of(layout: RaceLayout) -> list[r.RecordBody]:
    return [record.body for record in read_records(layout.ledger)]


def job(folder: Path, acknowledge: Callable[[str], None]) -> None:
    """Open the lockbox of a race, or go on with it."""
    layout = layout_of(folder)
    if not Ledger.open(layout.ledger).view.lockbox.is_closed:
        open_it(layout)
    acknowledge("closed")


def test_killed_at_any_write_it_ends_with_the_same_record(tmp_path: Path):
    """INV-15, X21: torn lines and half files included; one reservation, one verdict each, the same bytes on disk."""
    start, calm = tmp_path / "start", tmp_path / "calm"
    start.mkdir()
    end_a_race(start)
    shutil.copytree(start, calm)
    open_it(layout_of(calm))
    whole = bodies_of(layout_of(calm))
    kept = {path.name: path.read_bytes() for path in layout_of(calm).lockbox.rglob("*.json")}
    deaths = 0
    (tmp_path / "runs").mkdir()
    for death in every_death(__file__, "job", tmp_path / "runs", moments=("half",), start=start):
        layout = layout_of(death.folder)
        before = Ledger.open(layout.ledger).view.lockbox
        fetched = (layout.lockbox / "lockbox.npy").exists()
        assert before.is_reserved or not fetched, "no sealed byte before the set is on record"
        job(death.folder, lambda words: None)
        assert whole == bodies_of(layout)
        assert kept == {path.name: path.read_bytes() for path in layout.lockbox.rglob("*.json")}
        deaths += 1
    assert 40 < deaths


def test_two_processes_at_once_open_it_once(tmp_path: Path):
    """INV-15, X21: by the race's lock; who comes second is told in one line."""
    layout = end_a_race(tmp_path)
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}\n"
        "from test_lockbox_deaths import *\n"
        "from autoquant.arena.lockbox import require_openable\n"
        f"layout = layout_of(Path({str(tmp_path)!r}))\n"
        "try:\n"
        "    with files.exclusive_lock(layout.lock, 'the first'):\n"
        "        ledger = Ledger.open(layout.ledger)\n"
        "        open_once(layout, ledger, Sealed(layout, pause=0.3).opening(), SystemClock())\n"
        "except UserError as error:\n"
        "    print(error.message); raise SystemExit(error.exit_code)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [one.communicate()[0] for one in both]
    assert [0, 2] == sorted(one.returncode for one in both)
    assert any(words in "".join(said) for words in ("held by the first", "it opens once"))
    kinds = [record.kind for record in read_records(layout.ledger)]
    assert 1 == kinds.count("lockbox_reserved") == kinds.count("lockbox_closed")


def test_without_a_lock_the_second_writer_is_stopped_by_the_chain(tmp_path: Path):
    """X21: somebody removed the lock file, so that both believe they are alone."""
    layout = end_a_race(tmp_path)
    second = Ledger.open(layout.ledger)
    open_it(layout)
    with pytest.raises(LedgerError, match="does not end with the record this arena wrote last"):
        open_once(layout, second, Sealed(layout).opening(), SystemClock())
    assert 1 == [record.kind for record in read_records(layout.ledger)].count("lockbox_reserved")


@pytest.mark.parametrize("lost", ["lockbox", "lockbox/lockbox.npy", "lockbox/evaluations", "evaluations"])
def test_what_is_deleted_afterwards_does_not_open_it_again(tmp_path: Path, lost: str):
    """X21: the record alone says that it was opened."""
    layout = end_a_race(tmp_path)
    open_it(layout)
    gone = layout.root / lost
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
    with pytest.raises(UserError, match="it opens once"):
        open_it(layout)


def test_a_copy_of_the_race_opens_to_the_same_set_and_the_same_verdicts(tmp_path: Path):
    """X21: a copy made before cannot be stopped, but it has no second chance: set, masks and bytes are the same."""
    original = end_a_race(tmp_path / "original")
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    open_it(original)
    copy = layout_of(tmp_path / "copy")
    open_it(copy)
    assert bodies_of(original) == bodies_of(copy)
    shutil.copytree(tmp_path / "original", tmp_path / "later")
    with pytest.raises(UserError, match="it opens once"):
        open_it(layout_of(tmp_path / "later"))


def test_a_sealed_folder_of_another_race_is_not_taken(tmp_path: Path):
    layout = end_a_race(tmp_path)

    def cut(*_: object) -> Evaluation:
        raise InfrastructureFault("disk: full")

    with pytest.raises(InfrastructureFault):
        open_it(layout, judge=cut)
    with pytest.raises(LedgerError, match="holds another sealed period than the race's record names"):
        open_it(layout, fetch=lambda: FakeData(FakeRecord("another")))


def test_a_dead_network_leaves_a_reserved_set_and_the_same_command_goes_on(tmp_path: Path):
    layout = end_a_race(tmp_path)

    def dead() -> FakeData:
        raise InfrastructureFault("http://127.0.0.1:9: no answer")

    for _ in range(2):
        with pytest.raises(InfrastructureFault):
            open_it(layout, fetch=dead)
        box = Ledger.open(layout.ledger).view.lockbox
        assert (True, None, {}) == (box.is_reserved, box.fetched, box.scores)
    open_it(layout)
    assert Ledger.open(layout.ledger).view.lockbox.is_closed


def test_a_changed_archive_is_refused_until_it_is_accepted_and_that_is_on_record(tmp_path: Path):
    layout = end_a_race(tmp_path)

    def changed() -> FakeData:
        raise DataError("BTCUSDT-2025-07.zip: changed since set-up, pinned aa, got bb")

    with pytest.raises(DataError):
        open_it(layout, fetch=changed)
    open_it(layout, accept_changed=True, fetch=lambda: FakeData(FakeRecord(accept_changed=True)))
    fetched = Ledger.open(layout.ledger).view.lockbox.fetched
    assert fetched is not None
    assert (True, True) == (fetched.accept_changed, fetched.data["accept_changed"])


def test_the_record_says_when_it_was_opened_by_which_program_on_which_bytes(tmp_path: Path):
    """INV-37."""
    layout = end_a_race(tmp_path)
    open_it(layout)
    told = {record.kind: record for record in read_records(layout.ledger)}
    reserved, fetched = told["lockbox_reserved"], told["lockbox_fetched"]
    assert isinstance(reserved.body, r.LockboxReserved)
    assert BY == reserved.body.by
    assert isinstance(fetched.body, r.LockboxFetched)
    assert "p" == fetched.body.data["panel"]
    assert reserved.utc <= fetched.utc <= told["lockbox_closed"].utc
    assert reserved.seq < fetched.seq < told["lockbox_reference"].seq < told["lockbox_closed"].seq
