"""The append-only record of a race: JSON lines, hash-chained, one write and one fsync each.

    ledger = Ledger.open(path)              # verifies the chain and the rules of a race
    ledger.append(AttemptOpened(...), utc)  # returns when it is on disk
    ledger.view                             # the race as it stands

One process writes (the arena holds the race's lock); readers use `read_records`, which changes nothing.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from autoquant import bulk, files
from autoquant.errors import LedgerError
from autoquant.ledger.chain import Chain, read_chain
from autoquant.ledger.course import Course
from autoquant.ledger.lines import seal
from autoquant.ledger.places import nameless
from autoquant.ledger.records import GENESIS, Record, RecordBody
from autoquant.ledger.replay import Replayer
from autoquant.ledger.views import RaceView


class Ledger:
    """An open ledger. Use `Ledger.open`; safe to share between threads.

    The head (size of the file and bytes of its last line) is kept in memory and compared with the disk before each
    append, so that a file altered behind the arena's back is never built upon.
    """

    def __init__(self, path: Path, chain: Chain, notices: tuple[str, ...]) -> None:
        self.path = path
        self.notices = notices
        """What `open` had to mend, one line each."""
        self._length = len(chain.records)
        self._head = chain.records[-1].digest if chain.records else GENESIS
        self._course = Course()
        self._size = chain.size
        self._last_line = chain.last_line
        self._lock = threading.RLock()
        self._nameless = nameless(path, Path(os.path.expanduser("~")))
        self._replayer = Replayer(str(path))
        self._replayer.apply_all(chain.records)
        for record in chain.records:
            self._course.add(record)

    @classmethod
    def open(cls, path: Path) -> Ledger:
        """Verify the ledger at `path` (missing: an empty one) and make it ready for appending.

        A torn last line is cut off durably; a last line that lacks only its newline gets it. Both leave a notice.

        Raises
        ------
        LedgerError : the chain or a rule of the race is broken; names file and line. Nothing is changed then.
        InfrastructureFault : the disk refused the mending.
        """
        with bulk.uncollected():
            chain = read_chain(path)
            ledger = cls(path, chain, ())
        number = len(chain.records)
        if chain.torn_bytes:
            ledger.notices = (f"{path}:{number + 1}: dropped a torn last line of {chain.torn_bytes} bytes",)
            try:
                files.truncate(path, chain.size)
            except OSError as error:
                raise files.disk_fault(path, error) from error
        elif chain.lacks_newline:
            ledger.notices = (f"{path}:{number}: the last line lacked its newline",)
            files.append_line(path, "")
            ledger._size += 1
        if chain.records:
            files.sync_folder(path.parent)
        return ledger

    @property
    def course(self) -> tuple[Record, ...]:
        """The records that tell how the race went, without its attempts' own: see `Course`."""
        with self._lock:
            return self._course.records

    @property
    def length(self) -> int:
        """Records so far."""
        with self._lock:
            return self._length

    @property
    def head(self) -> str:
        """Digest of the last record; 64 zeros for an empty ledger."""
        with self._lock:
            return self._head

    @property
    def view(self) -> RaceView:
        """The race after the last record."""
        with self._lock:
            return self._replayer.view()

    def append(self, body: RecordBody, utc: str) -> Record:
        """Add one record; on disk when this returns. Constant time in the ledger's length.

        Its texts lose this machine's places (`ledger.places`): the record returned is the one that was written.

        Raises
        ------
        LedgerError : the body breaks a rule of the race or is ill-typed, or the file no longer ends with the head
            kept in memory. Nothing is written then.
        InfrastructureFault : the disk refused; the file is as before and a later append works.
        """
        with self._lock:
            record, line = seal(self._nameless(body), seq=self._length + 1, utc=utc, previous=self.head)
            self._replayer.check(record)
            self._check_head()
            files.append_line(self.path, line)
            self._last_line = line.encode()
            self._size += len(self._last_line) + 1
            self._length += 1
            self._head = record.digest
            self._replayer.apply(record)
            self._course.add(record)
            return record

    def check_head(self) -> None:
        """Compare the file's size and last line with the head kept in memory.

        Raises
        ------
        LedgerError : the file was changed by something else than this ledger.
        """
        with self._lock:
            self._check_head()

    def _check_head(self) -> None:
        expected = self._last_line + b"\n" if self._last_line else b""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            size, tail = 0, b""
        except OSError as error:
            raise LedgerError(f"{self.path}: {error.strerror or error}", "check that the file can be read") from error
        else:
            try:
                size = os.fstat(descriptor).st_size
                tail = os.pread(descriptor, len(expected), max(0, size - len(expected)))
            finally:
                os.close(descriptor)
        if size != self._size or tail != expected:
            raise LedgerError(
                f"{self.path}:{self._length}: the file does not end with the record this arena wrote last",
                "something else wrote to it: stop the arena and hold the ledger against a backup",
            )


def read_records(path: Path) -> tuple[Record, ...]:
    """Every whole record of the ledger at `path`, verified; the file stays as it is (another process may write it).

    Raises
    ------
    LedgerError : the chain is broken; names file and line.
    """
    return read_chain(path).records
