"""A judge's picks as scores of nodes: what the tree is given, from two rounds tied together by the incumbent."""

import pytest

from llm.judges.panel import bradley_terry, list_comparisons
from llm.methods.rf_agent.tree import Node
from llm.methods.rf_agent.valuing import ByJudge
from llm.records import Candidate, Judge, Outcome, Pick


def outcome(name, ok=True):
    return Outcome(Candidate(name, ""), ok)


def scored(value, root, iteration, outcomes, pick):
    """One round: answer what `value` asks, if it asks; the request."""
    steps = value.score(root, iteration, outcomes)
    request = next(steps, None)
    if request is not None:
        with pytest.raises(StopIteration):
            steps.send(pick)
    return request


def grown(root, *outcomes):
    for o in outcomes:
        if o.ok:
            root.children.append(Node(o, parent=root))
    return {node.id: node for node in root.walk_below()}


def test_two_rounds_are_one_scale_by_the_incumbent():
    value, root = ByJudge(reasons=True), Node()
    first = [outcome("1-1"), outcome("1-2"), outcome("1-3", ok=False), outcome("1-4")]
    grown(root, *first)
    asked = scored(value, root, 1, first, Pick("1-2", "1-4"))
    assert isinstance(asked, Judge) and [o.candidate.id for o in asked.outcomes] == ["1-1", "1-2", "1-4"]
    second = [outcome("2-1"), outcome("2-2")]
    nodes = grown(root, *second)
    asked = scored(value, root, 2, second, Pick("2-1", "2-2"))
    assert [o.candidate.id for o in asked.outcomes] == ["2-1", "2-2", "1-2"]

    seen = list_comparisons(Pick("1-2", "1-4"), ["1-1", "1-2", "1-4"]) + list_comparisons(
        Pick("2-1", "2-2"), ["2-1", "2-2", "1-2"]
    )
    expected = bradley_terry(seen)
    assert {name: node.score for name, node in nodes.items()} == {n: r.value for n, r in expected.items()}
    assert nodes["2-1"].score > nodes["1-2"].score > nodes["1-1"].score > nodes["1-4"].score
    assert nodes["1-2"].score > nodes["2-2"].score
    assert value.winner(root) == "2-1"


def test_where_nothing_new_was_trained_nobody_is_asked():
    value, root = ByJudge(reasons=True), Node()
    first = [outcome("1-1"), outcome("1-2")]
    nodes = grown(root, *first)
    scored(value, root, 1, first, Pick("1-1", "1-2", "it hops"))
    before = {name: node.score for name, node in nodes.items()}
    assert scored(value, root, 2, [outcome("2-1", ok=False)], None) is None
    assert {name: node.score for name, node in nodes.items()} == before
    (verdict,) = nodes["1-1"].verdicts
    assert "Judged best of itself and 1 others in round 1." in verdict and "it hops" in verdict


@pytest.mark.parametrize("undecided", ["equal", "skip"])
def test_what_was_drawn_where_the_judge_named_nobody_takes_no_incumbents_place(undecided):
    value, root = ByJudge(reasons=True), Node()
    first, second = [outcome("1-1"), outcome("1-2")], [outcome("2-1"), outcome("2-2")]
    grown(root, *first)
    scored(value, root, 1, first, Pick("1-2", "1-1"))
    grown(root, *second)
    scored(value, root, 2, second, Pick("2-1", "2-2", undecided=undecided))
    assert value.winner(root) == "1-2"
