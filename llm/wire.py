"""One chat completion over HTTP: streamed where the server can, read whole where it cannot.

All requests of a process run in one event loop, in a thread of its own. So whoever waits for them can give them up at
any moment: the connection is closed then, and the server stops writing what is paid for by the token.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
import openai

from llm.prices import Usage


@dataclass(frozen=True)
class Answer:
    """What a server said to one request."""

    text: str
    finish_reason: str
    usage: Usage | None
    model: str
    fingerprint: str


class BrokenOff(Exception):
    """The answer ended before its end: no finish reason came, or half of a JSON text."""


class NoAnswer(Exception):
    """A success whose body is no chat completion. The text says what is missing."""


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The event loop of all requests."""
    running = asyncio.new_event_loop()
    threading.Thread(target=running.run_forever, name="language models", daemon=True).start()
    return running


@cache
def tls() -> Any:
    """The certificates are read once."""
    return httpx2.create_ssl_context()


def client(base_url: str, api_key: str, timeout: float) -> openai.AsyncOpenAI:
    """A client without retries of its own, which are llm.asking's business. `timeout`: seconds of silence."""
    limits = httpx2.Limits(max_keepalive_connections=0)  # llama.cpp's server closes them just as they are used again
    http = httpx2.AsyncClient(verify=tls(), timeout=timeout, follow_redirects=True, limits=limits)
    return openai.AsyncOpenAI(
        base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=0, http_client=http
    )


async def ask(asked: openai.AsyncOpenAI, body: Mapping[str, Any], heard: Callable[[], None]) -> Answer:
    """Send the request and read the answer; `heard` is called for every piece of text that a stream brings.

    Raises openai's errors, also for those within a success, BrokenOff, NoAnswer, and ValueError for what is no JSON.
    """
    response = await asked.chat.completions.with_raw_response.create(**body)
    try:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return await _streamed(response.parse(), heard)
        await response.http_response.aread()
        return _whole(_json(response.http_response))
    finally:
        await response.http_response.aclose()


def _json(response: httpx2.Response) -> Any:
    """The body. Raises openai.APIError for an error that came with a success, BrokenOff for half an answer."""
    try:
        data = response.json()
    except ValueError:
        if response.text.lstrip().startswith("{"):
            raise BrokenOff from None
        raise
    said = data.get("error") if isinstance(data, dict) else None
    if said:
        message = said.get("message") if isinstance(said, dict) else said
        raise openai.APIError(str(message or "an error"), response.request, body=said)
    return data


async def _streamed(stream: Any, heard: Callable[[], None]) -> Answer:
    pieces: list[str] = []
    finish, usage, model, fingerprint, chunks, anything = "", None, "", "", 0, False
    async for chunk in stream:
        chunks += 1
        model = getattr(chunk, "model", None) or model
        fingerprint = getattr(chunk, "system_fingerprint", None) or fingerprint
        usage = _usage(getattr(chunk, "usage", None)) or usage
        choices = getattr(chunk, "choices", None)
        for choice in choices if isinstance(choices, list) else ():
            anything = True
            piece = getattr(getattr(choice, "delta", None), "content", None)  # some filters send chunks without a delta
            if isinstance(piece, str) and piece:
                pieces.append(piece)
                heard()
            finish = getattr(choice, "finish_reason", None) or finish
    if chunks and not anything:
        raise NoAnswer("without any choices")
    if not finish:
        raise BrokenOff
    return Answer("".join(pieces), finish, usage, model, fingerprint)


def _whole(data: Any) -> Answer:
    choices = data.get("choices") if isinstance(data, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        raise NoAnswer("without any choices")
    content, finish = message.get("content"), first.get("finish_reason")
    return Answer(
        text=content if isinstance(content, str) else "",
        finish_reason=finish if isinstance(finish, str) and finish else "stop",
        usage=_usage(data.get("usage")),
        model=str(data.get("model") or ""),
        fingerprint=str(data.get("system_fingerprint") or ""),
    )


def _usage(usage: Any) -> Usage | None:
    """The tokens, where the endpoint reports them as numbers."""
    if not isinstance(usage, dict):
        usage = {name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")}
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(read, written) if isinstance(read, int) and isinstance(written, int) else None
