"""A page opened in a real browser that is shut off from everything but the file, and whatever it complains of."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PHONE = {"width": 360, "height": 780}
DESK = {"width": 1280, "height": 900}
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPEN = """() => {
  const alike = {};
  for (const fold of document.querySelectorAll("details")) {
    const kind = fold.closest("table") ? "row" : fold.className || Math.random();
    fold.open = (alike[kind] = (alike[kind] ?? 0) + 1) <= 2;
  }
}"""
"""Opens what is folded; of tables that are alike, and of their rows, the first two."""
QUIET = (
    "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions",
)  # fmt: skip


def chromium() -> str | None:
    """Path of the machine's own browser; none is ever downloaded."""
    return next((found for found in map(shutil.which, PROGRAMS) if found), None)


@dataclass
class Guard:
    """What a page asked for beyond itself, and what its console said."""

    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def attend(self, context: Any) -> None:
        """Let only files through, before the page can ask for anything; a refused request is kept, and fails."""
        context.set_offline(True)
        context.route(lambda url: not url.startswith("file:"), self._refuse)
        context.on("console", lambda message: self._hear(message.type, message.text))
        context.on("weberror", lambda error: self.said.append(f"uncaught: {error.error}"))
        context.on("requestfailed", lambda request: self.asked.append(f"failed: {request.url}"))

    def _refuse(self, route: Any) -> None:
        self.asked.append(route.request.url)
        route.abort()

    def _hear(self, kind: str, words: str) -> None:
        # A breach of the page's policy is told on the console, as an error.
        if kind in ("error", "warning", "assert"):
            self.said.append(f"{kind}: {words}")

    def check(self) -> None:
        """Nothing was asked of anybody, and nothing went wrong."""
        assert [] == self.asked, "the page asked for something beyond itself"
        assert [] == self.said, "the page complained"


@dataclass(frozen=True)
class Stand:
    """Opens pages, each in a profile of its own."""

    browser: Any

    @contextmanager
    def open(self, file: Path, fragment: str = "", *, clock: bool = False, **options: Any) -> Iterator[Any]:
        """A Playwright page of `file`; at the end whatever it asked for or complained of fails the test.

        With `clock` time stands still until `page.clock` moves it. Options are those of a browser context: `viewport`,
        `color_scheme`, `reduced_motion`, `java_script_enabled`, …
        """
        guard = Guard()
        context = self.browser.new_context(**{"viewport": DESK, "accept_downloads": True, **options})
        context.set_default_timeout(10_000)
        guard.attend(context)
        try:
            page = context.new_page()
            if clock:
                page.clock.install(time=0)
                page.clock.pause_at(1_000)
            page.goto(file.as_uri() + fragment, wait_until="load")
            yield page
            guard.check()
        finally:
            context.close()


def nothing(found: list[str]) -> None:
    """Fail with every line of what was found."""
    assert [] == found, "\n".join(("", *found))


def overflow(page: Any) -> list[str]:
    """What reaches beyond the right edge of the window, if the page can be scrolled sideways at all."""
    return page.evaluate("""() => {
      const root = document.scrollingElement;
      if (root.scrollWidth <= root.clientWidth) return [];
      return [...document.querySelectorAll("body *")]
        .filter(e => e.getBoundingClientRect().left + Math.max(e.scrollWidth, e.clientWidth) > root.clientWidth + 1)
        .filter(e => ![...e.children].some(c => c.getBoundingClientRect().right > root.clientWidth + 1))
        .map(e => `${e.tagName.toLowerCase()}.${e.getAttribute("class")}: ${e.textContent.trim().slice(0, 40)}`)
        .slice(0, 8);
    }""")
