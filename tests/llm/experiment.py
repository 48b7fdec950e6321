"""A whole experiment in memory: real writer, real replay; training gives numbers drawn from the program's text."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from llm import extract
from llm.backend import ChatBackend, Reply
from llm.judges import proxy
from llm.methods import METHODS, OFFERED
from llm.offline import OfflineWriter
from llm.records import (
    Message,
    Outcome,
    Problem,
    Request,
    Train,
    describe_meaning,
    format_canonical,
    make_payload,
    result_from_json,
    result_to_json,
)
from llm.replay import Finished, Saved, advance
from llm.writer import Check, ask, write

PROBLEM = Problem(
    task="Ant",
    description="Make the four-legged robot run forward as fast as possible.",
    observation_source="def compute_observations(env):\n    env.obs_buf = env.root_states[:, 2:3]  # height\n",
    inputs={
        "root_states": "Tensor (num_envs, 13)",
        "potentials": "Tensor (num_envs,)",
        "prev_potentials": "Tensor (num_envs,)",
        "up_vec": "Tensor (num_envs, 3)",
        "dof_vel": "Tensor (num_envs, 8)",
        "actions": "Tensor (num_envs, 8)",
        "dt": "float",
    },
)
WRITING = [name for name, method in OFFERED.items() if method.writes]
HIDDEN_SCORES = (91357.0246, 86420.9753)  # planted where only the proxy judge may look

VARIANTS = [  # options that change what is asked, several at once; all of methods whose prompts hold no score
    ("icpl", {"measures": True}),
    ("icpl", {"diverse": True}),
    ("icpl", {"ranks": True}),
    ("scaling_3d", {"negative": "uniform"}),
    ("scaling_3d", {"feedback": "programs"}),
    ("rda", {"analyst": "frames", "frames": 2, "rollouts": 2, "subtask_reflection": False}),
    ("rda", {"subtasks": False, "success": False}),
    ("rf_agent_judged", {"search": "dfs", "actions": "mutation+reasoning", "thought_align": False}),
    ("rf_agent_judged", {"search": "bfs", "actions": "crossover+reasoning", "self_verify": False}),
    ("rf_agent_judged", {"search": "greedy", "actions": "mutation+crossover", "design_thought": False}),
]


@dataclass(frozen=True)
class FakeVerdict:
    ok: bool
    stage: str = "done"
    reason: str = ""
    notes: tuple[str, ...] = ()


def check_parsing(sources: Sequence[str]) -> list[FakeVerdict]:
    return [FakeVerdict(extract.parse(s) is not None, "parse", "it does not parse") for s in sources]


def row(*samples: float) -> dict[str, Any]:
    return {"samples": list(samples), "max": max(samples), "mean": sum(samples) / len(samples), "min": min(samples)}


def make_film_states(score: float) -> dict[str, Any]:
    """States of a film in which the body moves at the speed of the score, which is Ant's metric."""
    names = ("start", "end", "mean", "min", "max", "travel", "speed")
    place = {name: float(f"{score:.4g}") for name in names}
    height = dict.fromkeys(names, 0.5)
    coordinates = [{"name": "x", **place}, {"name": "y", **place}, {"name": "height", **height}]
    return {"seconds": 10.0, "falls": 0, "coordinates": coordinates}


def train(request: Train) -> tuple[Outcome, ...]:
    """Every candidate trains; its trace and its hidden score follow from its source."""
    outcomes = []
    for candidate in request.candidates:
        rng = random.Random(candidate.source)
        trace = {
            name: row(*(rng.random() for _ in range(10))) for name in ("progress_reward", "total", "episode_length")
        }
        score = rng.uniform(*sorted(HIDDEN_SCORES))
        outcomes.append(Outcome(candidate, True, "", trace, row(*HIDDEN_SCORES), score, make_film_states(score)))
    return tuple(outcomes)


class RememberingWriter(OfflineWriter):
    """The offline writer; what was asked before in this process, it does not work out again."""

    replies: ClassVar[dict[tuple[str, int, int], Reply]] = {}

    def _write_one(self, messages: Sequence[Message], seed: int, limit: int) -> Reply:
        asked = (format_canonical(list(messages)), seed, limit)
        if asked not in self.replies:
            self.replies[asked] = super()._write_one(messages, seed, limit)
        return self.replies[asked]


@dataclass
class Experiment:
    """Runs a method to its end; `requests` and `saved` are everything it asked for and got."""

    method: str = "icpl"
    seed: int = 7
    k: int = 3
    n: int = 3
    problem: Problem = PROBLEM
    options: dict[str, Any] = field(default_factory=dict)
    backend: ChatBackend = field(default_factory=RememberingWriter)
    check: Check = check_parsing
    train: Callable[[Train], tuple[Outcome, ...]] = train
    judge: Callable[[Any], Any] = proxy.judge
    requests: list[Request] = field(default_factory=list)
    saved: list[Saved] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    known: dict[tuple[int, int], Saved] = field(default_factory=dict)
    """Answers of another run, by step and position, used where this run asks exactly the same."""

    def advance(self, saved: Sequence[Saved]) -> Any:
        return advance(self.method, self.problem, self.seed, self.k, self.n, saved, self.options)

    def answer(self, request: Request) -> Any:
        kind = type(request).__name__
        if kind == "Write":
            written = write(self.backend, request, self.problem, self.check)
            assert not written.error, written.error
            return written.candidates
        if kind in ("Ask", "Look"):
            said = ask(self.backend, request, images=("data:image/jpeg;base64,AA==",) * getattr(request, "frames", 0))
            assert not said.error
            return said.text
        return self.train(request) if kind == "Train" else self.judge(request)

    def run(self) -> str:
        while not isinstance(end := self.advance(self.saved), Finished):
            for position in end.missing:
                request = end.requests[position]
                kind, known = type(request).__name__, self.known.get((end.step, position))
                fingerprint = end.fingerprint(position)
                same = known is not None and known.fingerprint == fingerprint
                result = result_from_json(kind, known.result) if same else self.answer(request)
                self.requests.append(request)
                self.results.append(result)
                about = describe_meaning(kind, make_payload(request))
                saved = Saved(end.step, position, kind, fingerprint, result_to_json(kind, result), about)
                self.saved.append(saved)
        return end.candidate

    def of(self, kind: type) -> list[Any]:
        return [r for r in self.requests if isinstance(r, kind)]

    def got_kind(self, kind: str) -> list[Any]:
        return [result for r, result in zip(self.requests, self.results, strict=True) if type(r).__name__ == kind]

    def got(self, kind: type) -> list[Any]:
        return [result for r, result in zip(self.requests, self.results, strict=True) if isinstance(r, kind)]


def prompts(experiment: Experiment) -> list[str]:
    """The text of every prompt of the experiment, in order."""
    return ["\n".join(m["content"] for m in r.messages) for r in experiment.requests if hasattr(r, "messages")]


def name_case(value):
    """The case's id for pytest."""
    name, options = value
    return "-".join([name, *(f"{option}={setting}" for option, setting in options.items())])


def without_options(names):
    return [(name, {}) for name in names]


def make_small_experiment(name, options, kind=Experiment, n=3, budget=14, **values):
    """An experiment with the method that takes a second."""
    limit = {"budget": budget} if any(option.name == "budget" for option in METHODS[name].options) else {}
    k = METHODS[name].least_k if METHODS[name].k == 1 else 3
    return kind(method=name, k=k, n=n, options={**limit, **options}, **values)
