"""Streamed answers over real HTTP: heard piece by piece, given up in the middle, broken off, waited for."""

import asyncio
import contextlib
import itertools
import threading
import time
from concurrent.futures import wait
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llm import client, errors, failures, request_batch, wire
from llm.backend import LOST
from llm.client import OpenAIBackend
from llm.gate import Slots
from llm.prices import Usage
from tests.llm.faulty import Stream, completion, failure, serving, stream
from tests.llm.test_client import ASK, backend


@pytest.fixture(autouse=True)
def forget_refused(monkeypatch):
    monkeypatch.setattr(client, "_refused", {})


class GaveUp(Exception):
    pass


def test_a_stream_becomes_one_reply_with_its_usage():
    with serving(lambda body: stream("def ", "compute", "_reward")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert (reply.text, reply.finish_reason, reply.usage) == ("def compute_reward", "stop", Usage(100, 3))
    assert server.seen[0]["stream"] is True and server.seen[0]["stream_options"] == {"include_usage": True}
    assert not {"stream", "stream_options"} & set(reply.request)


def test_a_stream_says_when_it_began_and_how_fast_it_was_written():
    with serving(lambda body: stream("a", "b", "c", pause=0.1)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.first_token is not None and 0.1 <= reply.first_token <= reply.latency - 0.2
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
        return [data async for data in wire.events(Response())]

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


@pytest.mark.slow
def test_what_a_broken_stream_cost_is_told_once_a_try_and_is_no_answer():
    answers = [
        stream("def ", "compute", finish="", error="no memory"),
        failure(500, "oops"),
        stream("x", finish="abort"),
    ]
    told = []
    with serving(lambda body: answers.pop(0) if answers else stream("whole")) as server:
        replies = backend(server, max_retries=3).complete(ASK, 1, 7, told.append)
    lost = [reply for reply in told if reply.finish_reason == LOST]
    assert [reply.text for reply in lost] == ["def compute", "x"] and {reply.seed for reply in lost} == {7}
    assert [reply.usage for reply in lost] == [Usage(1, 3, estimated=True), Usage(100, 1)]
    assert [reply.text for reply in replies] == ["whole"] and told[-1] == replies[0]


@pytest.mark.slow
def test_what_was_heard_so_far_is_told():
    told = []
    with serving(lambda body: stream(*"abcdefgh", pause=0.15)) as server:
        backend(server).complete(ASK, 2, 0, watch=told.append)
    heard = [under.tokens for under in told]
    assert max(heard) >= 4 and all(under.asked == 2 for under in told)
    assert sorted({under.answered for under in told})[0] == 0


def test_giving_up_closes_the_connection_while_the_server_still_writes():
    def watch(under):
        if under.tokens >= 2:
            raise GaveUp

    told = []
    with serving(lambda body: stream(*["x"] * 2000, pause=0.05)) as server:
        with pytest.raises(GaveUp):
            backend(server).complete(ASK, 1, 0, told.append, watch=watch)
        assert server.hung_up.wait(60)
    assert told[0].finish_reason == LOST and told[0].text.startswith("xx") and len(told) == 1


def test_an_answer_that_was_whole_when_all_were_given_up_is_kept():
    kept, lost = [], []

    def watch(under):
        wait(now.running)
        raise GaveUp

    def script(body):
        return stream("who", "le", finish="" if body["seed"] == 2 else "stop")

    gate = Slots(3)
    with serving(script) as server, request_batch.open_client(server.base_url, "key", 60) as connection:
        now = request_batch.RequestBatch(
            gate=gate,
            body=lambda seed: {"model": "m", "messages": ASK, "seed": seed, "stream": True},
            on_refusal=lambda name: None,
            on_end=lambda turn, answer: kept.append((turn.seed, answer.text)) or True,
            on_loss=lambda turn, usage: lost.append(turn.seed),
            size=1,
            most_tries=1,
            watch=watch,
        )
        with pytest.raises(GaveUp):
            now.run(connection, range(3))
    assert (sorted(kept), lost) == ([(0, "whole"), (1, "whole")], [2])
    assert all(gate.enter(0) is not None for _ in range(3))


@pytest.mark.slow
def test_what_cannot_be_saved_of_one_answer_keeps_no_slot_of_the_others():
    def watch(under):
        if under.tokens >= 60:
            raise GaveUp

    def full(reply):
        raise OSError("no space left")

    gate = Slots(3)
    with serving(lambda body: stream(*["x"] * 2000, pause=0.02)) as server, pytest.raises(GaveUp) as given:
        backend(server, gate=gate).complete(ASK, 3, 0, full, watch=watch)
    assert len(given.value.__notes__) == 3 and all("no space left" in note for note in given.value.__notes__)
    assert all(gate.enter(0) is not None for _ in range(3))


@pytest.mark.slow
def test_giving_up_before_the_first_word_is_as_quick():
    asked = threading.Event()

    def script(body):
        asked.set()
        return stream("x", pause=0.2)

    def watch(under):
        if asked.is_set():
            raise GaveUp

    gate = Slots(1)
    with serving(script, delay=0.5) as server:
        with pytest.raises(GaveUp):
            backend(server, gate=gate).complete(ASK, 3, 0, watch=watch)
        assert len(server.seen) == 1
    assert gate.enter(0) is not None  # its slot is free again


@pytest.mark.slow
def test_giving_up_during_a_pause_between_tries_asks_no_more():
    told = itertools.count()

    def watch(under):
        if server.seen and under.held and next(told) > 2:
            raise GaveUp

    with serving(lambda body: failure(429, "slow down")) as server:
        server.headers["Retry-After"] = "60"
        with pytest.raises(GaveUp):
            backend(server, max_retries=5).complete(ASK, 1, 0, watch=watch)
        assert len(server.seen) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        stream(finish=""),
        stream("def comp", finish=""),
        stream("def comp", finish="", error="no memory"),
        stream("def comp", finish="", error="slow down", code=429),
        (200, {"error": {"message": "the provider failed", "code": 502}}),
        (200, '{"choices": [{"message": {"content": "def'),
    ],
)
def test_half_an_answer_is_asked_again_and_never_taken_for_one(first):
    answers = [first, completion("at last")]
    with serving(lambda body: answers.pop(0)) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.text == "at last" and len(server.seen) == 2 and server.seen[0] == server.seen[1]


@pytest.mark.parametrize(
    ("code", "said", "error"),
    [
        (400, "with status 400. It said: too long a prompt", errors.BadRequest),
        ("content_filter", "with status content_filter. It said: too long a prompt", errors.BadRequest),
        ("context_length_exceeded", "Name its context in tokens .* It said: too long a prompt", errors.TooLong),
    ],
)
def test_a_request_that_an_event_calls_wrong_is_not_asked_again(code, said, error):
    refusal = stream(finish="", error="too long a prompt", code=code)
    with serving(lambda body: refusal) as server, pytest.raises(error, match=said):
        backend(server, max_retries=5).complete(ASK, 1, 0)
    assert len(server.seen) == 1


@pytest.mark.slow
def test_of_several_answers_only_the_one_that_failed_is_bought_again():
    failed = []

    def script(body):
        if body["seed"] == 1 and not failed:
            failed.append(body)
            return stream("def comp", finish="", error="no memory")
        return stream(f"seed {body['seed']}")

    saved = []
    with serving(script) as server:
        backend(server).complete(ASK, 3, 0, saved.append)
    assert sorted(body["seed"] for body in server.seen) == [0, 1, 1, 2]
    whole = [(reply.seed, reply.text) for reply in saved if reply.finish_reason != LOST]
    assert sorted(whole) == [(0, "seed 0"), (1, "seed 1"), (2, "seed 2")] and len(saved) == 4


@pytest.mark.slow
def test_streams_that_only_break_off_are_a_failure_that_may_pass():
    with serving(lambda body: stream("x", finish="")) as server, pytest.raises(errors.BrokenOff) as raised:
        backend(server).complete(ASK, 1, 0)
    assert "in the middle of its answer, 2 times" in str(raised.value) and not raised.value.permanent


@pytest.mark.slow
def test_an_error_within_a_stream_is_the_servers():
    with serving(lambda body: stream("x", error="no memory")) as server, pytest.raises(errors.ServerFailed) as raised:
        backend(server).complete(ASK, 1, 0)
    assert "no memory" in str(raised.value) and len(server.seen) == 2


def test_a_stream_that_falls_silent_times_out():
    with serving(lambda body: stream("x", "y", pause=1.5)) as server, pytest.raises(errors.TimedOut):
        backend(server, timeout=0.3, max_retries=0).complete(ASK, 1, 0)


def test_a_cut_off_stream_says_length():
    with serving(lambda body: stream("x", finish="length")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.finish_reason == "length"


def test_a_server_that_cannot_stream_is_asked_for_whole_answers():
    def script(body):
        if "stream_options" in body:
            return 422, {"detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]}
        return failure(400, "stream is not supported", "stream") if "stream" in body else completion("fine")

    with serving(script) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
        backend(server).complete(ASK, 1, 1)
    assert reply.text == "fine" and "stream" not in server.seen[-1] and len(server.seen) == 4


@pytest.mark.slow
def test_retry_after_is_waited_for_by_everybody_at_this_gate():
    answers = iter([failure(429, "slow down")])
    gate, rested = Slots(4), []
    rest = gate.rest
    gate.rest = lambda seconds: (rested.append(seconds), rest(seconds))
    with serving(lambda body: next(answers, completion("x"))) as server:
        server.headers["Retry-After"] = "1"
        backend(server, gate=gate).complete(ASK, 1, 0)
    assert rested == [1.0] and time.monotonic() > gate._closed_until > 0


def test_a_pause_that_is_too_long_is_a_failure_that_says_so():
    with serving(lambda body: failure(429, "daily quota")) as server:
        server.headers["Retry-After"] = "7200"
        with pytest.raises(errors.RateLimited, match="It asks to wait for 120 minutes"):
            backend(server).complete(ASK, 1, 0)
        assert len(server.seen) == 1


def test_pauses_are_read_in_every_form():
    def asked(headers):
        response = failures.httpx2.Response(429, headers=headers, request=failures.httpx2.Request("POST", "http://x"))
        return failures.pause_asked_for(failures.openai.RateLimitError("slow", response=response, body=None))

    assert asked({"retry-after": "3"}) == 3.0 and asked({"retry-after-ms": "1500", "retry-after": "3"}) == 1.5
    assert asked({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert asked({}) is asked({"retry-after": "soon"}) is asked({"retry-after": "inf"}) is None


def test_the_server_may_say_itself_whether_to_try_again():
    with serving(lambda body: failure(500, "never")) as server:
        server.headers["x-should-retry"] = "false"
        with pytest.raises(errors.ServerFailed):
            backend(server, max_retries=5).complete(ASK, 1, 0)
        assert len(server.seen) == 1
