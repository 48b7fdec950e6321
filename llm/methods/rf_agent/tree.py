"""The search tree of RF-Agent and its arithmetic: selection, backup, elites. It makes no prompt and no request."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from llm.records import Outcome

ETA = 0.7
"""Weight of the best child in the backup."""
EXPLORATION = 0.4
"""Lambda before anything of the budget is spent."""
ELITES = 10
"""How many of the best nodes are elites."""


@dataclass(eq=False)
class Node:
    """One trained reward function. The virtual root has no outcome, and a value that nothing reads."""

    outcome: Outcome | None = None
    thought: str = ""
    parent: Node | None = None
    verify: float = 0.0
    """v, how well the model itself thinks the reward matches the task, in [-1, 1]."""
    score: float = 0.0
    """F, what training gave."""
    verdicts: list[str] = field(default_factory=list)
    """Verdicts on it, the oldest first: its task score, or the judge's in each round that showed it."""
    q: float = 0.0
    visits: int = 1
    children: list[Node] = field(default_factory=list)

    @property
    def trained(self) -> Outcome:
        """The outcome of its candidate. The root has none."""
        assert self.outcome is not None, "the root was never trained"
        return self.outcome

    @property
    def id(self) -> str:
        """Its candidate's id."""
        return self.trained.candidate.id

    def path(self) -> list[Node]:
        """From the initial child down to this node."""
        node: Node | None = self
        nodes = []
        while node is not None and node.parent is not None:
            nodes.append(node)
            node = node.parent
        return nodes[::-1]

    def walk_below(self) -> Iterator[Node]:
        """All nodes under this one, each before its own children."""
        for child in self.children:
            yield child
            yield from child.walk_below()


def compute_exploration(spent: int, budget: int) -> float:
    """Lambda, falling linearly from 0.4 to 0 with the share of the budget that is spent."""
    return EXPLORATION * max(0.0, 1.0 - spent / budget)


def softmax(values: Sequence[float]) -> list[float]:
    """exp(v) / sum exp(v); empty for no values."""
    largest = max(values, default=0.0)
    powers = [math.exp(v - largest) for v in values]
    return [p / sum(powers) for p in powers]


def uct(parent: Node, lam: float, low: float, high: float) -> list[float]:
    """What selection maximises, one number a child; `low` and `high` are the tree's smallest and largest Q.

    (Q - low) / (high - low) + lam * (sqrt(2 ln(N_parent + 1) / N_child) + softmax(v)). Where all Q are equal the first
    term is 0.
    """
    spread = high - low
    values = []
    for child, verified in zip(parent.children, softmax([c.verify for c in parent.children]), strict=True):
        quality = (child.q - low) / spread if spread > 0 else 0.0
        visits = math.sqrt(2 * math.log(parent.visits + 1) / child.visits)
        values.append(round(quality + lam * (visits + verified), 9))  # the same choice on every machine
    return values


def select_tree(root: Node, lam: float) -> Node:
    """From the root, the child with the highest UCT value, again and again, down to a leaf. Ties go to the first."""
    qualities = [node.q for node in root.walk_below()]
    node = root
    while node.children:
        values = uct(node, lam, min(qualities), max(qualities))
        node = node.children[values.index(max(values))]
    return node


def select_dfs(root: Node, lam: float) -> Node:
    """Ablation: depth first, the child with the best score first."""
    node = root
    while node.children:
        deepest = max(_measure_depth(child) for child in node.children)
        node = max((c for c in node.children if _measure_depth(c) == deepest), key=lambda c: c.score)
    return node


def _measure_depth(node: Node) -> int:
    """Levels below this node."""
    return 1 + max(_measure_depth(child) for child in node.children) if node.children else 0


def select_bfs(root: Node, lam: float) -> Node:
    """Ablation: breadth first, in the order in which the nodes were made."""
    level = [root]
    while True:
        waiting = [node for node in level if not node.children]
        if waiting:
            return waiting[0]
        level = [child for node in level for child in node.children]


def select_greedy(root: Node, lam: float) -> Node:
    """Ablation: the leaf with the best score of the whole tree."""
    leaves = [node for node in root.walk_below() if not node.children]
    return max(leaves, key=lambda node: node.score, default=root)


SEARCHES = {"tree": select_tree, "dfs": select_dfs, "bfs": select_bfs, "greedy": select_greedy}


def back_up(node: Node) -> None:
    """From a node that has new children up to the root: Q <- (1 - eta) Q + eta max child Q; N = sum of children's N."""
    above: Node | None = node
    while above is not None:
        if above.children:
            above.visits = sum(child.visits for child in above.children)
            above.q = (1 - ETA) * above.q + ETA * max(child.q for child in above.children)
        above = above.parent


def rebuild(root: Node, expanded: Sequence[Node]) -> None:
    """Compute all Q and N from the scores, which a judge may have changed; `expanded` is in order of expansion."""
    for node in root.walk_below():
        node.q, node.visits = node.score, 1
    root.q, root.visits = 0.0, 1
    for node in expanded:
        back_up(node)


def list_elites(root: Node, parent: Node) -> list[Node]:
    """The ten nodes with the best scores without the parent, the best first; among equals the earlier one."""
    return sorted((n for n in root.walk_below() if n is not parent), key=lambda n: -n.score)[:ELITES]


def get_age(node: Node) -> tuple[int, int]:
    """When it was written: its round, and its place in that."""
    iteration, _, index = node.trained.candidate.id.partition("-")
    return int(iteration), int(index)


def rank_weights(count: int) -> list[float]:
    """Probabilities by reciprocal rank: proportional to 1, 1/2, 1/3, ..."""
    whole = sum(1 / rank for rank in range(1, count + 1))
    return [1 / rank / whole for rank in range(1, count + 1)]


def sample_elites(rng: random.Random, root: Node, parent: Node, count: int) -> list[Node]:
    """At most `count` different elites, drawn one after another by reciprocal rank."""
    pool: list[Node] = list_elites(root, parent)
    chosen: list[Node] = []
    while pool and len(chosen) < count:
        (node,) = rng.choices(pool, rank_weights(len(pool)))
        pool.remove(node)
        chosen.append(node)
    return chosen


def sample_branches(rng: random.Random, root: Node, parent: Node, count: int) -> list[Node]:
    """At most `count` nodes of other branches: under different initial children, a random number of best steps down."""
    own = parent.path()[0]
    others = [branch for branch in root.children if branch is not own]
    chosen = []
    for branch in rng.sample(others, min(count, len(others))):
        node = branch
        for _ in range(rng.randint(0, _measure_depth(branch))):
            if node.children:
                node = max(node.children, key=lambda child: child.score)
        chosen.append(node)
    return chosen
