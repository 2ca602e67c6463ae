"""What a session's folders are furnished with, whatever an earlier session left there."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoquant.arena.sessions.confinement import Confinement
from autoquant.arena.sessions.furnishing import furnish
from autoquant.arena.sessions.place import home_of, temporary_of
from autoquant.errors import HarnessFault
from autoquant.harness import SessionPlan
from autoquant.harness.machine import Machine
from autoquant.ledger.layout import RaceLayout


@pytest.fixture
def layout(tmp_path: Path) -> RaceLayout:
    return RaceLayout(tmp_path, "race")


def plan(**changes: object) -> SessionPlan:
    return SessionPlan(argv=("x",), cwd=Path("/"), **changes)  # type: ignore[arg-type]


def test_configuration_is_written_for_the_user_alone_and_anew_each_time(layout: RaceLayout):
    furnish(layout, "a", plan(files={".cli/config.toml": "a = 1\n"}))
    furnish(layout, "a", plan(files={".cli/config.toml": "a = 2\n"}))
    path = home_of(layout, "a") / ".cli" / "config.toml"
    assert "a = 2\n" == path.read_text()
    assert 0o600 == path.stat().st_mode & 0o777


def test_links_and_folders_a_former_session_put_in_the_way_are_replaced_and_never_followed(
    layout: RaceLayout, tmp_path: Path
):
    home, other = home_of(layout, "a"), tmp_path / "other"
    (home / ".b" / "config").mkdir(parents=True)
    other.mkdir()
    (home / ".a").symlink_to(other)
    (other / "kept").write_text("kept")
    (home / ".c").symlink_to(other / "kept")
    furnish(layout, "a", plan(files={".a/config": "a", ".b/config": "b", ".c": "c"}))
    assert ["a", "b", "c"] == [(home / name).read_text() for name in (".a/config", ".b/config", ".c")]
    assert ["kept"] == [path.name for path in other.iterdir()]
    assert "kept" == (other / "kept").read_text()


def test_a_link_in_place_of_home_or_temporary_folder_leads_nowhere(layout: RaceLayout, tmp_path: Path):
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / ".profile").write_text("mine")
    for folder in (home_of(layout, "a"), temporary_of(layout, "a")):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.symlink_to(mine)
    furnish(layout, "a", plan(files={".profile": "theirs"}))
    assert "mine" == (mine / ".profile").read_text()
    assert "theirs" == (home_of(layout, "a") / ".profile").read_text()
    assert not temporary_of(layout, "a").is_symlink()


def test_the_temporary_folder_is_empty_whatever_was_made_of_it(layout: RaceLayout):
    temporary = temporary_of(layout, "a")
    temporary.parent.mkdir(parents=True)
    temporary.write_text("a file")
    furnish(layout, "a", plan())
    (temporary / "deep" / "er").mkdir(parents=True)
    (temporary / "x").write_text("x")
    furnish(layout, "a", plan())
    assert [] == list(temporary.iterdir())


def test_credentials_are_linked_and_one_the_program_renewed_in_place_stays(layout: RaceLayout, tmp_path: Path):
    """INV-27."""
    home, mine = home_of(layout, "a"), tmp_path / "auth.json"
    mine.write_text("token")
    furnish(layout, "a", plan(links={".cli/auth.json": mine}))
    furnish(layout, "a", plan(links={".cli/auth.json": mine}))
    linked = home / ".cli" / "auth.json"
    assert mine == linked.readlink()
    linked.unlink()
    linked.write_text("renewed")
    furnish(layout, "a", plan(links={".cli/auth.json": mine}))
    assert ("renewed", "token") == (linked.read_text(), mine.read_text())


def test_a_link_in_place_of_both_empties_no_folder_of_others(layout: RaceLayout, tmp_path: Path):
    (tmp_path / "mine" / "tmp").mkdir(parents=True)
    (tmp_path / "mine" / "tmp" / "kept").write_text("kept")
    layout.homes.mkdir(parents=True)
    (layout.homes / "a").symlink_to(tmp_path / "mine")
    furnish(layout, "a", plan())
    assert "kept" == (tmp_path / "mine" / "tmp" / "kept").read_text()


@pytest.mark.parametrize("swapped", ["worktrees/a", "homes/a", "homes", "repositories/a.git", "prompts/a.md"])
def test_a_place_that_an_unsealed_session_swapped_for_a_link_is_not_mounted(
    layout: RaceLayout, tmp_path: Path, swapped: str
):
    """Sealed, it would show what the link leads to, and let the session write there."""
    (tmp_path / "mine").mkdir()
    sealed = Confinement(bubblewrap="/usr/bin/bwrap").around(layout, "a", Machine({}, tmp_path, is_root=False))
    assert sealed(plan(), {})
    (layout.root / swapped).parent.mkdir(parents=True, exist_ok=True)
    (layout.root / swapped).symlink_to(tmp_path / "mine")
    with pytest.raises(HarnessFault, match=f"cannot be sealed .*{swapped}.* leads to {tmp_path / 'mine'}"):
        sealed(plan(), {})


def test_a_state_folder_behind_the_users_own_link_can_be_sealed(tmp_path: Path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "disk")
    layout = RaceLayout(tmp_path / "state", "race")
    assert Confinement(bubblewrap="/usr/bin/bwrap").around(layout, "a", Machine({}, tmp_path, is_root=False))(
        plan(), {}
    )


def test_a_login_that_is_not_wanted_any_more_is_taken_away_and_the_users_file_is_not(
    layout: RaceLayout, tmp_path: Path
):
    mine = tmp_path / "auth.json"
    mine.write_text("token")
    furnish(layout, "a", plan(links={".cli/auth.json": mine}))
    furnish(layout, "a", plan())
    assert not (home_of(layout, "a") / ".cli" / "auth.json").is_symlink()
    assert "token" == mine.read_text()


def test_a_home_that_cannot_be_made_is_this_competitors_fault_alone(layout: RaceLayout):
    layout.homes.parent.mkdir(parents=True)
    layout.homes.write_text("no folder")
    with pytest.raises(HarnessFault):
        furnish(layout, "a", plan())
