"""What a program without a known format prints: text for people, and nothing to learn from it."""

from __future__ import annotations

from autoquant.harness.events import Event, Hurt, Said

LINE_LIMIT = 2_000


class PlainReader:
    """Every line is something said. Nothing is spent, named or hurt, whatever the words are."""

    def stdout(self, line: str) -> tuple[Event, ...]:
        """The line, cut."""
        return (Said(line[:LINE_LIMIT]),) if line.strip() else ()

    def stderr(self, line: str) -> tuple[Event, ...]:
        """The line, cut."""
        return self.stdout(line)

    def transcript(self, line: str) -> tuple[Event, ...]:
        """There is none."""
        return ()

    def exit(self, code: int) -> Hurt | None:
        """An unknown program's code proves nothing."""
        return None
