"""Serve pages, websockets and files: `python -m webapp.web_server [--host 127.0.0.1] [--port 8000]`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from types import FrameType

import uvicorn

WAKE_SECONDS = 1.0
"""How often the date of answers is written again. uvicorn's own loop wakes ten times as often."""


class Server(uvicorn.Server):
    """uvicorn's, which costs next to nothing while nobody asks."""

    async def main_loop(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        while not await self.on_tick(0):
            try:
                await asyncio.wait_for(self._woken.wait(), WAKE_SECONDS)
            except TimeoutError:
                continue

    def handle_exit(self, number: int, frame: FrameType | None) -> None:
        super().handle_exit(number, frame)
        if hasattr(self, "_woken"):  # else it still starts, and looks by itself
            self._loop.call_soon_threadsafe(self._woken.set)


def build_config(host: str, port: int) -> uvicorn.Config:
    return uvicorn.Config(
        "webapp.asgi:application",
        host=host,
        port=port,
        lifespan="off",
        access_log=False,
        proxy_headers=False,  # webapp/accounts/addresses.py reads them, as PREFINE_PROXIES says
        ws_max_size=4096,  # pages send pings alone
        ws_per_message_deflate=False,  # would take 90 MB for 1 000 open pages that are sent 20 bytes each
        timeout_graceful_shutdown=2,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m webapp.web_server", description="Serve Prefine's pages.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):  # which uvicorn raises again when it has ended
        Server(build_config(given.host, given.port)).run()


if __name__ == "__main__":
    main()
