"""Every call of every method fails once, over real HTTP, in the ways in which endpoints fail, and is asked again."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from llm.answer_writer import write as solve
from llm.client import OpenAIBackend
from llm.judges.model import make_question, read
from llm.messages import first_prompt
from llm.methods import METHODS
from llm.records import ANSWER, Judged, Outcome, Problem, Run, Write
from llm.replay import Saved
from llm.writer import ask, write
from tests.llm.experiment import PROBLEM as REWARDS
from tests.llm.experiment import Experiment, RememberingWriter, check_parsing
from tests.llm.faulty import completion, failure, serving, stream
from tests.llm.test_every_method import VARIANTS, WRITING, name_case, without_options

FAILURES = (
    failure(401, "the key expired"),
    failure(429, "slow down"),
    failure(500, "oops"),
    (200, "<html>A gateway</html>"),  # nonsense
    stream("def compute_rew", finish=""),  # truncated
    stream("def", finish="", error="no memory", code=503),
    stream(finish=""),  # nothing at all
)
SAME_CALLS = [("icpl", {"measures": True}), ("scaling_3d", {"negative": "uniform"})]  # as by default, in other words
CASES = [*without_options(WRITING), *(case for case in VARIANTS if case not in SAME_CALLS)]

PROBLEM = Problem("sum", "What is $2 + 3$?", form=ANSWER, sections=("Final answer", "Reasoning"))


def rewards(messages: list[Any], seed: int) -> str:
    (reply,) = RememberingWriter().complete(messages, 1, seed)
    return reply.text


def answers(messages: list[Any], seed: int) -> str:
    """A scripted solver, and a judge who takes the first."""
    return f"Best: 1\nWorst: 2\n\n## Final answer\n\n${5 + seed % 2}$\n\n## Reasoning\n\nBy counting {seed} times."


class Endpoint:
    """A server's script that fails at the first try of each request; `bought`: what it answered."""

    def __init__(self, model: Callable[[list[Any], int], str]) -> None:
        self.model = model
        self.asked: set[str] = set()
        self.bought: list[str] = []
        self.ways = itertools.cycle(FAILURES)

    def __call__(self, body: dict[str, Any]) -> Any:
        key = json.dumps([body["messages"], body["seed"]])
        if key not in self.asked:
            self.asked.add(key)
            return next(self.ways)
        self.bought.append(key)
        return completion(self.model(body["messages"], body["seed"]))


class Patient(Experiment):
    """Retries a request for as long as its endpoint fails, as people do, with the answers that were bought before."""

    said: set[str] = set()

    def answer(self, request: Any) -> Any:
        if not hasattr(request, "messages"):
            return super().answer(request)
        kept: list[Any] = []
        for _ in range(20):
            given: dict[str, Any] = {"saved": list(kept), "on_call": kept.append}
            if isinstance(request, Write):
                solving = self.problem.form == ANSWER
                check = {} if solving else {"check": check_parsing}
                written = (solve if solving else write)(self.backend, request, self.problem, **check, **given)
                error, result = written.error, written.candidates
            else:
                images = ("data:image/jpeg;base64,AA==",) * getattr(request, "frames", 0)
                said = ask(self.backend, request, images=images, **given)
                error, result = said.error, said.text
            if not error:
                return result
            self.said.add(error)
        raise AssertionError(f"it never succeeded: {error}")


def tried(request: Run) -> tuple[Outcome, ...]:
    return tuple(Outcome(c, True, rts=float("$5$" in c.source)) for c in request.candidates)


class Modelled(Patient):
    """A model is the judge."""

    def answer(self, request: Any) -> Any:
        if not isinstance(request, Judged):
            return super().answer(request)
        asked = make_question(request, self.problem, 5)
        return read(asked, super().answer(asked.ask))


class Solving(Modelled):
    def answer(self, request: Any) -> Any:
        return tried(request) if isinstance(request, Run) else super().answer(request)


def small(name: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Three rounds: in fewer ICPL asks for no difference."""
    method = METHODS[name]
    budget = {"budget": 4} if any(option.name == "budget" for option in method.options) else {}
    return {"method": name, "k": 1 if method.k == 1 else 2, "n": 3, "options": {**budget, **(options or {})}}


def fails_everywhere(calm: Experiment, kind: type[Patient], model: Callable[[list[Any], int], str]) -> Endpoint:
    """The same experiment at an endpoint where each call fails once ends as the calm one, and buys everything once."""
    endpoint = Endpoint(model)
    with serving(endpoint) as server:
        backend = OpenAIBackend(server.base_url, "key", "m-1", max_retries=0, timeout=120.0)
        tried = kind(backend=backend, problem=calm.problem, **small(calm.method, calm.options))
        tried.said = set()
        tried.run()
    assert [s.result for s in tried.saved] == [s.result for s in calm.saved]
    assert len(endpoint.bought) == len(set(endpoint.bought)) == len(endpoint.asked)
    assert len(tried.said) >= min(len(FAILURES), len(endpoint.asked)) // 2, "each with words of its own"
    assert all(server.base_url in words for words in tried.said)
    return endpoint


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [case if case in without_options(WRITING) else pytest.param(case, marks=pytest.mark.exhaustive) for case in CASES],
    ids=name_case,
)
def test_every_call_of_every_method_may_fail_and_is_bought_once(case: tuple[str, dict[str, Any]]) -> None:
    calm = Experiment(**small(*case))
    calm.run()
    fails_everywhere(calm, Patient, rewards)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["icpl", "scaling_3d"])
def test_so_may_every_call_of_a_judging_model(name: str) -> None:
    calm = Modelled(**small(name))
    calm.run()
    endpoint = fails_everywhere(calm, Modelled, rewards)
    judging = [json.dumps([make_question(r, calm.problem, 5).ask.messages, 5]) for r in calm.of(Judged)]
    assert len(judging) >= calm.n
    assert set(judging) < set(endpoint.bought)


class Scripted:
    """The scripted solver without a server."""

    def complete(self, messages: Any, count: int, seed: int, on_reply: Any = None, **more: Any) -> list[Any]:
        replies = RememberingWriter().complete(first_prompt(REWARDS), count, seed)
        said = [dataclasses.replace(r, text=answers(messages, r.seed)) for r in replies]
        for reply in said if on_reply else ():
            on_reply(reply)
        return said


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.reasoning])
def test_so_on_problems_and_killed_at_every_boundary_they_end_the_same(name: str) -> None:
    calm = Solving(backend=Scripted(), problem=PROBLEM, **small(name))
    winner = calm.run()
    for kept in range(len(calm.saved)):
        saved = json.loads(json.dumps([dataclasses.asdict(s) for s in calm.saved[:kept]]))
        again = Solving(backend=Scripted(), problem=PROBLEM, saved=[Saved(**s) for s in saved], **small(name))
        assert again.run() == winner
        assert [s.fingerprint for s in again.saved] == [s.fingerprint for s in calm.saved]
    fails_everywhere(calm, Solving, answers)
