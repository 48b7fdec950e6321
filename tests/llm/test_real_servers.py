"""The real client against real servers with a real, very small model; skipped where they are not installed."""

import json
import socket
import threading
import time
import urllib.error
import urllib.request

import pytest

from llm import client, errors
from llm.client import OpenAIBackend
from llm.gate import Slots
from tests.llm import real

COUNT = [{"role": "user", "content": "Count from one to twenty."}]
PATIENCE = 240.0


@pytest.fixture(scope="module", params=list(real.SERVERS))
def server(request):
    if absent := real.missing(request.param):
        pytest.skip(f"not installed: {absent}")
    with real.running(request.param, _free_port()) as (base_url, _):
        yield request.param, base_url


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def asking(server, **settings):
    return OpenAIBackend(server[1], "any key", "smollm2", **{"max_retries": 0, "timeout": PATIENCE} | settings)


def raw(server, **body):
    """(status, body) of a request that the client would not send."""
    data = json.dumps({"model": "smollm2", "messages": COUNT, "max_tokens": 2, **body}).encode()
    request = urllib.request.Request(f"{server[1]}/chat/completions", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_answers_are_streamed_and_say_what_they_cost(server):
    told = []
    (reply,) = asking(server).complete(COUNT, 1, 3, tokens=12, watch=told.append)
    assert max(under.tokens for under in told) > 0
    assert reply.text.strip() and reply.finish_reason == "length"
    if reply.usage is not None:  # not every server counts what it streams
        assert reply.usage.output_tokens == 12 and reply.usage.input_tokens > 5


def test_k_answers_come_from_k_requests_and_the_same_seed_says_the_same(server):
    gate = Slots(1)  # one after another: batches may change the last digit of a probability
    first = asking(server, gate=gate).complete(COUNT, 3, 7, tokens=12)
    again = asking(server, gate=gate).complete(COUNT, 3, 7, tokens=12)
    assert [reply.text for reply in first] == [reply.text for reply in again]
    assert len({reply.text for reply in first}) > 1


def test_asked_for_n_it_refuses_or_gives_as_many_as_it_likes(server):
    """Why the client never asks for n: what comes back for n=3 is the server's choice."""
    status, body = raw(server, n=3)
    assert status in (200, 400, 422, 500, 501)
    given = len(body["choices"]) if status == 200 else 0
    sent = asking(server).complete(COUNT, 3, 0, tokens=2)
    assert len(sent) == 3 and given <= 3


def test_a_wrong_parameter_is_refused_by_name_and_left_out_from_then_on(server, monkeypatch):
    monkeypatch.setattr(client, "_refused", {})
    status, said = raw(server, temperature="hot")
    assert status in (400, 422) and "temperature" in json.dumps(said)
    strange = asking(server)
    strange.temperature = "hot"
    (reply,) = strange.complete(COUNT, 1, 0, tokens=2)
    assert "temperature" not in reply.request and client.refused(strange.endpoint, strange.model) == {"temperature"}


def test_a_prompt_that_is_too_long_is_the_requests_fault(server):
    with pytest.raises(errors.ModelError) as raised:
        asking(server).complete([{"role": "user", "content": "word " * 3000}], 1, 0, tokens=2)
    assert raised.value.permanent and "context" in str(raised.value)


def test_an_address_without_completions_is_unknown(server):
    name, base_url = server
    with pytest.raises(errors.UnknownModel, match="often ends in /v1"):
        asking((name, f"{base_url}/nowhere")).complete(COUNT, 1, 0, tokens=2)


def test_a_server_that_is_too_slow_times_out(server):
    with pytest.raises(errors.TimedOut):
        asking(server, timeout=0.001).complete(COUNT, 1, 0, tokens=50)


class GaveUp(Exception):
    pass


def test_a_request_that_is_given_up_stops_being_written(server):
    """A long answer is given up after a few words; with its place taken until the end, the next would have to wait."""

    def watch(under):
        if under.tokens > 2:
            raise GaveUp

    with pytest.raises(GaveUp):
        for seed in range(0, 20, 2):  # now and then the model has nothing to say
            asking(server).complete(COUNT, 2, seed, tokens=900, watch=watch)
    deadline = time.monotonic() + PATIENCE
    while busy(server) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not busy(server)


def busy(server):
    """Whether llama.cpp's server still writes something; of the other it is only known whether it answers."""
    if server[0] == "xllamacpp":
        with urllib.request.urlopen(server[1].removesuffix("/v1") + "/slots", timeout=PATIENCE) as answer:
            return any(slot["is_processing"] for slot in json.load(answer))
    return raw(server)[0] != 200


@pytest.mark.parametrize("name", list(real.SERVERS))
def test_a_server_that_dies_in_the_middle_is_no_answer(name):
    if absent := real.missing(name):
        pytest.skip(f"not installed: {absent}")
    with real.running(name, _free_port()) as (base_url, process):
        heard = threading.Event()

        def watch(under):
            if under.tokens > 2 and not heard.is_set():
                heard.set()
                process.kill()

        with pytest.raises((errors.BrokenOff, errors.Unreachable)):
            for seed in range(20):  # now and then the model has nothing to say
                asking((name, base_url)).complete(COUNT, 1, seed, tokens=900, watch=watch)
        assert heard.is_set()
