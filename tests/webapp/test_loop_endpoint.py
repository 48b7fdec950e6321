"""Writing through a real HTTP endpoint that misbehaves."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings

from llm.offline import OfflineWriter
from llm.shortening import ANSWER_TOKENS, LETTERS_PER_TOKEN
from simulation.rewards.verdict import Verdict
from tests.llm.faulty import completion, failure, serving
from tests.webapp.fake_workers import (
    SOURCE,
    advance,
    do_work,
    find_job,
    find_open_requests,
    finish_request,
    start_experiment,
)
from trainer import launch
from webapp.experiments import loop
from webapp.experiments.execute import frames
from webapp.experiments.models import Candidate, Experiment, LanguageModel, Request
from webapp.experiments.tasks import run_job

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def every_program_is_executable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check takes two seconds of processor time. test_loop_real.py checks what the offline writer wrote."""
    monkeypatch.setattr(launch, "check", lambda task, sources, states=0: [Verdict(True, "done") for _ in sources])


class TestEndpoint:
    def run(self, monkeypatch: pytest.MonkeyPatch, script: Any) -> tuple[Experiment, list[dict[str, Any]]]:
        with serving(script) as server:
            monkeypatch.setattr(settings, "API_KEY", "sk-very-secret-key")
            monkeypatch.setattr(settings, "MODEL_BASE_URL", server.base_url)
            model, _ = LanguageModel.objects.update_or_create(
                name="m", defaults={"kind": "openai", "base_url": server.base_url, "model": "m-1"}
            )
            row = Experiment.objects.first()
            if row is None:
                row = start_experiment(k=2, n=1, model=model)
                advance(row)
            run_job(find_job(row, "write").pk)
            row.refresh_from_db()
            return row, server.seen

    @pytest.mark.parametrize(
        ("answer", "advice"),
        [
            (failure(401, "bad key sk-very-secret-key"), "refuses the API key. Check the key"),
            (failure(404, "no such model"), "knows no model 'm-1'"),
            ((200, "<html>nginx</html>"), "Check the address"),
            ((200, {"choices": []}), "without any choices"),
            (completion("def compute_rew", finish="length"), "raise the token limit"),
            (completion(""), "the answer is empty"),
            (completion("I would rather not."), "no Python function compute_reward"),
        ],
    )
    def test_a_refusal_says_what_to_do(self, monkeypatch: pytest.MonkeyPatch, answer: Any, advice: str) -> None:
        row, _ = self.run(monkeypatch, lambda body: answer)
        assert row.status == Experiment.Status.FAILED
        assert advice in row.error and "sk-very" not in row.error
        request = row.requests.get()
        assert (request.status, request.error) == ("failed", row.error)

    def test_a_retry_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        row, _ = self.run(monkeypatch, lambda body: failure(401, "bad key"))
        assert loop.retry(row)
        row, _ = self.run(
            monkeypatch, lambda body: completion(f"```python{SOURCE.format(weight=body['seed'] % 97)}```")
        )
        assert (row.requests.get().status, row.status) == ("done", "running")
        assert Candidate.objects.count() == 2

    def test_what_was_paid_for_is_not_bought_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second of two answers fails for good; after a retry only that one is asked for."""
        seeds: list[int] = []

        def script(body: dict[str, Any]) -> Any:
            seeds.append(body["seed"])
            if body["seed"] == max(seeds) and not recovered:
                return failure(401, "expired")
            return completion(f"```python{SOURCE.format(weight=body['seed'] % 97)}```")

        recovered = False
        row = start_experiment(k=2, n=1)
        advance(row)
        seed = row.requests.get().payload["seed"]
        seeds.append(seed + 1)
        Experiment.objects.update(
            model=LanguageModel.objects.create(name="m", kind="openai", base_url="x", model="m-1")
        )
        row, seen = self.run(monkeypatch, script)
        assert row.status == Experiment.Status.FAILED
        assert [c.seed for c in row.requests.get().calls.all()] == [seed]
        recovered = True
        loop.retry(row)
        row, seen = self.run(monkeypatch, script)
        assert row.requests.get().status == "done" and Candidate.objects.count() == 2
        assert [body["seed"] for body in seen] == [seed + 1]
        assert [c.seed for c in row.requests.get().calls.all()] == [seed, seed + 1]


class TestTooLong:
    """A prompt that the model has no room for, where nobody has named its context."""

    def play_until(self, last_round: int, model: LanguageModel) -> tuple[Experiment, Request]:
        row = start_experiment(k=2, n=15, model=model)
        while not (last := row.requests.filter(kind="Write", payload__iteration=last_round).first()):
            do_work(row, until="Write")
            [write] = find_open_requests(row)
            if write.payload["iteration"] < last_round:
                finish_request(row, write)
        return row, last

    def server(self, limit: int, says: str) -> Any:
        def script(body: dict[str, Any]) -> Any:
            if letters(body["messages"]) > limit:
                return failure(400, says)
            return completion(f"```python{SOURCE.format(weight=body['seed'] % 97)}```")

        return serving(script)

    def test_the_context_that_its_refusal_names_is_kept_and_the_oldest_left_out(self) -> None:
        model = LanguageModel.objects.create(name="m", kind="openai", base_url="x", model="m-1")
        row, write = self.play_until(14, model)
        most = letters(write.payload["messages"]) - 100
        room = most // LETTERS_PER_TOKEN + ANSWER_TOKENS
        says = f"This model's maximum context length is {room} tokens. However, you requested 99999 tokens."
        with self.server(most, says) as server:
            LanguageModel.objects.update(base_url=server.base_url)
            run_job(find_job(row, "write").pk)
        row.refresh_from_db()
        model.refresh_from_db()
        write.refresh_from_db()
        assert (row.status, row.error, write.status, model.context_tokens) == ("running", "", "done", room)
        assert [e.text for e in row.events.filter(kind="context")] == [
            f"{model} has room for {room:,} tokens, as its endpoint says: noted as its context."
        ]
        assert row.events.filter(kind="left out", text__startswith="Round 14: the oldest").count() == 1
        taken = [body for body in server.seen if letters(body["messages"]) <= most]
        assert len(taken) == 2 and all(
            "left out: too long for this model" in body["messages"][1]["content"] for body in taken
        )

    @pytest.mark.parametrize(
        ("context", "says"),
        [
            (None, "context size exceeded"),
            pytest.param(None, "context length is 3999 tokens", marks=pytest.mark.exhaustive),
            (None, f"context length is {10**22} tokens"),
            pytest.param(9000, "context length is 8000 tokens", marks=pytest.mark.exhaustive),
        ],
    )
    def test_without_a_number_or_against_a_known_one_it_says_what_to_do(self, context: int | None, says: str) -> None:
        model = LanguageModel.objects.create(name="m", kind="openai", base_url="x", model="m-1", context_tokens=context)
        row, write = self.play_until(3, model)
        with self.server(10, says) as server:
            LanguageModel.objects.update(base_url=server.base_url)
            run_job(find_job(row, "write").pk)
        row.refresh_from_db()
        model.refresh_from_db()
        assert row.status == "failed" and "Name its context in tokens" in row.error and says in row.error
        assert model.context_tokens == context and len(server.seen) <= 2


def letters(messages: list[dict[str, Any]]) -> int:
    return sum(len(message["content"]) for message in messages)


class TestAsking:
    """RDA's vision model and ICPL's describer, whose endpoint fails for good in the middle of a round."""

    @pytest.mark.parametrize(
        ("kind", "role", "values"),
        [
            ("Look", "vision", {"method": "rda", "n": 1, "options": {"analyst": "frames", "frames": 2, "rollouts": 1}}),
            ("Ask", "describer", {"method": "icpl", "n": 3}),
        ],
    )
    def test_a_retry_asks_for_no_more_than_is_missing(
        self, monkeypatch: pytest.MonkeyPatch, kind: str, role: str, values: dict[str, Any]
    ) -> None:
        """Of the last request the first answer is empty, and saved; its second try is refused."""
        recovered = False

        def script(body: dict[str, Any]) -> Any:
            if body["seed"] == seed:
                return completion("")
            if body["seed"] == seed + 1 and not recovered:
                return failure(401, "expired")
            (reply,) = OfflineWriter().complete(body["messages"], 1, body["seed"])
            return completion(reply.text)

        monkeypatch.setattr(frames, "read_rollout_frames", lambda *which: ["data:image/jpeg;base64,AA=="] * which[-1])
        with serving(script) as server:
            endpoint = LanguageModel.objects.create(name="m", kind="openai", base_url=server.base_url, model="m-1")
            row = start_experiment(k=2, **{role: endpoint}, **values)
            do_work(row, until=kind)
            *others, last = find_open_requests(row)
            assert last.kind == kind and len(others) == (kind == "Look")
            seed = last.payload["seed"]
            for request in (*others, last):
                run_job(request.jobs.get().pk)
            row.refresh_from_db()
            assert row.status == Experiment.Status.FAILED
            assert f"Asking the {role}" in row.error and "refuses the API key. Check the key" in row.error
            assert len(server.seen) == len(others) + 2
            recovered = True
            assert loop.retry(row)
            run_job(last.jobs.get().pk)
            do_work(row)
        assert row.status == Experiment.Status.FINISHED
        assert [body["seed"] for body in server.seen[len(others) + 2 :]] == [seed + 1]
        assert [c.seed for c in last.calls.all()] == [seed, seed + 1]
        pictures = [part for part in server.seen[-1]["messages"][-1]["content"] if "image_url" in part]
        assert len(pictures) == (2 if kind == "Look" else 0)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, {1.0}),
        pytest.param({"temperature": 0.1}, {0.1}, marks=pytest.mark.exhaustive),
        ({"temperature": 0.4, "temperature_describer": 0.0}, {0.4, 0.0}),
    ],
)
def test_each_role_samples_at_the_experiments_temperature(options: dict[str, float], wanted: set[float]) -> None:
    def script(body: dict[str, Any]) -> Any:
        (reply,) = OfflineWriter().complete(body["messages"], 1, body["seed"])
        return completion(reply.text)

    with serving(script) as server:
        endpoint = LanguageModel.objects.create(name="m", kind="openai", base_url=server.base_url, model="m-1")
        row = start_experiment(k=2, n=3, model=endpoint, options=options)
        do_work(row, until="Write")
        for kind in ("Write", "Ask"):
            do_work(row, until=kind)
            for request in find_open_requests(row):
                run_job(request.jobs.get().pk)
    heard = {body["temperature"] for body in server.seen}
    described = {b["temperature"] for b in server.seen if "what the later one changed" in str(b["messages"])}
    assert heard == wanted and described == {options.get("temperature_describer", options.get("temperature", 1.0))}
