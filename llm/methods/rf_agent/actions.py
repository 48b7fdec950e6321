"""The expansion of RF-Agent: eight children of one node, by five kinds of action, and the prompts of each."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from llm.messages import format_context, format_number, format_problem, format_trace, make_chat
from llm.methods.rf_agent import tree
from llm.methods.rf_agent.tree import Node
from llm.prompts import render
from llm.records import Message, Outcome, Problem
from llm.sections import REMARK, Prompt, Text, fill_prompt, join_texts, make_prompt, mark_optional

FEWEST, MOST = 2, 4
"""How many nodes are shown by the actions that look beyond the parent."""


@dataclass(frozen=True)
class Shown:
    """A node in a prompt, under a heading."""

    title: str
    node: Node
    optional: bool = True
    """Whether the prompt can do without it where room is short."""


Look = Callable[[random.Random, Node, Node], list[Shown]]


def show_parent(rng: random.Random, root: Node, parent: Node) -> list[Shown]:
    """The parent alone."""
    return [Shown("Parent reward function", parent, optional=False)]


def add_elites(rng: random.Random, root: Node, parent: Node) -> list[Shown]:
    """The parent and one to three elites."""
    found = tree.sample_elites(rng, root, parent, rng.randint(FEWEST, MOST) - 1)
    return [*show_parent(rng, root, parent), *number_nodes("Elite reward function", found)]


def show_path(rng: random.Random, root: Node, parent: Node) -> list[Shown]:
    """The last two to four nodes of the way from the root to the parent, or all where there are fewer."""
    earlier = parent.path()[-rng.randint(FEWEST, MOST) : -1]
    return [*number_nodes("Reward function on the path", earlier), *show_parent(rng, root, parent)]


def add_other_branches(rng: random.Random, root: Node, parent: Node) -> list[Shown]:
    """The parent and one to three nodes of other branches."""
    found = tree.sample_branches(rng, root, parent, rng.randint(FEWEST, MOST) - 1)
    return [*show_parent(rng, root, parent), *number_nodes("Reward function of another branch", found)]


def number_nodes(title: str, nodes: Sequence[Node]) -> list[Shown]:
    """These nodes, the oldest first, each under the title and its number from 1."""
    return [Shown(f"{title} {i}", node) for i, node in enumerate(sorted(nodes, key=tree.get_age), 1)]


@dataclass(frozen=True)
class Action:
    """One way to make a child."""

    kind: str
    """mutation, crossover, reasoning or different: what the ablation of action sets replaces; or plain, which does."""
    prompt: str
    """The file that says what to do."""
    move: str
    """What to do in a few words, as a heading."""
    look: Look


STRUCTURE = Action("mutation", "rf_structure", "another structure", show_parent)
PARAMETERS = Action("mutation", "rf_parameters", "other parameters", show_parent)
CROSSOVER = Action("crossover", "rf_crossover", "cross over", add_elites)
PATH = Action("reasoning", "rf_path", "think along the path", show_path)
DIFFERENT = Action("different", "rf_different", "a different form", add_other_branches)
PLAIN = Action("plain", "rf_plain", "improve the parent", show_parent)
"""What takes the place of the actions that an ablation leaves out."""
EXPANSION = (STRUCTURE, STRUCTURE, PARAMETERS, PARAMETERS, CROSSOVER, CROSSOVER, PATH, DIFFERENT)

KINDS = ("mutation", "crossover", "reasoning", "different")
SETS = {
    "+".join(kept) if 0 < len(kept) < len(KINDS) else "all" if kept else "none": kept
    for count in range(len(KINDS), -1, -1)
    for kept in combinations(KINDS, count)
}
"""The ablations: which kinds an expansion keeps. The children of the others are written from their parent alone, so
that there are as many. Without one kind, without all, and the sets that the paper prints.
"""


def plan_expansion(actions: str) -> tuple[Action, ...]:
    """The children of one expansion, in order."""
    return tuple(action if action.kind in SETS[actions] else PLAIN for action in EXPANSION)


def state_problem(problem: Problem) -> str:
    """The problem as every method states it, with the two writing tips that this paper adds."""
    return format_problem(problem, render("rf_tips"))


def make_first_prompt(problem: Problem, thinking: bool) -> Prompt:
    """What the initial children are written from."""
    return Prompt(make_chat(render("rf_first", problem=state_problem(problem), thinking=_ask_for_thought(thinking))))


def expand_prompt(
    problem: Problem, rng: random.Random, root: Node, parent: Node, action: Action, thinking: bool
) -> Prompt:
    """What one child of `parent` is written from."""
    text = fill_prompt(
        "rf_expand",
        problem=state_problem(problem),
        nodes=join_texts("\n\n", [format_node(shown) for shown in action.look(rng, root, parent)]),
        move=action.move,
        thinking=_ask_for_thought(thinking),
        instruction=render(action.prompt),
    )
    return make_prompt(make_chat, text)


def _ask_for_thought(wanted: bool) -> str:
    return render("rf_thinking") if wanted else ""


def format_node(shown: Shown) -> Text:
    """Thought, code, trace, and what came of it. Of several verdicts the last is the one that has to stay."""
    node = shown.node
    *earlier, last = node.verdicts or [""]
    text = fill_prompt(
        "rf_node",
        title=shown.title,
        thought=f"Design thought: {node.thought}" if node.thought else "",
        source=node.trained.candidate.annotated_source,
        trace=format_trace(node.trained.trace),
        verdict=join_texts(" ", [*(mark_optional(verdict, REMARK) for verdict in earlier), last]),
    )
    return mark_optional(text) if shown.optional else text


def format_score(outcome: Outcome) -> str:
    """The task score as RF-Agent tells it to the model: over the training, and its maximum."""
    over_time = f"{format_trace({'task_score': outcome.metric_trace})}\n" if outcome.metric_trace else ""
    return f"{over_time}Task score: {format_number(outcome.rts)} (more is better)"


def align_prompt(problem: Problem, node: Node) -> tuple[Message, ...]:
    """Asks for the thought as the code that finally ran has it."""
    text = render(
        "rf_align",
        context=format_context(problem),
        thought=node.thought or "(none was written down)",
        source=node.trained.candidate.annotated_source,
    )
    return make_chat(text)


def verify_prompt(problem: Problem, node: Node) -> tuple[Message, ...]:
    """Asks how well the reward fits the task, as a number: from thought and code alone, as published."""
    text = render(
        "rf_verify",
        context=format_context(problem),
        thought=node.thought or "(none)",
        source=node.trained.candidate.annotated_source,
    )
    return make_chat(text)
