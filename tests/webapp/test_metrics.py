"""Figures for monitoring: who may read them, what they say, and that the dashboard names no other."""

import json
import re

import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from tests.webapp import rows
from tests.webapp.servers import ROOT
from webapp import metrics
from webapp.experiments import workers
from webapp.experiments.models import Job, ModelCall

pytestmark = pytest.mark.slow

KEY = "a-key-for-monitoring"


@pytest.fixture(autouse=True)
def key(settings, monkeypatch, data):
    settings.METRICS_KEY = KEY
    monkeypatch.setattr(metrics, "calls", metrics.CallSums())
    monkeypatch.setattr(metrics.health, "_last", None)


def scrape(client):
    answer = client.get("/metrics", headers={"authorization": f"Bearer {KEY}", "host": "10.0.0.7:8000"})
    assert answer.status_code == 200
    return answer.content.decode()


def read(text):
    """Every sample: its name -> its labels, as words, -> its value."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[" ".join(sample.labels.values())] = sample.value
    return found


def test_only_who_has_the_key_reads_them(client, db, settings):
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"authorization": "Bearer wrong"}).status_code == 401
    settings.METRICS_KEY = ""
    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404


def fill():
    person = rows.participant()
    request = rows.open_training(person)
    rows.create_round(person)
    rows.open_judgement(person)
    Job.objects.create(experiment=person.experiment, kind="train", request=request)
    Job.objects.create(experiment=person.experiment, kind="write", status="running", heartbeat=timezone.now())
    workers.register("train-1", "train", "cpu")
    for seed in range(3):
        add_call(request, seed)
    return person, request


def add_call(request, seed):
    tokens = {"prompt_tokens": 1000, "completion_tokens": 10, "cost": 0.5}
    ModelCall.objects.create(request=request, model="m", request_hash="h", seed=seed, data={}, **tokens)


def test_they_say_what_happens(client, db, django_assert_max_num_queries):
    _, request = fill()
    client.get("/")
    client.generic("BREW", "/s/not-a-person/")
    with django_assert_max_num_queries(20):
        said = read(scrape(client))
    assert said["prefine_jobs"]["train queued"] == 1 and said["prefine_jobs"]["llm running"] == 1
    assert said["prefine_leases"] == {"llm": 1, "train": 0, "film": 0}
    assert 0 <= said["prefine_oldest_job_seconds"]["train queued"] < 600
    assert said["prefine_rounds_waiting"][""] == 2 and said["prefine_experiments"]["waiting"] == 1
    assert [state.split()[:2] for state in said["prefine_workers"]] == [["train", "working"]]
    assert said["prefine_model_tokens_total"] == {"read m": 3000, "written m": 30}
    assert said["prefine_model_dollars_total"] == {"m": 1.5}
    assert said["prefine_part_works"]["database"] == 1 and said["prefine_disk_free_bytes"]["data"] > 0
    assert said["prefine_request_seconds_count"]["GET home"] >= 1
    assert said["prefine_request_seconds_count"]["other studio"] == 1
    assert "not-a-person" not in scrape(client)


def test_calls_are_summed_once_and_none_is_missed(client, db, monkeypatch):
    _, request = fill()
    assert read(scrape(client))["prefine_model_answers_total"] == {"m": 3}
    ModelCall.objects.update(created_at=timezone.now() - 2 * metrics.SETTLED)
    assert read(scrape(client))["prefine_model_answers_total"] == {"m": 3}
    assert metrics.calls.read_to == ModelCall.objects.latest("pk").pk
    add_call(request, 7)
    for _ in range(2):
        assert read(scrape(client))["prefine_model_answers_total"] == {"m": 4}


def test_the_dashboard_names_existing_figures_alone(client, db):
    fill()
    client.get("/")
    existing = set(read(scrape(client))) | {"process_resident_memory_bytes"}
    dashboard = json.loads((ROOT / "examples" / "grafana" / "prefine.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    named = {name for text in expressions for name in re.findall(r"\b(?:prefine|process)_\w+", text)}
    families = {family.name for family in metrics.registry.collect()}
    assert len(named) >= 15 and named - existing - families == set()
    assert {name for name in existing if name.startswith("prefine_")} - {
        name.removesuffix(end) + suffix
        for name in named
        for end in ("_bucket", "")
        for suffix in ("", "_bucket", "_sum", "_count", "_created")
    } - {"prefine_responses_created", "prefine_request_seconds_created"} == set()


def test_what_is_away_is_missing_and_said(client, db, settings, monkeypatch):
    def fail():
        raise OSError("the broker is away")

    monkeypatch.setattr(metrics.current_app, "connection_for_write", fail)
    said = read(scrape(client))
    assert said["prefine_unmeasured"] == {"messages": 1}
    assert "prefine_broker_messages" not in said and "prefine_rounds_waiting" in said
