"""Revolve (Hazra et al. 2025): evolution of reward functions on islands, by task score or by people's judgements."""

from __future__ import annotations

import math
import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from llm.errors import MethodError, explain_missing_score
from llm.judges import panel
from llm.messages import first_prompt, format_number, format_problem, format_trace, make_chat
from llm.method import Method, Option
from llm.prompts import render
from llm.records import Candidate, Compare, Judge, Message, Outcome, Problem, Request, Train, Write
from llm.steps import Steps, by_id, make_seed

CROSSOVER = 0.5
"""Probability of two parents; else one parent mutates."""
MIGRATION = 0.3
"""Probability, after each generation, that the weaker half of the islands is refilled with migrants."""
CAP = 8
"""Members of an island."""
TAGS = 3
"""How many of the commonest good tags, and of the commonest bad ones, of all generations go into a prompt."""
OWN_TAGS = 2
"""How many good and bad tags of a parent stand beside it."""


@dataclass
class Island:
    """A population of its own. `members` are in the order in which they joined."""

    members: list[Outcome] = field(default_factory=list)


class Fitness(Protocol):
    """The fitness by which islands select."""

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Take in a generation, with the requests that this needs."""

    def value_of(self, outcome: Outcome) -> float:
        """The present fitness of a candidate that was taken in."""

    def format_fitness(self, parent: Outcome) -> str:
        """The fitness of a parent, as its children's prompt says it."""

    def format_remarks(self, parent: Outcome) -> str:
        """What the raters said of a parent; empty when nothing."""

    def remarks(self) -> str:
        """What the raters said of all, for the next prompt; empty when nothing."""


class ByScore:
    """Automatic fitness: the task score (RTS)."""

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Asks no judge. Raises MethodError where a candidate has no score."""
        for outcome in outcomes:
            if outcome.rts is None:
                raise MethodError(explain_missing_score(outcome.candidate.id, "use revolve_human"))
        yield from ()

    def value_of(self, outcome: Outcome) -> float:
        """The task score (RTS)."""
        return float(outcome.rts or 0.0)

    def format_fitness(self, parent: Outcome) -> str:
        """The task score, as published."""
        return f"Fitness: {format_number(parent.rts)} (the task score; more is better)"

    def format_remarks(self, parent: Outcome) -> str:
        """Nothing, because a score has no words."""
        return ""

    def remarks(self) -> str:
        """Nothing."""
        return ""


@dataclass
class ByJudges:
    """Human fitness: Bradley-Terry strength from best and worst of each generation, and from one comparison of its best
    with the best so far, which puts all generations on one scale.
    """

    seen: list[panel.Comparison] = field(default_factory=list)
    tags: list[tuple[str, ...]] = field(default_factory=list)
    tags_of: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    strengths: dict[str, panel.Rating] = field(default_factory=dict)
    champion: Outcome | None = None

    def judge(self, iteration: int, outcomes: Sequence[Outcome]) -> Generator[Request, Any, None]:
        """Asks for best and worst, and whether the best beats the best so far."""
        pick = yield Judge(iteration, tuple(outcomes))
        ids = {o.candidate.id: o for o in outcomes}
        self.seen += panel.list_comparisons(pick, pick.list_seen(ids))
        self.tags.append(pick.tags)
        for place, name in (("best", pick.best), ("worst", pick.worst)):
            about = tuple(tag for tag in pick.tags if tag.startswith(f"{place}: "))
            if name and about:
                self.tags_of.setdefault(name, []).append(about)
        self.reasons = [pick.reason.strip()] if pick.reason.strip() else []
        best = ids[pick.best]
        if self.champion is not None:
            answer = yield Compare(iteration, best, self.champion)
            self.seen += panel.read_comparison(best.candidate.id, self.champion.candidate.id, answer)
        self.strengths = panel.bradley_terry(self.seen, names=[*self.strengths, *ids])
        if self.champion is None or self.value_of(best) > self.value_of(self.champion):
            self.champion = best

    def value_of(self, outcome: Outcome) -> float:
        """The Bradley-Terry strength. Raises KeyError for a candidate that was not taken in."""
        return self.strengths[outcome.candidate.id].value

    def format_fitness(self, parent: Outcome) -> str:
        """Its place between the least and the most preferred of all so far, from 0 to 1."""
        values = [rating.value for rating in self.strengths.values()]
        spread = max(values) - min(values)
        share = (self.value_of(parent) - min(values)) / spread if spread else 0.5
        return f"Fitness: {share:.2f} (by what raters preferred: 0 the least of all so far, 1 the most)"

    def format_remarks(self, parent: Outcome) -> str:
        """The commonest good and bad tags that it was given as the best or the worst of a generation."""
        given = self.tags_of.get(parent.candidate.id, [])
        liked = [tag.removeprefix("best: ") for tag in list_commonest_tags("best: ", given, OWN_TAGS)]
        missed = [tag.removeprefix("worst: ") for tag in list_commonest_tags("worst: ", given, OWN_TAGS)]
        lines = [f"Raters liked about it: {', '.join(liked)}."] if liked else []
        return "\n".join([*lines, *([f"Raters want it mended: {', '.join(missed)}."] if missed else [])])

    def remarks(self) -> str:
        """The commonest good and bad tags of all generations, and the last judge's reason."""
        common = [*list_commonest_tags("best: ", self.tags, TAGS), *list_commonest_tags("worst: ", self.tags, TAGS)]
        said = [f"Raters say most often: {', '.join(common)}."] if common else []
        return "\n".join([*said, *self.reasons])


def list_commonest_tags(place: str, tags: Sequence[Sequence[str]], count: int) -> list[str]:
    """The `count` commonest tags that begin with `place`."""
    return [tag for tag in panel.count_tags(tags) if tag.startswith(place)][:count]


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
        if everybody:
            homes, candidates = yield from breed_candidates(problem, rng, iteration, k, population, fitness, reasons)
        else:
            homes = [population[i % len(population)] for i in range(k)]
            candidates = yield Write(iteration, first_prompt(problem), k, make_seed(rng))
        outcomes = yield Train(iteration, candidates)
        children = by_id(iteration, outcomes)
        yield from fitness.judge(iteration, list(children.values()))
        everybody.extend(children.values())
        for home, candidate in zip(homes, candidates, strict=True):
            if candidate.id in children:
                join(home, children[candidate.id], fitness, founding=iteration == 1)
        migrate(population, fitness, rng)
    return max(everybody, key=fitness.value_of).candidate.id


def breed_candidates(
    problem: Problem,
    rng: random.Random,
    iteration: int,
    k: int,
    population: Sequence[Island],
    fitness: Fitness,
    reasons: bool,
) -> Generator[Any, Any, tuple[list[Island], tuple[Candidate, ...]]]:
    """The next generation: for each of K children an island is drawn, there its parents; their island is its home."""
    homes, writes = [], []
    for index in range(1, k + 1):
        home, parents = select(population, fitness, rng)
        homes.append(home)
        prompt = make_breeding_prompt(problem, parents, fitness, reasons)
        writes.append(Write(iteration, prompt, 1, make_seed(rng), parents[0].candidate.id, first=index))
    results = yield writes
    return homes, tuple(candidate for result in results for candidate in result)


def select(population: Sequence[Island], fitness: Fitness, rng: random.Random) -> tuple[Island, list[Outcome]]:
    """An island, and one of its members to mutate or two to cross.

    Islands are drawn by the softmax of their mean fitness, members by that of their own, both scaled to [0, 1]. Two are
    crossed on islands that have two; where none has, one mutates.
    """
    crossed = rng.random() < CROSSOVER and any(len(island.members) > 1 for island in population)
    fit = [island for island in population if len(island.members) > crossed]
    (home,) = rng.choices(fit, compute_weights([compute_mean(island, fitness) for island in fit]))
    pool = list(home.members)
    chosen: list[Outcome] = []
    for _ in range(2 if crossed else 1):
        (parent,) = rng.choices(pool, compute_weights([fitness.value_of(m) for m in pool]))
        pool.remove(parent)
        chosen.append(parent)
    return home, chosen


def compute_mean(island: Island, fitness: Fitness) -> float:
    """The mean fitness of an island that has members."""
    return sum(fitness.value_of(m) for m in island.members) / len(island.members)


def compute_weights(values: Sequence[float]) -> list[float]:
    """Exp of the values after scaling them to [0, 1]: the fittest is e times as likely as the least fit."""
    low, spread = min(values), max(values) - min(values)
    return [math.exp((v - low) / spread) if spread else 1.0 for v in values]


def join(island: Island, newcomer: Outcome, fitness: Fitness, founding: bool = False) -> bool:
    """Add the newcomer when it is at least as fit as the island's mean, and remove the least fit above the limit."""
    if island.members and not founding and fitness.value_of(newcomer) < compute_mean(island, fitness):
        return False
    island.members.append(newcomer)
    if len(island.members) > CAP:
        island.members.remove(min(island.members, key=fitness.value_of))
    return True


def migrate(population: Sequence[Island], fitness: Fitness, rng: random.Random) -> None:
    """With probability 0.3 the weaker half of the islands, by their best, keeps its best alone and takes in a migrant.

    It comes from an island of the fitter half that has others than its best, drawn among those by the softmax of their
    fitness, and leaves its island.
    """
    if len(population) < 2 or rng.random() >= MIGRATION:
        return
    ranked = sorted(population, key=lambda island: max(map(fitness.value_of, island.members), default=-math.inf))
    half = len(ranked) // 2
    for weak in ranked[:half]:
        weak.members = [max(weak.members, key=fitness.value_of)] if weak.members else []
        sources = [island for island in ranked[half:] if len(island.members) > 1]
        if sources:
            source = rng.choice(sources)
            best = max(source.members, key=fitness.value_of)
            others = [m for m in source.members if m is not best]
            (migrant,) = rng.choices(others, compute_weights([fitness.value_of(m) for m in others]))
            source.members.remove(migrant)
            weak.members.append(migrant)


def make_breeding_prompt(
    problem: Problem, parents: Sequence[Outcome], fitness: Fitness, reasons: bool
) -> tuple[Message, ...]:
    """The prompt to mutate one parent or to cross two: code, reward trace and fitness of each, and what raters say."""
    shown = []
    for place, p in enumerate(parents, 1):
        told = [
            fitness.format_fitness(p),
            *([fitness.format_remarks(p)] if reasons and fitness.format_remarks(p) else []),
        ]
        source, trace = p.candidate.annotated_source, format_trace(p.trace)
        shown.append(render("parent", number=place, source=source, trace=trace, fitness="\n".join(told)))
    if reasons and fitness.remarks():
        shown.append(render("reason", reason=fitness.remarks()))
    name = "revolve_crossover" if len(parents) > 1 else "revolve_mutation"
    return make_chat(render(name, problem=format_problem(problem), parents="\n\n".join(shown)))


_ISLANDS = Option("islands", 3, "Populations that evolve side by side.", low=1, high=16)
METHODS = (
    Method(
        "revolve",
        "Revolve (automatic)",
        "Evolution on islands: the task score decides who has children. Published with 16 a generation.",
        partial(revolve, by=ByScore),
        published_k=16,
        options=(_ISLANDS,),
        uses_metric=True,
    ),
    Method(
        "revolve_human",
        "Revolve (human)",
        "Evolution on islands: ratings from people's picks decide who has children. Published with 16 a generation.",
        partial(revolve, by=ByJudges),
        published_k=16,
        options=(_ISLANDS, Option("reasons", True, "Show the model the raters' commonest tags and last words.")),
        chooses=False,
        compares=True,
    ),
)
