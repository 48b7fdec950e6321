"""Streamed answers over real HTTP that are given up in the middle, broken off, or waited for."""

import itertools
import threading
import time
from concurrent.futures import wait

import pytest

from llm import client, errors, failures, request_batch
from llm.backend import LOST
from llm.gate import Slots
from llm.prices import Usage
from tests.llm.faulty import completion, failure, serving, stream
from tests.llm.test_client import ASK, backend


@pytest.fixture(autouse=True)
def forget_refused(monkeypatch):
    monkeypatch.setattr(client, "_refused", {})


class GaveUp(Exception):
    pass


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
def test_what_cannot_be_saved_of_one_answer_keeps_no_slot_of_the_others(caplog):
    def watch(under):
        if under.tokens >= 60:
            raise GaveUp

    def full(reply):
        raise OSError(said)

    gate, said = Slots(3), "no space left"
    with serving(lambda body: stream(*["x"] * 2000, pause=0.02)) as server, pytest.raises(GaveUp) as given:
        backend(server, gate=gate).complete(ASK, 3, 0, full, watch=watch)
    assert len(given.value.__notes__) == 3 and all("no space left" in note for note in given.value.__notes__)
    assert caplog.text.count("could not be saved: OSError") == 3 and "in full" in caplog.text, (
        "who gives up may be silent"
    )
    assert "no space left" not in caplog.text, "an error may quote an answer"
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
