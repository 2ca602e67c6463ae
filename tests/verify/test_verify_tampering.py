"""A truthful race verifies from its bundle alone; whatever is done to it is named. X25."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from verify_world import Finished, Pieces, failed, lines, on_paper, packed, retold, states, with_lines

from autoquant import codec, files
from autoquant.oracle.calibrate import NoiseFloor
from autoquant.oracle.records import Evaluation
from autoquant.verify.evidence import HELD
from autoquant.verify.gitpack import read_commits, write_commits
from autoquant.verify.records import as_text
from autoquant.verify.verify import verify_bundle, verify_state
from autoquant.verify.work import Answer, Work


def test_a_truthful_race_verifies_with_nothing_but_its_bundle(finished: Finished, tmp_path: Path):
    """INV-33: no file of the host's is asked for, and every check holds."""
    alone = tmp_path / "alone.zip"
    alone.write_bytes(finished.bundle.read_bytes())
    answer = verify_bundle(alone, finished.options(full=True))
    assert {} == failed(answer)
    assert {"ok"} == set(states(answer).values()), as_text(answer)
    assert (0, "verified", "autumn") == (answer.exit_code, answer.verdict, answer.race)
    assert answer.head == finished.exported.head


def test_a_race_verifies_in_its_own_folder_too(finished: Finished):
    answer = verify_state(finished.layout, finished.options(data_root=finished.world.root / "data"))
    assert (0, None) == (answer.exit_code, answer.digest), as_text(answer)


def test_each_status_of_the_race_was_decided_again(finished: Finished):
    """The race has one of each kind, so that what verifies it can tell."""
    told = [json.loads(line)["body"]["status"] for line in lines(finished.pieces()) if b'"attempt_closed"' in line]
    assert {"keep", "discard", "gate", "crash", "violation", "archive", "invalid"} == set(told)


@pytest.mark.parametrize("number", [1, 2, 9, 20])
@pytest.mark.parametrize("how", ["edited", "deleted", "repeated", "swapped"])
def test_a_line_that_was_touched_is_named(finished: Finished, tmp_path: Path, how: str, number: int):
    """INV-20, X25: with file and line."""
    told = lines(finished.pieces())
    at = number - 1
    match how:
        case "edited":
            told[at] = told[at].replace(b'"utc":"2026', b'"utc":"2027')
        case "deleted":
            del told[at]
        case "repeated":
            told.insert(at, told[at])
            number += 1
        case "swapped":
            told[at], told[at + 1] = told[at + 1], told[at]
    answer = finished.verify(with_lines(finished.pieces(), told), tmp_path)
    assert 1 == answer.exit_code
    assert f"ledger.jsonl:{number}:" in failed(answer)["chain"]


@pytest.mark.parametrize("kept", [5, -2, -1])
def test_a_record_cut_off_at_its_end_is_no_finished_race(finished: Finished, tmp_path: Path, kept: int):
    told = lines(finished.pieces())[:kept]
    answer = finished.verify(with_lines(finished.pieces(), told), tmp_path)
    assert f"ledger.jsonl:{len(told)}: the record ends before the lockbox is closed" in failed(answer)["end"]


def test_a_torn_last_line_is_named(finished: Finished, tmp_path: Path):
    pieces = finished.pieces()
    answer = finished.verify({**pieces, "ledger.jsonl": pieces["ledger.jsonl"][:-1]}, tmp_path)
    assert "the last line is not whole" in failed(answer)["chain"]


@pytest.mark.parametrize("how", ["edited", "deleted"])
def test_every_file_the_record_names_is_missed_when_it_is_touched(finished: Finished, tmp_path: Path, how: str):
    """INV-33: each one, also when the bundle's own list was written anew."""
    pieces = finished.pieces()
    held = [name for name in pieces if name.startswith((*HELD, "evidence/"))]
    assert 30 < len(held)
    assert any(name.startswith("evidence/") for name in held)
    kept = {key: value for key, value in pieces.items() if key not in held}
    touched = {key: pieces[key] + b" " for key in held} if how == "edited" else {}
    told = finished.verify({**kept, **touched}, tmp_path)
    words = "differs from the digest in ledger.jsonl" if how == "edited" else "missing"
    assert sorted(f"{name}: {words}" for name in held) == sorted(failed(told)["files"].split("\n"))
    one = {**pieces, held[7]: pieces[held[7]] + b" "}
    assert f"{held[7]}: differs from the digest in ledger.jsonl" == failed(finished.verify(one, tmp_path))["files"]


def test_a_file_that_no_line_names_is_named(finished: Finished, tmp_path: Path):
    pieces = finished.pieces()
    more = {"evaluations/alice/0099.json": b"{}", "strategies/" + "0" * 64: b"x"}
    told = failed(finished.verify({**pieces, **more}, tmp_path))["files"]
    assert all(name in told for name in more)


def test_what_lies_beside_the_record_and_belongs_to_nobody_is_named(finished: Finished, tmp_path: Path):
    """A reader takes whatever a verified bundle holds for the race's own."""
    more = {"README.txt": b"mallory has won\n", "evidence/" + "0" * 64: b"-run.py\n"}
    answer = failed(finished.verify({**finished.pieces(), **more}, tmp_path))
    assert all(name in answer["files"] for name in more)
    told = failed(finished.verify({**finished.pieces(), "protocol.json": b"{}\n"}, tmp_path))
    assert "protocol.json: is not the protocol that ledger.jsonl:1 names" == told["first record"]


def test_a_made_up_sealed_year_comes_from_the_seed_that_was_pinned_before_the_race(finished: Finished, tmp_path: Path):
    answer = finished.verify({**finished.pieces(), "data/lockbox.seed": b"1" * 32}, tmp_path)
    assert "data/lockbox.seed: is not the seed that data/manifest.json pins" == failed(answer)["first record"]


def test_a_record_that_protects_nothing_has_not_named_this_checkout(finished: Finished, tmp_path: Path):
    pieces = {**finished.pieces(), "protected.sha256": b""}
    nothing = retold(pieces, lie("race_created", lambda b: b.update(protected={}, code=files.sha256_bytes(b""))))
    answer = finished.verify(nothing, tmp_path)
    assert "not done" == states(answer)["code"]


def test_attempts_whose_score_files_were_taken_off_the_record_are_not_verified(finished: Finished, tmp_path: Path):
    def without(kind: str, body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "score_file": None} if kind == "attempt_closed" else body

    kept = {name: content for name, content in finished.pieces().items() if not name.startswith("scores/")}
    answer = finished.verify(retold(kept, without), tmp_path)
    assert (2, {}) == (answer.exit_code, failed(answer))
    assert "alice attempt 1 has no score file on record" in as_text(answer)


@pytest.mark.parametrize("name", ["a\0b", "/dev/zero", "../../x", "a/" * 3000 + "b"])
def test_a_protected_file_of_an_impossible_name_is_false_and_nothing_is_read(
    finished: Finished, tmp_path: Path, name: str
):
    told = retold(finished.pieces(), lie("race_created", lambda b: b["protected"].update({name: "0" * 64})))
    assert 1 == finished.verify(told, tmp_path).exit_code


@pytest.mark.parametrize(
    "name", ["secret", "protected.sha256", "data/manifest.json", "data/calibration.json", "commits.bundle"]
)
def test_what_stands_beside_the_record_is_held_against_it(finished: Finished, tmp_path: Path, name: str):
    pieces = finished.pieces()
    spoiled = bytes([pieces[name][-5] ^ 1])
    answer = finished.verify({**pieces, name: pieces[name][:-5] + spoiled + pieces[name][-4:]}, tmp_path)
    assert name in "".join(failed(answer).values())


def test_a_bundle_whose_list_disagrees_says_where(finished: Finished, tmp_path: Path):
    pieces = finished.pieces()
    other = packed({**pieces, "secret": b"00" * 32 + b"\n"})
    mixed = tmp_path / "mixed.zip"
    mixed.write_bytes(other)
    assert "bundle" not in failed(verify_bundle(mixed, finished.options()))
    mixed.write_bytes(with_list_of(other, packed(pieces)))
    assert "secret: differs from its sha256" in failed(verify_bundle(mixed, finished.options()))["bundle"]


def with_list_of(bundle: bytes, other: bytes) -> bytes:
    """A bundle with the list of another one."""
    out = io.BytesIO()
    reading, naming = zipfile.ZipFile(io.BytesIO(bundle)), zipfile.ZipFile(io.BytesIO(other))
    with reading as pieces, naming as named, zipfile.ZipFile(out, "w") as made:
        for name in pieces.namelist():
            made.writestr(zipfile.ZipInfo(name), (named if name == "contents.json" else pieces).read(name))
    return out.getvalue()


Change = Callable[[dict[str, Any]], None]


def lie(kind: str, change: Change, nth: int = 1) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """Change the n-th record of a kind."""
    seen = [0]

    def told(found: str, body: dict[str, Any]) -> dict[str, Any]:
        seen[0] += found == kind
        if found == kind and seen[0] == nth:
            change(body)
        return body

    return told


LIES: list[tuple[str, str, Change, int, str]] = [
    ("a score", "attempt_closed", lambda b: b.update(score=1.1), 1, "decisions"),
    ("the seed's score", "seed_scored", lambda b: b.update(score=0.0), 1, "decisions"),
    ("a discard that is a search", "attempt_closed", lambda b: b.update(status="search"), 2, "decisions"),
    ("a keep that is none", "attempt_closed", lambda b: b.update(status="discard"), 1, "decisions"),
    ("a leak that is a keep", "attempt_closed", lambda b: b.update(status="keep"), 3, "decisions"),
    ("a violation that is a crash", "attempt_closed", lambda b: b.update(status="crash"), 5, "decisions"),
    ("another champion", "attempt_closed", lambda b: b["decision"].update(champion=0), 2, "decisions"),
    ("another number of folds", "attempt_closed", lambda b: b["decision"].update(folds_better=6), 2, "decisions"),
    ("another parent", "attempt_opened", lambda b: b.update(parent=0), 2, "decisions"),
    ("a lower noise floor", "race_created", lambda b: b.update(noise_floor=0.1), 1, "first record"),
    ("another budget", "competitor_joined", lambda b: b.update(budget=4), 1, "rules of a race"),
    ("a request charged twice", "attempt_opened", lambda b: b.update(request="same"), 1, ""),
    ("another commit", "attempt_committed", lambda b: b.update(commit="0" * 40), 1, "commits"),
    ("another description", "attempt_opened", lambda b: b.update(description="better"), 1, "commits"),
    ("another set", "lockbox_reserved", lambda b: b["entries"].pop(1) and None, 1, "rules of a race"),
    ("other code", "lockbox_reserved", lambda b: b["by"].update(code="0" * 64), 1, "lockbox"),
    ("other sealed data", "lockbox_fetched", lambda b: b["data"].update(manifest="0" * 64), 1, "lockbox"),
    (
        "a changed archive that nobody allowed",
        "lockbox_fetched",
        lambda b: b["data"].update(changed=[{"path": "x", "pinned": "a", "got": "b"}]),
        1,
        "lockbox",
    ),
    (
        "an archive that was not pinned",
        "lockbox_fetched",
        lambda b: b["data"].update(
            files=[{"path": "x", "url": "u", "size": 1, "sha256": "a", "rows": 1, "kept": True}]
        ),
        1,
        "lockbox",
    ),
    (
        "other bytes than those pinned",
        "lockbox_fetched",
        lambda b: b["data"].update(
            files=[{"path": "lockbox.seed", "url": "u", "size": 1, "sha256": "a", "rows": 1, "kept": True}]
        ),
        1,
        "lockbox",
    ),
    ("an archive left out", "lockbox_fetched", lambda b: b["data"].update(absent=["lockbox.seed"]), 1, "lockbox"),
    ("a verdict", "lockbox_scored", lambda b: b.update(verdict="confirmed"), 1, "lockbox"),
    ("a sealed Sharpe ratio", "lockbox_scored", lambda b: b.update(sharpe=3.0), 2, "lockbox"),
]


@pytest.mark.parametrize(("kind", "change", "nth", "check"), [one[1:] for one in LIES], ids=[one[0] for one in LIES])
def test_a_lie_in_a_chain_that_was_sealed_again_is_found(
    finished: Finished, tmp_path: Path, kind: str, change: Change, nth: int, check: str
):
    """INV-38: whoever writes the whole record anew still has to answer to the ratchets and the files."""
    pieces = retold(finished.pieces(), lie(kind, change, nth))
    if check:
        assert check in failed(finished.verify(pieces, tmp_path))
        return
    twice = retold(pieces, lie(kind, change, nth + 1))
    assert "request same was charged in line" in failed(finished.verify(twice, tmp_path))["rules of a race"]


def better(told: Evaluation) -> Evaluation:
    return replace(told, score=0.95, folds=tuple(replace(fold, sharpe=0.95) for fold in told.folds))


def everywhere(pieces: Pieces, digests: dict[str, str]) -> Pieces:
    """Every mention of a digest replaced, and the chain sealed again."""

    def change(kind: str, body: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(body)
        for old, new in digests.items():
            text = text.replace(old, new)
        return dict(json.loads(text))

    return retold(pieces, change)


def test_a_score_that_was_changed_everywhere_does_not_survive_a_second_evaluation(finished: Finished, tmp_path: Path):
    """INV-38: the seed's evaluation forged, its digest in the record too, the chain sealed again."""
    pieces = finished.pieces()
    name = "evaluations/seed/0000.json"
    forged = codec.dumps(better(codec.loads(Evaluation, pieces[name]))).encode()
    digests = {files.sha256_bytes(pieces[name]): files.sha256_bytes(forged)}
    answer = finished.verify(everywhere({**pieces, name: forged}, digests), tmp_path)
    assert "the seed: evaluated again: score: 0.1 where 0.95 was recorded" in failed(answer)["evaluations"]
    assert 1 == answer.exit_code


def test_a_noise_floor_that_was_lowered_before_the_race_is_measured_again(finished: Finished, tmp_path: Path):
    """INV-38: everything that follows from it agrees, since the race was run with it."""
    pieces = finished.pieces()
    floor = replace(codec.loads(NoiseFloor, pieces["data/calibration.json"]), value=0.01)
    pieces["data/calibration.json"] = codec.dumps(floor).encode()
    change = lie("race_created", lambda b: b.update(noise_floor=0.01, noise_floor_digest=floor.digest))
    told = failed(finished.verify(retold(pieces, change), tmp_path))
    assert "first record" not in told
    assert "measured again: value: 0.3 where 0.01 was recorded" == told["noise floor"]


@pytest.mark.parametrize("samples", [0, 10**15])
def test_a_noise_floor_of_senseless_many_samples_costs_no_time_and_is_not_verified(
    finished: Finished, tmp_path: Path, samples: int
):
    pieces = finished.pieces()
    floor = replace(codec.loads(NoiseFloor, pieces["data/calibration.json"]), samples=samples)
    pieces["data/calibration.json"] = codec.dumps(floor).encode()
    change = lie("race_created", lambda b: b.update(noise_floor_samples=samples, noise_floor_digest=floor.digest))
    answer = finished.verify(retold(pieces, change), tmp_path)
    assert (2, "not done") == (answer.exit_code, states(answer)["noise floor"])


def test_a_forged_entry_of_the_sealed_year_is_evaluated_again(finished: Finished, tmp_path: Path):
    pieces = finished.pieces()
    name = "lockbox/references/buy-and-hold.json"
    forged = codec.dumps(better(codec.loads(Evaluation, pieces[name]))).encode()
    digests = {files.sha256_bytes(pieces[name]): files.sha256_bytes(forged)}
    answer = finished.verify(everywhere({**pieces, name: forged}, digests), tmp_path)
    assert "buy-and-hold: evaluated again" in failed(answer)["sealed evaluations"]


def test_a_last_digit_counts_in_the_same_environment_and_not_in_another(finished: Finished, tmp_path: Path):
    def off(work: Work) -> Answer:
        told = on_paper(work)
        if told.evaluation is None:
            return told
        score = told.evaluation.score
        moved = told.evaluation if score is None else better_by(told.evaluation, 1e-12)
        return Answer(told.key, moved, told.detail, told.confirmation)

    pieces = finished.pieces()
    assert "evaluations" in failed(finished.verify(pieces, tmp_path, evaluator=off))
    other = retold(pieces, lie("race_created", lambda b: b["environment"].update(numpy="1.0.0")))
    answer = finished.verify(other, tmp_path, evaluator=off)
    assert {} == failed(answer)
    assert "within 1e-06" in next(check.text for check in answer.checks if check.name == "evaluations")


def better_by(told: Evaluation, step: float) -> Evaluation:
    return replace(told, score=(told.score or 0.0) + step)


def test_what_could_not_be_evaluated_is_not_done_and_says_why(finished: Finished, tmp_path: Path):
    answer = finished.verify(
        finished.pieces(), tmp_path, evaluator=lambda work: Answer(work.key, fault="the disk is full")
    )
    assert (2, "incomplete") == (answer.exit_code, answer.verdict)
    assert dict.fromkeys(("noise floor", "evaluations", "sealed evaluations"), "not done") == {
        name: state for name, state in states(answer).items() if state != "ok"
    }
    assert "the disk is full" in as_text(answer)


def test_without_the_data_it_says_what_to_fetch(finished: Finished, tmp_path: Path):
    pieces = {name: content for name, content in finished.pieces().items() if name != "data/manifest.json"}
    answer = finished.verify(pieces, tmp_path)
    told = {check.name: check.text for check in answer.checks}
    assert 2 == answer.exit_code
    assert "needs TRAIN and VALID of synthetic (panel abababababab" in told["evaluations"]
    assert "sha256 of each in data/manifest.json" in told["sealed evaluations"]


def test_another_checkout_is_no_judge_of_the_numbers(finished: Finished, tmp_path: Path):
    answer = verify_bundle(finished.bundle, finished.options(home=tmp_path))
    assert (2, "not done") == (answer.exit_code, states(answer)["code"])


def test_a_published_head_is_looked_for_in_the_record(finished: Finished):
    head = finished.exported.head
    assert 0 == verify_bundle(finished.bundle, finished.options(head=head)).exit_code
    assert "published head" in failed(verify_bundle(finished.bundle, finished.options(head="0" * 64)))


def test_a_strategy_that_was_charged_twice_is_named_and_so_is_the_seed(finished: Finished, tmp_path: Path):
    """INV-38: what was judged before is answered from the record; two charges would be a budget used up by nothing."""
    bodies = [json.loads(line) for line in lines(finished.pieces())]
    first = next(one["body"]["strategy"] for one in bodies if one["kind"] == "attempt_opened")
    seed = bodies[0]["body"]["seed_strategy"]
    for digest, words in ((first, "was charged 2 times"), (seed, "the seed itself was charged")):
        told = retold(finished.pieces(), lie("attempt_opened", lambda b, digest=digest: b.update(strategy=digest), 2))
        assert words in failed(finished.verify(told, tmp_path))["rules of a race"]


def test_a_deep_check_or_a_cut_that_comes_out_otherwise_is_named(finished: Finished, tmp_path: Path):
    """INV-38: not the score alone is made again, but what was found under the second mask and where the cuts lay."""

    def with_another_gap(work: Work) -> Answer:
        told = on_paper(work)
        deep = told.confirmation and replace(told.confirmation, mask_gap=0.5, seconds=1.0)
        return replace(told, confirmation=deep)

    def with_another_cut(work: Work) -> Answer:
        told = on_paper(work)
        return told if work.attempt == 0 else replace(told, detail="cut at bar 7")

    deep = failed(finished.verify(finished.pieces(), tmp_path, evaluator=with_another_gap))
    assert "evaluated again: deep check: mask_gap: 0.5 where 0.0 was recorded" in deep["evaluations"]
    cut = failed(finished.verify(finished.pieces(), tmp_path, evaluator=with_another_cut))
    assert "causality: 'cut at bar 7' where 'cut at bar 1,204' was recorded" in cut["evaluations"]


def test_an_entry_left_out_of_the_sealed_year_is_missed(finished: Finished, tmp_path: Path):
    """INV-38: nobody's champion is kept from the lockbox, although all that is left fits together."""

    def without_alice(kind: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if kind == "lockbox_reserved":
            body["entries"] = [entry for entry in body["entries"] if entry["name"] != "alice"]
        return None if kind == "lockbox_scored" and body["name"] == "alice" else body

    pieces = {name: content for name, content in finished.pieces().items() if name != "lockbox/evaluations/alice.json"}
    told = failed(finished.verify(retold(pieces, without_alice), tmp_path))
    assert {"lockbox": "the reserved set is not the seed, every champion and every control of that moment"} == told


def test_a_ref_and_a_tree_that_the_record_does_not_account_for_are_named(finished: Finished, tmp_path: Path):
    """INV-38: accepted commits hold the protected files the race began with, and nobody else's branch is there."""
    pieces = finished.pieces()
    commits = read_commits(pieces["commits.bundle"])
    ref, own = "refs/heads/arena/autumn/mallory", next(iter(commits.refs.values()))
    stray = write_commits(replace(commits, refs={**commits.refs, ref: own}))
    told = failed(finished.verify({**pieces, "commits.bundle": stray}, tmp_path))
    assert {"commits": f"commits.bundle: {ref}: no line of the record names it"} == told
    other = retold(pieces, lie("race_created", lambda b: b["protected"].update({"program.md": "0" * 64})))
    words = "commits.bundle: program.md is not the protected file the race began with"
    assert words in failed(finished.verify(other, tmp_path))["commits"]
