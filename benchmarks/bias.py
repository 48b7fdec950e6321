"""Where voting fails: a SIMULATED model whose most frequent answer is wrong, at growing batches, beside 3D scaling.

python -m benchmarks.bias [--repeats 300] [--figure docs/images/bias.svg]

The whole of `llm.methods.scaling` runs as it does on a real model, prompts and replay included; only the model is drawn
from a distribution (benchmarks/simulated.py) and answers are compared with the reference by rule. What it shows is the
arithmetic of voting and judging, not what a real model does.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy

from benchmarks.machine import machine
from benchmarks.simulated import SimulatedReasoner, answer
from llm import answer_writer, writer
from llm.judges import model as model_judge
from llm.judges import proxy
from llm.reasoning import answer_parts, equivalence
from llm.records import (
    ANSWER,
    Ask,
    Choose,
    Compare,
    Judge,
    Judged,
    Outcome,
    Problem,
    Request,
    Run,
    Write,
    result_to_json,
)
from llm.replay import Finished, Saved, advance
from webapp.base.charts import Chart, Series, to_svg

RIGHT, POPULAR = "17", "42"
BELIEFS = {RIGHT: 0.30, POPULAR: 0.45, "12": 0.10, "24": 0.10, "36": 0.05}
"""The simulated model's probability of each final answer: right in 30 of 100, the popular error in 45."""
PROBLEM = Problem("bias", "How many are there?", form=ANSWER, sections=("Final answer", "Reasoning"))
BATCHES = (1, 3, 5, 9, 15, 25, 45)
BUDGET = 15


@dataclass(frozen=True)
class Way:
    """A method with its size and its judge."""

    name: str
    method: str
    k: int
    n: int
    judge: str = "proxy"
    judge_options: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None


WAYS = (
    Way("one answer", "scaling_context", 1, 1),
    Way("15 turns of reflection", "scaling_turn", 1, BUDGET),
    Way("batch of 15, by vote", "scaling_batch_vote", BUDGET, 1),
    Way("batch of 15, by the model itself", "scaling_batch_model", BUDGET, 1),
    Way("batch of 15, by score", "scaling_batch_score", BUDGET, 1),
    Way("3D 5 x 3, the model itself judges", "scaling_3d", 5, 3, "model", options={"negative": "uniform"}),
    Way("3D 5 x 3, an expert who errs once in four", "scaling_3d", 5, 3, judge_options={"mistake": 0.25}),
    Way("3D 5 x 3, proxy", "scaling_3d", 5, 3),
)


def reasoner() -> SimulatedReasoner:
    return SimulatedReasoner({answer(final): weight for final, weight in BELIEFS.items()})


def solve(way: Way, seed: int) -> bool:
    """Run the method to its end, and return whether its answer is right."""
    model, saved, sources = reasoner(), list[Saved](), dict[str, str]()
    while True:
        options = dict(way.options or {})
        state = advance(way.method, PROBLEM, seed, way.k, way.n, saved, options)
        if isinstance(state, Finished):
            return is_right(sources[state.candidate])
        for position in state.missing:
            request = state.requests[position]
            result = answer_request(request, way, model, seed + len(saved))
            if isinstance(request, Write):
                sources |= {candidate.id: candidate.source for candidate in result}
            kind = type(request).__name__
            mark = state.fingerprint(position)
            saved.append(Saved(state.step, position, kind, mark, result_to_json(kind, result)))


def answer_request(request: Request, way: Way, model: SimulatedReasoner, seed: int) -> Any:
    """The result of one request."""
    match request:
        case Write():
            return answer_writer.write(model, request, PROBLEM).candidates
        case Run():
            return tuple(Outcome(c, True, rts=float(is_right(c.source))) for c in request.candidates)
        case Ask():
            return writer.ask(model, request).text
        case Judge() | Choose() | Compare():
            return judge_request(request, way, model, seed)
        case _:
            raise ValueError(f"3D scaling does not ask for {request}")


def judge_request(request: Judged, way: Way, model: SimulatedReasoner, seed: int) -> Any:
    if way.judge == "proxy":
        return proxy.judge(request, way.judge_options, seed)
    question = model_judge.make_question(request, PROBLEM, seed)
    return model_judge.read(question, writer.ask(model, question.ask).text)


def is_right(source: str) -> bool:
    return bool(equivalence.compare_answers(answer_parts.final_answer(source, PROBLEM.sections) or "", RIGHT))


def accuracy(way: Way, repeats: int) -> tuple[float, float, float]:
    """The share of right answers, with its exact 95% interval."""
    right = sum(solve(way, 1000 * number) for number in range(1, repeats + 1))
    interval = scipy.stats.binomtest(right, repeats).proportion_ci(method="exact")
    return right / repeats, interval.low, interval.high


def draw(votes: Mapping[int, tuple[float, float, float]], others: Mapping[str, float], path: Path) -> None:
    """Draw the accuracy of the vote over B, with the other ways as horizontal lines."""
    places = tuple(float(index) for index in range(len(votes)))
    shares, low, high = zip(*votes.values(), strict=True)
    vote = Series("majority vote", places, shares, low, high)
    ways = [Series(name, (places[0], places[-1]), (value, value)) for name, value in others.items()]
    chart = Chart(
        slug="bias",
        title="A simulated model that likes a wrong answer best",
        x_label="answers in the batch, B",
        y_label="right answers (share)",
        series=(vote, *ways),
        categories=tuple(map(str, votes)),
        covers=(0, 1),
    )
    path.write_text(to_svg(chart))


def row(name: str, answers: int, found: tuple[float, float, float]) -> str:
    return f"| {name} | {answers} | {found[0]:.2f} | {found[1]:.2f} to {found[2]:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bias", description=__doc__)
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--figure", type=Path)
    arguments = parser.parse_args()
    chances = ", ".join(f"{final}: {weight:.2f}" for final, weight in BELIEFS.items())
    print(f"{machine()}\n\nSimulated model, no language model. Final answers: {chances}; right is {RIGHT}.\n")
    print("| way | answers | right | 95% interval |\n|---|---:|---:|---:|")
    votes = {b: accuracy(Way("", "scaling_batch_vote", b, 1, options={}), arguments.repeats) for b in BATCHES[1:]}
    votes = {1: accuracy(WAYS[0], arguments.repeats), **votes}
    for size, found in votes.items():
        print(row(f"majority vote of {size}", size, found))
    others = {}
    for way in WAYS[1:]:
        found = accuracy(way, arguments.repeats)
        others[way.name] = found[0]
        print(row(way.name, way.k * way.n, found), flush=True)
    if arguments.figure:
        draw(votes, {name: others[name] for name in others if name.startswith("3D")}, arguments.figure)


if __name__ == "__main__":
    main()
