"""A chat completions server that fails as real ones do. Each test scripts its answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]  # status, JSON body (or text as it is, or a Stream)


@dataclass(frozen=True)
class Stream:
    """A streamed answer. `finish` "" breaks it off; `pause` is waited before each piece; `error` comes at the end.

    `done` is what stands after all events, where nothing broke it off; `sent` is sent first, as it is. With `promised`
    bytes, which do not all come, the line breaks; `open_for` comments keep it open after the last event.
    """

    pieces: Sequence[str]
    finish: str = "stop"
    pause: float = 0.0
    error: str = ""
    code: int | str | None = None
    done: str | None = None
    sent: str = ""
    promised: int = 0
    open_for: int = 0

    def events(self) -> Iterator[dict[str, Any]]:
        shared = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
        for piece in self.pieces:
            time.sleep(self.pause)
            yield {**shared, "choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]}
        if self.error:
            yield {"error": {"message": self.error, "type": "server_error", "param": None, "code": self.code}}
        if self.finish:
            yield {**shared, "choices": [{"index": 0, "delta": {}, "finish_reason": self.finish}]}
            usage = {"prompt_tokens": 100, "completion_tokens": len(self.pieces), "total_tokens": 100}
            yield {**shared, "choices": [], "usage": usage}


def stream(*pieces: str, **more: Any) -> Answer:
    return 200, Stream(pieces, **more)


def completion(text: Any, finish: str = "stop", **more: Any) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return 200, {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m-1",
        "choices": [choice],
        "usage": usage,
    } | more


def failure(status: int, message: str, param: str | None = None) -> Answer:
    return status, {"error": {"message": message, "type": "some_error", "param": param, "code": None}}


@dataclass
class Faulty:
    """`script` gives the answer to a request body; `seen` are all bodies, `keys` all authorization headers."""

    script: Callable[[dict[str, Any]], Answer]
    seen: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    delay: float = 0.0
    base_url: str = ""
    at_once: int = 0
    most_at_once: int = 0
    hung_up: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed its connection in the middle of a stream."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with every failure."""
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        faulty = self.server.faulty
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with faulty.lock:
            faulty.at_once += 1
            faulty.most_at_once = max(faulty.most_at_once, faulty.at_once)
            faulty.seen.append(body)
            faulty.keys.append(self.headers["Authorization"])
        time.sleep(faulty.delay)
        status, answer = faulty.script(body)
        if isinstance(answer, Stream):
            self.send_stream(answer)
        with faulty.lock:
            faulty.at_once -= 1
        if isinstance(answer, Stream):
            return
        data = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, value in faulty.headers.items() if status >= 300 else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def send_stream(self, answer: Stream):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        if answer.promised:
            self.send_header("Content-Length", str(answer.promised))
        self.end_headers()
        try:
            self.wfile.write(answer.sent.encode())
            for event in answer.events():
                self.wfile.write(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode())
            for _ in range(answer.open_for):
                time.sleep(0.05)
                self.wfile.write(b": ping\n\n")
            end = "data: [DONE]\n\n" if answer.finish else ""
            self.wfile.write((end if answer.done is None else answer.done).encode())
        except (BrokenPipeError, ConnectionResetError):
            self.server.faulty.hung_up.set()

    def log_message(self, *args):
        return


@contextmanager
def serving(script: Callable[[dict[str, Any]], Answer], delay: float = 0.0) -> Iterator[Faulty]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.faulty = Faulty(script, delay=delay, base_url=f"http://127.0.0.1:{server.server_address[1]}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.005})
    thread.start()
    try:
        yield server.faulty
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
