"""Put every question to a bundle, or to a race, and answer for each: it holds, it is false, or it was not checked."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from autoquant import files
from autoquant.environment import differing, environment_here
from autoquant.errors import InfrastructureFault, UserError
from autoquant.executor import Executor, LocalPool, default_jobs
from autoquant.ledger.layout import RaceLayout
from autoquant.ledger.races import race_names
from autoquant.ledger.views import RaceView
from autoquant.protocol import PROTOCOL
from autoquant.verify import evidence as ev
from autoquant.verify.bundle import Bundle
from autoquant.verify.commit_checks import check_commits
from autoquant.verify.data import sealed_panel, valid_panel
from autoquant.verify.decisions import check_decisions
from autoquant.verify.evidence import Evidence, StateEvidence
from autoquant.verify.record_checks import (
    TASKS,
    Story,
    check_chain,
    check_code,
    check_end,
    check_files,
    check_ground,
)
from autoquant.verify.records import Check, State, Verification, outcome
from autoquant.verify.reevaluate import check_again, check_floor, sealed_work, valid_work
from autoquant.verify.sealed_checks import check_lockbox, fetched_record
from autoquant.verify.work import Evaluator, evaluate

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
VALID_AGAIN, SEALED_AGAIN = "evaluations", "sealed evaluations"


@contextlib.contextmanager
def quietly(title: str) -> Iterator[Callable[[int, int], None]]:
    """No progress is shown."""
    yield lambda done, total: None


@contextlib.contextmanager
def local(jobs: int) -> Iterator[Executor]:
    """Worker processes on this machine."""
    with LocalPool("processes", jobs) as pool:
        yield pool


@dataclass(frozen=True)
class VerifyOptions:
    """What `verify` was asked for.

    Parameters
    ----------
    home : this checkout.
    data_root : the verifier's own data.
    full : evaluate every attempt again, not the accepted ones alone.
    sealed_dir : where the sealed period is, or is fetched to.
    head : digest that a line of the record has to have, as a published page names it.
    jobs : cores to use.
    evaluator, pool : how the work is done; another machine's workers fit as well.
    """

    home: Path
    data_root: Path
    full: bool = False
    sealed_dir: Path | None = None
    head: str | None = None
    jobs: int | None = None
    evaluator: Evaluator = evaluate
    pool: Callable[[int], AbstractContextManager[Executor]] = local
    progress: Progress = quietly


def verify_what(what: str, state: Path, options: VerifyOptions) -> Verification:
    """Verify a bundle file, else the race of that name below `state`.

    Raises
    ------
    UserError : neither is there, or the file is no bundle.
    """
    path = Path(what)
    if path.is_file():
        return verify_bundle(path, options)
    known: list[str] = []
    for root in (state, state / "tasks"):
        names = race_names(root)
        if what in names:
            return verify_state(RaceLayout(root, what), options)
        known += names
    there = f"races there: {', '.join(known)}; " if known else ""
    raise UserError(
        f"{what or repr(what)}: neither a bundle file nor a race below {state}",
        f"{there}arena.py export FILE makes a bundle of a race",
    )


def verify_bundle(path: Path, options: VerifyOptions) -> Verification:
    """Verify a file from anybody.

    Raises
    ------
    UserError : not a bundle, or one that no export makes.
    """
    with Bundle.open(path) as bundle:
        contents, digest = bundle.contents(), files.sha256_file(path)
        words = f"{len(bundle.names())} pieces as contents.json lists them; sha256 of the file {digest}"
        pieces = outcome("bundle", bundle.problems(), words)
        story, checks = _all_checks(bundle, options, ended=True)
    name = story.view.created.race if story else contents.race if contents else None
    return _answer("bundle", digest, name, story, (pieces, *checks), options)


def verify_state(layout: RaceLayout, options: VerifyOptions) -> Verification:
    """Verify a race in its own folder, also one that goes on."""
    evidence = StateEvidence(layout, options.home, options.data_root)
    story, checks = _all_checks(evidence, options, ended=False)
    return _answer("state", None, layout.race, story, checks, options)


def record_checks(evidence: Evidence, *, ended: bool) -> tuple[Story | None, tuple[Check, ...]]:
    """What can be said without evaluating or deciding anything: record, files, first record.

    Parameters
    ----------
    ended : whether a record that goes on is false, or merely not finished.
    """
    chain, rules, story = check_chain(evidence)
    if story is None:
        return None, (chain, rules)
    if isinstance(evidence, StateEvidence):
        evidence.began_with(story.view.created)
    return story, (
        chain,
        rules,
        check_end(story, required=ended),
        _guarded("files", lambda: check_files(evidence, story.view)),
        _guarded("first record", lambda: check_ground(evidence, story.view)),
    )


def _all_checks(evidence: Evidence, options: VerifyOptions, *, ended: bool) -> tuple[Story | None, tuple[Check, ...]]:
    story, checks = record_checks(evidence, ended=ended)
    if story is None:
        return None, (*checks, Check("the rest", State.NOT_DONE, "nothing can be asked of a broken record"))
    view = story.view
    exact = not differing(_environment(evidence, view), environment_here())
    checks = (*checks, *_head(story, options), check_code(view, options.home))
    if view.created.kind == TASKS:
        return story, (*checks, *_graded(evidence, view))
    seeds: list[str | None] = []

    def commits() -> Check:
        check, seed = check_commits(evidence, view)
        seeds.append(seed)
        return check

    def decisions() -> Check:
        return check_decisions(evidence, view, seeds[0] if seeds else None, exact=exact)

    return story, (
        *checks,
        _guarded("commits", commits),
        _guarded("decisions", decisions),
        _guarded("lockbox", lambda: check_lockbox(evidence, story, exact=exact)),
        *_again(evidence, view, options, exact=exact),
    )


def _guarded(name: str, ask: Callable[[], Check]) -> Check:
    """A check of a stranger's bytes: what no honest race can hold is false, whatever it breaks here."""
    try:
        return ask()
    except InfrastructureFault as error:
        return outcome(name, [error.message], "")
    except (
        ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError, ArithmeticError, RecursionError,
    ) as error:  # fmt: skip
        return outcome(name, [f"cannot be asked: the record holds what no race writes ({error})"], "")


def _again(evidence: Evidence, view: RaceView, options: VerifyOptions, *, exact: bool) -> Iterator[Check]:
    cores = options.jobs or default_jobs()
    if view.created.protocol != PROTOCOL.digest:
        yield Check(VALID_AGAIN, State.NOT_DONE, "the race ran under another protocol than this checkout's")
        return
    if evidence.read(ev.SECRET) is None:
        yield Check(VALID_AGAIN, State.NOT_DONE, "without the race's secret no mask can be drawn again")
        return
    found = valid_panel(evidence, view, options.data_root)
    with options.pool(cores) as executor:
        if found.panel is None:
            yield Check(VALID_AGAIN, State.NOT_DONE, found.missing)
        else:
            yield check_floor(evidence, view, found.panel, executor, options.evaluator, jobs=cores)
            work = valid_work(evidence, view, found.panel, full=options.full, jobs=1)
            words = ": the seed and every " + ("attempt that was run" if options.full else "accepted attempt")
            with options.progress("attempts again") as update:
                yield check_again(
                    VALID_AGAIN, work, executor, options.evaluator, exact=exact, words=words, on_progress=update
                )
        record = None if view.lockbox.fetched is None else fetched_record(view.lockbox.fetched.data)
        if record is None or not view.lockbox.is_closed:
            yield Check(SEALED_AGAIN, State.NOT_DONE, "the lockbox is not open")
            return
        with options.progress("sealed archives") as update:
            sealed = sealed_panel(evidence, view, record, options.data_root, options.sealed_dir, update)
        if sealed.panel is None:
            yield Check(SEALED_AGAIN, State.NOT_DONE, sealed.missing)
            return
        share = max(1, cores // max(1, len(view.lockbox.entries or ())))
        with options.progress("sealed year again") as update:
            yield check_again(
                SEALED_AGAIN,
                sealed_work(evidence, view, sealed.panel, jobs=share),
                executor,
                options.evaluator,
                exact=exact,
                words=": every entry of the lockbox, and the market",
                on_progress=update,
            )


def _head(story: Story, options: VerifyOptions) -> tuple[Check, ...]:
    if options.head is None:
        return ()
    at = next((one.seq for one in story.records if one.digest.startswith(options.head)), None)
    problems = [f"no line of the record has the digest {options.head}"] if at is None or len(options.head) < 8 else []
    return (outcome("published head", problems, f"line {at} of {len(story.records)}"),)


def _graded(evidence: Evidence, view: RaceView) -> Iterator[Check]:
    """Of the graded track: scores are the grades' own. Grading again is the tasks' room's work."""
    problems, count = [], 0
    for name, racer in view.competitors.items():
        for seen in racer.closed:
            count += 1
            try:
                grade = json.loads(evidence.read(ev.evaluation(name, seen.attempt)) or b"null")
                told = (grade["score"], grade["final"], grade["task"])
            except (ValueError, TypeError, KeyError, RecursionError):
                told = (None, None, None)
            if told != (seen.score, seen.final, racer.joined.task):
                problems.append(f"{name} step {seen.attempt}: score {seen.score} on record, {told[0]} in its grade")
    yield outcome("grades", problems, f"{count} steps have the score of their grade")
    yield Check(
        "grading again",
        State.NOT_DONE,
        "not part of this command: arena.py tasks grade FILE --task NAME grades a file of strategies/ on your own bars",
    )


def _environment(evidence: Evidence, view: RaceView) -> dict[str, str]:
    """What the race ran in: on record since this is recorded, before that what the bundle says."""
    if view.created.environment:
        return view.created.environment
    try:
        told = json.loads(evidence.read(ev.ENVIRONMENT) or b"{}")
        return {str(key): str(value) for key, value in told.items()}
    except (ValueError, AttributeError, RecursionError):
        return {}


def _answer(
    where: str, digest: str | None, name: str | None, story: Story | None, checks: tuple[Check, ...],
    options: VerifyOptions,
) -> Verification:  # fmt: skip
    return Verification(
        race=name,
        where=where,
        digest=digest,
        head=story.view.head if story else None,
        length=story.view.length if story else None,
        full=options.full,
        checks=checks,
        environment=environment_here(),
    )
