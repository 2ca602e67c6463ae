"""A page as a browser would take it apart, with the standard library's parser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

MAY_BE_LEFT_OPEN = {
    "p": frozenset({"p", "div", "table", "pre", "ul", "ol", "dl", "section", "details", "figure", "h2", "h3"}),
    "td": frozenset({"td", "th", "tr", "tbody"}),
    "th": frozenset({"td", "th", "tr", "tbody"}),
    "tr": frozenset({"tr", "tbody"}),
    "thead": frozenset({"tbody"}),
    "tbody": frozenset({"tbody"}),
}
"""Tags whose end may be left out, and what beginning ends them (HTML, 13.1.2.4); the end of their parent does too."""
VOID = frozenset({"meta", "link", "br", "hr", "img", "input"})


@dataclass
class Element:
    """A tag with its attributes."""

    tag: str
    attributes: dict[str, str]


@dataclass
class Reading(HTMLParser):
    """Elements, text outside style and script, and whether every tag that must be was closed in order."""

    elements: list[Element] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    style: str = ""
    script: str = ""
    data: str = ""
    """Of the JSON block that the script reads."""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.problems.append(f"{tag} repeats an attribute")
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        while self._open and tag in MAY_BE_LEFT_OPEN.get(self._open[-1], ()):
            self._open.pop()
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1] != tag and self._open[-1] in MAY_BE_LEFT_OPEN and tag in self._open:
            self._open.pop()
        if not self._open or self._open[-1] != tag:
            self.problems.append(f"</{tag}> closes {self._open[-1:]} at {self.getpos()}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        elif self._open and self._open[-1] == "script":
            if self.elements[-1].attributes.get("type") == "application/json":
                self.data += data
            else:
                self.script += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        """All words, spaces folded."""
        return " ".join(" ".join(self.words).split())

    def of(self, tag: str) -> list[Element]:
        """Elements of one tag."""
        return [element for element in self.elements if element.tag == tag]


def read(html: str) -> Reading:
    """Take a page apart."""
    reading = Reading()
    reading.feed(html)
    reading.close()
    reading.problems += [f"{tag} is never closed" for tag in reading._open]
    return reading


def section(html: str, name: str) -> Reading:
    """One panel of a page, by the id of its heading."""
    start = html.index(f'<section aria-labelledby="{name}"')
    end = html.index("</section>", start) + len("</section>")
    return read(html[start:end])
