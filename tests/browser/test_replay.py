"""The replay tells the race as the ledger has it: who stood where at each moment, by button, by key, by hand."""

from __future__ import annotations

from typing import Any

from browser_stand import Stand
from page_shelf import BUDGET, Shelf
from race_cases import SEED_FOLDS, score_of

from autoquant.report.text import fixed

STATE = """() => ({
  said: document.querySelector(".replay .standing").textContent,
  seconds: Number(document.querySelector("#replay").value),
  button: document.querySelector(".replay button").textContent,
  shown: [...document.querySelectorAll("figure.race svg.chart")].filter(e => e.getClientRects().length)
    .map(e => Number(e.querySelector(".film").getAttribute("width")) / e.viewBox.baseVal.width)[0],
})"""


def leaders(shelf: Shelf, attempt: int) -> list[tuple[str, float]]:
    """Competitors by the score of the champion each had after `attempt`, from the ledger; without one the seed's."""
    held = []
    for name, racer in shelf.finished_case.ledger.view.competitors.items():
        kept = [a.score for a in racer.attempts if a.status == "keep" and a.attempt <= attempt and a.score is not None]
        held.append((name, kept[-1] if kept else score_of(SEED_FOLDS)))
    return sorted(held, key=lambda pair: -pair[1])


def told(page: Any) -> dict[str, Any]:
    return page.evaluate(STATE)


def test_the_scrubber_goes_through_the_race_by_keys_and_tells_the_standing_of_the_moment(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished) as page:
        assert ("", 30) == (told(page)["said"], told(page)["seconds"])
        page.locator("#replay").focus()
        page.keyboard.press("Home")
        assert told(page)["said"].startswith("attempt 0: ")
        for attempt in (5, 14, 29):
            page.locator("#replay").fill(str(attempt * 30 / BUDGET))
            state = told(page)
            assert state["said"].startswith(f"attempt {attempt}: ")
            name, score = leaders(shelf, attempt)[0]
            assert f"1 {name} {fixed(score)}" in state["said"]
            assert 0 < state["shown"] < 1
        page.keyboard.press("ArrowRight")
        assert 29.25 == told(page)["seconds"]
        page.keyboard.press("End")
        assert ("", 1) == (told(page)["said"], told(page)["shown"])


def test_it_plays_pauses_and_ends_with_the_whole_race(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished, clock=True) as page:
        play = page.locator(".replay button")
        play.click()
        page.clock.run_for(3_000)
        state = told(page)
        assert "pause" in state["button"]
        assert 3 == state["seconds"]
        play.click()
        page.clock.run_for(2_000)
        assert 3 == told(page)["seconds"]
        assert "replay" in told(page)["button"]
        page.locator("#replay").fill("29")
        page.keyboard.press(" ")
        page.clock.run_for(2_000)
        assert (30, "", 1) == tuple(told(page)[key] for key in ("seconds", "said", "shown"))
        assert "replay" in told(page)["button"]


def test_where_motion_is_unwelcome_there_is_no_play_and_the_scrubber_steps(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished, reduced_motion="reduce") as page:
        assert not page.locator(".replay button").is_visible()
        page.locator("#replay").focus()
        page.keyboard.press("ArrowLeft")
        assert 29 == told(page)["seconds"]
        page.keyboard.press(" ")
        page.wait_for_timeout(150)
        assert 29 == told(page)["seconds"]


def test_the_other_axes_replay_too(stand: Stand, shelf: Shelf):
    with stand.open(shelf.finished) as page:
        for axis, words in (("time", " m "), ("tokens", "tokens"), ("cost", "$")):
            page.locator(f"figure.race input[value={axis}]").check()
            page.locator("#replay").fill("20")
            moment = told(page)["said"].partition(": ")[0]
            assert words in moment, (axis, moment)
