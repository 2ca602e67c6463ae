"""Behind the mounts of a seal there is what was listed and nothing else, for root as for anybody."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from autoquant.sealing import Level, Seal, sealed_prefix

BWRAP = shutil.which("bwrap")
with_bubblewrap = pytest.mark.skipif(BWRAP is None, reason="needs bubblewrap")
SYSTEM = tuple(map(Path, ("/usr", "/bin", "/lib", "/lib64")))


def inside(script: str, **seal: object) -> subprocess.CompletedProcess[str]:
    prefix = sealed_prefix(Seal(str(BWRAP), **({"read": SYSTEM} | seal)))  # type: ignore[arg-type]
    return subprocess.run([*prefix, "/bin/sh", "-c", script], capture_output=True, text=True, timeout=60)


def test_a_sealed_machine_does_for_both_levels_and_an_evident_one_for_its_own() -> None:
    assert [Level.SEALED, Level.EVIDENT] == [level for level in Level if Level.SEALED.satisfies(level)]
    assert [Level.EVIDENT] == [level for level in Level if Level.EVIDENT.satisfies(level)]


@with_bubblewrap
def test_what_is_not_listed_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("42")
    seen = inside(f"ls -A /run /tmp /var/tmp; cat {tmp_path}/secret; ls /home /root /etc")
    assert "42" not in seen.stdout
    assert "/run:\n\n/tmp:\n\n/var/tmp:\n" == seen.stdout
    assert 4 == seen.stderr.count("No such file")


@with_bubblewrap
def test_a_writable_folder_inside_a_read_only_one_can_be_written(tmp_path: Path) -> None:
    own = tmp_path / "shown" / "own"
    own.mkdir(parents=True)
    seen = inside("echo a > note; echo b > ../note", read=(*SYSTEM, tmp_path / "shown"), write=(own,), folder=own)
    assert "Read-only" in seen.stderr
    assert ["own/note"] == sorted(str(path.relative_to(tmp_path / "shown")) for path in own.parent.rglob("note"))


@with_bubblewrap
def test_a_folder_can_be_shown_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("found")
    assert "found" == inside("cat /place/x", renamed=((tmp_path, Path("/place")),)).stdout


@with_bubblewrap
def test_only_the_own_processes_are_seen() -> None:
    assert int(inside("ls -d /proc/[0-9]* | wc -l").stdout) < 6


@with_bubblewrap
@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_there_when_asked_for(network: bool) -> None:
    outside = set(Path("/sys/class/net").iterdir()) if Path("/sys/class/net").is_dir() else set()
    names = {line.split(":")[0].strip() for line in inside("cat /proc/net/dev", network=network).stdout.split("\n")[2:]}
    assert {path.name for path in outside if network} | {"lo"} == names - {""}


@with_bubblewrap
def test_a_listed_path_behind_links_means_the_same_inside(tmp_path: Path) -> None:
    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "real" / "deep" / "note").write_text("found")
    (tmp_path / "real" / "beside").write_text("not listed")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "second").symlink_to(tmp_path / "link" / "deep")
    seen = inside(f"cat {tmp_path}/second/note; readlink -f {tmp_path}/second; ls {tmp_path}/real", read=(
        *SYSTEM, tmp_path / "second"))  # fmt: skip
    assert f"found{tmp_path.resolve()}/real/deep\ndeep\n" == seen.stdout


@with_bubblewrap
def test_not_even_root_can_turn_a_switch_of_the_kernel() -> None:
    """A core pattern that begins with a pipe is run by the kernel as the host's root."""
    switches = ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger")
    seen = inside("; ".join(f"(: >> {switch}) && echo turned" for switch in switches))
    assert "" == seen.stdout
    assert "Read-only file system" in seen.stderr or "Permission denied" in seen.stderr


@with_bubblewrap
def test_a_frozen_seal_has_nothing_to_write_but_what_was_given(tmp_path: Path) -> None:
    places = ("/", "/tmp", "/var/tmp", "/run", "/dev/shm", str(tmp_path))
    seen = inside("".join(f"echo x > {place}/note;" for place in places), frozen=True, write=(tmp_path,))
    assert 5 == seen.stderr.count("Read-only")
    assert "x\n" == (tmp_path / "note").read_text()


@with_bubblewrap
def test_the_first_program_of_a_seal_is_process_one_and_leads_all_in_there() -> None:
    assert "1\n" == inside("echo $$", first=True).stdout


@with_bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to keep")
def test_root_that_keeps_a_capability_can_leave_itself_for_another_user(tmp_path: Path) -> None:
    """And that user finds the way to what is listed, though it lies in a closed folder."""
    closed = tmp_path / "closed"
    (closed / "open").mkdir(parents=True)
    (closed / "open" / "note").write_text("found")
    closed.chmod(0o700)
    leave = f"setpriv --reuid 20001 --regid 20001 --clear-groups sh -c 'id -u; cat {closed}/open/note'"
    seen = inside(leave, read=(*SYSTEM, closed / "open"), capabilities=("CAP_SETUID", "CAP_SETGID"))
    assert ("20001\nfound", "") == (seen.stdout, seen.stderr)
