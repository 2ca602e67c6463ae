"""Are the accepted commits the recorded strategies? Each is encoded again from the record; its id must come out."""

from __future__ import annotations

from collections.abc import Iterator

from autoquant import files
from autoquant.errors import UserError
from autoquant.ledger.commits import (
    STRATEGY,
    archive_ref,
    attempt_message,
    branch,
    encode_commit,
    moves_tip,
    seed_message,
    unix,
)
from autoquant.ledger.views import CompetitorView, RaceView
from autoquant.verify import evidence as ev
from autoquant.verify.evidence import Evidence
from autoquant.verify.gitpack import Commits, read_commits
from autoquant.verify.record_checks import TASKS
from autoquant.verify.records import Check, State, outcome

_UNLISTED = (STRATEGY, ".gitignore", ev.PROTECTED)
"""Files of a commit that protected.sha256 does not name."""


def check_commits(evidence: Evidence, view: RaceView) -> tuple[Check, str | None]:
    """Every accepted attempt is a commit of its own bytes on the tip before it; also the id of the seed's commit."""
    name = "commits"
    if view.created.kind == TASKS:
        return Check(name, State.OK, "the graded track commits nothing"), None
    content = evidence.read(ev.COMMITS)
    accepted = [a for racer in view.competitors.values() for a in racer.closed if a.accepted]
    if content is None:
        missing = [f"{ev.COMMITS}: missing, though {len(accepted)} attempts were accepted"] if accepted else []
        return outcome(name, missing, "nothing was accepted, and no repository is there"), None
    try:
        commits = read_commits(content)
    except UserError as error:
        return outcome(name, [error.message], ""), None
    seed, problems = _seed(commits, evidence, view)
    if seed is not None:
        base = commits.files(seed)
        problems += _tree_problems(base, view)
        for racer in view.competitors.values():
            problems += _racer_problems(commits, evidence, view, racer, seed, base)
        problems += _stray_refs(commits, view, seed)
    text = f"{len(accepted)} accepted attempts are commits of their own bytes, in order"
    return outcome(name, problems, text), seed


def _seed(commits: Commits, evidence: Evidence, view: RaceView) -> tuple[str | None, list[str]]:
    """The orphan commit that is encoded from the seed's bytes and the files beside it."""
    source = evidence.read(ev.strategy(view.created.seed_strategy)) or b""
    orphans = [name for name, (kind, _) in commits.objects.items() if kind == "commit" and not _parents(commits, name)]
    if len(orphans) != 1:
        return None, [f"{ev.COMMITS}: {len(orphans)} commits have no parent, and the seed alone has none"]
    contents = {**commits.files(orphans[0]), STRATEGY: source}
    if encode_commit(contents, None, seed_message(view.created.race), unix(view.created_utc)).id != orphans[0]:
        return None, [f"{ev.COMMITS}: no commit is the seed of race {view.created.race}"]
    return orphans[0], []


def _racer_problems(
    commits: Commits, evidence: Evidence, view: RaceView, racer: CompetitorView, seed: str, base: dict[str, bytes]
) -> Iterator[str]:
    tip = seed
    for seen in racer.closed:
        if not seen.accepted:
            if seen.commit is not None:
                yield f"{racer.name} attempt {seen.attempt}: {seen.status}, and yet committed"
            continue
        who = f"{racer.name} attempt {seen.attempt}"
        if seen.commit is None:
            yield f"{who}: accepted, and no commit is on record"
            continue
        source = evidence.read(ev.strategy(seen.strategy)) or b""
        message = attempt_message(seen.attempt, str(seen.status), seen.score, seen.description)
        wanted = encode_commit({**base, STRATEGY: source}, tip, message, unix(str(seen.closed_utc))).id
        if seen.commit not in commits.objects:
            yield f"{who}: commit {seen.commit[:12]} is not in {ev.COMMITS}"
        elif wanted != seen.commit:
            yield f"{who}: commit {seen.commit[:12]} is not made of this attempt's bytes, parent, time and message"
        if moves_tip(str(seen.status)):
            tip = seen.commit
        elif commits.refs.get(archive_ref(view.created.race, racer.name, seen.attempt)) != seen.commit:
            yield f"{who}: the archive's ref does not lead to its commit"
    if commits.refs.get(branch(view.created.race, racer.name)) != tip:
        yield f"{racer.name}: its branch does not end with the last working parent"


def _stray_refs(commits: Commits, view: RaceView, seed: str) -> list[str]:
    """Refs and commits that no line of the record names."""
    race, known = view.created.race, {seed}
    refs = {branch(race, name) for name in view.competitors}
    for name, racer in view.competitors.items():
        refs |= {archive_ref(race, name, a.attempt) for a in racer.closed if a.accepted}
        known |= {a.commit for a in racer.closed if a.commit}
    objects = [name for name, (kind, _) in commits.objects.items() if kind == "commit" and name not in known]
    return [f"{ev.COMMITS}: {ref}: no line of the record names it" for ref in sorted(set(commits.refs) - refs)] + [
        f"{ev.COMMITS}: commit {name[:12]}: no line of the record names it" for name in sorted(objects)
    ]


def _tree_problems(base: dict[str, bytes], view: RaceView) -> list[str]:
    """Every file beside strategy.py is the protected one."""
    created = view.created
    problems = [
        f"{ev.COMMITS}: {path} is not the protected file the race began with"
        for path, content in sorted(base.items())
        if path not in _UNLISTED and created.protected.get(path) != files.sha256_bytes(content)
    ]
    listed = base.get(ev.PROTECTED)
    if listed is not None and files.sha256_bytes(listed) != created.code:
        problems.append(f"{ev.COMMITS}: {ev.PROTECTED} is not what the race began with")
    return problems


def _parents(commits: Commits, name: str) -> list[str]:
    found = commits.commit(name)
    return [] if found is None else found[1]
