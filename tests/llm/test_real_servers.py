"""The real client against real servers with a real, very small model; skipped where they are not installed."""

import json
import threading
import urllib.error
import urllib.request

import pytest

from llm import client, errors, request_batch
from llm.backend import LOST
from llm.client import OpenAIBackend
from llm.gate import Slots
from tests.llm import real
from tests.webapp.servers import free_port

pytestmark = pytest.mark.slow

COUNT = [{"role": "user", "content": "Count from one to twenty."}]
STORY = [{"role": "user", "content": "Tell a very long story of a king who counts all the trees of his forest."}]
PATIENCE = 240.0


LATE = ("transformers",)
"""Takes 20 s to start: in the whole run alone."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=pytest.mark.exhaustive if name in LATE else ()) for name in real.SERVERS],
)
def server(request):
    if absent := real.missing(request.param):
        pytest.skip(f"not installed: {absent}")
    with real.running(request.param, free_port()) as running:
        yield running


@pytest.fixture(autouse=True)
def forget_refused(monkeypatch):
    monkeypatch.setattr(client, "_refused", {})


def asking(server, **settings):
    given = {"base_url": server.base_url, "model": server.model, "max_retries": 0, "timeout": PATIENCE} | settings
    return OpenAIBackend(api_key="any key", **given)


def raw(server, **body):
    """(status, body) of a request that the client would not send."""
    data = json.dumps({"model": server.model, "messages": COUNT, "max_tokens": 2, **body}).encode()
    request = urllib.request.Request(f"{server.base_url}/chat/completions", data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_answers_are_streamed_and_say_what_they_cost(server, monkeypatch):
    monkeypatch.setattr(request_batch, "TICK_SECONDS", 0.002)  # a fast server says twelve words in one common tick
    told = []
    (reply,) = asking(server).complete(STORY, 1, 3, tokens=12, watch=told.append)
    assert max(under.tokens for under in told) > 0
    assert reply.text.strip() and reply.finish_reason == "length"
    assert reply.usage.output_tokens == 12 and reply.usage.input_tokens > 5 and not reply.usage.estimated


def test_k_answers_come_from_k_requests_and_the_same_seed_says_the_same(server):
    gate = Slots(1)  # one after another: answers that are drawn at once draw from one source, or share a batch
    first = asking(server, gate=gate).complete(STORY, 3, 7, tokens=12)
    again = asking(server, gate=gate).complete(STORY, 3, 7, tokens=12)
    assert [reply.text for reply in first] == [reply.text for reply in again]
    assert len({reply.text for reply in first}) > 1


def test_several_at_once_are_all_answered_whole(server):
    replies = asking(server).complete(STORY, 3, 0, tokens=8)
    assert [reply.seed for reply in replies] == [0, 1, 2]
    assert all(reply.text.strip() and reply.usage.output_tokens == 8 for reply in replies)


def test_asked_for_n_they_differ(server):
    """Why the client never asks for n: llama.cpp refuses more than it has places, transformers gives one."""
    status, said = raw(server, n=3)
    if server.name == "xllamacpp":
        assert status == 400 and "Field 'n'" in said
    else:
        assert status == 200 and len(said["choices"]) == 1


def test_a_wrong_parameter_is_refused_by_name_and_left_out_from_then_on(server):
    strange = asking(server)
    strange.temperature = "hot"
    if server.name == "xllamacpp":
        status, said = raw(server, temperature="hot")
        assert status == 400 and "temperature" in said
        (reply,) = strange.complete(COUNT, 1, 0, tokens=2)
        assert "temperature" not in reply.request and client.list_refused_parameters(
            strange.endpoint, strange.model
        ) == {"temperature"}
    else:  # it trips over the value and names nothing
        with pytest.raises(errors.ServerFailed, match="status 500.*Internal Server Error"):
            strange.complete(COUNT, 1, 0, tokens=2)


def test_what_is_said_of_a_value_that_cannot_be_is_passed_on(server):
    cold = asking(server, temperature=-1.0)
    if server.name == "xllamacpp":  # it takes every temperature
        assert len(cold.complete(COUNT, 1, 0, tokens=2)) == 1
    else:  # in the midst of a stream that began well
        with pytest.raises(errors.ServerFailed, match="strictly positive"):
            cold.complete(COUNT, 1, 0, tokens=2)


def test_a_model_that_is_not_there(server):
    other = asking(server, model="gpt-4o")
    if server.name == "xllamacpp":  # it has one model, whatever it is called, and says which
        (reply,) = other.complete(COUNT, 1, 0, tokens=2)
        assert reply.model != "gpt-4o"
    else:
        with pytest.raises(errors.BadRequest, match="pinned to 'model'; requested 'gpt-4o'") as raised:
            other.complete(COUNT, 1, 0, tokens=2)
        assert raised.value.permanent


def test_a_prompt_that_is_too_long(server):
    """llama.cpp refuses it; transformers answers, out of what the model never learned: name its context."""
    long = [{"role": "user", "content": "word " * (real.CONTEXT + 100)}]
    if server.name == "transformers":
        (reply,) = asking(server).complete(long, 1, 0, tokens=2)
        assert reply.usage.input_tokens > real.CONTEXT
    else:
        with pytest.raises(errors.TooLong, match="Name its context") as raised:
            asking(server).complete(long, 1, 0, tokens=2)
        assert raised.value.room == real.CONTEXT


def test_an_address_without_completions_is_unknown(server):
    with pytest.raises(errors.UnknownModel, match="often ends in /v1"):
        asking(server, base_url=f"{server.base_url}/nowhere").complete(COUNT, 1, 0, tokens=2)


def test_a_server_that_is_too_slow_times_out(server):
    with pytest.raises(errors.TimedOut):
        asking(server, timeout=0.001).complete(COUNT, 1, 0, tokens=50)


class GaveUp(Exception):
    pass


def test_a_request_that_is_given_up_stops_being_written(server):
    """Measured by what the server computes: far less than the answer that was asked for would have taken."""
    before = server.cpu_seconds()
    asking(server).complete(STORY, 1, 1, tokens=24)
    a_token = (server.cpu_seconds() - before) / 24
    lost = []

    def watch(under):
        if under.tokens > 2:
            raise GaveUp

    before = server.cpu_seconds()
    with pytest.raises(GaveUp):
        asking(server).complete(STORY, 1, 1, lost.append, tokens=900, watch=watch)
    raw(server)  # answered once the place is free
    assert server.cpu_seconds() - before < 300 * a_token
    assert lost[0].finish_reason == LOST and lost[0].text and lost[0].usage.estimated


def test_a_server_that_dies_in_the_middle_is_no_answer(server):
    """The last test: nothing is left of the server."""
    heard = threading.Event()

    def watch(under):
        if under.tokens > 2 and not heard.is_set():
            heard.set()
            server.process.kill()

    with pytest.raises((errors.BrokenOff, errors.Unreachable)):
        asking(server).complete(STORY, 1, 1, tokens=900, watch=watch)
    assert heard.is_set()
