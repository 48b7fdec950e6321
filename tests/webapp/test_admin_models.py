"""Language models on the bench."""

import http.server
import json
import re
import threading

import pytest
from django.urls import reverse

from tests.webapp import bench_rows
from tests.webapp.forms import model_form
from webapp.audit.models import Entry as AuditEntry
from webapp.experiments.models import Experiment, LanguageModel

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


KEY = bench_rows.KEY


def test_the_key_is_kept_and_never_shown(staff):
    staff.post(reverse("bench:model_new"), model_form(api_key=KEY))
    model = LanguageModel.objects.get()
    assert model.api_key == KEY
    page = reverse("bench:model_edit", args=[model.pk])
    history = reverse("admin:experiments_languagemodel_history", args=[model.pk])
    refused = staff.post(page, model_form(api_key=KEY, base_url="no address"))
    shown = [staff.get(address) for address in (page, history, reverse("admin:experiments_languagemodel_changelist"))]
    assert all(KEY not in answer.content.decode() for answer in (refused, *shown))

    staff.post(page, model_form(name="renamed"))
    model.refresh_from_db()
    assert (model.name, model.api_key) == ("renamed", KEY)
    staff.post(page, model_form(forget_key="on"))
    model.refresh_from_db()
    assert model.api_key == ""


def test_a_key_typed_into_a_refused_form_is_not_lost_silently(staff, caplog):
    add = reverse("bench:model_new")
    flag = '<input type="hidden" name="key_typed" value="1"'
    page = staff.get(add).content.decode()
    untouched = re.search('name="key_typed" value="([^"]*)"', page)[1]
    assert untouched != "1"
    refused = [
        staff.post(add, model_form(model="", api_key=KEY)),
        staff.post(add, model_form(key_typed="1")),
        staff.post(add, model_form(model="", key_typed="1")),
    ]
    for answer in refused:
        assert "api_key" in answer.context["form"].errors and "type it again" in answer.content.decode()
        assert flag in answer.content.decode() and KEY not in answer.content.decode()
    assert not LanguageModel.objects.exists()

    staff.post(add, model_form(api_key=KEY, key_typed="1"))
    model = LanguageModel.objects.get()
    assert model.api_key == KEY
    page = reverse("bench:model_edit", args=[model.pk])
    staff.post(page, model_form(name="renamed", key_typed="1", forget_key="on"))
    model.refresh_from_db()
    assert (model.name, model.api_key) == ("renamed", "")
    staff.post(add, model_form(name="without", key_typed=untouched))
    assert LanguageModel.objects.filter(name="without", api_key="").exists()
    recorded = json.dumps([entry.detail for entry in AuditEntry.objects.all()])
    assert "Name" in recorded and "typed" not in recorded
    assert KEY not in recorded + caplog.text


def test_an_endpoint_needs_address_and_model(staff):
    answer = staff.post(reverse("bench:model_new"), model_form(model=""))
    assert "needs an address and a model name" in answer.content.decode()


@pytest.mark.parametrize("kind, marked", [("openai", True), ("offline", False)])
def test_what_an_endpoint_needs_is_marked(staff, kind, marked):
    model = LanguageModel.objects.create(name="M", kind=kind, base_url="http://x.example/v1", model="m")
    answer = staff.get(reverse("bench:model_edit", args=[model.pk]))
    fields = answer.context["form"].fields
    assert [fields[name].required for name in ("name", "base_url", "model")] == [True, marked, marked]
    text = answer.content.decode()
    assert text.count("Fields with a * must be filled in.") == 1
    assert ("bench/connection_test.js" in text and "data-connection-test" in text) == marked


def test_the_offline_writer_needs_no_address(staff):
    staff.post(reverse("bench:model_new"), model_form(kind="offline", base_url="", model=""))
    assert LanguageModel.objects.get().kind == "offline"


@pytest.mark.parametrize("address", ["http://localhost:abc/v1", "http://[x/v1", "http://localhost:99999/v1"])
def test_an_address_that_is_none_is_refused(staff, address):
    answer = staff.post(reverse("bench:model_new"), model_form(base_url=address))
    assert "That is not an address" in answer.content.decode()
    assert not LanguageModel.objects.exists()


class Endpoint(http.server.BaseHTTPRequestHandler):
    status, body, heard = 200, {}, []

    def do_POST(self):  # noqa: N802
        self.heard.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
        data = json.dumps(self.body).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture
def endpoint():
    Endpoint.heard.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2026",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Ready."}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
}


@pytest.mark.parametrize(
    "status, body, words",
    [
        (200, ANSWER, "It answers.</strong> “Ready.”"),
        (200, ANSWER, "It came whole, not streamed, all after"),
        (200, ANSWER, " tokens per second.\nModel: m-2026; 9 tokens in and 2 out"),
        (500, {"error": {"message": "boom"}}, "Correct the fields below, save, and test again."),
        (401, {"error": {"message": f"bad key {KEY}"}}, "refuses the API key"),
        (404, {"error": {"message": "no such model"}}, "knows no model"),
        (500, {"error": {"message": "boom"}}, "failed with status 500"),
        (200, {"hello": "world"}, "without any choices"),
    ],
)
@pytest.mark.django_db(transaction=True)
def test_test_connection(async_client, endpoint, status, body, words):
    from asgiref.sync import async_to_sync

    Endpoint.status, Endpoint.body = status, body
    user = bench_rows.create_staff()
    model = LanguageModel.objects.create(name="M", kind="openai", base_url=endpoint, model="m", api_key=KEY)

    async def ask():
        await async_client.aforce_login(user)
        return await async_client.post(reverse("bench:test_model", args=[model.pk]))

    answer = async_to_sync(ask)()
    text = answer.content.decode()
    assert answer.status_code == 200 and words in text
    assert KEY not in text
    assert Endpoint.heard[0][0] == f"Bearer {KEY}" and len(Endpoint.heard) == 1


def test_the_environment_names_the_default_model(staff, settings):
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "m"
    for name in ("bench:experiment_new", "admin:studies_study_add"):
        text = staff.get(reverse(name)).content.decode()
        assert "selected>From the environment" in text
    model = LanguageModel.objects.get()
    assert (model.kind, model.base_url, model.model, model.api_key) == ("openai", "http://localhost:9/v1", "m", "")


def test_what_began_with_the_environments_model_keeps_it(settings):
    from webapp.experiments.defaults import find_environment_model

    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "first"
    running = Experiment.objects.create(name="x", status="running", model=find_environment_model())
    for address, name in (("http://localhost:9/v1", "second"), ("http://other:9/v1", "second")):
        settings.MODEL_BASE_URL, settings.MODEL_NAME = address, name
        row = find_environment_model()
        assert (row.base_url, row.model, row) == (address, name, find_environment_model())
    running = Experiment.objects.get()
    assert (running.model.base_url, running.model.model) == ("http://localhost:9/v1", "first")
    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "first"
    assert find_environment_model() == running.model
    assert sorted(LanguageModel.objects.values_list("name", flat=True)) == [
        "From the environment",
        "From the environment 2",
        "From the environment 3",
    ]


def test_the_environment_names_the_context_of_its_model(settings):
    from webapp.experiments.defaults import find_environment_model

    settings.MODEL_BASE_URL, settings.MODEL_NAME = "http://localhost:9/v1", "m"
    unknown = find_environment_model()
    settings.MODEL_CONTEXT = 8000
    known = find_environment_model()
    assert (unknown.context_tokens, known.context_tokens) == (None, 8000) and find_environment_model() == known
    settings.MODEL_CONTEXT = 0
    assert find_environment_model() == unknown  # the row that it made first


def test_the_environments_key_goes_to_the_environments_endpoint_alone(settings):
    settings.API_KEY, settings.MODEL_BASE_URL = "sk-environment", "https://mine.example/v1"
    assert LanguageModel(kind="openai", base_url="https://mine.example/v1", model="m").key == "sk-environment"
    assert LanguageModel(kind="openai", base_url="https://other.example/v1", model="m").key == ""
    assert LanguageModel(kind="openai", base_url="https://other.example/v1", model="m", api_key="own").key == "own"
