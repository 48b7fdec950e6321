"""RF-Agent: Monte Carlo tree search over reward functions, in which the model expands and values nodes."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from llm.method import Method, Option
from llm.methods.rf_agent import actions, tree
from llm.methods.rf_agent.tree import Node
from llm.methods.rf_agent.valuing import ByJudge, ByMetric, Value
from llm.records import Ask, Candidate, Problem, Request, Train, Write
from llm.sections import Prompt
from llm.steps import Steps, by_id, make_seed

Part = Generator[Request | list[Request], Any, None]


@dataclass(frozen=True)
class Settings:
    """The options, as published by default."""

    budget: int = 80
    search: str = "tree"
    actions: str = "all"
    design_thought: bool = True
    thought_align: bool = True
    self_verify: bool = True
    reasons: bool = True


def rf_agent(problem: Problem, rng: random.Random, k: int = 6, n: int = 11, **options: Any) -> Steps:
    """RF-Agent as published: a node's score F is its RTS, and the model is told it. Returns the best candidate's id."""
    return search(problem, rng, k, Settings(**options), ByMetric())


def rf_agent_judged(problem: Problem, rng: random.Random, k: int = 6, n: int = 11, **options: Any) -> Steps:
    """RF-Agent whose score is what a judge prefers; nothing of the metric reaches a prompt or the tree."""
    settings = Settings(**options)
    return search(problem, rng, k, settings, ByJudge(settings.reasons))


def search(problem: Problem, rng: random.Random, k: int, settings: Settings, value: Value) -> Steps:
    """K initial children of a virtual root, then one expansion after another until the budget is spent.

    Select a leaf, expand it by eight children, train them, align thoughts, verify, score, back up. The last expansion
    is cut to what the budget leaves. A candidate that cannot be trained costs its part of the budget and joins no tree.
    Raises MethodError when none of the initial children can be trained.
    """
    root = Node()
    expanded: list[Node] = []
    spent, iteration = 0, 0
    while spent < settings.budget:
        iteration += 1
        left = settings.budget - spent
        parent = tree.SEARCHES[settings.search](root, tree.compute_exploration(spent, settings.budget))
        wanted = make_prompts(problem, rng, root, parent, min(k, left), settings)[:left]
        candidates = yield from write(iteration, wanted, parent, rng, settings)
        outcomes = yield Train(iteration, candidates)
        trained = by_id(iteration, outcomes) if parent is root else {o.candidate.id: o for o in outcomes if o.ok}
        children = [Node(outcome, outcome.candidate.thought, parent) for outcome in trained.values()]
        yield from reflect(problem, iteration, children, rng, settings)
        parent.children.extend(children)
        yield from value.score(root, iteration, outcomes)
        if children:
            expanded.append(parent)
        tree.rebuild(root, expanded)
        spent += len(candidates)
    return value.winner(root)


def count_rounds(k: int, options: Mapping[str, Any]) -> int:
    """The initial children, then as many expansions as the budget has left room for."""
    settings = Settings(**options)
    return 1 + math.ceil(max(0, settings.budget - k) / len(actions.plan_expansion(settings.actions)))


def make_prompts(
    problem: Problem, rng: random.Random, root: Node, parent: Node, initial: int, settings: Settings
) -> list[Prompt]:
    """One prompt for each child that an expansion of `parent` makes."""
    if parent is root:
        return [actions.make_first_prompt(problem, settings.design_thought)] * initial
    return [
        actions.expand_prompt(problem, rng, root, parent, action, settings.design_thought)
        for action in actions.plan_expansion(settings.actions)
    ]


def write(
    iteration: int, wanted: Sequence[Prompt], parent: Node, rng: random.Random, settings: Settings
) -> Generator[list[Request], Any, tuple[Candidate, ...]]:
    """All children at once; those with the same prompt in one request, which keeps them different."""
    requests: list[Request] = []
    first = 1
    above = parent.id if parent.outcome else None
    for prompt, same in groupby(wanted):
        count = len(list(same))
        request = Write(iteration, prompt.messages, count, make_seed(rng), above, first, settings.design_thought)
        requests.append(replace(request, optional=prompt.optional))
        first += count
    written = yield requests
    return tuple(candidate for some in written for candidate in some)


def reflect(problem: Problem, iteration: int, children: list[Node], rng: random.Random, settings: Settings) -> Part:
    """Thought alignment, then self-verification, of every child that could be trained."""
    if settings.thought_align and children:
        thoughts = yield [Ask(iteration, actions.align_prompt(problem, c), make_seed(rng)) for c in children]
        for child, thought in zip(children, thoughts, strict=True):
            child.thought = thought
    if settings.self_verify and children:
        answers = yield [Ask(iteration, actions.verify_prompt(problem, c), make_seed(rng)) for c in children]
        for child, answer in zip(children, answers, strict=True):
            child.verify = read_rating(answer)


_NUMBER = r"[-+\u2212]?\s?(?:\d+(?:[.,]\d+)?|\.\d+)"
_RATED = re.compile(rf"(?:rating|score|verdict)\W{{0,12}}?({_NUMBER})", re.IGNORECASE)
_PLAIN = re.compile(rf"(?<![\w.])({_NUMBER})(?![\w])")
_SCALE = re.compile(r"[\[(]?[-\u2212]1(?:\.0)?\s*(?:,|to|and|\.\.+)\s*\+?1(?:\.0)?(?![.\d])[\])]?")


def read_rating(answer: str) -> float:
    """The v of a self-verification: the number after the last "Rating:", else the last number; clipped to [-1, 1].

    0, which favours no node, where there is no number.
    """
    text = _SCALE.sub(" ", answer)
    found = _RATED.findall(text) or _PLAIN.findall(text)
    if not found:
        return 0.0
    plain = re.sub(r"\s", "", found[-1]).replace("\u2212", "-").replace(",", ".")
    return max(-1.0, min(1.0, float(plain)))


_OPTIONS = (
    Option("budget", 80, "Trained candidates in all: N is not used, and the last round is cut.", low=2, high=2000),
    Option("search", "tree", "How the node to expand is found (others: ablations).", tuple(tree.SEARCHES)),
    Option(
        "actions",
        "all",
        "Which kinds of children an expansion makes; the others are written from their parent alone (ablations).",
        tuple(actions.SETS),
    ),
    Option("design_thought", True, "The model writes a design thought before the code."),
    Option("thought_align", True, "The thought is restated from the code that was trained."),
    Option("self_verify", True, "The model rates how well each reward fits the task, and the search heeds it."),
)
METHODS = (
    Method(
        "rf_agent",
        "RF-Agent",
        "Monte Carlo tree search: the model mutates, crosses over and reasons, and is told the task score.",
        rf_agent,
        n=11,
        options=_OPTIONS,
        rounds=count_rounds,
        uses_metric=True,
        revision=2,
    ),
    Method(
        "rf_agent_judged",
        "RF-Agent with a judge",
        "The same tree search by best and worst picks; the best robot so far is shown again in every round.",
        rf_agent_judged,
        n=11,
        options=(*_OPTIONS, Option("reasons", True, "Show the model what a person wrote about the picks.")),
        rounds=count_rounds,
        chooses=False,
        revision=3,
    ),
)
