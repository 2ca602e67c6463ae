from __future__ import annotations

import time

import pytest

from autoquant.harness.complaints import Waits, asked_wait, by_words, loses_conversation, of_forbidden
from autoquant.harness.events import Called, Finished, Hurt, Said, Trouble

ANTHROPIC = (
    "messages.3: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use`"
    " block must have a corresponding `tool_result` block in the next message.",
    "messages.0.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.5: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
    "messages: text content blocks must be non-empty",
    "API Error: 400 due to tool use concurrency issues.",
)
OPENAI = (
    "No tool output found for function call call_abc.",
    "No tool call found for function call output with call_id call_abc.",
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    "The encrypted content gAAA could not be verified.",
    "Previous response with id 'resp_1' not found.",
)
GOOGLE = (
    "Please ensure that the number of function response parts is equal to the number of function call parts.",
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    "Function call is missing a thought_signature in functionCall parts.",
)


@pytest.mark.parametrize("text", [*ANTHROPIC, *OPENAI, *GOOGLE])
def test_a_request_that_only_its_own_history_spoils_asks_for_a_fresh_conversation(text: str):
    assert loses_conversation(text)
    assert by_words(f"status 400 Bad Request: {text}", [(Trouble.SETUP, "400")]) is Trouble.CONTEXT_FULL


@pytest.mark.parametrize(
    "text",
    ["Unsupported parameter: reasoning.effort", "The model `x` does not exist", "Invalid signature", "tool not found"],
)
def test_a_request_that_would_fail_in_a_fresh_conversation_too_does_not(text: str):
    assert not loses_conversation(text)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("403 Forbidden", Trouble.SERVER),
        ("Country, region, or territory not supported", Trouble.SERVER),
        ("<!DOCTYPE html><html>You do not have permission. Please log in.</html>", Trouble.SERVER),
        ("403 Forbidden, url: https://api-key.example/login", Trouble.SERVER),
        ("monkey business in the tokenizer", Trouble.SERVER),
        ("Your API key does not have permission to use the specified resource.", Trouble.AUTH),
        ('{"status":"PERMISSION_DENIED"}', Trouble.AUTH),
        ("permission_error: no", Trouble.AUTH),
        ("Please sign in again", Trouble.AUTH),
        ("This account is on hold", Trouble.AUTH),
    ],
)
def test_a_403_is_a_matter_of_login_only_if_it_says_so(text: str, trouble: Trouble):
    assert trouble is of_forbidden(text)


def test_a_403_without_words_of_a_login_goes_before_the_words_of_the_table():
    table = [(Trouble.QUOTA, "credits"), (Trouble.AUTH, "log in")]
    assert Trouble.SERVER is by_words("403 Forbidden: <html>log in</html>", table)
    assert Trouble.QUOTA is by_words("403 Forbidden: no credits", table)
    assert Trouble.AUTH is by_words("please log in", table)
    assert None is by_words("something new", table)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please retry in 33.5s. See 3 documents", 33.5),
        ("Please try again in 6m0s.", 360.0),
        ("try again in 3 days 4 hours 5 minutes.", 273_900.0),
        ("try again in 250ms", 0.25),
        ("Retry-After: 30", 30.0),
        ('{\\"retryDelay\\": \\"7s\\"}', 7.0),
        ("Please retry after 20 seconds", 20.0),
        ("try again in a moment", None),
        ("retry in 1.1.1s", None),
        ("try again at 5:33 PM", None),
    ],
)
def test_a_wait_is_read_in_all_its_spellings(text: str, seconds: float | None):
    assert seconds == asked_wait(text)


def test_a_wait_is_known_until_the_model_is_heard_again():
    waits, other = Waits(), Hurt(Trouble.SERVER, "500")
    asked, again = Hurt(Trouble.RATE_LIMIT, "429", retry_after_seconds=9.0), Hurt(Trouble.RATE_LIMIT, "429", True)
    filled = waits.fill((asked, other, again))
    assert [9.0, None, 9.0] == [hurt.retry_after_seconds for hurt in filled]  # type: ignore[union-attr]
    assert filled[2].gives_up  # type: ignore[union-attr]
    assert [9.0] == [hurt.retry_after_seconds for hurt in waits.fill((again,))]  # type: ignore[union-attr]
    for good in (Said("x"), Called("bash"), Finished(True)):
        waits.fill((asked, good))
        assert (again,) == waits.fill((again,))
    waits.fill((asked, Finished(False)))
    assert (again,) != waits.fill((again,))


def test_a_huge_complaint_costs_no_time():
    began = time.process_time()
    for text in ("try again in " + "1s " * 10**6, "encrypted content " * 10**5, "previous response " * 10**5):
        asked_wait(text), loses_conversation(text), of_forbidden(text)
    assert 1.0 > time.process_time() - began
