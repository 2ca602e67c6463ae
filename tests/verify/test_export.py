"""What leaves with a race, when it may, and in which bytes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from referee_world import World, submit, text
from verify_world import UTC, Finished, VerifyWorld, export_to, failed, open_lockbox_of, retold

from autoquant.arena import race
from autoquant.clock import SystemClock
from autoquant.errors import AutoQuantError, UserError
from autoquant.harness import Competitor
from autoquant.ledger import records as r
from autoquant.ledger.ledger import Ledger
from autoquant.verify.bundle import Bundle
from autoquant.verify.command import head_digest
from autoquant.verify.private import Private
from autoquant.verify.records import as_text
from autoquant.verify.verify import verify_what

KEY = "s3cr3t-value-of-a-key-0123456789"


@pytest.fixture
def racing(tmp_path: Path, home: Path, data: Path) -> VerifyWorld:
    """One attempt, nobody has ended."""
    world = VerifyWorld(tmp_path, home, data, competitors=("alice",)).create()
    with world.referee() as referee:
        submit(referee, referee.prepare("alice"), text(0.9))
    return world


def end(world: World, *, lockbox: bool = True) -> Ledger:
    ledger = Ledger.open(world.layout.ledger)
    ledger.append(r.CompetitorEnded("alice", "done"), UTC)
    if lockbox:
        open_lockbox_of(world, ledger)
    return ledger


def test_nothing_leaves_while_somebody_may_race(racing: VerifyWorld, tmp_path: Path):
    """INV-35: neither before everybody has ended nor before the lockbox is closed."""
    out = tmp_path / "race.zip"
    with pytest.raises(UserError, match="alice may still race, and the bundle holds the secret"):
        export_to(racing, out)
    end(racing, lockbox=False)
    with pytest.raises(UserError, match="its lockbox is not closed, so others may still join"):
        export_to(racing, out)
    assert not out.exists()
    assert not racing.layout.exported.exists()


def test_an_extension_that_races_keeps_the_bundle_in(racing: VerifyWorld, tmp_path: Path):
    """INV-35."""
    end(racing).append(r.CompetitorJoined("late", "control", None, None, "#112233", 3, extension=True), UTC)
    with pytest.raises(UserError, match="late may still race"):
        export_to(racing, tmp_path / "race.zip")


def test_nobody_joins_a_race_whose_secret_has_left(racing: VerifyWorld, tmp_path: Path):
    """INV-35."""
    ledger = end(racing)
    late = Competitor(name="late", harness="control", model="random", effort="", colour="#000000")
    export_to(racing, tmp_path / "race.zip")
    with pytest.raises(UserError, match="was exported, and its secret with it: nobody joins it any more"):
        race.join(ledger, [late], 3, SystemClock())
    race.join(ledger, [replace(late, name="alice")], 3, SystemClock())  # who is in it may be named again


def test_two_exports_are_equal_wherever_they_are_made(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """INV-36: another folder, time zone, umask, hour and hash seed give the same bytes."""
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    before = os.umask(0o077)
    try:
        other = tmp_path / "an other place"
        other.mkdir()
        monkeypatch.chdir(other)
        again = export_to(finished.world, Path("again.zip"))
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()
    assert finished.bundle.read_bytes() == (other / "again.zip").read_bytes()
    assert (finished.exported.sha256, finished.exported.head) == (again.sha256, again.head)


def test_a_bundle_names_no_time_owner_or_mode_of_its_own(finished: Finished):
    """INV-36."""
    with zipfile.ZipFile(finished.bundle) as packed:
        infos = packed.infolist()
    names = [info.filename for info in infos]
    assert "contents.json" == names[-1]
    assert sorted(names[:-1]) == names[:-1]
    assert {((1980, 1, 1, 0, 0, 0), 0o100644, b"", 3)} == {
        (info.date_time, info.external_attr >> 16, info.extra, info.create_system) for info in infos
    }


def test_nothing_of_the_user_leaves(racing: VerifyWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """INV-35: a search through every piece, unpacked, for the home folder, the login and a key of the environment."""
    monkeypatch.setenv("HOME", "/home/zebulon")
    monkeypatch.setenv("USER", "zebulon")
    monkeypatch.setenv("SOME_API_KEY", KEY)
    end(racing)
    private = Private(dict(os.environ), (Path("/home/zebulon"), tmp_path), "zebulon")
    out = tmp_path / "race.zip"
    export_to(racing, out, private=private)
    with Bundle.open(out) as bundle:
        everything = b"\n".join(bundle.read(name) or b"" for name in bundle.names())
        names = bundle.names()
    for word in (b"zebulon", KEY.encode(), str(tmp_path).encode()):
        assert word not in everything
    assert not [name for name in names if name.endswith((".npy", ".zip", ".csv", ".parquet", ".log"))]
    assert not any("train" in name or "valid" in name or "worktrees" in name or "homes" in name for name in names)


@pytest.mark.parametrize(
    ("description", "found"),
    [
        (f"tried {KEY}", "holds the value of SOME_API_KEY"),
        ("tried sk-abcdefghijklmnopqrstuvwxyz", "holds what looks like a key"),
        ("see /home/zebulon/notes", "holds the folder /home/zebulon"),
        ("see /Users/zebulon/notes", "holds the login zebulon"),
        ("ask zebulon@example.org", "holds the login zebulon"),
    ],
)
def test_a_text_that_holds_something_private_stops_the_export(
    tmp_path: Path, home: Path, data: Path, description: str, found: str
):
    """INV-35: the record is chained, so it is said before anything is written."""
    world = VerifyWorld(tmp_path, home, data, competitors=("alice",)).create()
    with world.referee() as referee:
        submit(referee, referee.prepare("alice"), text(0.9), description)
    end(world)
    private = Private({"SOME_API_KEY": KEY}, (Path("/home/zebulon"),), "zebulon")
    with pytest.raises(UserError, match=rf"ledger.jsonl:\d+ {found}"):
        export_to(world, tmp_path / "race.zip", private=private)
    assert not (tmp_path / "race.zip").exists()
    if "key" in found.lower():
        with pytest.raises(UserError, match=r"the value of SOME_API_KEY|looks like a key"):
            export_to(world, tmp_path / "race.zip", private=private, with_places=True)
    else:
        export_to(world, tmp_path / "race.zip", private=private, with_places=True)


@pytest.mark.parametrize("text_of", ["max(a, b)", "x = root", "roots/of", "amax@b"])
def test_a_login_that_is_a_word_is_looked_for_in_paths_alone(text_of: str):
    private = Private({}, (Path("/root"), Path("/")), "max")
    assert [] == private.leaks("strategies/x", text_of.encode())


def test_a_damaged_race_is_not_exported_and_says_what_is_damaged(racing: VerifyWorld, tmp_path: Path):
    end(racing)
    racing.layout.score("alice", 1).write_bytes(b"{}")
    with pytest.raises(UserError, match=r"scores/alice/0001.json: differs from the digest in ledger.jsonl"):
        export_to(racing, tmp_path / "race.zip")


def test_an_arena_at_work_keeps_its_race(finished: Finished, tmp_path: Path):
    from autoquant import files

    with files.exclusive_lock(finished.layout.lock, "arena process 1"), pytest.raises(UserError, match="held by arena"):
        export_to(finished.world, tmp_path / "race.zip")


def test_git_reads_the_accepted_commits(finished: Finished, tmp_path: Path):
    (tmp_path / "commits.bundle").write_bytes(finished.pieces()["commits.bundle"])
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=x", "clone", "-q", "-b", "arena/autumn/alice", "commits.bundle", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert 0 == done.returncode, done.stderr
    assert text(0.9, "PATH = 2") == (tmp_path / "out" / "strategy.py").read_bytes()
    assert (
        0
        == subprocess.run(
            ["git", "fsck", "--strict"], cwd=tmp_path / "out", capture_output=True, check=False
        ).returncode
    )


def hostile(*pieces: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for info, content in pieces:
            packed.writestr(info, content)
    return out.getvalue()


def info(name: str, mode: int = 0o100644) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


def bomb() -> bytes:
    """A piece whose head says that it unpacks to four gibibytes."""
    made = hostile((info("ledger.jsonl"), b"x" * 8))
    at = made.index(b"PK\x01\x02")
    return made[: at + 24] + (0xFFFFFFF0).to_bytes(4, "little") + made[at + 28 :]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not a zip", "not a bundle"),
        (b"", "not a bundle"),
        (lambda: hostile((info("../../etc/passwd"), b"x")), "is no name of a piece"),
        (lambda: hostile((info("/etc/passwd"), b"x")), "is no name of a piece"),
        (lambda: hostile((info("a/../b"), b"x")), "is no name of a piece"),
        (lambda: hostile((info("a\\b"), b"x")), "is no name of a piece"),
        (lambda: hostile((info("ledger.jsonl", 0o120777), b"/etc/passwd")), "is not a plain file"),
        (lambda: hostile((info("pipe", 0o010644), b"")), "is not a plain file"),
        (lambda: hostile((info("secret"), b"a"), (info("secret"), b"b")), "secret stands twice"),
        (bomb, "more than any"),
    ],
)
def test_a_hostile_file_is_refused_in_one_line(finished: Finished, tmp_path: Path, content: object, words: str):
    path = tmp_path / "hostile.zip"
    path.write_bytes(content() if callable(content) else content)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=words) as caught:
        verify_what(str(path), tmp_path, finished.options())
    assert "\n" not in caught.value.message


def test_an_empty_zip_and_one_of_something_else_are_false(finished: Finished, tmp_path: Path):
    for number, content in enumerate((hostile(), hostile((info("readme.txt"), b"hello")))):
        path = tmp_path / f"{number}.zip"
        path.write_bytes(content)
        answer = verify_what(str(path), tmp_path, finished.options())
        assert (1, None) == (answer.exit_code, answer.race)
        assert "contents.json: missing" in failed(answer)["bundle"]


def test_any_byte_of_a_bundle_that_is_changed_shows(finished: Finished, tmp_path: Path):
    """Or makes no difference to what is read: the padding of nothing but names and heads."""
    whole, path = finished.bundle.read_bytes(), tmp_path / "changed.zip"
    for at in range(40, len(whole), len(whole) // 12):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            answer = verify_what(str(path), tmp_path, finished.options())
        except UserError:
            continue
        assert 1 == answer.exit_code, at


def test_what_is_no_file_and_no_race_is_said_with_the_races_there_are(finished: Finished, tmp_path: Path):
    for name in ("winter", "../evil", ""):
        with pytest.raises(UserError, match="neither a bundle file nor a race below") as caught:
            verify_what(name, tmp_path, finished.options())
        assert "arena.py export FILE makes a bundle of a race" == caught.value.hint
    layout = finished.world.layout
    with pytest.raises(UserError) as caught:
        verify_what("../evil", layout.state, finished.options())
    assert caught.value.hint.startswith(f"races there: {layout.race};")


def test_a_bundle_cut_short_is_told_from_another_kind_of_file(finished: Finished, tmp_path: Path):
    short, other = tmp_path / "short.zip", tmp_path / "notes.txt"
    short.write_bytes(finished.bundle.read_bytes()[:-1])
    other.write_text("no bundle")
    for path, words, hint in ((short, "lacks its end", "fetch it again"), (other, "not a bundle", "name the file")):
        with pytest.raises(UserError, match=words) as caught:
            verify_what(str(path), tmp_path, finished.options())
        assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize("text", ["", "zzzzzzzz", "2098be6", "2098be62 d94a", "0" * 65])
def test_a_slip_in_a_published_head_calls_no_race_false(text: str):
    with pytest.raises(ArgumentTypeError, match="is no digest"):
        head_digest(text)


def test_a_folder_is_no_place_for_a_bundle(finished: Finished, tmp_path: Path):
    with pytest.raises(UserError, match="is a folder"):
        export_to(finished.world, tmp_path)


def test_the_graded_track_says_what_is_not_graded_again(finished: Finished, tmp_path: Path):
    def as_tasks(kind: str, body: dict[str, object]) -> dict[str, object] | None:
        if kind == "race_created":
            body["kind"] = "tasks"
        return None if kind.startswith(("lockbox", "attempt", "evaluation", "violation", "seed")) else body

    kept = {name: content for name, content in finished.pieces().items() if "/" not in name or "strategies" in name}
    seed = json.loads(kept["ledger.jsonl"].splitlines()[0])["body"]["seed_strategy"]
    kept = {name: content for name, content in kept.items() if "/" not in name or name.endswith(seed)}
    answer = finished.verify(retold(kept, as_tasks), tmp_path)
    assert (2, {}) == (answer.exit_code, failed(answer)), as_text(answer)
    assert "arena.py tasks grade" in as_text(answer)


def test_the_commands_speak_for_strangers(finished: Finished, tmp_path: Path):
    """Real processes: text and exit code, and --json with the same facts."""
    home = finished.world.home
    bundle = tmp_path / "race.zip"
    bundle.write_bytes(finished.bundle.read_bytes()[:-40])
    run = [sys.executable, str(home / "arena.py"), "verify", str(bundle), "--state-dir", str(tmp_path)]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (2, "") == (done.returncode, done.stdout)
    assert f"error: {bundle}: begins as a bundle and lacks its end" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_race_that_goes_on_verifies_in_its_folder_as_far_as_it_has_come(racing: VerifyWorld, finished: Finished):
    answer = verify_what(racing.layout.race, racing.layout.state, finished.options(home=racing.home))
    assert (2, {}) == (answer.exit_code, failed(answer)), as_text(answer)
    assert "the record ends while alice may go on" in as_text(answer)


def test_a_lost_object_of_the_repository_is_named_and_not_exported(
    racing: VerifyWorld, finished: Finished, tmp_path: Path
):
    ledger = end(racing)
    commit = ledger.view.competitors["alice"].attempts[0].commit
    assert commit is not None
    (racing.layout.arena_repository / "objects" / commit[:2] / commit[2:]).unlink()
    answer = verify_what(racing.layout.race, racing.layout.state, finished.options(home=racing.home))
    assert f"object {commit} is lost" in failed(answer)["commits"]
    with pytest.raises(AutoQuantError, match=f"object {commit} is lost"):
        export_to(racing, tmp_path / "race.zip")


@pytest.mark.parametrize("seed", range(12))
def test_a_strangers_nonsense_is_false_and_never_a_crash(finished: Finished, tmp_path: Path, seed: int):
    """A record that is chained and full of what no race writes: times, names, numbers, fold counts."""
    random = Random(seed)
    nonsense: list[object] = ["", "../..", "\u202e\x1b[31m", "9" * 400, -1, 0, 1e308, True]
    spoiled = [0]

    def spoil(kind: str, body: dict[str, object]) -> dict[str, object]:
        for key, value in list(body.items()):
            if random.random() < 0.02 and kind not in ("race_created",):
                body[key] = random.choice([one for one in nonsense if type(one) is type(value)] or [value])
                spoiled[0] += body[key] != value
        return body

    pieces = finished.pieces()
    for name in [name for name in pieces if name.endswith(".json") and random.random() < 0.1]:
        told = json.loads(pieces[name])
        if told.get("folds"):
            told["folds"] = told["folds"][: random.randrange(len(told["folds"]))]
            spoiled[0] += 1
        pieces[name] = json.dumps(told).encode()
    answer = finished.verify(retold(pieces, spoil), tmp_path)
    assert (1 if spoiled[0] else answer.exit_code) == answer.exit_code, as_text(answer)
