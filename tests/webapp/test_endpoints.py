"""Limits that all jobs keep to together, what a job says while a model writes, and giving answers up in the middle."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from llm.backend import Underway
from llm.errors import BadRequest
from tests.llm.faulty import serving, stream
from tests.webapp.fake_workers import create_experiment, do_work
from webapp.base import processes
from webapp.endpoints.denied import require_allowed
from webapp.endpoints.models import Call, Endpoint
from webapp.endpoints.shared_gate import EndpointGate, measure_use
from webapp.experiments import execute, leases, loop
from webapp.experiments.execute import model_calls
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.models import Experiment, LanguageModel, ModelCall

ADDRESS = "http://user:secret@models.example/v1"


@pytest.fixture
def gate(db: None) -> EndpointGate:
    return EndpointGate(ADDRESS, 2, 300)


def row() -> Endpoint:
    return Endpoint.objects.get(address="http://models.example/v1")


def test_so_many_at_once_however_many_gates_there_are(gate: EndpointGate) -> None:
    other = EndpointGate("http://models.example/v1", 2, 300)
    first, second = gate.enter(10), other.enter(10)
    assert first is not None and second is not None and gate.enter(10) is None and other.enter(10) is None
    gate.leave(first, 15)
    assert other.enter(10) is not None
    assert Endpoint.objects.count() == 1 and "secret" not in row().address


def test_requests_a_minute_are_counted_over_all(gate: EndpointGate) -> None:
    ticket = gate.enter(0)
    gate.leave(ticket, 0)
    Endpoint.objects.update(requests_per_minute=2)
    assert gate.enter(0) is not None and gate.enter(0) is None
    Call.objects.update(started_at=timezone.now() - timedelta(seconds=61), ended_at=timezone.now())
    assert gate.enter(0) is not None


def test_tokens_a_minute_count_estimates_until_the_truth_is_known(gate: EndpointGate) -> None:
    ticket = gate.enter(600)
    Endpoint.objects.update(tokens_per_minute=1000)
    assert gate.enter(500) is None
    gate.leave(ticket, 450)
    assert gate.enter(500) is not None
    assert measure_use(row(), timezone.now()).tokens == 950


def test_tokens_of_an_answer_that_takes_longer_than_a_minute_count_until_a_minute_after_it(gate: EndpointGate) -> None:
    ticket = gate.enter(600)
    Endpoint.objects.update(tokens_per_minute=1000)
    Call.objects.update(started_at=timezone.now() - timedelta(seconds=90))
    assert gate.enter(500) is None
    gate.leave(ticket, 900)
    assert gate.enter(500) is None
    Call.objects.update(ended_at=timezone.now() - timedelta(seconds=61))
    assert gate.enter(500) is not None


def test_while_the_database_is_away_nobody_is_let_in_and_nothing_ends(
    gate: EndpointGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter((True, False))

    def away(*_: Any) -> bool:
        if next(times):
            raise OperationalError("the database system is shutting down")
        return True

    monkeypatch.setattr(gate, "_has_room", away)
    monkeypatch.setattr(connection, "close", lambda: None)  # the test's own transaction would end with it
    assert gate.enter(10) is None
    monkeypatch.undo()
    assert gate.enter(10) is not None


def test_one_that_is_longer_than_a_minute_allows_may_go_alone(gate: EndpointGate) -> None:
    gate.leave(gate.enter(0), 0)
    Call.objects.all().delete()
    Endpoint.objects.update(tokens_per_minute=1000)
    assert gate.enter(5000) is not None and gate.enter(1) is None


def test_when_the_endpoint_wants_rest_everybody_waits(gate: EndpointGate) -> None:
    gate.leave(gate.enter(0), 0)
    gate.rest(60)
    gate.rest(5)  # an older, shorter wish shortens nothing
    assert EndpointGate(ADDRESS, 9, 300).enter(0) is None
    Endpoint.objects.update(closed_until=timezone.now() - timedelta(seconds=1))
    assert gate.enter(0) is not None


def test_a_process_that_died_holds_no_place(gate: EndpointGate) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for _ in range(2):
        gate.enter(0)
    assert gate.enter(0) is None
    Call.objects.update(owner=f"{processes.get_machine()}:{ended.pid}")
    assert gate.enter(0) is not None
    Call.objects.update(owner=f"elsewhere:{os.getpid()}")
    assert gate.enter(0) is None
    Call.objects.update(started_at=timezone.now() - timedelta(minutes=16))
    assert EndpointGate(ADDRESS, 2, 3600).enter(0) is None  # that model may think for so long
    assert gate.enter(0) is not None


def test_what_is_long_over_is_forgotten(gate: EndpointGate) -> None:
    gate.leave(gate.enter(0), 5)
    Call.objects.update(started_at=timezone.now() - timedelta(hours=1), ended_at=timezone.now() - timedelta(minutes=5))
    gate.enter(0)
    assert Call.objects.count() == 1
    Call.objects.update(started_at=timezone.now() - timedelta(minutes=16))  # its process was killed
    gate.enter(0)
    assert Call.objects.count() == 1


def test_the_admin_sets_limits_and_says_what_is_going_on(gate: EndpointGate, admin_client: Client) -> None:
    gate.enter(1234)
    address = f"/admin/endpoints/endpoint/{row().pk}/change/"
    assert "1 under way; 1 requests and 1,234 tokens" in admin_client.get(address).content.decode()
    admin_client.post(address, {"requests_per_minute": 30, "tokens_per_minute": ""})
    assert (row().requests_per_minute, row().tokens_per_minute) == (30, None)


# --- in jobs ------------------------------------------------------------------------------------------------------


def written_by(address: str, **values: Any) -> Experiment:
    model = LanguageModel.objects.create(name="W", kind="openai", base_url=address, model="m-1", concurrency=2)
    made = create_experiment(model=model, k=4, **values)
    loop.start(made)
    do_work(made, until="Write")
    return made


def job_of(made: Experiment) -> Any:
    return made.requests.get(kind="Write").jobs.get()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_jobs_share_the_places_of_one_endpoint() -> None:
    with serving(lambda body: stream("fine"), delay=0.2) as server:
        model = LanguageModel.objects.create(
            name="W", kind="openai", base_url=server.base_url, model="m-1", concurrency=2
        )
        threads = [threading.Thread(target=_asks, args=(model, 10 * number)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert server.most_at_once == 2 and len(server.seen) == 9
    assert Call.objects.exclude(ended_at=None).count() == 9


def _asks(model: LanguageModel, seed: int) -> None:
    try:
        assert len(model_calls.open_backend(model).complete([{"role": "user", "content": "hello"}], 3, seed)) == 3
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("stop", "status"), [(loop.cancel, "cancelled"), (loop.pause, "queued")])
def test_stopped_while_the_model_writes_the_connection_is_closed(stop: Any, status: str) -> None:
    with serving(lambda body: stream(*["word "] * 3000, pause=0.05)) as server:
        made = written_by(server.base_url)
        told: list[dict[str, Any]] = []
        done = threading.Thread(target=lambda: _watched(job_of(made).pk, told, made, stop))
        done.start()
        done.join(timeout=120)
        assert not done.is_alive() and server.hung_up.wait(60)
    assert any(said.get("tokens") and "tokens so far" in said["text"] for said in told)
    job = job_of(made)
    assert job.status == status and [c.data["finish_reason"] for c in ModelCall.objects.all()] == ["broken off"] * 2
    assert not Call.objects.filter(ended_at=None).exists()


def _watched(pk: int, told: list[dict[str, Any]], made: Experiment, stop: Any) -> None:
    """Do the job; once it has told of tokens, stop the experiment as somebody in the browser would."""

    def report(said: dict[str, Any]) -> None:
        told.append(said)
        if said.get("tokens"):
            stop(made)

    try:
        execute.run_job(pk, report)
    finally:
        connection.close()


def test_time_left_comes_from_how_long_answers_were_before(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = written_by("http://127.0.0.1:9/v1")
    request = made.requests.get(kind="Write")
    lease = leases.claim(job_of(made).pk)
    assert lease is not None
    under = Underway(tokens=100, answered=0, asked=4, held=False)
    monkeypatch.setattr("webapp.experiments.execute.writing_progress.SILENT_SECONDS", 3600.0)
    fresh = WritingProgress(lease, lambda: None, request, 4)
    fresh(under)
    assert lease.progress == {}  # not so soon
    monkeypatch.setattr("webapp.experiments.execute.writing_progress.SILENT_SECONDS", 0.0)
    fresh(under)
    assert lease.progress == {"tokens": 100, "text": "0 of 4 answers, about 100 tokens so far"}
    for seed, tokens in enumerate((200, 300)):
        call = {
            "request": request,
            "model": "m",
            "request_hash": "h",
            "data": {"finish_reason": "stop"},
            "completion_tokens": tokens,
        }
        ModelCall.objects.create(**call, seed=seed)
    known = WritingProgress(lease, lambda: None, request, 4)
    known.under_way[threading.get_ident()] = under
    said = known.build_progress(took=10.0)  # 1000 expected, a tenth of it after 10 s
    assert said["fraction"] == pytest.approx(0.1) and said["seconds_left"] == pytest.approx(90.0)
    known.under_way[threading.get_ident()] = Underway(0, 1, 4, held=True)
    known.arrived = 1
    assert known.build_progress(10.0)["text"] == "1 of 4 answers; the others wait for the endpoint's limits"


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1", "http://localhost:1/v1", "http://[::ffff:127.0.0.1]/v1"])
def test_models_may_be_kept_out_of_networks(address: str, settings: Any) -> None:
    model = LanguageModel(name="inside", kind="openai", base_url=address, model="m")
    model_calls.open_backend(model)
    settings.DENIED_NETWORKS = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    with pytest.raises(BadRequest, match="PREFINE_DENIED_NETWORKS keeps models out of"):
        model_calls.open_backend(model)
    require_allowed("https://192.0.2.1/v1")
