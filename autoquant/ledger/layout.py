"""Where a race keeps its files. Paths only; nothing is read or written here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

RESTORE = "restore it from a backup of the state folder; without one the race cannot go on"
"""Hint for what a race left there and is gone or altered. A race that is not over has no export."""


@dataclass(frozen=True)
class RaceLayout:
    """Folders and files of one race below `state/races/<race>/`."""

    state: Path
    race: str

    @cached_property
    def root(self) -> Path:
        """The race's folder."""
        return self.state / "races" / self.race

    @property
    def ledger(self) -> Path:
        """The append-only record; everything else can be derived or checked against it."""
        return self.root / "ledger.jsonl"

    @property
    def lock(self) -> Path:
        """Held by the one arena that runs this race."""
        return self.root / "arena.lock"

    @property
    def secret(self) -> Path:
        """32 random bytes, hex: seeds masks and cuts."""
        return self.root / "secret"

    @property
    def manifest(self) -> Path:
        """The data's manifest as the race began with it; not there in races of older versions."""
        return self.root / "manifest.json"

    @property
    def calibration(self) -> Path:
        """The noise floor as the race began with it; not there in races of older versions."""
        return self.root / "calibration.json"

    @property
    def exported(self) -> Path:
        """Its presence says that the secret has left in a bundle: nobody joins any more."""
        return self.root / "exported"

    @property
    def protected(self) -> Path:
        """Pristine copies of what worktrees hold read-only."""
        return self.root / "protected"

    @property
    def repositories(self) -> Path:
        """Private bare repositories, one per competitor."""
        return self.root / "repositories"

    @property
    def worktrees(self) -> Path:
        """Where agents work."""
        return self.root / "worktrees"

    @property
    def homes(self) -> Path:
        """A fresh HOME and TMPDIR per competitor."""
        return self.root / "homes"

    @property
    def logs(self) -> Path:
        """Captured output of sessions."""
        return self.root / "logs"

    @property
    def lockbox(self) -> Path:
        """Sealed-period archives, panel and evaluations, once opened."""
        return self.root / "lockbox"

    def lockbox_evaluation(self, name: str) -> Path:
        """The oracle's whole answer for one entry of the reserved set."""
        return self.lockbox / "evaluations" / f"{name}.json"

    def lockbox_reference(self, name: str) -> Path:
        """The accounts of what is drawn beside the entries; apart from them, since a competitor may have that name."""
        return self.lockbox / "references" / f"{name}.json"

    @property
    def metrics(self) -> Path:
        """recursion_metrics.json, derived."""
        return self.root / "recursion_metrics.json"

    @property
    def leaderboard(self) -> Path:
        """What `arena.py status` worked out last, derived; never read by what decides."""
        return self.root / "leaderboard.json"

    @property
    def stop_request(self) -> Path:
        """Its presence asks the running arena to pause cleanly."""
        return self.root / "stop"

    def blob(self, digest: str) -> Path:
        """Strategy bytes by sha256, stored before an attempt is opened."""
        return self.root / "blobs" / digest

    def evidence(self, digest: str) -> Path:
        """What is kept of a forbidden change, by sha256."""
        return self.root / "evidence" / digest

    def evaluation(self, competitor: str, attempt: int) -> Path:
        """The oracle's whole answer for an attempt (private: holds daily returns)."""
        return self.root / "evaluations" / competitor / f"{attempt:04d}.json"

    def detail(self, competitor: str, attempt: int) -> Path:
        """What the arena keeps beside an evaluation: both masks, the deep check, stress."""
        return self.root / "evaluations" / competitor / f"{attempt:04d}.detail.json"

    def score(self, competitor: str, attempt: int) -> Path:
        """score.json of an attempt, as the agent saw it."""
        return self.root / "scores" / competitor / f"{attempt:04d}.json"

    def repository(self, competitor: str) -> Path:
        """The competitor's private bare repository."""
        return self.repositories / f"{competitor}.git"

    def worktree(self, competitor: str) -> Path:
        """The competitor's worktree."""
        return self.worktrees / competitor

    @property
    def arena_repository(self) -> Path:
        """Bare repository of all races: accepted commits as arena/<race>/<competitor>."""
        return self.state / "arena.git"
