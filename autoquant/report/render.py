"""Templates to one file that asks nothing of the network.

Style sheet and script are in the page; its policy names each by its hash and lets a browser load nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from autoquant import amounts
from autoquant.report import figures, glyphs, text
from autoquant.report.colour import Ink
from autoquant.report.model import Entrant
from autoquant.stats.sharpe import annualised

TEMPLATES = Path(__file__).parent / "templates"


def render(
    template: str,
    inks: Sequence[Ink],
    data: dict[str, Any] | None = None,
    sheets: Sequence[str] = ("style/*.css.j2",),
    reload: int | None = None,
    **context: Any,
) -> str:
    """A page.

    Parameters
    ----------
    template : file below `templates/`.
    inks : the competitors' colours by index.
    data : what the script reads; None for a page without script.
    sheets : style sheets below `templates/`, as patterns, in order.
    reload : seconds after which a page asks for itself again; None for never. Where there is a script, it does so
        itself, at a moment that suits the reader, and the browser only does where scripts are off.
    context : names the template uses.
    """
    environment = _environment()
    script = "" if data is None else _script()
    names = [path.relative_to(TEMPLATES).as_posix() for pattern in sheets for path in sorted(TEMPLATES.glob(pattern))]
    style = Markup("\n").join(Markup(environment.get_template(name).render(inks=inks)) for name in names)
    return environment.get_template(template).render(
        style=style,
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=None if data is None else embedded(data),
        reload=reload,
        **context,
    )


def embedded(data: dict[str, Any]) -> Markup:
    """JSON that no HTML parser can see an end tag in.

    >>> print(embedded({"a": "</script>"}))
    {"a":"\\u003c/script\\u003e"}
    """
    plain = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escapes: dict[str, str | int | None] = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
    return Markup(plain.translate(str.maketrans(escapes)))


def _script() -> str:
    """The parts in the order of their names, in one scope of their own."""
    parts = [path.read_text() for path in sorted((TEMPLATES / "scripts").glob("*.js"))]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "about": _about,
        "chance": text.chance,
        "count": text.count,
        "dollars": amounts.dollars,
        "duration": amounts.duration,
        "fixed": text.fixed,
        "fold_bars": glyphs.fold_bars,
        "moment": text.moment,
        "percent": text.percent,
        "short": text.short,
        "status_key": glyphs.status_key,
        "swatch": _swatch,
        "time_bar": glyphs.time_bar,
        "tokens": amounts.tokens,
        "whole": _whole,
        "yearly": annualised,
    }
    return environment


def _about(entrant: Entrant) -> str:
    kind = "control, no skill" if entrant.control else entrant.harness
    return " · ".join(part for part in (kind, entrant.model, entrant.effort) if part)


def _whole(sentence: str) -> Markup:
    """Words with a hyphen in one piece where the line allows it."""
    words = (f'<span class="whole">{escape(word)}</span>' if "-" in word else escape(word) for word in sentence.split())
    return Markup(" ").join(Markup(word) for word in words)


def _swatch(index: int) -> Markup:
    body = figures.marker(index, 6.0, 6.0, "mark")
    return figures.tag(
        "svg", body, viewBox="0 0 12 12", width="12", height="12", aria_hidden="true", class_=f"a{index}"
    )
