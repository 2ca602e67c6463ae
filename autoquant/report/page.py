"""The page: the model through templates to one file that asks nothing of the network.

The style sheet is the only thing the page's policy lets a browser load, named by its hash; there is no script. The
bytes depend on the race (or journal) alone: no clock, no path of this machine.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from autoquant import amounts, files
from autoquant.errors import UserError
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.records import STATUSES
from autoquant.protocol import PROTOCOL
from autoquant.report import charts, figures, findings, frames, glyphs, journal, sealed, sources, text
from autoquant.report.collect import collect, newest_race
from autoquant.report.colour import Ink, ink
from autoquant.report.model import Attempt, Entrant, Fact, Journal, LockboxStage, Race, Tone, Work

ROWS = 3000
"""Attempts in the tables of one page; beyond that each competitor shows its accepted ones and its newest."""
LADDERS = 24
"""Competitors drawn alone."""
EVENTS = 200
OWN_FIGURE = "cli"
"""What stands in the place of a price table's day when a program said itself what it spent."""
_OPEN_ALL = 400
"""Up to so many attempts every table stands open."""


@dataclass(frozen=True)
class Drawing:
    """A chart at two widths; the style sheet shows the one that fits."""

    wide: Markup
    narrow: Markup

    @classmethod
    def of(cls, draw: Callable[[float], Markup]) -> Drawing:
        """Draw at both widths."""
        return cls(draw(frames.WIDE), draw(frames.NARROW))


def render_report(state_dir: Path, race: str | None, out: Path, *, home: Path, source: str | None = None) -> Path:
    """Write the page of a race, atomically.

    Parameters
    ----------
    state_dir : where races are kept.
    race : its name; None for the one created last. With no race at all the page shows the journal, or says what to do.
    out : file to write.
    home : checkout whose results.tsv is the journal.
    source : name of the data set up now, for the journal; a race knows its own.

    Returns
    -------
    `out`.

    Raises
    ------
    UserError : no race of that name, or `out` is a folder.
    LedgerError : the race's ledger is broken.
    InfrastructureFault : `out` cannot be written.
    """
    if out.is_dir():
        raise UserError(f"--out {out}: is a folder", "name the file to write, for example docs/index.html")
    files.atomic_write(out, page(state_dir, race, home=home, source=source))
    return out


def report_facts(state_dir: Path, race: str | None) -> dict[str, Any]:
    """What the page of a race says, for machines: standings, verdict, trust and what stands against publishing.

    `race` is null when there is none.
    """
    name = race if race is not None else newest_race(state_dir)
    if name is None:
        return {"race": None}
    model = collect(state_dir, name)
    standings = [
        {
            "rank": standing.rank,
            "competitor": standing.entrant.name,
            "score": standing.entrant.score,
            "working": standing.entrant.working_score,
            "champion": standing.entrant.champion.number if standing.entrant.champion else None,
            "keeps": standing.entrant.keeps,
            "attempts": standing.entrant.closed,
            "budget": standing.entrant.budget,
            "sealed": standing.entrant.verdict.words or None if standing.entrant.verdict else None,
            "faults": standing.entrant.faults,
            "violations": standing.entrant.violations,
            **_spent(standing.entrant.work),
        }
        for standing in findings.standings(model)
    ]
    return {
        "race": model.name,
        "source": model.source.name,
        "synthetic": model.source.synthetic,
        "seed": model.seed_score,
        "noise_floor": model.noise_floor,
        "standings": standings,
        "verdict": list(findings.verdict(model)),
        "publishable": findings.publishable(model),
        "trust": [fact.words for fact in findings.strip(model)],
        "head": model.provenance.head,
    }


def _spent(work: Work | None) -> dict[str, Any]:
    usage = work.usage if work else None
    return {
        "tokens": usage.tokens if usage else None,
        "cost_usd": usage.cost_usd if usage else None,
        "cost_per_keep_usd": work.cost_per_keep if work else None,
    }


def page(state_dir: Path, race: str | None, *, home: Path, source: str | None = None) -> str:
    """The page as text; parameters as `render_report`."""
    name = race if race is not None else newest_race(state_dir)
    if name is not None:
        return race_page(collect(state_dir, name))
    notes = journal.read_journal(home, source)
    return journal_page(notes) if notes is not None else empty_page()


def race_page(race: Race) -> str:
    """The page of a race."""
    table = findings.standings(race)
    tables, shown = _tables([standing.entrant for standing in table])
    drawable = race.seed_score is not None and bool(table)
    return _render(
        "race.html.j2",
        [ink(entrant.colour, entrant.index) for entrant in race.entrants],
        race=race,
        source=race.source,
        p=race.provenance,
        strip=findings.strip(race),
        verdict=findings.verdict(race),
        publishable=findings.publishable(race),
        notes=findings.notes(race),
        standings=table,
        domain=glyphs.fold_domain(race),
        seed_verdict=next((v for v in race.lockbox.verdicts if v.competitor is None), None),
        race_chart=Drawing.of(lambda width: charts.race_chart(race.course, width)) if drawable else None,
        ladders=[(s.entrant, charts.ladder_chart(s.entrant, race.course)) for s in table[:LADDERS]]
        if drawable and len(table) > 1
        else [],
        sealed_chart=_sealed(race),
        sealed_reason=_sealed_reason(race),
        sealed_last=(dt.date.fromisoformat(race.lockbox.end) - dt.timedelta(days=1)).isoformat(),
        roll_chart=Drawing.of(lambda width: charts.roll_chart([s.entrant for s in table], width)),
        statuses=_statuses([a for entrant in race.entrants for a in entrant.attempts]),
        tables=tables,
        rows_shown=shown,
        rows_left_out=shown < race.attempts,
        open_all=race.attempts <= _OPEN_ALL,
        events_limit=EVENTS,
        longest=max((_seconds(entrant.work) for entrant in race.entrants), default=0.0),
        tables_of_prices=sorted({d for e in race.entrants if e.work for d in e.work.priced_by if d != OWN_FIGURE}),
        blob_folder=RaceLayout(Path("demo/state" if race.demo else "state"), race.name).blob("").as_posix(),
        full_samples=PROTOCOL.calibration.samples,
        archive=sources.ARCHIVE,
        confirmed_probability=PROTOCOL.confirmed_probability,
        official_folds=PROTOCOL.ratchet.official_folds,
        search_folds=PROTOCOL.ratchet.search_folds,
        search_delta=PROTOCOL.ratchet.search_delta,
    )


def journal_page(notes: Journal) -> str:
    """The page of a standalone journal."""
    scored = any(attempt.score is not None for attempt in notes.entrant.attempts)
    strip = (
        Fact(notes.source.words, Tone.BAD if notes.source.banner else Tone.PLAIN, notes.source.banner),
        Fact("standalone", Tone.WARN, "rows can be edited by whoever runs the commands"),
        Fact(text.count(len(notes.entrant.attempts), "experiment")),
    )
    return _render(
        "journal.html.j2",
        [ink("", 0)],
        journal=notes,
        source=notes.source,
        strip=strip,
        verdict=journal.verdict(notes),
        journal_chart=Drawing.of(lambda width: charts.race_chart(notes.course, width)) if scored else None,
        statuses=_statuses(notes.entrant.attempts),
        attempts=notes.entrant.attempts[-ROWS:],
        protocol_version=PROTOCOL.version,
        protocol_digest=PROTOCOL.digest,
    )


def empty_page() -> str:
    """The page of a checkout where nothing has run."""
    return _render("empty.html.j2", [], source=sources.describe(sources.ARCHIVE))


def _render(template: str, inks: Sequence[Ink], **context: Any) -> str:
    environment = _environment()
    style = Markup(environment.get_template("style.css.j2").render(inks=inks))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template).render(style=style, style_hash=f"sha256-{digest}", **context)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "about": _about,
        "count": text.count,
        "dollars": amounts.dollars,
        "duration": amounts.duration,
        "fixed": text.fixed,
        "fold_bars": glyphs.fold_bars,
        "fold_strip": glyphs.fold_strip,
        "moment": text.moment,
        "percent": text.percent,
        "short": text.short,
        "status_key": glyphs.status_key,
        "swatch": _swatch,
        "time_bar": glyphs.time_bar,
        "tokens": amounts.tokens,
        "whole": _whole,
    }
    return environment


def _seconds(work: Work | None) -> float:
    return (work.agent_seconds or 0.0) + (work.infrastructure_seconds or 0.0) if work else 0.0


def _about(entrant: Entrant) -> str:
    kind = "control, no skill" if entrant.control else entrant.harness
    return " · ".join(part for part in (kind, entrant.model, entrant.effort) if part)


def _whole(sentence: str) -> Markup:
    """Words with a hyphen in one piece where the line allows it."""
    words = (f'<span class="whole">{escape(word)}</span>' if "-" in word else escape(word) for word in sentence.split())
    return Markup(" ").join(Markup(word) for word in words)


def _swatch(index: int) -> Markup:
    body = figures.marker(index, 6.0, 6.0, "mark")
    return figures.tag(
        "svg", body, viewBox="0 0 12 12", width="12", height="12", aria_hidden="true", class_=f"a{index}"
    )


def _statuses(attempts: Sequence[Attempt]) -> list[tuple[str, int]]:
    words = [attempt.status or "open" for attempt in attempts]
    return [(status, words.count(status)) for status in (*STATUSES, "open") if status in words]


def _tables(entrants: Sequence[Entrant]) -> tuple[list[tuple[Entrant, list[Attempt]]], int]:
    """Rows per competitor, oldest first, and how many in all."""
    quota = max(1, ROWS // max(1, len(entrants)))
    tables: list[tuple[Entrant, list[Attempt]]] = []
    for entrant in entrants:
        rows = list(entrant.attempts)
        if sum(len(e.attempts) for e in entrants) > ROWS and len(rows) > quota:
            ranked = sorted(rows, key=lambda a: (a.status not in ("keep", "search", "archive"), -a.number))
            rows = sorted(ranked[:quota], key=lambda a: a.number)
        tables.append((entrant, rows))
    return tables, sum(len(rows) for _, rows in tables)


def _sealed(race: Race) -> Drawing | None:
    if race.lockbox.stage is LockboxStage.SEALED:
        ended = sum(entrant.ended is not None for entrant in race.entrants)
        words = f"Sealed: {ended} of {text.count(len(race.entrants), 'competitor')} done."
        return Drawing.of(lambda width: sealed.sealed_empty(race, width, words))
    if not any(verdict.daily_returns for verdict in race.lockbox.verdicts):
        return None
    return Drawing.of(lambda width: sealed.sealed_chart(race, width))


def _sealed_reason(race: Race) -> str:
    reasons = sorted({verdict.missing for verdict in race.lockbox.verdicts if verdict.missing})
    return text.listing(reasons) or "the reserved set is empty"
