"""One chat completion over HTTP: streamed where the server can, read whole where it cannot.

All requests of a process run in one event loop, in a thread of its own. So the caller can give them up at any moment:
the connection is closed then, and the server stops writing tokens that must be paid.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
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
    """The answer broke off: nothing says that it is whole, or half of a JSON text came.

    `usage`: the cost that the server reports, if any.
    """

    def __init__(self, usage: Usage | None = None) -> None:
        super().__init__("broken off")
        self.usage = usage


class NoAnswer(Exception):
    """A success whose body is no chat completion. The text says what is missing."""


@cache
def get_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all requests."""
    running = asyncio.new_event_loop()
    threading.Thread(target=running.run_forever, name="language models", daemon=True).start()
    return running


@cache
def get_certificates() -> Any:
    """The certificates are read once."""
    return httpx2.create_ssl_context()


def make_client(base_url: str, api_key: str, timeout: float) -> openai.AsyncOpenAI:
    """A client without retries of its own, which are llm.request_batch's business. `timeout`: seconds of silence."""
    limits = httpx2.Limits(max_keepalive_connections=0)  # llama.cpp's server closes them just as they are used again
    http = httpx2.AsyncClient(
        verify=get_certificates(),
        timeout=timeout,
        follow_redirects=False,
        limits=limits,
        event_hooks={"response": [limit_response]},
    )
    return openai.AsyncOpenAI(
        base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=0, http_client=http
    )


async def limit_response(response: httpx2.Response) -> None:
    """Called with each response before its body is read, which OpenAI's client does at once for most."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = Beginning(response.stream, MOST_BYTES + 1 if response.is_success else MOST_ERROR_BYTES)


@dataclass(frozen=True)
class Beginning(httpx2.AsyncByteStream):
    """The first bytes of a body that may have no end."""

    body: httpx2.AsyncByteStream
    most: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self.most
        async for piece in self.body:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        """Close the connection."""
        await self.body.aclose()


CUT_OFF = ("length", "max_tokens", "model_length")
"""What servers say of an answer that ended at its limit of tokens."""
GIVEN_UP = ("error", "abort", "insufficient_system_resource")
"""What servers say of an answer that they did not finish."""
MOST_BYTES = 64 << 20
"""Bytes of one answer with its events, about 250 a token: an endless answer must not fill the memory."""
MOST_ERROR_BYTES = 64 << 10
"""Bytes read of an error, compressed or not."""
AFTER_END = 20.0
"""Seconds in which a stream that gave its reason for the end may still say what it cost, and that it is done."""
WORDS = ("reasoning_content", "reasoning", "content")
"""Where a piece of text stands: thoughts, by the two names that servers have for them, or the answer."""
LINE_ENDS = re.compile(rb"\r\n|\n|\r")
Heard = Callable[[str], None]


async def ask(asked: openai.AsyncOpenAI, body: Mapping[str, Any], heard: Heard) -> Answer:
    """Send the request and read the answer; `heard` is given every piece of text that a stream brings.

    Raises openai's errors, also for those within a success, BrokenOff, NoAnswer, and ValueError for what is no JSON.
    """
    response = (await asked.chat.completions.with_raw_response.create(**body)).http_response
    try:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return await _read_stream(response, heard)
        content = b"".join([piece async for piece in _read_pieces(response)])
        return _read_answer(_read(content, response.request))
    finally:
        await response.aclose()


async def read_events(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The data of each server-sent event. Comments, by which servers keep a silent connection open, are passed over."""
    data: list[bytes] = []
    async for line in _read_lines(response):
        if line.startswith(b"data:"):
            data.append(line[5:].strip())
        elif not line and data:
            yield b"\n".join(data)
            data = []
    if data:  # the empty line that ends an event is missing at the end of some streams
        yield b"\n".join(data)


async def _read_lines(response: httpx2.Response) -> AsyncIterator[bytes]:
    """Lines end with CR LF, LF or CR and nothing else: a JSON text may hold what Python takes for other ends."""
    begun: list[bytes] = []
    after_return = False
    async for piece in _read_pieces(response):
        first, *others = LINE_ENDS.split(piece.removeprefix(b"\n") if after_return else piece)
        after_return = piece.endswith(b"\r")
        begun.append(first)
        for line in others:
            yield b"".join(begun)
            begun = [line]
    yield b"".join(begun)


async def _read_pieces(response: httpx2.Response) -> AsyncIterator[bytes]:
    """The lines as they arrive. Raises NoAnswer where they are longer than any answer can be."""
    size = 0
    async for piece in response.aiter_bytes():
        size += len(piece)
        if size > MOST_BYTES:
            raise NoAnswer(f"with more than {MOST_BYTES >> 20} MiB")
        yield piece


def _read(data: bytes, request: httpx2.Request) -> Any:
    """The JSON. Raises openai.APIError for an error that came with a success, BrokenOff for half an answer."""
    try:
        value = json.loads(data)
    except ValueError:
        text = data.decode(errors="replace").strip()
        if text.startswith('{"error"') and text.endswith("}"):  # transformers quotes nothing in its errors
            raise openai.APIError(text, request, body=None) from None
        if text.startswith("{"):
            raise BrokenOff from None
        raise
    if isinstance(value, dict) and (value.get("error") or value.get("object") == "error"):
        said = value.get("error") or value
        message = said.get("message") if isinstance(said, dict) else said
        raise openai.APIError(str(message or "an error"), request, body=said)
    return value


async def _read_stream(response: httpx2.Response, heard: Heard) -> Answer:
    """A stream is whole when it gives a reason for its end, though the line may break or stay open after one that came
    once, or ends with [DONE] after some text: some servers send no reason, others no [DONE].
    """
    pieces: list[str] = []
    finish, usage, model, fingerprint, chunks, choosing, done = "", None, "", "", 0, False, False
    reasons = 0  # some servers give one with every piece, which then says nothing of the end
    try:
        async with asyncio.timeout(None) as waiting:
            async for data in read_events(response):
                if data.startswith(b"[DONE]"):
                    done = True
                    break
                if not data:  # by which some servers keep a silent connection open
                    continue
                chunk = _read(data, response.request)
                if not isinstance(chunk, dict):
                    continue
                chunks += 1
                model = _read_text(chunk, "model") or model
                fingerprint = _read_text(chunk, "system_fingerprint") or fingerprint
                usage = _read_usage(chunk.get("usage")) or usage
                for choice in _read_choices(chunk):
                    choosing = True
                    delta = choice.get("delta")
                    delta = delta if isinstance(delta, dict) else {}  # some filters send chunks without one
                    came = [(name, piece) for name in WORDS if (piece := _read_text(delta, name))]
                    for name, piece in came:
                        heard(piece)
                        pieces += [piece] if name == "content" else []
                    reason = _read_text(choice, "finish_reason")
                    reasons += bool(reason)
                    finish = reason or ("" if came else finish)
                    over = finish and reasons == 1 and pieces
                    waiting.reschedule(asyncio.get_running_loop().time() + AFTER_END if over else None)
    except (httpx2.TransportError, TimeoutError):
        if not finish or reasons > 1:
            raise
    if chunks and not choosing:
        raise NoAnswer("without any choices")
    if not finish and done and pieces:
        finish = "stop"
    if not finish or finish in GIVEN_UP:
        raise BrokenOff(usage)
    return Answer("".join(pieces), _name_reason(finish), usage, model, fingerprint)


def _name_reason(finish: str) -> str:
    """Why it ended, by OpenAI's name where there is one."""
    return "length" if finish.lower() in CUT_OFF else finish


def _read_choices(data: Any) -> list[dict[str, Any]]:
    choices = data.get("choices") if isinstance(data, dict) else None
    return [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []


def _read_text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _read_answer(data: Any) -> Answer:
    first = next(iter(_read_choices(data)), {})
    message = first.get("message")
    if not isinstance(message, dict):
        raise NoAnswer("without any choices")
    finish, usage = _read_text(first, "finish_reason") or "stop", _read_usage(data.get("usage"))
    if finish in GIVEN_UP:
        raise BrokenOff(usage)
    fingerprint = _read_text(data, "system_fingerprint")
    return Answer(_read_text(message, "content"), _name_reason(finish), usage, _read_text(data, "model"), fingerprint)


def _read_usage(usage: Any) -> Usage | None:
    """The tokens where the endpoint reports numbers."""
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(read, written) if isinstance(read, int) and isinstance(written, int) else None
