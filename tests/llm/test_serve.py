"""The offline writer behind the real client, over real HTTP."""

import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from llm import errors
from llm.client import OpenAIBackend
from llm.messages import first_prompt
from llm.offline import MODEL, OfflineWriter
from llm.prices import Usage
from llm.serve import run_server
from tests.llm.experiment import PROBLEM, Experiment

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with run_server(key="open sesame") as server:
        yield server


def call(server, body, path="/chat/completions", key="open sesame"):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    request = urllib.request.Request(server.base_url + path, data, {"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["error"]


def test_over_http_it_answers_exactly_as_in_process(server):
    remote = OpenAIBackend(server.base_url, "open sesame", MODEL, max_retries=0)
    there = remote.complete(first_prompt(PROBLEM), 6, 100)
    here = OfflineWriter().complete(first_prompt(PROBLEM), 6, 100)
    assert [r.text for r in there] == [r.text for r in here]
    assert [r.usage for r in there] == [r.usage for r in here]
    assert len({r.text for r in there}) == 6


def test_a_whole_experiment_over_http_equals_the_one_in_process(server):
    remote = Experiment(backend=Complete(server.base_url, "open sesame", MODEL, max_retries=0))
    local = Experiment()
    winners = remote.run(), local.run()
    for there, here in zip(remote.saved, local.saved, strict=False):
        assert there == here, f"over HTTP, step {here.step} ({here.kind}) gave something else"
    assert len(remote.saved) == len(local.saved) and winners[0] == winners[1]


class Complete(OpenAIBackend):
    """No answer may be missing: the writer would go on with another, and the experiments would part."""

    def complete(self, messages, count, seed, on_reply=None, **more):
        replies = super().complete(messages, count, seed, on_reply, **more)
        assert len(replies) == count, f"the server answered {len(replies)} of {count} calls, from seed {seed}"
        return replies


def test_a_mistake_of_the_server_is_answered_with_500_and_its_reason(server, monkeypatch):
    def breaks(messages, count, seed, tokens=0):
        raise SystemError("AST constructor recursion depth mismatch")

    logged, told = [], threading.Event()

    def handle_error(request, address):
        logged.append(sys.exception())
        told.set()

    monkeypatch.setattr(server, "handle_error", handle_error)  # the library's, which prints the traceback
    monkeypatch.setattr(OfflineWriter, "complete", staticmethod(breaks))
    status, error = call(server, {"model": MODEL, "messages": HELLO})
    assert status == 500 and error["type"] == "server_error"
    assert error["message"] == "SystemError: AST constructor recursion depth mismatch"
    assert told.wait(60) and isinstance(logged[0], SystemError)


def test_it_lists_its_model(server):
    status, body = call(server, None, "/models")
    assert (status, [m["id"] for m in body["data"]]) == (200, [MODEL])


def test_it_reports_usage_and_several_choices(server):
    status, body = call(server, {"model": MODEL, "messages": [{"role": "user", "content": "Hi, you"}], "n": 2})
    assert status == 200 and len(body["choices"]) == 2
    assert body["usage"]["prompt_tokens"] == 3
    assert body["usage"]["total_tokens"] == 3 + body["usage"]["completion_tokens"]


def test_a_wrong_key_is_refused(server):
    with pytest.raises(errors.Unauthorized):
        OpenAIBackend(server.base_url, "guess", MODEL, max_retries=0).complete(first_prompt(PROBLEM), 1, 0)
    assert call(server, None, "/models", key="")[0] == 401


def test_without_a_key_set_any_key_will_do():
    with run_server() as server:
        assert call(server, None, "/models", key="whatever")[0] == 200


def test_an_unknown_model_is_refused(server):
    with pytest.raises(errors.UnknownModel):
        OpenAIBackend(server.base_url, "open sesame", "gpt-9", max_retries=0).complete(first_prompt(PROBLEM), 1, 0)


HELLO = [{"role": "user", "content": "hello"}]


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        (b"not json", 400, None),
        (b"[1]", 400, None),
        ({"model": MODEL}, 400, "messages"),
        ({"model": MODEL, "messages": [{"role": "user"}]}, 400, "messages"),
        ({"model": MODEL, "messages": HELLO, "n": 1000}, 400, "n"),
        ({"model": MODEL, "messages": HELLO, "seed": "x"}, 400, "seed"),
        ({"model": MODEL, "messages": [{"role": "user", "content": []}]}, 400, "messages"),
        ({"model": MODEL, "messages": [{"role": "user", "content": [{"type": "audio"}]}]}, 400, "messages"),
        ({"model": MODEL, "messages": [{"role": "user", "content": [{"type": "text"}]}]}, 400, "messages"),
        ({"messages": HELLO}, 404, "model"),
    ],
)
def test_a_bad_request_is_refused_with_a_reason(server, body, status, param):
    answered, error = call(server, body)
    assert (answered, error["param"]) == (status, param)
    assert error["message"]


LOOK = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}}


def test_a_picture_is_accepted_and_said_to_be_ignored(server):
    parts = [{"type": "text", "text": first_prompt(PROBLEM)[1]["content"]}, LOOK]
    remote = OpenAIBackend(server.base_url, "open sesame", MODEL, max_retries=0)
    (reply,) = remote.complete([{"role": "user", "content": parts}], 1, 0)
    assert "It looks at no pictures" in reply.text and "def compute_reward" in reply.text
    (plain,) = remote.complete(first_prompt(PROBLEM), 1, 0)
    assert "pictures" not in plain.text


def test_a_streamed_answer_is_the_whole_answer_in_pieces(server):
    body = {"model": MODEL, "messages": HELLO, "stream": True, "stream_options": {"include_usage": True}, "n": 2}
    request = urllib.request.Request(
        server.base_url + "/chat/completions", json.dumps(body).encode(), {"Authorization": "Bearer open sesame"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        *lines, end, _ = answer.read().decode().split("\n\n")
    assert end == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    _, whole = call(server, {"model": MODEL, "messages": HELLO, "n": 2})
    for choice in whole["choices"]:
        own = [c["choices"][0] for c in chunks if c["choices"] and c["choices"][0]["index"] == choice["index"]]
        assert "".join(c["delta"].get("content", "") for c in own) == choice["message"]["content"]
        assert [c["finish_reason"] for c in own][-1] == "stop"
    assert chunks[-1]["usage"] == whole["usage"] and chunks[-1]["choices"] == []


def test_other_addresses_do_not_exist(server):
    assert call(server, None, "/secrets")[0] == 404
    assert call(server, {}, "/completions")[0] == 404


def test_a_body_without_a_length_is_refused(server):
    with socket.create_connection(server.server_address) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nAuthorization: Bearer open sesame\r\n\r\n")
        assert b" 413 " in connection.recv(1000)


def test_the_command_serves_and_says_where():
    command = [sys.executable, "-m", "llm.serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert "not a language model" in line
            address = line.split(" at ")[1].split(",")[0]
            reply = OpenAIBackend(address, "", MODEL, max_retries=0).complete(HELLO, 1, 0)[0]
            assert "not a language model" in reply.text and isinstance(reply.usage, Usage)
        finally:
            process.terminate()


def test_the_command_says_when_the_port_is_taken(server):
    port = str(server.server_address[1])
    ran = subprocess.run(
        [sys.executable, "-m", "llm.serve", "--port", port], capture_output=True, text=True, timeout=240
    )
    assert ran.returncode == 1
    assert f"cannot listen on port {port}" in ran.stderr
