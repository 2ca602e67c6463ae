"""Who is sealed in a race, who is not and why; and what a session is refused that could not be sealed any more."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harness"))

from cli_stand import Stand
from race_world import walls_once

from autoquant import sandbox
from autoquant.arena.isolation import Isolation, Side, Walls, isolation_of, walls_here
from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.proof import Proof
from autoquant.arena.sessions.walls import shows_too_much
from autoquant.errors import HarnessFault, UserError
from autoquant.harness import SessionPlan
from autoquant.harness.machine import Machine
from autoquant.ledger.layout import RaceLayout
from autoquant.sandbox.proof import Escape
from autoquant.sealing import Level, Seal

BWRAP = shutil.which("bwrap") or ""
SEALED = Side(Level.SEALED, "bubblewrap")
needs_bubblewrap = pytest.mark.skipif(not BWRAP, reason="needs bubblewrap")


@needs_bubblewrap
def test_where_strategy_code_is_sealed_sessions_are_too() -> None:
    """INV-41. Else a session's seal that is broken here would be a machine without one, and its tests skipped."""
    walls = walls_once()
    if walls.strategy.level is not Level.SEALED or not walls.namespace.prefix:
        pytest.skip(walls.strategy.words)
    assert (Level.SEALED, BWRAP) == (walls.agents.level, walls.bubblewrap), walls.agents.words


@needs_bubblewrap
def test_a_seal_that_is_broken_out_of_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """INV-42. Each half is tried before it is claimed, and says what got through."""
    holes = Proof(("reads /srv/state/secret",), False)
    open_door = (Escape("read a file of the caller's", False, ""), Escape("signal a process outside", True, ""))
    monkeypatch.setattr("autoquant.arena.isolation.prove_sessions", lambda *_: holes)
    monkeypatch.setattr(sandbox, "strategy_level", lambda: (Level.SEALED, "bubblewrap"))
    monkeypatch.setattr(sandbox, "prove_strategy", lambda: open_door)
    walls = walls_here(Machine.here(), ())
    assert (Side(Level.EVIDENT, "the seal does not hold: reads /srv/state/secret"), "") == (
        walls.agents, walls.bubblewrap,
    )  # fmt: skip
    assert Side(Level.EVIDENT, "the seal does not hold: a strategy can read a file of the caller's") == walls.strategy


def isolation(stand: Stand, script: str = "", secret: tuple[Path, ...] = (), *, key: bool = True) -> Isolation:
    walls = Walls(SEALED, SEALED, Confinement("PID namespace (bubblewrap)", (BWRAP, "--")), BWRAP)
    machine = stand.with_key(script=script) if key else stand.machine(script=script)
    return isolation_of(walls, [stand.competitor()], machine, secret)


@needs_bubblewrap
def test_a_program_that_starts_behind_its_seal_is_sealed(tmp_path: Path):
    found = isolation(Stand("codex", tmp_path))
    assert (Level.SEALED, {}, ()) == (found.level, found.weak, found.lacks)
    found.require(Level.SEALED)


@needs_bubblewrap
def test_a_program_that_does_not_start_there_makes_the_race_evident_and_says_why(tmp_path: Path):
    """INV-42. It needs a file of the machine that nobody shows it."""
    needed = tmp_path / "elsewhere"
    needed.write_text("")
    found = isolation(Stand("codex", tmp_path), f"[ -e {needed} ] || {{ echo 'no licence here' >&2; exit 3; }}\n")
    assert Level.EVIDENT is found.level
    assert "does not start behind a seal (no licence here)" in found.confinement.unsealed["codex"]
    with pytest.raises(UserError, match=r"--require sealed: this race would be tamper-evident \(codex: .*no licence"):
        found.require(Level.SEALED)
    assert not any(str(tmp_path) in reason for reason in found.told(tmp_path))


@needs_bubblewrap
@pytest.mark.parametrize(("kind", "file"), [("claude", ".claude/.credentials.json"), ("grok", ".grok/auth.json")])
def test_a_login_that_is_renewed_in_the_users_home_makes_the_race_evident(tmp_path: Path, kind: str, file: str):
    """INV-42. Behind a seal, with a folder of the user's own open."""
    stand = Stand(kind, tmp_path)
    stand.log_in(file)
    found = isolation(stand, key=False)
    assert (Level.EVIDENT, {}) == (found.level, found.confinement.unsealed)
    assert found.confinement.lending[kind].startswith("its login is renewed in ")


def test_a_program_that_needs_a_folder_with_the_arenas_secrets_is_not_sealed(tmp_path: Path):
    """INV-41. The folder of its package holds the state too: no such mount is made."""
    stand = Stand("codex", tmp_path)
    machine = stand.with_key()
    package = tmp_path / "node_modules"
    (package / "codex").mkdir(parents=True)
    program = Path(str(machine.find("codex")))
    program.rename(package / "codex" / "cli")
    program.symlink_to(package / "codex" / "cli")
    walls = Walls(SEALED, SEALED, Confinement(), "/usr/bin/bwrap")
    found = isolation_of(walls, [stand.competitor()], machine, [package / "state"])
    assert Level.EVIDENT is found.level
    assert f"{package}, which it needs, holds {package / 'state'}" in found.confinement.unsealed["codex"]


def test_a_mount_that_holds_a_secret_is_found_through_links(tmp_path: Path):
    (tmp_path / "real" / "state").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    secret = tmp_path / "real" / "state"
    assert "" == shows_too_much(Seal("bwrap", read=(tmp_path / "real" / "other",)), [secret])
    for shown in (tmp_path / "link", tmp_path, secret):
        assert str(secret) in shows_too_much(Seal("bwrap", read=(shown,)), [secret])
        assert str(secret) in shows_too_much(Seal("bwrap", write=(shown,)), [secret])


def test_a_session_that_cannot_be_sealed_any_more_is_not_started_with_less(tmp_path: Path):
    """INV-41. Its start recorded a seal; since then its program has moved, or it has logged in another way."""
    layout, machine = RaceLayout(tmp_path / "state", "autumn"), Stand("codex", tmp_path).with_key()
    confinement = Confinement(prefix=("pidns",), bubblewrap="/usr/bin/bwrap", secret=(layout.root,))
    plan = SessionPlan((sys.executable,), layout.worktree("a"))
    around = confinement.around(layout, "a", machine)
    assert "/usr/bin/bwrap" == around(plan, {})[0]
    for changed, word in (
        (replace(plan, reads=(tmp_path,)), "which it needs, holds"),
        (replace(plan, writes=(tmp_path / "user",)), "would have to write in"),
    ):
        with pytest.raises(HarnessFault, match=f"a: cannot be sealed any more .*{word}"):
            around(changed, {})
    lending = replace(confinement, lending={"a": "its login"})
    assert str(tmp_path / "user") in lending.around(layout, "a", machine)(
        replace(plan, writes=(tmp_path / "user",)), {}
    )
    unsealed = replace(confinement, unsealed={"a": "it does not start"})
    assert ("pidns",) == unsealed.around(layout, "a", machine)(plan, {})
