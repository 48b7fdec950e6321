"""A small browser: cookies, one connection that stays open, compressed pages. A larger client would use more of the
processor than what it measures.
"""

from __future__ import annotations

import asyncio
import gzip
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass

IDLE_SECONDS = 4.0
"""A connection that was idle for longer is not used again: the server closes it after five."""
SECONDS = 120.0
"""How long an answer may take."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        return body.decode()


class Browser:
    """One person's browser behind a proxy; `address` is the person's own."""

    def __init__(self, site: str, address: str) -> None:
        self.site, self.address = site, address
        parts = urllib.parse.urlsplit(site)
        self.host, self.port = str(parts.hostname), int(parts.port or 80)
        self.cookies: dict[str, str] = {}
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self.used_at = 0.0
        self.lock = asyncio.Lock()

    def open_tab(self) -> Browser:
        """A second connection of the same browser."""
        other = Browser(self.site, self.address)
        other.cookies = self.cookies
        return other

    async def get(self, path: str, **headers: str) -> Answer:
        return await self._ask("GET", path, b"", headers)

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> Answer:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return await self._ask("POST", path, urllib.parse.urlencode(fields).encode(), headers)

    async def close(self) -> None:
        if self.streams:
            self.streams[1].close()
        self.streams = None

    async def _ask(self, method: str, path: str, body: bytes, more: Mapping[str, str]) -> Answer:
        async with self.lock, asyncio.timeout(SECONDS):
            if time.monotonic() - self.used_at > IDLE_SECONDS:
                await self.close()
            try:
                reader, writer = self.streams or await asyncio.open_connection(self.host, self.port)
                self.streams = reader, writer
                writer.write(self._make_head(method, path, len(body), more) + body)
                answer = await self._read(reader)
            except BaseException:
                await self.close()
                raise
            self.used_at = time.monotonic()
            return answer

    def _make_head(self, method: str, path: str, length: int, more: Mapping[str, str]) -> bytes:
        headers = {
            "Host": f"{self.host}:{self.port}",
            "Accept-Encoding": "gzip",
            "Accept-Language": "en",
            "X-Forwarded-For": self.address,
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        if method == "POST":
            headers |= {"Origin": self.site, "Content-Length": str(length)}
        headers |= {name.replace("_", "-"): value for name, value in more.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items() if value)]
        return "\r\n".join([*lines, "", ""]).encode()

    async def _read(self, reader: asyncio.StreamReader) -> Answer:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            if name.lower() == "set-cookie":
                cookie, _, content = value.partition(";")[0].strip().partition("=")
                self.cookies[cookie] = content
            headers[name.lower()] = value.strip()
        if "chunked" in headers.get("transfer-encoding", ""):
            body = await _read_chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(first.split()[1]), headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    """The body of an answer that does not say its length, such as a clip's 503 (RFC 9112, section 7.1)."""
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(chunks)
