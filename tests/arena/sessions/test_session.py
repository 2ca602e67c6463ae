"""What a session's home is furnished with, whatever an earlier session left there."""

from __future__ import annotations

from pathlib import Path

from autoquant.arena.sessions.session import furnish
from autoquant.harness import SessionPlan


def plan(**changes: object) -> SessionPlan:
    return SessionPlan(argv=("x",), cwd=Path("/"), **changes)  # type: ignore[arg-type]


def test_configuration_is_written_for_the_user_alone_and_anew_each_time(tmp_path: Path):
    furnish(tmp_path, plan(files={".cli/config.toml": "a = 1\n"}))
    furnish(tmp_path, plan(files={".cli/config.toml": "a = 2\n"}))
    path = tmp_path / ".cli" / "config.toml"
    assert "a = 2\n" == path.read_text()
    assert 0o600 == path.stat().st_mode & 0o777


def test_links_and_folders_a_former_session_put_in_the_way_are_replaced_and_never_followed(tmp_path: Path):
    home, other = tmp_path / "home", tmp_path / "other"
    (home / ".b" / "config").mkdir(parents=True)
    other.mkdir()
    (home / ".a").symlink_to(other)
    (other / "kept").write_text("kept")
    (home / ".c").symlink_to(other / "kept")
    furnish(home, plan(files={".a/config": "a", ".b/config": "b", ".c": "c"}))
    assert ["a", "b", "c"] == [(home / name).read_text() for name in (".a/config", ".b/config", ".c")]
    assert ["kept"] == [path.name for path in other.iterdir()]
    assert "kept" == (other / "kept").read_text()


def test_credentials_are_linked_and_one_the_program_renewed_in_place_stays(tmp_path: Path):
    home, mine = tmp_path / "home", tmp_path / "auth.json"
    home.mkdir()
    mine.write_text("token")
    furnish(home, plan(links={".cli/auth.json": mine}))
    furnish(home, plan(links={".cli/auth.json": mine}))
    linked = home / ".cli" / "auth.json"
    assert mine == linked.readlink()
    linked.unlink()
    linked.write_text("renewed")
    furnish(home, plan(links={".cli/auth.json": mine}))
    assert ("renewed", "token") == (linked.read_text(), mine.read_text())
