"""Streamed answers over real HTTP, as servers send them: whole, with odd ends, or never ending."""

import asyncio
import contextlib
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llm import client, errors, wire
from llm.client import OpenAIBackend
from llm.prices import Usage
from tests.llm.faulty import Stream, completion, serving, stream
from tests.llm.test_client import ASK, backend, fresh_and_quick_to_retry  # noqa: F401


def test_a_stream_becomes_one_reply_with_its_usage():
    with serving(lambda body: stream("def ", "compute", "_reward")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.finish_reason, reply.usage) == ("def compute_reward", "stop", Usage(100, 3))
    assert server.seen[0]["stream"] is True and server.seen[0]["stream_options"] == {"include_usage": True}
    assert not {"stream", "stream_options"} & set(reply.request)


def test_a_stream_says_when_it_began_and_how_fast_it_was_written():
    with serving(lambda body: stream("a", "b", "c", pause=0.2)) as server:  # a busy client reads the first one late
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.first_token is not None and 0.05 <= reply.first_token <= reply.latency - 0.1
    assert reply.tokens_per_second == pytest.approx(3 / (reply.latency - reply.first_token))
    held_back = replace(reply, latency=6.0, first_token=5.999)
    assert held_back.tokens_per_second == pytest.approx(0.5)


def test_an_answer_that_comes_whole_has_no_first_token():
    with serving(lambda body: completion("whole")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.first_token, reply.tokens_per_second) == (None, pytest.approx(20 / reply.latency))


class Annotated(Stream):
    """With chunks that say something about the text and bring none, as Azure's content filter sends them."""

    def events(self):
        for chunk in super().events():
            yield {**chunk, "choices": [{"index": 0, "finish_reason": None, "content_filter_offsets": {"start": 0}}]}
            yield chunk


def test_chunks_without_a_delta_are_passed_over():
    with serving(lambda body: (200, Annotated(("a", "b")))) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.finish_reason) == ("ab", "stop")


@pytest.mark.parametrize(("finish", "asked"), [("stop", 1), ("", 2)])
def test_a_line_that_breaks_after_the_reason_for_the_end_takes_nothing_from_the_answer(finish, asked):
    answers = iter((stream("all", finish=finish, done="", promised=10**6), stream("again")))
    with serving(lambda body: next(answers)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, len(server.seen)) == ("all" if finish else "again", asked)


def test_a_line_that_stays_open_after_the_reason_for_the_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(wire, "AFTER_END", 0.3)
    with serving(lambda body: stream("all", open_for=2000)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
        assert server.hung_up.wait(60)
    assert (reply.text, reply.usage, len(server.seen)) == ("all", Usage(100, 1), 1)


class Hasty(Stream):
    """Gives a reason for its end with every piece."""

    def events(self):
        for chunk in super().events():
            for choice in chunk["choices"]:
                choice["finish_reason"] = "stop"
            yield chunk


class Resuming(Stream):
    """Says that it has ended after its first piece, and goes on."""

    def events(self):
        first, *others = super().events()
        first["choices"][0]["finish_reason"] = "stop"
        yield first
        time.sleep(0.2)
        yield from others


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Hasty, Resuming])
def test_a_reason_for_the_end_that_is_not_the_end_cuts_nothing_off(kind, monkeypatch):
    monkeypatch.setattr(wire, "AFTER_END", 3.0)
    with serving(lambda body: (200, kind("abcdef", pause=0.6))) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.usage, len(server.seen)) == ("abcdef", Usage(100, 6), 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Hasty, Resuming])
def test_nor_does_it_make_whole_what_breaks(kind):
    answers = iter(((200, kind("abc", finish="", done="", promised=10**6)), stream("again")))
    with serving(lambda body: next(answers)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, len(server.seen)) == ("again", 2)


@pytest.mark.slow
def test_an_answer_that_was_given_up_by_a_server_that_keeps_the_line_open_is_asked_again(monkeypatch):
    monkeypatch.setattr(wire, "AFTER_END", 0.3)
    answers = iter((stream("half", finish="abort", open_for=2000), stream("whole")))
    with serving(lambda body: next(answers)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, len(server.seen)) == ("whole", 2)


def test_what_a_server_says_of_itself_can_be_saved():
    said = {"model": "/cache/" + "m" * 200 + "\0.gguf", "system_fingerprint": "f\0"}
    with serving(lambda body: completion("x", **said)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert len(reply.model) == 120 and reply.model.startswith("/cache/mmm") and reply.fingerprint == "f"


def test_a_stream_without_a_reason_for_its_end_is_whole_when_it_says_that_it_is_done():
    with serving(lambda body: stream("def ", "f", finish="", done="data: [DONE]\n\n")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.finish_reason, len(server.seen)) == ("def f", "stop", 1)
    assert reply.usage == Usage(1, 2, estimated=True)


def test_a_stream_with_a_reason_for_its_end_is_whole_without_being_done():
    with serving(lambda body: stream("a", "b", done="")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.finish_reason, reply.usage) == ("ab", "stop", Usage(100, 2))


def test_comments_line_ends_and_odd_characters_are_read_as_the_standard_has_them():
    said = ': ping\n\ndata:\n\nevent: message\ndata: {"model": "m-1",\ndata: "choices": []}\n\n: ping\r\n\r\n'
    last = 'data: {"choices": [{"delta": {"content": "!"}, "finish_reason": "stop"}]}'  # and no empty line after it
    with serving(lambda body: stream("a\u2028b", "c\x85", finish="", done=last, sent=said)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.model, reply.finish_reason) == ("a\u2028bc\x85!", "m-1", "stop")


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_lines_may_end_with_a_carriage_return_alone_and_be_torn_anywhere(end, size):
    lines = [": ping", "", "data: {", 'data: "a\u2028": 1}', "", "event: x", "data:  last"]
    text = end.join(lines).encode()

    class Response:
        async def aiter_bytes(self):
            for first in range(0, len(text), size):
                yield text[first : first + size]

    async def read() -> list[bytes]:
        return [data async for data in wire.read_events(Response())]

    assert asyncio.run(read()) == ['{\n"a\u2028": 1}'.encode(), b"last"]


@pytest.mark.parametrize(
    "answer", [completion("x" * 300_000), stream("x", sent=": " + "x" * 300_000), stream(*["x" * 50_000] * 6)]
)
def test_an_answer_without_an_end_is_given_up_in_words(answer, monkeypatch):
    monkeypatch.setattr(wire, "MOST_BYTES", 1 << 17)
    with serving(lambda body: answer) as server, pytest.raises(errors.BadAnswer, match="answered with more than 0 MiB"):
        backend(server, max_retries=0).complete(ASK, 1, 0)


class Endless(BaseHTTPRequestHandler):
    """Answers with 70 MB; `sent` counts what was taken of it."""

    def do_POST(self):
        self.server.sent = 0
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1000):
                self.wfile.write(b"no end " * 10_000)
                self.server.sent += 70_000

    def log_message(self, *args):
        return


@pytest.mark.parametrize(
    ("status", "refused", "stream"),
    [
        (400, errors.BadRequest, True),
        (503, errors.ServerFailed, True),
        (200, errors.BadAnswer, True),
        (200, errors.BadAnswer, False),
    ],
)
def test_a_body_without_an_end_is_not_read_to_its_end(status, refused, stream, monkeypatch):
    monkeypatch.setattr(wire, "MOST_BYTES", 1 << 20)
    with ThreadingHTTPServer(("127.0.0.1", 0), Endless) as server:
        server.status = status
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        asked = OpenAIBackend(f"http://127.0.0.1:{server.server_address[1]}/v1", "key", "m-1", max_retries=0)
        if not stream:
            monkeypatch.setitem(client._refused, (asked.endpoint, "m-1"), frozenset({"stream", "stream_options"}))
        with pytest.raises(refused):
            asked.complete(ASK, 1, 0)
        server.shutdown()
        assert server.sent < 16_000_000


@pytest.mark.parametrize(
    "error",
    [
        '{"error": "no such "thing" here"}',
        '{"error": "no such thing here"}',
        '{"object": "error", "message": "no such thing here"}',
    ],
)
def test_the_words_of_an_event_that_is_an_error_are_passed_on(error):
    answer = stream("x", finish="", done=f"data: {error}\n\n")
    with serving(lambda body: answer) as server, pytest.raises(errors.ServerFailed, match="no such .?thing.? here"):
        backend(server, max_retries=0).complete(ASK, 1, 0)


def test_other_names_for_a_cut_off_answer_are_understood():
    with serving(lambda body: stream("x", finish="MAX_TOKENS")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.finish_reason == "length"


@pytest.mark.slow
def test_thoughts_are_heard_and_are_no_part_of_the_answer():
    told = []
    thought = 'data: {"choices": [{"delta": {"reasoning_content": "hm"}}]}\n\n'
    with serving(lambda body: stream("so", pause=0.5, sent=thought * 3)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0, watch=told.append)
    assert reply.text == "so" and max(under.tokens for under in told) >= 3
