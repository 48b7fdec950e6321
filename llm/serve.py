"""Serve the offline writer as an OpenAI-compatible endpoint on this machine.

    python -m llm.serve --port 8800 [--key SECRET]

answers POST /v1/chat/completions (whole or streamed) and GET /v1/models, on loopback only. Point any OpenAI client at
it. Pictures in a question are accepted and not looked at; the answer says so.
"""

from __future__ import annotations

import argparse
import hmac
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from llm.offline import MODEL, OfflineWriter

MAX_BODY = 40_000_000
"""Bytes: room for the frames of a clip."""
Body = dict[str, Any] | str
"""A JSON answer, or a stream of events."""


class BadCall(Exception):
    """A request that cannot be answered: HTTP status, OpenAI's error type, and the reason."""

    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": None}}


class Server(ThreadingHTTPServer):
    """The server on loopback. `key`: the API key that it asks for; empty: none."""

    daemon_threads = True

    def __init__(self, port: int, key: str = "") -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.key = key

    @property
    def base_url(self) -> str:
        """The address to give to a client."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:  # noqa: N802 (the library's name)
        """The list of models."""
        self.answer(self.models)

    def do_POST(self) -> None:  # noqa: N802
        """A chat completion."""
        self.answer(self.completion)

    def answer(self, action: Callable[[], Body]) -> None:
        """Send the action's result, or the failure in OpenAI's form."""
        status, body = 500, None
        try:
            self.authorise()
            status, body = 200, action()
        except BadCall as bad:
            status, body = bad.status, bad.body
        finally:  # the log gets the error, too; unanswered, the client would see a lost connection
            self.send(status, body or _describe_mistake(sys.exception()))

    def authorise(self) -> None:
        """Raises BadCall where the key is wrong."""
        given = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.server.key and not hmac.compare_digest(given.encode(), self.server.key.encode()):
            raise BadCall(401, "invalid_request_error", "Incorrect API key provided.")

    def models(self) -> dict[str, Any]:
        """The one model. Raises BadCall at another address."""
        if self.path != "/v1/models":
            raise BadCall(404, "invalid_request_error", f"There is nothing at {self.path}.")
        return {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "prefine"}]}

    def completion(self) -> Body:
        """The answer to the body, whole or as a stream's text. Raises BadCall for what cannot be answered."""
        if self.path != "/v1/chat/completions":
            raise BadCall(404, "invalid_request_error", f"There is nothing at {self.path}.")
        body = self.body()
        whole = complete(body)
        if not body.get("stream"):
            return whole
        options = body.get("stream_options")
        return format_events(whole, isinstance(options, dict) and bool(options.get("include_usage")))

    def body(self) -> dict[str, Any]:
        """The request's JSON object. Raises BadCall where it is none or too long."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise BadCall(413, "invalid_request_error", f"Send a body with a length of at most {MAX_BODY} bytes.")
        try:
            data = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise BadCall(400, "invalid_request_error", f"The body is not JSON: {error}") from error
        if not isinstance(data, dict):
            raise BadCall(400, "invalid_request_error", "The body must be a JSON object.")
        return data

    def send(self, status: int, body: Body) -> None:
        """JSON, or text as a stream of events. After a failure the connection is closed, and the client told so."""
        data, kind = (body, "text/event-stream") if isinstance(body, str) else (json.dumps(body), "application/json")
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data.encode())))
        if status != 200:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing: request lines are of no use, and headers must never reach a log."""


def complete(body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion for this request body. Raises BadCall."""
    if body.get("model") != MODEL:
        raise BadCall(404, "invalid_request_error", f"The model {body.get('model')!r} does not exist.", "model")
    messages, count, seed = body.get("messages"), body.get("n", 1), body.get("seed", 0)
    if not isinstance(messages, list) or not messages or not all(_is_message(m) for m in messages):
        raise BadCall(400, "invalid_request_error", "messages must be a list of {role, content}.", "messages")
    if not isinstance(count, int) or not 1 <= count <= 64:
        raise BadCall(400, "invalid_request_error", "n must be between 1 and 64.", "n")
    if not isinstance(seed, int):
        raise BadCall(400, "invalid_request_error", "seed must be an integer.", "seed")
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    if not isinstance(limit, int) or limit < 0:
        raise BadCall(400, "invalid_request_error", "max_tokens must be a whole number.", "max_tokens")
    talk = [{"role": m["role"], "content": m["content"]} for m in messages]
    replies = OfflineWriter().complete(talk, count, seed, tokens=limit)
    read = replies[0].usage.input_tokens if replies[0].usage else 0
    written = sum(r.usage.output_tokens for r in replies if r.usage)
    choices = [
        {"index": i, "message": {"role": "assistant", "content": r.text}, "finish_reason": r.finish_reason}
        for i, r in enumerate(replies)
    ]
    return {
        "id": f"offline-{replies[0].request_hash[:16]}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "system_fingerprint": "rules",
        "choices": choices,
        "usage": {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written},
    }


PIECE = 40
"""Letters in a piece of a streamed answer."""


def format_events(whole: dict[str, Any], usage: bool) -> str:
    """The completion as OpenAI streams it: pieces of text, the finish reason, where asked for the usage, [DONE]."""
    shared = {name: whole[name] for name in ("id", "created", "model", "system_fingerprint")}
    shared["object"] = "chat.completion.chunk"
    chunks: list[dict[str, Any]] = []
    for choice in whole["choices"]:
        text = choice["message"]["content"]
        pieces = [text[i : i + PIECE] for i in range(0, len(text), PIECE)]
        deltas = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces)]
        chunks += [{"index": choice["index"], "delta": delta, "finish_reason": None} for delta in deltas]
        chunks.append({"index": choice["index"], "delta": {}, "finish_reason": choice["finish_reason"]})
    said = [{**shared, "choices": [chunk]} for chunk in chunks]
    if usage:
        said.append({**shared, "choices": [], "usage": whole["usage"]})
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in said) + "data: [DONE]\n\n"


def _describe_mistake(error: BaseException | None) -> dict[str, Any]:
    return BadCall(500, "server_error", f"{type(error).__name__}: {error}").body


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return False
    content = message.get("content")
    return isinstance(content, str) or (isinstance(content, list) and bool(content) and all(map(_is_part, content)))


def _is_part(part: Any) -> bool:
    """Text, or a picture, which is not looked at."""
    if not isinstance(part, dict) or part.get("type") not in ("text", "image_url"):
        return False
    return isinstance(part.get("text"), str) if part["type"] == "text" else isinstance(part.get("image_url"), dict)


@contextmanager
def run_server(port: int = 0, key: str = "") -> Iterator[Server]:
    """A server on a thread of this process; port 0 takes a free one."""
    server = Server(port, key)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> int:
    """Serve until interrupted; 1 where the port cannot be had."""
    parser = argparse.ArgumentParser(description="The offline writer as an OpenAI-compatible server on loopback.")
    parser.add_argument("--port", type=int, default=8800)
    parser.add_argument("--key", default="", help="require this API key")
    arguments = parser.parse_args()
    try:
        server = Server(arguments.port, arguments.key)
    except OSError as error:
        print(f"cannot listen on port {arguments.port}: {error.strerror}. Choose another with --port.", file=sys.stderr)
        return 1
    print(f"offline writer (not a language model) at {server.base_url}, model {MODEL!r}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
