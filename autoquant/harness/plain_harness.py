"""What is alike for programs of whose words and models nothing is known."""

from __future__ import annotations

from autoquant.harness.base import Competitor
from autoquant.harness.plain_reader import PlainReader


class PlainHarness:
    """The half of an adapter that knows nothing: see `Harness` for each."""

    @property
    def settings(self) -> tuple[str, ...]:
        """None: only whoever wrote the program knows what it switches off."""
        return ()

    @property
    def transcripts(self) -> tuple[str, ...]:
        """None known."""
        return ()

    def asked_model(self, competitor: Competitor) -> str:
        """Empty: its reader sees no model."""
        return ""

    def reader(self) -> PlainReader:
        """A new reader."""
        return PlainReader()
