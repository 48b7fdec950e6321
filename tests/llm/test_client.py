"""The real client over real HTTP, against a server that fails on purpose."""

import dataclasses
import json
import logging
import socket
from datetime import date

import pytest

from llm import client, errors, failures, request_batch
from llm.backend import LOST, hash_images, hash_request, reply_from_json, reply_to_json
from llm.client import OpenAIBackend
from llm.gate import Slots
from llm.prices import Price, Usage
from tests.llm.faulty import completion, failure, serving

KEY = "sk-verysecretkey0123456789"
ASK = ({"role": "user", "content": "hello"},)


@pytest.fixture(autouse=True)
def fresh_and_quick_to_retry(monkeypatch):
    monkeypatch.setattr(client, "_refused", {})
    monkeypatch.setattr(failures, "FIRST_BACKOFF", 0.01)
    monkeypatch.setattr(request_batch, "TICK_SECONDS", 0.02)


def backend(server, **settings):
    settings = {"model": "m-1", "max_retries": 1, "timeout": 60.0} | settings
    return OpenAIBackend(server.base_url, KEY, **settings)


def test_k_answers_are_k_requests_with_consecutive_seeds_and_no_n():
    with serving(lambda body: completion(f"seed {body['seed']}")) as server:
        replies = backend(server).complete(ASK, 4, 10)
    assert [r.text for r in replies] == ["seed 10", "seed 11", "seed 12", "seed 13"]
    assert [r.seed for r in replies] == [10, 11, 12, 13]
    assert all("n" not in body for body in server.seen)


def test_no_more_requests_at_once_than_allowed():
    with serving(lambda body: completion("x"), delay=0.05) as server:
        backend(server, gate=Slots(2)).complete(ASK, 6, 0)
    assert server.most_at_once == 2


def test_a_reply_holds_usage_cost_model_and_canonical_request():
    prices = [Price(date(2024, 1, 1), 10.0, 30.0)]
    with serving(lambda body: completion("x", system_fingerprint="fp_1")) as server:
        (reply,) = backend(server, price_list=prices).complete(ASK, 1, 3)
    assert reply.usage == Usage(100, 20)
    assert reply.cost == pytest.approx((100 * 10 + 20 * 30) / 1e6)
    assert (reply.model, reply.fingerprint) == ("m-1", "fp_1")
    assert reply.request == {
        "endpoint": server.base_url,
        "model": "m-1",
        "messages": list(ASK),
        "seed": 3,
        "temperature": 1.0,
    }
    assert reply.request_hash == hash_request(reply.request)
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": 5, "total_tokens": 5}])
def test_usage_that_is_not_told_is_estimated_from_the_letters_and_says_so(usage):
    question = ({"role": "user", "content": "x" * 300},)
    with serving(lambda body: completion("y" * 60, usage=usage)) as server:
        (reply,) = backend(server, price_list=[Price(date(2024, 1, 1), 1.0, 1.0)]).complete(question, 1, 0)
    assert reply.usage == Usage(100, 20, estimated=True) and reply.cost == pytest.approx(120e-6)
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


def test_an_unknown_price_stays_unknown():
    with serving(lambda body: completion("x")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.usage == Usage(100, 20) and reply.cost is None


def test_an_answer_can_be_stored_whatever_is_in_it():
    with serving(lambda body: completion("a\ud800b\0c")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.text == "a?bc"


def test_a_cut_off_answer_says_so():
    with serving(lambda body: completion("def comp", finish="length")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.finish_reason == "length"


@pytest.mark.parametrize(
    ("says", "room"),
    [
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 8192),
        ("Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300,001.", 272_000),
        ("the request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096),
        ("the model is loaded with context length of only 4096 tokens, which is not enough", 4096),
        ("The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096),
        ("The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1_048_576),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200_000),
        ("The context window, as it is, is full: the context length is 4096 tokens.", 4096),
        ("the context window is exceeded", 0),
        ("exceeds the context window by 5000 tokens", 0),
        ("Context length exceeded: 133000 > 131072", 0),
        ("the context window (133000 tokens > 131072 tokens) is full", 0),
    ],
)
def test_how_much_fits_is_read_out_of_a_refusal(says, room):
    with serving(lambda body: failure(400, says)) as server, pytest.raises(errors.TooLong) as raised:
        backend(server).complete(ASK, 1, 0)
    assert raised.value.room == room


@pytest.mark.parametrize(
    ("answer", "error", "permanent", "advice"),
    [
        (failure(401, f"Incorrect API key provided: {KEY}"), errors.Unauthorized, True, "Check the key"),
        (failure(403, "Forbidden"), errors.Unauthorized, True, "Check the key"),
        (failure(404, "no such model"), errors.UnknownModel, True, "knows no model 'm-1'"),
        (failure(400, "the prompt is bad"), errors.BadRequest, True, "the prompt is bad"),
        (failure(400, "context size exceeded"), errors.TooLong, True, "Name its context in tokens"),
        ((400, {"detail": "pinned to 'a'"}), errors.BadRequest, True, "400 - pinned to 'a'"),
        ((422, {"detail": [{"msg": "too few", "loc": ["messages"]}]}), errors.BadRequest, True, "too few"),
        ((400, {"error": "no template"}), errors.BadRequest, True, "400 - no template"),
        ((500, "Internal Server Error"), errors.ServerFailed, False, "500 - Internal Server Error"),
        ((502, "<html>Bad gateway</html>"), errors.ServerFailed, False, "It said: Error code: 502"),
        (failure(429, "slow down"), errors.RateLimited, False, "lower the concurrency"),
        (failure(500, "oops"), errors.ServerFailed, False, "status 500; try again later"),
        (failure(503, f"overloaded {KEY}"), errors.ServerFailed, False, "status 503"),
        ((200, "<html>hello</html>"), errors.BadAnswer, False, "not a chat completion"),
        ((200, '{"unclosed": '), errors.BrokenOff, False, "in the middle of its answer"),
        ((200, {"error": {"message": "no credit", "code": 402}}), errors.BadRequest, True, "no credit"),
        ((200, {"error": "out of memory"}), errors.ServerFailed, False, "out of memory"),
        ((200, {"hello": 1}), errors.BadAnswer, False, "without any choices"),
        ((200, [1, 2]), errors.BadAnswer, False, "choices"),
        ((200, ""), errors.BadAnswer, False, "Check the address"),
        (completion("x", choices=[]), errors.BadAnswer, False, "without any choices"),
        (completion("x", choices=[{"index": 0}]), errors.BadAnswer, False, "without any choices"),
    ],
)
def test_each_failure_has_its_error_and_its_advice(answer, error, permanent, advice, caplog):
    with serving(lambda body: answer) as server, caplog.at_level(logging.DEBUG), pytest.raises(error) as raised:
        backend(server).complete(ASK, 2, 0)
    assert raised.value.permanent is permanent
    assert advice in str(raised.value)
    assert server.base_url in str(raised.value)
    chain = [raised.value, raised.value.__cause__, raised.value.__context__]
    assert not any(KEY in f"{e!r}{e}" for e in chain)
    assert KEY not in caplog.text


def test_a_redirect_is_not_followed():
    """It could lead into the network of the site, with the key."""
    with serving(lambda body: completion("inside")) as inside, serving(lambda body: (307, "")) as server:
        server.headers["Location"] = f"{inside.base_url}/chat/completions"
        with pytest.raises(errors.BadRequest, match="redirects to another address, which is not followed") as raised:
            backend(server).complete(ASK, 1, 0)
    assert raised.value.permanent and inside.seen == []


@pytest.mark.slow
def test_a_slow_server_times_out():
    with serving(lambda body: completion("x"), delay=1.0) as server, pytest.raises(errors.TimedOut) as raised:
        backend(server, timeout=0.2).complete(ASK, 1, 0)
    assert not raised.value.permanent and "tried 2 times" in str(raised.value)
    assert "Raise the model's patience" in str(raised.value)


@pytest.mark.slow
def test_what_a_silent_server_has_read_is_counted_and_what_never_reached_one_is_not():
    lost = []
    with serving(lambda body: completion("x"), delay=4.0) as server, pytest.raises(errors.TimedOut):
        backend(server, timeout=1).complete(ASK, 1, 0, lost.append)
    assert [(reply.finish_reason, reply.usage.estimated) for reply in lost] == [(LOST, True)] * 2
    with pytest.raises(errors.Unreachable):
        OpenAIBackend("http://127.0.0.1:9/v1", KEY, "m-1", max_retries=0).complete(ASK, 1, 0, lost.append)
    assert len(lost) == 2


def test_a_server_that_is_not_there_is_unreachable():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(errors.Unreachable, match="Check the address"):
        OpenAIBackend(address, KEY, "m-1", max_retries=0).complete(ASK, 1, 0)


@pytest.mark.parametrize("address", ["", "localhost:8000/v1", "ftp://x/v1", "http://127.0.0.1:99999/v1"])
def test_an_impossible_address_is_unreachable(address):
    with pytest.raises(errors.Unreachable, match="Check the address"):
        OpenAIBackend(address, KEY, "m-1", max_retries=0).complete(ASK, 1, 0)


@pytest.mark.parametrize("key", ["sk-\u2026abc", "two\nlines"])
def test_a_mangled_key_is_refused_before_it_is_sent(key):
    with serving(lambda body: completion("x")) as server, pytest.raises(errors.Unauthorized, match="copy it again"):
        OpenAIBackend(server.base_url, key, "m-1", max_retries=0).complete(ASK, 1, 0)
    assert server.seen == []


@pytest.mark.slow
def test_temporary_failures_are_retried():
    answers = [failure(429, "slow down"), failure(500, "oops"), completion("at last")]
    with serving(lambda body: answers.pop(0)) as server:
        (reply,) = backend(server, max_retries=2).complete(ASK, 1, 0)
    assert reply.text == "at last" and len(server.seen) == 3


def test_five_retries_are_the_default():
    made = OpenAIBackend("http://127.0.0.1:9/v1", KEY, "m-1")
    assert made.max_retries == 5


def test_a_refused_parameter_is_left_out_from_then_on():
    def script(body):
        if "temperature" in body:
            return failure(400, "Unsupported value: 'temperature' does not support 1.0.", "temperature")
        return failure(400, "Unknown argument: seed") if "seed" in body else completion("fine")

    with serving(script) as server:
        first = backend(server).complete(ASK, 1, 0)
        again = backend(server).complete(ASK, 1, 5)
        assert client.list_refused_parameters(server.base_url, "m-1") == {"seed", "temperature"}
    assert [len(b) for b in server.seen] == [6, 5, 4, 4]
    assert first[0].text == again[0].text == "fine"
    assert set(again[0].request) == {"endpoint", "model", "messages"} and again[0].seed == 5


@pytest.mark.parametrize("words", ["The upstream server refused.", "max_tokens_total", "down-stream, reseeded"])
def test_a_longer_word_names_no_parameter(words):
    with serving(lambda body: failure(400, words)) as server, pytest.raises(errors.BadRequest, match=words):
        backend(server).complete(ASK, 1, 0, tokens=7)
    assert client.list_refused_parameters(server.base_url, "m-1") == frozenset()


def test_a_parameter_refused_within_a_success_is_left_out_too():
    refusal = (200, {"error": {"message": "Unknown argument: seed", "code": 400}})
    with serving(lambda body: refusal if "seed" in body else completion("fine")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert reply.text == "fine" and len(server.seen) == 2


@pytest.mark.slow
def test_what_arrived_is_kept_when_others_fail():
    arrived = []
    with serving(lambda body: completion("x") if body["seed"] % 2 else failure(500, "oops")) as server:
        replies = backend(server).complete(ASK, 4, 0, arrived.append)
    assert [r.seed for r in replies] == [1, 3]
    assert sorted(r.seed for r in arrived) == [1, 3]


def test_what_arrived_is_handed_over_before_a_permanent_failure_is_raised():
    arrived = []
    script = lambda body: completion("x") if body["seed"] else failure(401, "bad key")  # noqa: E731
    with serving(script) as server, pytest.raises(errors.Unauthorized):
        backend(server).complete(ASK, 3, 0, arrived.append)
    assert sorted(r.seed for r in arrived) == [1, 2]


def test_an_empty_or_strange_content_is_an_empty_text():
    for content in (None, "", [{"type": "text", "text": "x"}]):
        with serving(lambda body, content=content: completion(content)) as server:
            (reply,) = backend(server).complete(ASK, 1, 0)
        assert reply.text == "" and reply.usage == Usage(100, 20)


def test_the_key_is_sent_and_never_kept():
    with serving(lambda body: completion("x")) as server:
        (reply,) = backend(server).complete(ASK, 1, 0)
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in json.dumps(dataclasses.asdict(reply))


def test_a_password_in_the_address_is_not_kept():
    with serving(lambda body: completion("x")) as server:
        address = server.base_url.replace("http://", "http://user:hunter2secret@") + "?token=hunter2secret"
        made = OpenAIBackend(address, KEY, "m-1", max_retries=0)
        (reply,) = made.complete(ASK, 1, 0)
    assert made.endpoint == server.base_url
    assert "hunter2" not in json.dumps(dataclasses.asdict(reply))


def test_a_token_limit_is_sent_by_the_name_that_the_server_takes():
    def strict(body):
        if "max_tokens" in body:
            words = "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead."
            return failure(400, words, "max_tokens")
        return completion("x", "length" if body.get("max_completion_tokens") == 7 else "stop")

    with serving(strict) as server:
        (reply,) = backend(server).complete(ASK, 1, 0, tokens=7)
        backend(server).complete(ASK, 1, 1)
    assert reply.finish_reason == "length" and reply.request["max_completion_tokens"] == 7
    limits = [{k: v for k, v in body.items() if k.startswith("max_")} for body in server.seen]
    assert limits == [{"max_tokens": 7}, {"max_completion_tokens": 7}, {}]


def test_a_limit_that_is_too_large_for_the_server_stays_a_limit():
    def small(body):
        return failure(400, "max_tokens is too large: 90000. This model supports at most 4096.", "max_tokens")

    with serving(small) as server:
        asked = backend(server)
        for seed in range(2):
            with pytest.raises(errors.BadRequest, match="at most 4096"):
                asked.complete(ASK, 1, seed, tokens=90000)
    assert [body.get("max_tokens") for body in server.seen] == [90000, 90000]


def test_images_are_sent_whole_and_kept_as_hashes():
    url = "data:image/jpeg;base64,QUJD"
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}]
    with serving(lambda body: completion("It walks.")) as server:
        (reply,) = backend(server).complete([{"role": "user", "content": parts}], 1, 0)
    assert server.seen[0]["messages"][0]["content"] == parts
    text, image = reply.request["messages"][0]["content"]
    assert text["text"] == "look" and image["image_url"]["url"].startswith("sha256:")
    assert hash_images(reply.request["messages"]) == list(reply.request["messages"])
