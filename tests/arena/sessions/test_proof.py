"""The proof finds nothing behind a session's seal, and finds what a leaky one leaves open."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autoquant import sealing
from autoquant.arena.sessions import breaking_out, proof
from autoquant.arena.sessions.walls import session_seal
from autoquant.harness.machine import Machine
from autoquant.sealing import Seal

BWRAP = shutil.which("bwrap") or ""
pytestmark = pytest.mark.skipif(not BWRAP, reason="needs bubblewrap")


def test_a_session_behind_its_seal_gets_nowhere(tmp_path: Path):
    """INV-41."""
    (tmp_path / "secret").write_text("42")
    assert () == proof.prove_sessions(BWRAP, Machine.here(), (tmp_path,)).holes


@pytest.mark.parametrize(
    ("option", "found"), [("read", {"reads", "lists", "reaches"}), ("write", {"reads", "lists", "reaches", "writes"})]
)
def test_a_mount_too_many_is_found(monkeypatch: pytest.MonkeyPatch, option: str, found: set[str]):
    def leaky(bubblewrap: str, room: Any, *others: Any) -> Seal:
        seal = session_seal(bubblewrap, room, *others)
        return replace(seal, **{option: (*getattr(seal, option), room.worktree.parent.parent)})

    monkeypatch.setattr(proof, "session_seal", leaky)
    holes = proof.prove_sessions(BWRAP, Machine.here(), ()).holes
    assert found == {hole.partition(" ")[0] for hole in holes}


def test_keys_of_the_login_are_out_of_reach_and_would_be_found(monkeypatch: pytest.MonkeyPatch):
    """The kernel's key store has no path that a mount could hide: every session of a login would share one ring."""
    if not breaking_out.keys(proof.KEYCTL.get(os.uname().machine, "0")):
        pytest.skip("no key store is reached from here either")
    monkeypatch.setattr(proof, "around", sealing.sealed_prefix)  # without the last step before the program
    leaky = proof.prove_sessions(BWRAP, Machine.here(), ())
    assert any(hole.startswith("reaches the kernel's keys") for hole in leaky.holes), leaky.holes


def test_a_program_that_cannot_start_there_is_a_hole_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(proof, "session_seal", lambda bubblewrap, *others: Seal(bubblewrap))
    (hole,) = proof.prove_sessions(BWRAP, Machine.here(), ()).holes
    assert hole.startswith("nothing starts behind the seal")
