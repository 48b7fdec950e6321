"""Where a node's score comes from: the task metric, as published, or a judge's picks."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from llm.errors import MethodError, explain_missing_score
from llm.judges.panel import UNDECIDED, Comparison, bradley_terry, list_comparisons
from llm.methods.rf_agent.actions import format_score
from llm.methods.rf_agent.tree import Node
from llm.records import Judge, Outcome, Pick, Request
from llm.steps import outcome_named

Part = Generator[Request, Any, None]


class Value(Protocol):
    """Scores the nodes in every iteration, after its children have joined the tree."""

    def score(self, root: Node, iteration: int, outcomes: Sequence[Outcome]) -> Part:
        """Set score and verdicts of every node, with the requests that this needs. `outcomes` are this iteration's."""

    def winner(self, root: Node) -> str:
        """The id of the best of all."""


class ByMetric:
    """F is the RTS, as published. No judge is asked."""

    def score(self, root: Node, iteration: int, outcomes: Sequence[Outcome]) -> Part:
        """Asks no judge. Raises MethodError where a node has no task score."""
        for node in root.walk_below():
            if node.trained.rts is None:
                raise MethodError(explain_missing_score(node.id, "use RF-Agent with a judge"))
            node.score, node.verdicts = node.trained.rts, [format_score(node.trained)]
        yield from ()

    def winner(self, root: Node) -> str:
        """The one with the highest RTS."""
        return max(root.walk_below(), key=lambda node: node.score).id


@dataclass
class ByJudge:
    """F is the Bradley-Terry strength from best and worst picks of all rounds.

    From the second round on the judge also sees the incumbent, the best of the round before: it ties the rounds to one
    scale, and makes the last round's best the best of all. Where the judge names nobody, the incumbent stays.
    """

    reasons: bool
    """Show the model what the judge wrote."""
    seen: list[Comparison] = field(default_factory=list)
    incumbent: Outcome | None = None

    def score(self, root: Node, iteration: int, outcomes: Sequence[Outcome]) -> Part:
        """Asks for best and worst of the iteration's outcomes and the incumbent, where there is anything new to see."""
        shown = tuple(o for o in (*outcomes, self.incumbent) if o is not None and o.ok)
        if any(outcome is not self.incumbent for outcome in shown):
            pick = yield Judge(iteration, shown)
            seen = {o.candidate.id: o for o in shown}
            best = outcome_named(seen, pick.best)
            if self.incumbent is None or not pick.undecided:  # a drawn one takes nobody's place
                self.incumbent = best
            self.seen += list_comparisons(pick, pick.list_seen(seen))
            self.add_verdicts(root, iteration, pick.list_seen(seen), pick)
        nodes = list(root.walk_below())
        strengths = bradley_terry(self.seen, names=[node.id for node in nodes])
        for node in nodes:
            node.score = strengths[node.id].value

    def add_verdicts(self, root: Node, iteration: int, seen: Sequence[str], pick: Pick) -> None:
        """What the prompts say about a node: how it fared in each round in which it was seen."""
        others = len(seen) - 1
        for node in root.walk_below():
            if node.id not in seen:
                continue
            place = {pick.best: "best", pick.worst: "worst"}.get(node.id, "neither best nor worst")
            words = f"Judged {place} of itself and {others} others in round {iteration}."
            if pick.undecided:
                words = f"In round {iteration}, of itself and {others} others, {UNDECIDED[pick.undecided]}."
            if self.reasons and pick.reason.strip() and node.id in (pick.best, pick.worst):
                words += f' About that round the judge said: "{pick.reason.strip()}"'
            node.verdicts.append(words)

    def winner(self, root: Node) -> str:
        """The incumbent after the last round."""
        assert self.incumbent is not None
        return self.incumbent.candidate.id
