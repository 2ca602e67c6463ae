"""The audit: protected files of a worktree and of the arena's checkout, held against the record.

In a worktree every read-only file, the link to the repository, the TRAIN data and the referee's copies of results are
checked; inside the package also for files that were added. What differs is kept as evidence, restored, and recorded
once per change, the first few by name and the rest as a number. Strategy, scratch/, what an agent's own tools leave at
the top, bytecode and editors' swap files are nobody's business.

Three things cannot be tied to a competitor and are incidents of the race, charged to nobody: a worktree that changed
while no session of its owner ran, one that changed while others ran too without a seal, and a changed checkout. Nothing
is judged until the checkout is back as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from autoquant import files
from autoquant.arena import protected
from autoquant.arena.plain_text import plain
from autoquant.arena.referee.agent_files import AgentFolder
from autoquant.arena.referee.evidence import FILES_LIMIT, EvidenceStore
from autoquant.clock import Clock, utc_iso
from autoquant.errors import InfrastructureFault
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.ledger import Ledger
from autoquant.ledger.records import IncidentSeen, RecordBody, ViolationFound

READ_ONLY = 0o444
RECORDED_BY_NAME = 20
"""Changes of one audit that get a line each in the ledger; more are restored and counted in one line."""

Expected = Mapping[str, bytes | Path]
"""What has to stand at a path: the bytes, or the arena's own file that holds them."""


class Auditor:
    """Checks and restores; one per race.

    Parameters
    ----------
    layout, ledger, clock : of the race.
    home : the arena's checkout.
    """

    def __init__(self, layout: RaceLayout, ledger: Ledger, clock: Clock, home: Path) -> None:
        self._evidence = EvidenceStore(layout)
        self._ledger = ledger
        self._clock = clock
        self._home = home
        self._source_digests: dict[Path, str] = {}

    def worktree(
        self, folder: AgentFolder, attempt: int | None, expected: Expected, *, untied: str = ""
    ) -> tuple[ViolationFound, ...]:
        """Check one worktree, restore what differs and record it; returns what was recorded against its owner.

        Parameters
        ----------
        attempt : the one being charged, if any.
        untied : why a change cannot be tied to the owner, as "while no session of it ran"; it is an incident then.
        """
        found = [*self._restored(folder, attempt, expected), *self._removed(folder, attempt, expected)]
        if len(found) > RECORDED_BY_NAME:
            last = found[RECORDED_BY_NAME - 1]
            more = replace(last, path=f"{last.path} and {len(found) - RECORDED_BY_NAME} more")
            found = [*found[: RECORDED_BY_NAME - 1], more]
        for change in found:
            body: RecordBody = IncidentSeen(_untied(change, untied)) if untied else change
            self._ledger.append(body, utc_iso(self._clock.now()))
        return () if untied else tuple(found)

    def _restored(self, folder: AgentFolder, attempt: int | None, expected: Expected) -> Iterator[ViolationFound]:
        for path, content in sorted(expected.items()):
            before = self._digest(content)
            after = folder.digest(path, hard_links=True)
            if before == after:
                continue
            diff = self._evidence.keep(folder, path, content)
            folder.write(path, content, READ_ONLY)
            yield ViolationFound(folder.name, attempt, path, before, after, diff)

    def _removed(self, folder: AgentFolder, attempt: int | None, expected: Expected) -> Iterator[ViolationFound]:
        for number, path in enumerate(folder.walk(protected.PACKAGE, frozenset({"__pycache__"}))):
            if path not in expected and not protected.is_leftover(path):
                after = folder.digest(path)
                diff = self._evidence.keep(folder, path, b"") if number < FILES_LIMIT else ""
                folder.remove(path)
                yield ViolationFound(folder.name, attempt, plain(path, 200), "", after, diff)

    def checkout(self) -> None:
        """Hold the arena's own files against the race's first record.

        Raises
        ------
        InfrastructureFault : one differs; it is recorded as an incident, once per change.
        """
        differences = protected.verify(self._home, recorded=self._ledger.view.created.protected)
        for difference in differences:
            message = (
                f"the arena's {plain(difference.path, 200)} is {difference.kind} "
                f"({difference.before[:12] or 'nothing'} → {difference.after[:12] or 'nothing'})"
            )
            if all(incident.message != message for incident in self._ledger.view.incidents):
                self._ledger.append(IncidentSeen(message), utc_iso(self._clock.now()))
        if differences:
            raise InfrastructureFault(
                f"{differences[0].path}: the arena's own file is {differences[0].kind} since the race began",
                f"bring the checkout back (git checkout -- {differences[0].path}), then resume the race",
            )

    def _digest(self, content: bytes | Path) -> str:
        if isinstance(content, bytes):
            return files.sha256_bytes(content)
        if content not in self._source_digests:
            self._source_digests[content] = files.sha256_file(content)
        return self._source_digests[content]


def _untied(change: ViolationFound, why: str) -> str:
    was = f"({change.before[:12] or 'nothing'} → {change.after[:12] or 'nothing'})"
    return f"worktree of {change.competitor}: {change.path} changed {why} {was}; charged to nobody"
