"""Worktrees: real git, private history, made again from the record whatever happened to them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import git
import pytest
from referee_world import SEED_TEXT, World, submit, text

from autoquant import codec
from autoquant.arena.referee.gitplumbing import BareRepository
from autoquant.arena.referee.referee import Referee
from autoquant.arena.referee.worktrees import Worktrees
from autoquant.errors import UserError
from autoquant.ledger.commits import encode_commit
from autoquant.market import load_manifest, load_panel
from autoquant.market.store import PanelHead


@pytest.fixture
def user_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose git configuration and environment get in the way of everything."""
    trap = tmp_path / "hooks"
    trap.mkdir()
    for hook in ("post-checkout", "reference-transaction", "post-commit", "pre-commit"):
        (trap / hook).write_text(f"#!/bin/sh\ntouch '{tmp_path}/fired'\nexit 1\n")
        (trap / hook).chmod(0o755)
    config = tmp_path / "gitconfig"
    config.write_text(
        f"[core]\n hooksPath = {trap}\n autocrlf = true\n fsmonitor = touch {tmp_path}/fired\n"
        f" excludesFile = {tmp_path}/i\n"
        "[commit]\n gpgsign = true\n[gpg]\n program = false\n[init]\n defaultBranch = weird\n"
        f" templateDir = {trap}\n[user]\n useConfigOnly = true\n"
    )
    (tmp_path / "i").write_text("*\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    return tmp_path


@pytest.fixture
def spacious(tmp_path: Path, home: Path, data: Path) -> Iterator[tuple[World, Referee]]:
    world = World(tmp_path / "a folder — ünïcode", home, data).create()
    with world.referee() as referee:
        referee.prepare("alice")
        yield world, referee


def agent_git(world: World, *arguments: str) -> str:
    """Git as an agent runs it in its worktree."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(world.root), "GIT_CONFIG_GLOBAL": os.devnull}
    argv = ["git", "-c", "safe.directory=*", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    done = subprocess.run(argv, cwd=world.worktree, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_users_git_configuration_and_environment_do_not_matter(user_git: Path, home: Path, data: Path):
    world = World(user_git / "race", home, data).create()
    with world.referee() as referee:
        referee.prepare("alice")
        submit(referee, world.worktree, text(0.9))
    assert not (user_git / "fired").exists()
    assert "keep" == world.last().status
    undisturbed = World(user_git / "other", home, data).create()
    for name in ("GIT_CONFIG_GLOBAL", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        os.environ.pop(name)
    with undisturbed.referee() as referee:
        referee.prepare("alice")
        submit(referee, undisturbed.worktree, text(0.9))
    assert undisturbed.last().commit == world.last().commit


def test_a_path_with_spaces_and_letters_of_the_world_works(spacious: tuple[World, Referee]):
    world, referee = spacious
    submit(referee, world.worktree, text(0.9))
    assert "" == agent_git(world, "status", "--porcelain")
    assert 2 == len(agent_git(world, "log", "--format=%H").split())


def test_history_is_the_seed_and_the_accepted_attempts_only(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9), "it's <b>bold</b>\n--amend \x1b[31m")
    submit(referee, world.worktree, text(0.2))
    repository = git.Repo(world.layout.repository("alice"))
    commits = list(repository.iter_commits("alice"))
    assert [1, 0] == [len(c.parents) for c in commits]
    assert text(0.9) == (commits[0].tree / "strategy.py").data_stream.read()
    assert SEED_TEXT == (commits[1].tree / "strategy.py").data_stream.read()
    assert "Attempt 1: keep, score 0.9000\n\nit's <b>bold</b> --amend \\x1b[31m\n" == commits[0].message
    assert {"alice"} == {head.name for head in repository.heads}
    repository.git.fsck("--strict")
    repository.close()


def test_accepted_commits_stand_in_the_arenas_repository_too(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    arena = BareRepository(world.layout.arena_repository)
    assert world.last().commit == arena.ref("refs/heads/arena/autumn/alice")
    arena.git("fsck", "--strict")


def test_an_archive_attempt_gets_a_side_ref_and_moves_no_branch(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.115))
    assert "archive" == world.last().status
    private = BareRepository(world.layout.repository("alice"))
    assert world.last().commit == private.ref("refs/archive/0001")
    assert world.last().commit != private.ref("refs/heads/alice")
    assert private.ref("refs/heads/alice") == BareRepository(world.layout.arena_repository).ref(
        "refs/heads/arena/autumn/alice"
    )


def test_a_removed_worktree_comes_back_at_the_working_parent(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    commit = world.last().commit
    shutil.rmtree(world.worktree)
    with world.referee() as again:
        assert world.worktree == again.prepare("alice")
        assert text(0.9) == (world.worktree / "strategy.py").read_bytes()
        assert f"{commit}\n" == agent_git(world, "rev-parse", "HEAD")
        assert "" == agent_git(world, "status", "--porcelain")
        submit(again, world.worktree, text(1.9))
    assert ("keep", "keep") == tuple(str(a.status) for a in world.racer().attempts)
    assert () == world.racer().violations


def test_a_lost_private_repository_comes_back_with_the_same_ids(world: World, referee: Referee):
    submit(referee, world.worktree, text(0.9))
    shutil.rmtree(world.layout.repository("alice"))
    with world.referee() as again:
        again.prepare("alice")
    assert world.last().commit == BareRepository(world.layout.repository("alice")).ref("refs/heads/alice")


@pytest.mark.parametrize("broken", ["config", "pack"])
def test_a_private_repository_that_its_agent_broke_stops_nobody(world: World, referee: Referee, broken: str):
    submit(referee, world.worktree, text(0.9))
    before = agent_git(world, "rev-parse", "HEAD")
    repository = world.layout.repository("alice")
    if broken == "config":
        (repository / "config").unlink()
        (repository / "config").mkdir()
    else:
        (repository / "objects" / "pack").mkdir(exist_ok=True)
        for ending in ("pack", "idx"):
            (repository / "objects" / "pack" / f"pack-x.{ending}").write_bytes(b"PACK")
    with world.referee() as again:
        again.recover()
        again.prepare("alice")
        assert before == agent_git(world, "rev-parse", "HEAD")
        submit(again, world.worktree, text(1.9))
    assert ["keep", "keep"] == [attempt.status for attempt in world.racer().attempts]
    assert all(attempt.commit for attempt in world.racer().attempts)


def test_stale_locks_and_a_foreign_branch_are_mended(world: World, referee: Referee):
    agent_git(world, "checkout", "--quiet", "-b", "elsewhere")
    repository = world.layout.repository("alice")
    for lock in ("refs/heads/alice.lock", "worktrees/alice/index.lock", "HEAD.lock", "config.lock"):
        (repository / lock).touch()
    submit(referee, world.worktree, text(0.9))
    assert world.last().commit == BareRepository(repository).ref("refs/heads/alice")
    with world.referee() as again:
        again.prepare("alice")
    assert "alice\n" == agent_git(world, "rev-parse", "--abbrev-ref", "HEAD")
    assert "" == agent_git(world, "status", "--porcelain")


def test_an_agents_own_commits_and_configuration_do_not_enter_the_record(world: World, referee: Referee):
    seed_commit = agent_git(world, "rev-parse", "HEAD").strip()
    agent_git(world, "config", "core.hooksPath", str(world.root / "hooks"))
    agent_git(world, "config", "core.repositoryFormatVersion", "1")
    agent_git(world, "config", "extensions.nonsense", "true")
    with pytest.raises(subprocess.CalledProcessError):
        agent_git(world, "status")
    submit(referee, world.worktree, text(0.9))
    assert seed_commit == agent_git(world, "rev-parse", "HEAD~1").strip()
    (world.worktree / "strategy.py").write_text("# mine\n")
    agent_git(world, "commit", "--quiet", "-am", "mine")
    submit(referee, world.worktree, text(1.9))
    assert world.racer().attempts[0].commit == agent_git(world, "rev-parse", "HEAD~1").strip()


def test_the_worktree_holds_train_and_nothing_later(world: World, referee: Referee):
    folder = world.worktree / "data" / "synthetic"
    assert ["manifest.json", "train.json", "train.npy"] == sorted(p.name for p in folder.iterdir())
    assert 12 == len(load_panel(folder, "train"))
    manifest = load_manifest(folder)
    assert (None, (), (), ("train",), 1) == (
        manifest.synthetic_seed, manifest.files, manifest.lockbox, tuple(manifest.splits), len(manifest.gaps),
    )  # fmt: skip
    assert (None,) == codec.loads(PanelHead, (folder / "train.json").read_bytes()).last_bar
    assert not [p for p in world.worktree.rglob("*") if "valid" in p.name and p.suffix in (".npy", ".json")]


def test_the_commands_of_a_worktree_find_every_module_they_import(world: World, referee: Referee):
    for command in ("run.py", "evaluate.py"):
        done = subprocess.run(
            [sys.executable, "-I", command, "--help"], cwd=world.worktree, capture_output=True, text=True, check=True
        )
        assert "usage" in done.stdout
    script = (
        "import sys; sys.path.insert(0, '.');"
        "import autoquant.arena.client.submit, autoquant.arena.client.standalone;"
        "import autoquant.oracle.command, autoquant.sandbox.warm;"
        "assert all('/worktrees/' in str(m.__file__) for n, m in sys.modules.items() if n.startswith('autoquant.'))"
    )
    subprocess.run([sys.executable, "-I", "-c", script], cwd=world.worktree, check=True)
    assert not (world.worktree / "autoquant" / "arena" / "referee.py").exists()
    assert not (world.worktree / "autoquant" / "ledger" / "ledger.py").exists()


def test_everything_but_the_strategy_is_read_only(world: World, referee: Referee):
    writable = [
        p.relative_to(world.worktree).as_posix()
        for p in world.worktree.rglob("*")
        if not p.name.endswith(".tmp") and p.is_file() and p.stat().st_mode & 0o222  # the heart beats meanwhile
    ]
    assert ["strategy.py"] == [name for name in writable if not name.startswith(".autoquant/heartbeat")]


def test_the_marker_tells_race_competitor_and_budget(world: World, referee: Referee):
    marker = json.loads((world.worktree / ".autoquant" / "race.json").read_bytes())
    assert ("autumn", "alice", 5) == (marker["race"], marker["competitor"], marker["budget"])


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a\tb", ".git", "x.lock", "a..b", "</script>", "a" * 65])
def test_a_name_that_is_no_folder_and_ref_is_refused(world: World, name: str):
    trees = Worktrees(world.layout, world.home, world.data, "2026-11-30T00:00:00Z", {})
    with pytest.raises(UserError, match="competitor name"):
        trees.folder(name)


def test_a_commits_id_is_gits_own(tmp_path: Path):
    repository = BareRepository(tmp_path / "r.git")
    repository.create()
    contents = {"a.txt": b"1", "a/b.txt": b"2", "a-b": b"3", "a/c/d": b"4"}
    objects = encode_commit(contents, None, "first\n", 1_700_000_000)
    repository.store(objects)
    repository.set_ref("refs/heads/main", objects.id)
    repository.git("fsck", "--strict")
    assert sorted(contents) == sorted(repository.git("ls-tree", "-r", "--name-only", "main").decode().split())
