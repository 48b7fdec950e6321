"""Clips and posters, by ticket. Addresses and headers say nothing about what is shown."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified, StreamingHttpResponse
from django.views.decorators.http import require_safe

from webapp.base.http import strip_nul
from webapp.base.media_requests import skip_page_middleware
from webapp.base.prepared import Prepared
from webapp.base.store import store
from webapp.base.store_interface import StoreError
from webapp.experiments.models import Clip
from webapp.review import padding
from webapp.review.models import ClipTicket, PairScreening

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger(__name__)

TICKET_BY_TOKEN = Prepared(
    lambda token: ClipTicket.objects.select_related("clip").filter(
        token=token, participant__withdrawn_at=None, clip__status=Clip.Status.READY
    )
)
CHUNK = 1024 * 1024
THREADS = ThreadPoolExecutor(32, "media")
"""They read from the store, so that a slow line to a visitor holds no thread."""
RANGE = re.compile(r"bytes=(?=.*\d)(\d{0,18})-(\d{0,18})")
"""A single range. Anything else, for example several ranges, is answered with the whole file, as the RFC allows."""


async def _run_in_thread(function: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(THREADS, partial(function, *args, **named))


@skip_page_middleware
@require_safe
def serve_clip(request: HttpRequest, token: str) -> HttpResponseBase:
    ticket = TICKET_BY_TOKEN.find(strip_nul(token))
    if ticket is None:
        return HttpResponse(status=404)
    return respond_with_clip(request, ticket.clip.video, "video/mp4", token, ticket.size)


@skip_page_middleware
@require_safe
def serve_poster(request: HttpRequest, token: str) -> HttpResponseBase:
    ticket = TICKET_BY_TOKEN.find(strip_nul(token))
    if ticket is None:
        return HttpResponse(status=404)
    return respond_with_clip(request, ticket.clip.poster, "image/jpeg", token, ticket.poster_size)


def serve_segment(request: HttpRequest, token: str, side: str, content_type: str) -> HttpResponseBase:
    """The video or the still of one side of a pair; both sides are sent at equal length."""
    screening = (
        PairScreening.objects.select_related("pair__first", "pair__second", "gold__better", "gold__worse")
        .filter(token=strip_nul(token), participant__withdrawn_at=None)
        .exclude(pair=None, gold=None)
        .first()
    )
    if screening is None or side not in ("left", "right"):
        return HttpResponse(status=404)
    shown = screening.sides[side == "right"]
    film = content_type == "video/mp4"
    names = [segment.video if film else segment.poster for segment in screening.sides]
    try:
        size = padding.round_up_longest(names, padding.FREE_BOX if film else 0)
    except StoreError as error:
        log.warning("a pair waits: %s", error)
        return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})
    return respond_with_clip(request, shown.video if film else shown.poster, content_type, f"{token} {side}", size)


@dataclass(frozen=True)
class PaddedFile:
    """A file and the bytes that are sent after it."""

    key: str
    length: int
    tail: bytes

    @property
    def size(self) -> int:
        return self.length + len(self.tail)


def respond_with_clip(
    request: HttpRequest, key: str, content_type: str, token: str, padded_to: int = 0
) -> HttpResponseBase:
    """The file or a part of it; 503 without a page, which no player shows, while the store is away."""
    try:
        return respond_with_range(request, key, content_type, token, padded_to)
    except StoreError as error:
        log.warning("a clip waits: %s", error)
        return HttpResponse(status=503, headers={"Retry-After": "5", "Cache-Control": "no-store"})


def respond_with_range(
    request: HttpRequest, key: str, content_type: str, token: str, padded_to: int = 0
) -> HttpResponseBase:
    """The file or a part of it. Raises StoreError."""
    length = store.size(key)
    if length is None:
        return HttpResponse(status=404)
    file = PaddedFile(key, length, padding.make_tail(length, padded_to, content_type))
    size = file.size
    # The ETag depends on the ticket alone: the file's time and size would be the same for everybody.
    headers = {
        "ETag": f'"{hashlib.sha256(f"{token} {content_type} {padded_to}".encode()).hexdigest()[:24]}"',
        "Cache-Control": "private, max-age=86400, immutable",
        "Accept-Ranges": "bytes",
    }
    if request.headers.get("If-None-Match") == headers["ETag"]:
        return HttpResponseNotModified(headers=headers)
    wanted = RANGE.fullmatch(request.headers.get("Range", ""))
    if not wanted or request.headers.get("If-Range", headers["ETag"]) != headers["ETag"]:
        return _respond(request, file, 0, size, 200, content_type, headers)
    start, end = wanted.groups()
    span = _parse_span(start, end, size)
    if span is None:
        return HttpResponse(status=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    first, last = span
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return _respond(request, file, first, last - first + 1, 206, content_type, headers)


def _parse_span(start: str, end: str, size: int) -> tuple[int, int] | None:
    """First and last byte of one range (RFC 9110, section 14.1.2); None if it cannot be satisfied."""
    if not start:
        length = int(end)
        return (max(0, size - length), size - 1) if length and size else None
    first, last = int(start), min(int(end), size - 1) if end else size - 1
    return (first, last) if first <= last and first < size else None


def _respond(
    request: HttpRequest,
    file: PaddedFile,
    start: int,
    length: int,
    status: int,
    content_type: str,
    headers: dict[str, str],
) -> HttpResponseBase:
    headers = {**headers, "Content-Length": str(length)}
    if request.method == "HEAD":
        return HttpResponse(status=status, content_type=content_type, headers=headers)
    return StreamingHttpResponse(
        _stream(file, start, length), status=status, content_type=content_type, headers=headers
    )


def _read_part(key: str, start: int, length: int) -> bytes:
    with store.open_range(key, start, length) as opened:
        return opened.read(length)


async def _stream(file: PaddedFile, start: int, length: int) -> AsyncIterator[bytes]:
    padding_bytes = file.tail[max(0, start - file.length) : max(0, start + length - file.length)]
    length = max(0, min(length, file.length - start))
    while length > 0:
        data = await _run_in_thread(_read_part, file.key, start, min(CHUNK, length))
        if not data:
            return
        yield data
        start, length = start + len(data), length - len(data)
    if padding_bytes:
        yield padding_bytes
