"""Budgets of tokens and dollars: kept before every call, beside what is under way; what broke off counts."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.template.loader import render_to_string

from llm.backend import LOST
from llm.errors import BudgetSpent
from llm.gate import Slots
from llm.shortening import estimate_tokens
from tests.llm.faulty import completion, serving, stream
from tests.webapp.fake_workers import do_work, start_experiment
from tests.webapp.test_endpoints import job_of, written_by
from webapp.bench.experiments import overview
from webapp.experiments import execute, leases
from webapp.experiments.execute.budget_gate import HELD_KEY, UNKNOWN_ANSWER, BudgetGate, sum_spent
from webapp.experiments.execute.model_calls import read_saved_replies
from webapp.experiments.models import Experiment, Job, LanguageModel, ModelCall

pytestmark = pytest.mark.django_db(transaction=True)  # threads ask, each over a connection of its own


def need_of(made: Experiment) -> int:
    """Tokens that one answer of its Write request is taken to need at first."""
    return estimate_tokens(made.requests.get(kind="Write").payload["messages"]) + UNKNOWN_ANSWER


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["token_budget", "dollar_budget"])
def test_answers_asked_for_at_once_are_let_in_one_by_one_as_the_budget_allows(kind: str) -> None:
    with serving(lambda body: completion("no program")) as server:  # 100 + 20 tokens each: $0.002
        made = written_by(server.base_url)
        LanguageModel.objects.update(price_input=10.0, price_output=50.0)
        need = need_of(made)
        dollars = (10.0 * (need - UNKNOWN_ANSWER) + 50.0 * UNKNOWN_ANSWER) / 1e6
        Experiment.objects.update(**{kind: {"token_budget": need + 200, "dollar_budget": dollars + 0.003}[kind]})
        execute.run_job(job_of(made).pk)
    made.refresh_from_db()
    assert (len(server.seen), server.most_at_once) == (2, 1)  # of four, for two of which the endpoint has places
    words = {"token_budget": f"240 of {need + 200:,} tokens are spent, and the next answer may take {need:,}"}
    assert made.status == "failed" and words.get(kind, "$0.00 of ") in made.error
    assert sum_spent(made).tokens == 240


def test_the_offline_writer_is_let_in_one_by_one_too() -> None:
    made = start_experiment(k=3)
    do_work(made, until="Write")
    Experiment.objects.update(token_budget=need_of(made) + 1)
    execute.run_job(job_of(made).pk)
    made.refresh_from_db()
    assert made.status == "failed" and "tokens are spent" in made.error and ModelCall.objects.count() == 1


def test_what_other_jobs_have_under_way_is_waited_for() -> None:
    made = written_by("http://127.0.0.1:9/v1", token_budget=5000)
    lease = leases.claim(job_of(made).pk)
    assert lease is not None
    other = Job.objects.create(experiment=made, kind="ask", status="running", progress={HELD_KEY: [4000, 0.0]})
    budget_gate = BudgetGate(lease, Slots(8), ())
    assert budget_gate.enter(500) is None  # 4,000 + 500 + 1,000
    Job.objects.filter(pk=other.pk).update(progress={HELD_KEY: [3000, 0.0]})
    ticket = budget_gate.enter(500)
    assert ticket is not None and Job.objects.get(pk=lease.job.pk).progress[HELD_KEY] == [1500, 0.0]
    assert budget_gate.enter(0) is None  # its own is under way, too
    budget_gate.leave(ticket, 10)
    assert lease.progress[HELD_KEY] == Job.objects.get(pk=lease.job.pk).progress[HELD_KEY] == [0, 0.0]
    other.delete()
    with pytest.raises(BudgetSpent, match="0 of 5,000 tokens are spent, and the next answer may take 6,000"):
        budget_gate.enter(5000)


def test_what_could_not_be_reserved_while_the_database_was_away_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    made = written_by("http://127.0.0.1:9/v1", token_budget=5000)
    lease = leases.claim(job_of(made).pk)
    assert lease is not None
    budget_gate = BudgetGate(lease, gate := Slots(1), ())

    times, tell = iter((True,)), budget_gate.set_progress

    def away(progress: Any) -> None:
        tell(progress)
        if next(times, False):
            raise OperationalError("the database system is shutting down")

    with monkeypatch.context() as broken:
        broken.setattr(connection, "close", lambda: None)  # the test's own transaction would end with it
        broken.setattr(budget_gate, "set_progress", away)
        assert budget_gate.enter(500) is None
    assert budget_gate.held == {} and gate.enter(1) is not None
    gate.leave(gate, None)
    assert budget_gate.enter(3000) is not None


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("at_once", "spent"), [(1, 120), (2, 240)])
def test_a_budget_that_is_set_while_a_job_runs_is_kept_and_what_is_under_way_then_is_too(
    at_once: int, spent: int
) -> None:
    def answer(body: Any) -> Any:
        if len(server.seen) == at_once:  # the last of those let in without a budget is the first to answer
            Experiment.objects.update(token_budget=100)
            connection.close()
        else:
            slow.wait(60)
            time.sleep(1)
        slow.set()
        return completion("no program")

    slow = threading.Event()
    with serving(answer) as server:
        made = written_by(server.base_url)
        LanguageModel.objects.update(concurrency=at_once)
        execute.run_job(job_of(made).pk)
    made.refresh_from_db()
    assert len(server.seen) == at_once and made.status == "failed"
    assert f"{spent} of 100 tokens are spent" in made.error
    assert not ModelCall.objects.filter(data__finish_reason=LOST).exists()


@pytest.mark.slow
def test_an_answer_survives_a_database_that_is_away_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    times, save = iter((True, False)), ModelCall.objects.bulk_create

    def away(*given: Any, **more: Any) -> Any:
        if next(times, False):
            raise OperationalError("the database system is shutting down")
        return save(*given, **more)

    with serving(lambda body: completion("Higher.")) as server:
        model = LanguageModel.objects.create(name="D", kind="openai", base_url=server.base_url, model="m")
        made = start_experiment(n=3, describer=model)
        do_work(made, until="Ask")
        monkeypatch.setattr(type(ModelCall.objects), "bulk_create", lambda self, *given, **more: away(*given, **more))
        monkeypatch.setattr(connection, "close", lambda: None)  # the test's own transaction would end with it
        assert execute.run_job(made.requests.get(kind="Ask").jobs.get().pk)
    assert len(server.seen) == 1 and made.requests.get(kind="Ask").result == "Higher."


@pytest.mark.slow
def test_a_stream_that_broke_off_is_counted_said_and_no_answer() -> None:
    answers: list[Any] = [stream("def ", "compute", finish="", error="no memory"), completion("Higher.", usage=None)]
    with serving(lambda body: answers.pop(0)) as server:
        model = LanguageModel.objects.create(name="D", kind="openai", base_url=server.base_url, model="m")
        made = start_experiment(n=3, describer=model)
        do_work(made, until="Ask")
        request = made.requests.get(kind="Ask")
        assert execute.run_job(request.jobs.get().pk)
    lost, whole = ModelCall.objects.filter(request=request)
    asked = estimate_tokens(request.payload["messages"])
    assert (lost.data["finish_reason"], lost.data["text"], whole.data["text"]) == (LOST, "def compute", "Higher.")
    assert (lost.prompt_tokens, lost.completion_tokens, whole.completion_tokens) == (asked, 3, 2)
    said = dict(made.events.filter(kind__in=("broken off", "uncounted")).values_list("kind", "text"))
    assert "3 written are counted, an estimate" in said["broken off"] and "does not say" in said["uncounted"]
    assert "estimated for 2 of 2 answers" in render_to_string(
        "bench/experiments/_totals.html", {"overview": overview.build_overview(made)}
    )
    assert len(read_saved_replies(request)) == 2 and sum_spent(made).tokens == 2 * asked + 5
    request.refresh_from_db()
    assert request.result == "Higher."
