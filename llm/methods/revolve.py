"""Revolve (Hazra et al. 2025): evolution of reward functions on islands, by task score or by people's judgements."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from llm.errors import MethodError
from llm.judges import panel
from llm.messages import chat, first_prompt, problem_text, trace_text
from llm.method import Method, Option
from llm.prompts import render
from llm.records import Candidate, Compare, Judge, Message, Outcome, Problem, Request, Train, Write
from llm.stepping import Steps, by_id, make_seed

CROSSOVER = 0.5
"""Probability of two parents; else one parent mutates."""
MIGRATION = 0.3
"""Probability, per island and generation, that another island's best moves in."""
CAP = 8
"""Members of an island."""
TAGS = 3
"""The commonest tags that go into a prompt."""


@dataclass
class Island:
    """A population of its own. `members` are in the order in which they joined."""

    members: list[Outcome] = field(default_factory=list)


class Fitness(Protocol):
    """What the islands select by."""

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Take in a generation, asking for what is needed."""

    def of(self, outcome: Outcome) -> float:
        """The fitness of a candidate that was taken in, as known now."""

    def words(self) -> str:
        """What the raters said, for the next prompt; empty when nothing."""


class ByScore:
    """Automatic fitness: the task score (RTS)."""

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Asks nobody. Raises MethodError where a candidate has no score."""
        if any(o.rts is None for o in outcomes):
            raise MethodError("Revolve by score needs a task with a metric: this one has none. Use revolve_human.")
        yield from ()

    def of(self, outcome: Outcome) -> float:
        """The task score (RTS)."""
        return float(outcome.rts or 0.0)

    def words(self) -> str:
        """Nothing: a score says no words."""
        return ""


@dataclass
class ByJudges:
    """Human fitness: Bradley-Terry strength from best and worst of each generation, and from one comparison of its best
    with the best so far, which puts all generations on one scale.
    """

    seen: list[panel.Comparison] = field(default_factory=list)
    tags: list[tuple[str, ...]] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    strengths: dict[str, panel.Rating] = field(default_factory=dict)
    champion: Outcome | None = None

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Asks for best and worst, and whether the best beats the best so far."""
        pick = yield Judge(iteration, tuple(outcomes))
        ids = {o.candidate.id: o for o in outcomes}
        self.seen += panel.comparisons(pick, list(ids))
        self.tags.append(pick.tags)
        self.reasons = [pick.reason.strip()] if pick.reason.strip() else []
        best = ids[pick.best]
        if self.champion is not None:
            answer = yield Compare(iteration, best, self.champion)
            self.seen += panel.compared(best.candidate.id, self.champion.candidate.id, answer)
        self.strengths = panel.bradley_terry(self.seen, names=[*self.strengths, *ids])
        if self.champion is None or self.of(best) > self.of(self.champion):
            self.champion = best

    def of(self, outcome: Outcome) -> float:
        """The Bradley-Terry strength. Raises KeyError for a candidate that was not taken in."""
        return self.strengths[outcome.candidate.id].value

    def words(self) -> str:
        """The commonest tags of all generations, and the last judge's reason."""
        common = list(panel.commonest(self.tags))[:TAGS]
        said = [f"Raters say most often: {', '.join(common)}."] if common else []
        return "\n".join([*said, *self.reasons])


def revolve(
    problem: Problem,
    rng: random.Random,
    k: int = 6,
    n: int = 5,
    *,
    by: type[ByScore] | type[ByJudges],
    islands: int = 3,
    reasons: bool = True,
) -> Steps:
    """N generations of K: the first from the problem alone, spread over the islands; later ones by mutation and
    crossover of island members. Returns the id of the fittest of all. Raises MethodError when no candidate of a
    generation can be trained, and by score on a task without a metric.
    """
    fitness: Fitness = by()
    population = [Island() for _ in range(min(islands, k))]
    everybody: list[Outcome] = []
    for iteration in range(1, n + 1):
        homes = [population[i % len(population)] for i in range(k)]
        if everybody:
            said = fitness.words() if reasons else ""
            candidates = yield from offspring(problem, rng, iteration, homes, everybody, fitness, said)
        else:
            candidates = yield Write(iteration, first_prompt(problem), k, make_seed(rng))
        outcomes = yield Train(iteration, candidates)
        children = by_id(iteration, outcomes)
        yield from fitness.judge(iteration, list(children.values()))
        everybody.extend(children.values())
        for home, candidate in zip(homes, candidates, strict=True):
            if candidate.id in children:
                join(home, children[candidate.id], fitness, founding=iteration == 1)
        migrate(population, fitness, rng)
    return max(everybody, key=fitness.of).candidate.id


def offspring(
    problem: Problem,
    rng: random.Random,
    iteration: int,
    homes: Sequence[Island],
    everybody: Sequence[Outcome],
    fitness: Fitness,
    said: str,
) -> Generator[Any, Any, tuple[Candidate, ...]]:
    """The next generation, one for each home; where an island has no members, from everybody there ever was."""
    writes = []
    for index, home in enumerate(homes, 1):
        parents = select(home.members or everybody, fitness, rng)
        prompt = breeding_prompt(problem, parents, said)
        writes.append(Write(iteration, prompt, 1, make_seed(rng), parents[0].candidate.id, first=index))
    results = yield writes
    return tuple(candidate for result in results for candidate in result)


def select(members: Sequence[Outcome], fitness: Fitness, rng: random.Random) -> list[Outcome]:
    """One parent to mutate or two to cross, each drawn with probability softmax of the fitness, scaled to [0, 1]."""
    pool = list(members)
    count = 2 if len(pool) > 1 and rng.random() < CROSSOVER else 1
    chosen: list[Outcome] = []
    for _ in range(count):
        (parent,) = rng.choices(pool, weights([fitness.of(m) for m in pool]))
        pool.remove(parent)
        chosen.append(parent)
    return chosen


def weights(values: Sequence[float]) -> list[float]:
    """Exp of the values after scaling them to [0, 1]: the fittest is e times as likely as the least fit."""
    low, spread = min(values), max(values) - min(values)
    return [math.exp((v - low) / spread) if spread else 1.0 for v in values]


def join(island: Island, newcomer: Outcome, fitness: Fitness, founding: bool = False) -> bool:
    """Let the newcomer in when it is at least as fit as the island's mean, and the least fit out beyond the cap."""
    values = [fitness.of(m) for m in island.members]
    if values and not founding and fitness.of(newcomer) < sum(values) / len(values):
        return False
    if newcomer not in island.members:
        island.members.append(newcomer)
    if len(island.members) > CAP:
        island.members.remove(min(island.members, key=fitness.of))
    return True


def migrate(population: Sequence[Island], fitness: Fitness, rng: random.Random) -> None:
    """Each island, with probability 0.3, takes in a copy of another island's best, if that is fit enough to join."""
    bests = [max(island.members, key=fitness.of) if island.members else None for island in population]
    for place, island in enumerate(population):
        if len(population) < 2 or rng.random() >= MIGRATION:
            continue
        newcomer = bests[rng.choice([other for other in range(len(population)) if other != place])]
        if newcomer is not None:
            join(island, newcomer, fitness)


def breeding_prompt(problem: Problem, parents: Sequence[Outcome], said: str) -> tuple[Message, ...]:
    """The prompt to mutate one parent or to cross two: their code and reward traces, and what raters say."""
    shown = [
        render("parent", number=number, source=p.candidate.source.strip(), trace=trace_text(p.trace))
        for number, p in enumerate(parents, 1)
    ]
    if said:
        shown.append(render("reason", reason=said))
    name = "revolve_crossover" if len(parents) > 1 else "revolve_mutation"
    return chat(render(name, problem=problem_text(problem), parents="\n\n".join(shown)))


_ISLANDS = Option("islands", 3, "Populations that evolve side by side.", low=1, high=16)
METHODS = (
    Method(
        "revolve",
        "Revolve (automatic)",
        "Evolution on islands: the task score decides who has children. Published with 16 a generation.",
        partial(revolve, by=ByScore),
        options=(_ISLANDS,),
        uses_metric=True,
    ),
    Method(
        "revolve_human",
        "Revolve (human)",
        "Evolution on islands: ratings from people's picks decide who has children. Published with 16 a generation.",
        partial(revolve, by=ByJudges),
        options=(_ISLANDS, Option("reasons", True, "Show the model the raters' commonest tags and last words.")),
        chooses=False,
        compares=True,
    ),
)
