"""The explainer's page: drawings and numbers, put into its template."""

from __future__ import annotations

import datetime as dt
from typing import Any

from autoquant.protocol import PROTOCOL
from autoquant.report import sources, text
from autoquant.report.colour import ink
from autoquant.report.explain import blindness, calendar, climb, fills, luck, machine
from autoquant.report.frames import Drawing
from autoquant.report.layers import correction
from autoquant.report.render import render

INKS = ("#1D6FB8", "#C2571A", "#2F8A57", "#8A4FB0")


def explainer() -> str:
    """The whole page; its bytes depend on the protocol, the drawings and the style sheets alone."""
    return render(
        "how/how.html.j2",
        [ink(colour, place) for place, colour in enumerate(INKS)],
        sheets=("style/base.css.j2", "how/*.css.j2"),
        source=sources.describe(sources.ARCHIVE),
        p=PROTOCOL,
        **_drawings(),
        **_numbers(),
    )


def _drawings() -> dict[str, Any]:
    return {
        "overview": Drawing.of(machine.overview),
        "calendar": Drawing.of(calendar.calendar_drawing),
        "score": Drawing.of(calendar.score_drawing),
        "fill": Drawing.of(fills.fill_drawing),
        "cost": Drawing.of(fills.cost_drawing),
        "mask": Drawing.of(blindness.mask_drawing),
        "peek": Drawing.of(blindness.peek_drawing),
        "experiment": Drawing.of(machine.experiment),
        "luck": Drawing.of(luck.luck_drawing),
        "floor_drawing": Drawing.of(luck.floor_drawing),
        "climb": Drawing.of(climb.climb_drawing),
        "archive": Drawing.of(climb.archive_drawing),
        "placebo": Drawing.of(luck.placebo_drawing),
        "sealed": Drawing.of(luck.sealed_drawing),
    }


def _numbers() -> dict[str, Any]:
    made = climb.climb()
    share = fills.EXAMPLE_ORDER / fills.EXAMPLE_VOLUME
    bp = fills.cost_bp(share, 2)
    last = dt.date.fromisoformat(PROTOCOL.calendar.lockbox_end) - dt.timedelta(days=1)
    return {
        "unscored": calendar.unscored_days(),
        "example": {
            "volatility": fills.EXAMPLE_VOLATILITY,
            "volume": fills.EXAMPLE_VOLUME,
            "order": fills.EXAMPLE_ORDER,
            "bp": bp,
            "usdt": fills.EXAMPLE_ORDER * bp / 1e4,
        },
        "cost_rows": fills.cost_rows(),
        "luck_rows": luck.luck_rows(),
        "rise_ten": correction(10),
        "rise_last": correction(PROTOCOL.budget),
        "floor": text.fixed(round(climb.FLOOR, 1), 1),
        "climb_floor": text.fixed(climb.FLOOR, 2),
        "climb_keeps": text.count(len(made.numbers("keep")), "keep"),
        "climb_steps": text.count(len(made.numbers("search")), "search step"),
        "least_p": 1 / (PROTOCOL.placebo_runs + 1),
        "lockbox_last": last.isoformat()[:7],
    }
