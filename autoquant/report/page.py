"""The page of a race, of a standalone journal, or of a checkout where nothing has run.

The bytes depend on the race (or journal) alone: no clock, no path of this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoquant import bulk, files
from autoquant.errors import UserError
from autoquant.executor import Executor
from autoquant.protocol import PROTOCOL
from autoquant.report import charts, findings, journal, rows, sources, text, trust
from autoquant.report.colour import ink
from autoquant.report.evidence import Studied, study
from autoquant.report.facts import facts_of
from autoquant.report.frames import Drawing
from autoquant.report.graded import graded_of
from autoquant.report.model import Fact, Journal, Tone
from autoquant.report.panels import (
    attempts,
    course,
    discovery,
    graded,
    provenance,
    resemblance,
    sealed,
    standings,
    sure,
    work,
)
from autoquant.report.render import render
from autoquant.report.scene import Scene
from autoquant.report.scriptdata import script_data
from autoquant.report.watch import SECONDS


@dataclass(frozen=True, eq=False)
class Drawn:
    """A page that was written, and the race it shows."""

    path: Path
    studied: Studied | None
    """None for the page of a journal, and for one that says what to do."""

    @property
    def facts(self) -> dict[str, Any]:
        """What the page says, for machines."""
        return facts_of(self.studied)


@bulk.uncollected()
def render_report(
    state_dir: Path,
    race: str | None,
    out: Path,
    *,
    home: Path,
    source: str | None = None,
    watched: bool = False,
    executor: Executor | None = None,
) -> Drawn:
    """Write the page of a race, atomically.

    Parameters
    ----------
    state_dir : where races are kept.
    race : its name; None for the one created last. With no race at all the page shows the journal, or says what to do.
    out : file to write.
    home : checkout whose results.tsv is the journal.
    source : name of the data set up now, for the journal; a race knows its own.
    watched : it is drawn again every minute, so an open page takes its new version until everybody has ended.
    executor : where the looks into each search run; None takes this machine's cores.

    Raises
    ------
    UserError : no race of that name, or `out` is a folder.
    LedgerError : the race's ledger is broken.
    InfrastructureFault : `out` cannot be written.
    """
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder", "name the file to write, for example docs/index.html")
    studied = study(state_dir, race, executor)
    files.atomic_write(out, _page(studied, home, source, watched))
    return Drawn(out, studied)


@bulk.uncollected()
def page(state_dir: Path, race: str | None, *, home: Path, source: str | None = None, watched: bool = False) -> str:
    """The page as text; parameters as `render_report`."""
    return _page(study(state_dir, race), home, source, watched)


def _page(studied: Studied | None, home: Path, source: str | None, watched: bool) -> str:
    if studied is not None:
        return race_page(studied, watched=watched)
    notes = journal.read_journal(home, source)
    reload = SECONDS if watched else None
    return journal_page(notes, reload) if notes is not None else empty_page(reload)


def race_page(studied: Studied, *, watched: bool = False) -> str:
    """The page of a race."""
    collected, evidence = studied.collected, studied.evidence
    race = collected.race
    table = findings.standings(race, evidence.ranking)
    data = script_data(race, watched=watched)
    return render(
        "race.html.j2",
        [ink(entrant.colour, entrant.index) for entrant in race.entrants],
        data=data,
        reload=data["reload"],
        **_together(
            {
                "race": race,
                "source": race.source,
                "strip": trust.strip(race),
                "verdict": findings.verdict(race, evidence),
                "publishable": trust.publishable(race),
                "notes": trust.notes(race),
                "standings": table,
            },
            standings.context(race, table, evidence),
            course.context(race, table),
            sealed.context(race, table),
            sure.context(race, table, evidence),
            attempts.context(collected, table),
            discovery.context(race, table),
            resemblance.context(race, collected.returns, table),
            graded.context(graded_of(collected.layout.state, race)),
            work.context(race),
            provenance.context(race),
        ),
    )


def _together(*parts: dict[str, Any]) -> dict[str, Any]:
    """One context of many; no panel may speak over another."""
    names = [name for part in parts for name in part]
    if len(names) > len(set(names)):
        raise ValueError(f"two panels use one name: {sorted(n for n in set(names) if names.count(n) > 1)}")
    return {name: value for part in parts for name, value in part.items()}


def journal_page(notes: Journal, reload: int | None = None) -> str:
    """The page of a standalone journal."""
    scored = any(attempt.score is not None for attempt in notes.entrant.attempts)
    scene = Scene.of(notes.course)
    strip = (
        Fact(notes.source.words, Tone.BAD if notes.source.banner else Tone.PLAIN, notes.source.banner),
        Fact("standalone", Tone.WARN, "rows can be edited by whoever runs the commands"),
        Fact(text.count(len(notes.entrant.attempts), "experiment")),
    )
    return render(
        "journal.html.j2",
        [ink("", 0)],
        reload=reload,
        journal=notes,
        source=notes.source,
        strip=strip,
        verdict=journal.verdict(notes),
        journal_chart=Drawing.of(lambda width: charts.race_chart(scene, width)) if scored else None,
        statuses=attempts.statuses(notes.entrant.attempts),
        attempts=rows.journal_rows(notes.entrant),
        protocol_version=PROTOCOL.version,
        protocol_digest=PROTOCOL.digest,
    )


def empty_page(reload: int | None = None) -> str:
    """The page of a checkout where nothing has run."""
    return render("empty.html.j2", [], reload=reload, source=sources.describe(sources.ARCHIVE))
