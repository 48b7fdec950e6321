"""Requests beside Write, Train and Judge: questions, comparisons, judgements by models; and options."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from llm.records import Compare, Train, Write
from tests.llm.faulty import completion, serving
from tests.webapp.fake_workers import (
    advance,
    do_work,
    find_open_requests,
    finish_request,
    make_pick,
    start_experiment,
)
from tests.webapp.request_answers import TALK, do_request
from webapp.bench.experiments import candidate_details
from webapp.experiments import execute, loop, progress
from webapp.experiments.execute import model_calls
from webapp.experiments.models import Candidate, Experiment, Iteration, LanguageModel, ModelCall, Request
from webapp.review import panels
from webapp.review.models import Vote

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_heartbeat")]


# --- a model as the judge -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_judges_rounds_and_the_last_choice(admin_client: Client) -> None:
    row = start_experiment(judge="model")
    do_work(row, until="Ask")
    assert row.status == "running" and progress.read_progress(row).phase == "asking"
    page = admin_client.get(f"/bench/{row.public_id}/").content.decode()
    assert "a model looks at the round" in page and "are being written" not in page
    said = do_request(row, "Judge")
    assert {said["best"], said["worst"]} < {"1-1", "1-2", "1-3"} and said["best"] != said["worst"]
    assert row.iterations.get(number=1).best.key == said["best"]
    prompt = str(ModelCall.objects.latest("id").data["request"]["messages"])
    assert "upright" in prompt and "Reward trace" in prompt
    do_work(row)
    do_request(row, "Judge")
    do_work(row)
    winner = do_request(row, "Choose")
    advance(row)
    assert (row.status, row.winner.key) == ("finished", winner)


@pytest.mark.slow
def test_a_model_that_never_judges_stops_it_with_the_reason_and_retry_asks_again() -> None:
    with serving(lambda body: completion("They are all fine.")) as server:
        judge = LanguageModel.objects.create(name="J", kind="openai", base_url=server.base_url, model="m")
        row = start_experiment(judge="model", judge_model=judge)
        do_work(row)
        do_request(row, "Judge") if row.requests.filter(kind="Judge", status="open") else None
    assert row.status == "failed" and "Asking the judge failed: the model gave no usable answer in 3 tries" in row.error
    assert ModelCall.objects.filter(model="m-1").count() == 3
    with serving(lambda body: completion("Best: 1\nWorst: 3")) as server:
        LanguageModel.objects.update(base_url=server.base_url)
        loop.retry(row)
        advance(row)
        request = row.requests.get(kind="Judge")
        assert execute.run_job(request.jobs.get().pk)
    request.refresh_from_db()
    assert request.status == "done" and len(server.seen) == 1


@pytest.mark.slow
def test_a_model_that_names_none_of_a_batch_stops_it_and_retry_asks_for_that_alone() -> None:
    with serving(lambda body: completion("I like the second one most.")) as server:
        judge = LanguageModel.objects.create(name="J", kind="openai", base_url=server.base_url, model="m")
        row = start_experiment(method="scaling_batch_model", k=3, n=2, judge_model=judge)
        do_work(row, until="Ask")
        do_request(row, "Ask")
    assert row.status == "failed" and "Asking the judge failed: the model gave no usable answer in 3 tries" in row.error
    with serving(lambda body: completion("Best: 6")) as server:
        LanguageModel.objects.update(base_url=server.base_url)
        loop.retry(row)
        advance(row)
        assert do_request(row, "Ask") == "Best: 6"
    advance(row)
    assert row.status == "finished" and len(server.seen) == 1 and row.requests.filter(kind="Ask").count() == 1


@pytest.mark.slow
def test_the_describer_may_be_another_model() -> None:
    with serving(lambda body: completion("It cares more about height.")) as server:
        cheap = LanguageModel.objects.create(name="D", kind="openai", base_url=server.base_url, model="small")
        row = start_experiment(n=3, describer=cheap)
        do_work(row, until="Ask")
        do_request(row, "Ask")
    assert len(server.seen) == 1 and server.seen[0]["model"] == "small"
    assert row.iterations.get(number=2).difference == "It cares more about height."


# --- comparisons ----------------------------------------------------------------------------------------------


def compares_the_first_two(problem: Any, rng: Any, k: int, n: int) -> Any:
    candidates = yield Write(1, TALK, k, 5)
    outcomes = yield Train(1, candidates)
    answer = yield Compare(1, outcomes[0], outcomes[1])
    return outcomes[{"first": 0, "second": 1}.get(answer, 2)].candidate.id


@pytest.mark.parametrize(
    ("told", "undecided"), [((False, False), None), ((True, False), "equal"), ((True, True), "skip")]
)
def test_a_person_who_names_nobody_is_heard_as_that(told: tuple[bool, bool], undecided: str | None) -> None:
    one, other = (Candidate(iteration=Iteration(number=1), index=index) for index in (1, 2))
    asked = Request(kind="Judge", payload={"iteration": 1, "candidates": ["1-1", "1-2"]})
    result = panels.make_result(Vote(request=asked, best=one, worst=other, cannot_tell=told[0], broken=told[1]))
    assert result.get("undecided") == undecided and (result["best"], result["worst"]) == ("1-1", "1-2")


@pytest.mark.parametrize(
    ("best", "cannot_tell", "answer"), [(1, False, "first"), (2, False, "second"), (2, True, "equal")]
)
def test_the_page_for_best_and_worst_answers_a_comparison(best: int, cannot_tell: bool, answer: str) -> None:
    iteration = Iteration(number=1)
    shown = Candidate(iteration=iteration, index=best)
    asked = Request(kind="Compare", payload={"iteration": 1, "candidates": ["1-1", "1-2"]})
    assert panels.make_result(Vote(request=asked, best=shown, cannot_tell=cannot_tell)) == answer


@pytest.mark.parametrize(("answer", "winner"), [("first", "1-1"), ("second", "1-2"), ("skip", "1-3")])
def test_a_comparison_waits_for_a_person(register_method: Any, answer: str, winner: str) -> None:
    row = start_experiment(method=register_method(compares_the_first_two), judge="human")
    do_work(row)
    request = loop.find_waiting_request(row)
    assert request is not None and request.kind == "Compare" and request.payload["candidates"] == ["1-1", "1-2"]
    assert row.status == "waiting" and progress.read_progress(row).phase == "comparing"
    assert row.events.get(kind="judge").text == "Round 1: compare two"
    with pytest.raises(ValueError, match="'maybe' is no answer; possible are first, second, equal, skip"):
        loop.answer(request.pk, "maybe")
    assert loop.answer(request.pk, answer)
    assert not loop.answer(request.pk, "first")
    advance(row)
    assert (row.status, row.winner.key) == ("finished", winner)


@pytest.mark.slow
def test_the_proxy_compares_by_score_and_errs_as_its_options_say(register_method: Any) -> None:
    name = register_method(compares_the_first_two)
    do_work(right := start_experiment(method=name))
    do_work(wrong := start_experiment(method=name, judge_options={"mistake": 1.0}))
    assert (right.winner.key, wrong.winner.key) == ("1-2", "1-1")


@pytest.mark.slow
def test_a_noisy_teacher_answers_the_same_at_every_replay_and_differently_for_every_seed() -> None:
    def picks(seed: int) -> Any:
        do_work(row := start_experiment(n=3, seed=seed, judge_options={"beta": 0.0}))
        assert row.status == "finished"
        return [request.result for request in row.requests.filter(kind="Judge")]

    first, second = picks(0), picks(1)
    assert first != second and picks(1) == second


# --- several writes at once -----------------------------------------------------------------------------------


def two_writes(problem: Any, rng: Any, k: int, n: int) -> Any:
    first, second = yield [
        Write(1, TALK, 2, 5, thought=True),
        Write(1, ({"role": "user", "content": "Another."},), 1, 9, first=3),
    ]
    outcomes = yield Train(1, (*first, *second))
    return outcomes[2].candidate.id


def test_writes_of_one_round_make_its_candidates_together(register_method: Any) -> None:
    row = start_experiment(method=register_method(two_writes))
    advance(row)
    writes = find_open_requests(row)
    assert [request.slot for request in writes] == [0, 1]
    for request in reversed(writes):
        finish_request(row, request)
    do_work(row)
    assert (row.status, row.winner.key) == ("finished", "1-3")
    assert [c.key for c in Candidate.objects.all()] == ["1-1", "1-2", "1-3"]
    assert [candidate_details.read_details(row, key).writing.slot for key in ("1-2", "1-3")] == [0, 1]
    thoughts = {c.key: c.thought for c in Candidate.objects.all()}
    assert thoughts == {"1-1": "Upright first.", "1-2": "Upright first.", "1-3": ""}


# --- limits ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "words"),
    [({"token_budget": 300}, "360 of 300 tokens are spent"), ({"dollar_budget": 0.004}, "$0.01 of $0.00 are spent")],
)
def test_a_spent_budget_stops_before_the_next_answer_and_a_higher_one_goes_on(budget: Any, words: str) -> None:
    prices = {"price_input": 10.0, "price_output": 50.0}
    with serving(lambda body: completion("It cares more about height.")) as server:
        cheap = LanguageModel.objects.create(name="D", kind="openai", base_url=server.base_url, model="m", **prices)
        row = start_experiment(n=3, describer=cheap, **budget)
        do_work(row, until="Ask")
        first = row.requests.get(kind="Ask")
        write, told = row.requests.get(kind="Write", step=0), {"prompt_tokens": 100, "completion_tokens": 20}
        for seed in range(3):  # what was bought before: 3 x 120 tokens, 3 x $0.002
            write.calls.create(model="m", request_hash=f"hash {seed}", seed=seed, data={}, cost=0.002, **told)
        do_request(row, "Ask")
        assert row.status == "failed" and words in row.error and "Raise the experiment's budget" in row.error
        assert server.seen == []
        Experiment.objects.update(**{name: 100 * value for name, value in budget.items()})
        loop.retry(row)
        advance(row)
        assert execute.run_job(first.jobs.get().pk) and len(server.seen) == 1


def test_the_experiments_model_says_how_many_requests_at_once_and_how_much_fits() -> None:
    model = LanguageModel(kind="openai", base_url="http://x.example", model="m", concurrency=2, context_tokens=8000)
    assert model_calls.open_backend(model).gate.at_once == 2
    assert (
        model_calls.get_context_tokens(model),
        model_calls.get_context_tokens(None),
        model_calls.get_context_tokens(LanguageModel()),
    ) == (8000, 0, 0)


# --- settings -------------------------------------------------------------------------------------------------


def test_options_changed_meanwhile_that_change_words_alone_end_nothing() -> None:
    row = start_experiment(judge="human")
    do_work(row)
    row.options = {"reasons": False}
    row.save()
    loop.answer(loop.find_waiting_request(row).pk, make_pick("1-2", "1-3"))
    advance(row)
    assert (row.status, row.error) == ("running", "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "eureka", "judge": "human"}, "it asks no person anything"),
        ({"method": "rda", "judge": "human"}, "RDA has nobody judge"),
        ({"method": "scaling_turn", "k": 1, "judge": "human"}, "has nobody judge"),
        ({"method": "eureka", "task": "HumanoidJump", "judge": "model"}, "Eureka cannot do without one"),
        ({"k": 13, "judge": "human"}, "at most 12 videos"),
        ({"method": "scaling_turn", "k": 0}, "at least 1"),
        ({"options": {"magic": 1}}, "ICPL has no option 'magic'"),
        ({"judge": "model", "judge_options": {"beta": 1}}, "the judge “A language model” has no option 'beta'"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Experiment(**{"name": "x", "task": "Cartpole", "judge": "proxy", **values}).full_clean()


@pytest.mark.parametrize(("options", "rounds"), [({}, 11), ({"budget": 30}, 4), ({"actions": "mutation"}, 11)])
def test_rounds_that_follow_from_a_budget_are_the_ones_that_people_are_told_of(options: Any, rounds: int) -> None:
    row = Experiment(name="x", task="Cartpole", method="rf_agent_judged", judge="human", options=options)
    row.full_clean()
    assert row.n == rounds
