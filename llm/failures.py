"""What an endpoint's failure means: whether and when to ask again, and what to tell the person who waits."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from llm import errors
from llm.wire import BrokenOff, NoAnswer

Failure = openai.OpenAIError | httpx2.HTTPError | ValueError | BrokenOff | NoAnswer
FAILURES = (openai.OpenAIError, httpx2.HTTPError, ValueError, BrokenOff, NoAnswer)
OPTIONAL = ("seed", "temperature", "max_tokens", "max_completion_tokens", "stream_options", "stream")
"""Parameters that a server may refuse; it is asked again without the one that it complains about."""
FINAL = ("context_length_exceeded", "content_filter", "insufficient_quota", "invalid_api_key", "model_not_found")
"""Codes that servers send instead of a status, within an answer that began well; asking again changes nothing."""
LONGEST_PAUSE = 600.0
"""Seconds: an endpoint that asks for a longer pause has failed."""
FIRST_BACKOFF, LAST_BACKOFF = 0.5, 8.0


def may_pass(failure: Failure) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(failure, openai.APIStatusError):
        said = failure.response.headers.get("x-should-retry", "")
        if said in ("true", "false"):
            return said == "true"
        return is_passing_status(failure.status_code)
    if isinstance(failure, openai.APIConnectionError | httpx2.TransportError | BrokenOff):
        return True
    return isinstance(failure, openai.APIError) and is_passing_status(find_status(failure))


def is_silence(failure: Failure | None) -> bool:
    """Whether the server accepted the request and then timed out: it may have charged for the prompt."""
    cause = failure.__cause__ if isinstance(failure, openai.APITimeoutError) else failure
    return isinstance(cause, httpx2.ReadTimeout)


def is_passing_status(status: int) -> bool:
    """Whether this status may pass a little later."""
    return status in (408, 409, 429) or status >= 500


def find_status(failure: openai.APIError) -> int:
    """The status; where the error came with a success (an event of a stream, or in place of an answer) its body's.

    500 for an unknown code, because a request whose answer began was understood.
    """
    if isinstance(failure, openai.APIStatusError):
        return failure.status_code
    code = failure.code or ""
    if code in FINAL:
        return 400
    return int(code) if code.isdecimal() and len(code) == 3 else 500


def pause_before_next_try(failure: Failure, tries: int) -> float:
    """Seconds until the next try: as the server asks (Retry-After), else 0.5, 1, 2, 4, 8, ... a little shortened."""
    asked = pause_asked_for(failure)
    if asked is not None:
        return asked
    return float(min(FIRST_BACKOFF * 2 ** (tries - 1), LAST_BACKOFF) * (1 - 0.25 * random.random()))


def pause_asked_for(failure: Failure) -> float | None:
    """What the server's answer asks for, in seconds; None where it names no readable time."""
    if not isinstance(failure, openai.APIStatusError):
        return None
    headers = failure.response.headers
    for name, divisor in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / divisor
        except ValueError:
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


MINDS_THE_VALUE = re.compile(r"too (large|long|big|high|many)|exceed|maximum|at most|less than|context length")


TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|prompt is too long|input token count|input tokens exceed", re.I
)
ROOM = re.compile(
    r"context[ _](?:length|size|window)(?:(?!\bby\b|exceed)\D){0,20}?(\d[\d,]{0,11})(?![\d,])(?!\s*(?:tokens\s*)?>)"
    r"|(\d[\d,]{0,11}) maximum\b|tokens allowed \((\d[\d,]{0,11})\)|limit of (\d[\d,]{0,11}) tokens",
    re.I,
)
"""Where servers say how much fits: "maximum context length is 8192 tokens", "context size (4096 tokens)" and so on."""


def find_context(failure: Failure) -> int | None:
    """The model's context in tokens, as a refusal of a prompt that is too long names it; 0 where it names none; None
    for any other failure.
    """
    if not isinstance(failure, openai.APIError) or find_status(failure) not in (400, 413, 422):
        return None
    said = read_server_words(failure)
    if not TOO_LONG.search(f"{failure.code} {said}"):
        return None
    found = ROOM.search(said)
    return int(next(filter(None, found.groups())).replace(",", "")) if found else 0


def find_refused_parameter(failure: Failure, sent: Mapping[str, object]) -> str | None:
    """The optional parameter that a 400 or 422 does not know; None where it only refuses the value."""
    if not isinstance(failure, openai.APIError) or find_status(failure) not in (400, 422):
        return None
    said = f"{failure.param or ''} {read_server_words(failure)}".lower()
    if MINDS_THE_VALUE.search(said):
        return None
    return next((name for name in OPTIONAL if name in sent and re.search(rf"(?<![\w-]){name}(?![\w-])", said)), None)


def build_model_error(
    failure: Failure, where: str, model: str, tries: int, secrets: Sequence[str]
) -> errors.ModelError:
    """The failure as a ModelError that says what to do and holds no secret."""
    said = clean_words(failure, secrets)
    room = find_context(failure)
    if room is not None:
        return errors.TooLong(
            f"{where} refuses a prompt that is too long for {model}. Name its context in tokens (*Context* of its row "
            f"in the admin), or a smaller one: the oldest history is left out then. It said: {said}",
            room,
        )
    match failure:
        case openai.APITimeoutError() | httpx2.TimeoutException():
            return errors.TimedOut(
                f"{where} did not answer in time, tried {tries} times. Does it think unseen, or is it overloaded? "
                "Raise the model's patience, or lower its requests at once."
            )
        case BrokenOff():
            return errors.BrokenOff(f"{where} broke off in the middle of its answer, {tries} times; try again later.")
        case openai.APIConnectionError() | httpx2.HTTPError():
            return make_unreachable_error(where)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return errors.Unauthorized(f"{where} refuses the API key. Check the key and that it may use {model}.")
        case openai.NotFoundError():
            return errors.UnknownModel(
                f"{where} knows no model {model!r}, or the address is wrong (it often ends in /v1)."
            )
        case openai.RateLimitError():
            wait = pause_asked_for(failure)
            long = f" It asks to wait for {wait / 60:.0f} minutes." if wait and wait > LONGEST_PAUSE else ""
            return errors.RateLimited(
                f"{where} says too many requests, or the quota is used up: wait, lower the concurrency, or check the "
                f"account.{long} It said: {said}"
            )
        case openai.APIStatusError() if failure.status_code >= 500:
            return errors.ServerFailed(
                f"{where} failed with status {failure.status_code}; try again later. It said: {said}"
            )
        case openai.APIStatusError() if 300 <= failure.status_code < 400:
            return errors.BadRequest(
                f"{where} redirects to another address, which is not followed: give the model the right address."
            )
        case openai.APIStatusError():
            return errors.BadRequest(f"{where} refuses the request with status {failure.status_code}. It said: {said}")
        case openai.APIError() if not is_passing_status(find_status(failure)):  # sent within a success
            return errors.BadRequest(f"{where} refuses the request with status {failure.code}. It said: {said}")
        case openai.APIError():
            return errors.ServerFailed(f"{where} failed while it answered; try again later. It said: {said}")
        case NoAnswer():
            return errors.BadAnswer(f"{where} answered {failure}. Is it a chat completions endpoint?")
    return errors.BadAnswer(f"{where} answered with something that is not a chat completion. Check the address.")


def make_unreachable_error(where: str) -> errors.Unreachable:
    """The message about an address that is invalid or cannot be reached."""
    return errors.Unreachable(
        f"{where} cannot be reached. Check the address (http://... or https://...) and that it runs."
    )


def read_server_words(failure: Failure) -> str:
    """What the server said. OpenAI's client passes on {"error": {"message": ...}} alone; others say {"error": text},
    {"detail": text or list}, or plain text.
    """
    said = str(failure)
    if not isinstance(failure, openai.APIStatusError) or said != f"Error code: {failure.status_code}":
        return said
    body = failure.body
    if isinstance(body, dict):
        body = body.get("detail") or body
    text = body if isinstance(body, str) else json.dumps(body)
    return f"{said} - {text}" if body and not text.startswith("<") else said  # no pages for browsers


def clean_words(failure: Failure, secrets: Sequence[str]) -> str:
    """The server's words, short and without anything that looks like a key."""
    text = read_server_words(failure)
    for secret in secrets:
        text = text.replace(secret, "[key]")
    text = re.sub(r"\b(sk|key|Bearer)[-_ ][\w*.-]{6,}", "[key]", text)
    return text[:300]
