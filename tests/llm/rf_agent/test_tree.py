"""The arithmetic of the tree, against numbers worked out by hand."""

import math
import random
from collections import Counter

import pytest

from llm.methods.rf_agent import actions, tree
from llm.methods.rf_agent.tree import Node
from llm.records import Candidate, Outcome


def node(name="", score=0.0, parent=None, verify=0.0):
    made = Node(Outcome(Candidate(name, ""), True) if name else None, parent=parent, verify=verify)
    made.score = made.q = score
    if parent is not None:
        parent.children.append(made)
    return made


def family():
    """A root with a (2.0), b (4.0), c (3.0); b has d (5.0), e (1.0)."""
    root = node()
    a, b, c = (node(n, s, root) for n, s in (("a", 2.0), ("b", 4.0), ("c", 3.0)))
    tree.back_up(root)
    d, e = node("d", 5.0, b), node("e", 1.0, b)
    tree.back_up(b)
    return root, a, b, c, d, e


def test_a_prompt_shows_nodes_from_the_oldest_on():
    shown = actions.number_nodes("Elite reward function", [node("2-1"), node("1-10"), node("1-2")])
    assert [(s.title[-1], s.node.id) for s in shown] == [("1", "1-2"), ("2", "1-10"), ("3", "2-1")]


@pytest.mark.parametrize("kind", actions.KINDS)
def test_each_kind_of_action_can_be_replaced_alone(kind):
    kept = "+".join(other for other in actions.KINDS if other != kind)
    expected = [actions.PLAIN if action.kind == kind else action for action in actions.EXPANSION]
    assert list(actions.plan_expansion(kept)) == expected
    assert {*actions.plan_expansion("none")} == {actions.PLAIN} and actions.plan_expansion("all") == actions.EXPANSION


def test_lambda_falls_linearly_to_nothing():
    assert [round(tree.compute_exploration(spent, 80), 6) for spent in (0, 20, 40, 60, 80, 88)] == [
        0.4,
        0.3,
        0.2,
        0.1,
        0,
        0,
    ]


def test_backup_moves_each_ancestor_towards_its_best_child_and_counts_leaves():
    root, a, b, c, d, e = family()
    assert b.q == pytest.approx(0.3 * 4.0 + 0.7 * 5.0)  # 4.7
    assert (root.visits, a.visits, b.visits, d.visits) == (4, 1, 2, 1)
    # root: first 0.3 * 0 + 0.7 * 4 = 2.8, then 0.3 * 2.8 + 0.7 * 4.7 = 4.13
    assert root.q == pytest.approx(4.13)
    f = node("f", 9.0, d)
    tree.back_up(d)
    assert d.q == pytest.approx(0.3 * 5.0 + 0.7 * 9.0)  # 7.8
    assert b.q == pytest.approx(0.3 * 4.7 + 0.7 * 7.8)  # 6.87
    assert root.q == pytest.approx(0.3 * 4.13 + 0.7 * 6.87)
    assert (f.q, c.q, e.q) == (9.0, 3.0, 1.0)


def test_a_low_best_child_lowers_its_parent():
    root = node()
    a = node("a", 4.0, root)
    node("b", 2.0, a)
    tree.back_up(a)
    assert a.q == pytest.approx(0.3 * 4.0 + 0.7 * 2.0)


def test_uct_by_hand():
    root, a, b, c, *_ = family()
    a.verify, b.verify, c.verify = 0.5, -0.5, 0.0
    exps = [math.exp(0.5), math.exp(-0.5), 1.0]
    # Q of the whole tree: from e's 1.0 to d's 5.0; N of the root is 4
    expected = [
        (2.0 - 1.0) / 4.0 + 0.3 * (math.sqrt(2 * math.log(5) / 1) + exps[0] / sum(exps)),
        (4.7 - 1.0) / 4.0 + 0.3 * (math.sqrt(2 * math.log(5) / 2) + exps[1] / sum(exps)),
        (3.0 - 1.0) / 4.0 + 0.3 * (math.sqrt(2 * math.log(5) / 1) + exps[2] / sum(exps)),
    ]
    assert tree.uct(root, 0.3, 1.0, 5.0) == pytest.approx(expected)


def test_selection_goes_down_to_a_leaf_and_lambda_decides_between_quality_and_novelty():
    root, a, b, c, d, e = family()
    assert tree.select_tree(root, 0.0) is d
    assert tree.select_tree(root, 5.0) is c  # one visit each for a and c, and c is better
    a.verify = 1.0
    c.verify = -1.0
    assert tree.select_tree(root, 5.0) is a  # ... unless the model itself believes in a


def test_equal_qualities_are_no_division_by_zero():
    root = node()
    a, b = node("a", 1.0, root), node("b", 1.0, root)
    tree.back_up(root)
    assert tree.uct(root, 0.0, 1.0, 1.0) == [0.0, 0.0]
    assert tree.select_tree(root, 0.4) is a and b.visits == 1


def test_the_other_searches():
    root, a, b, c, d, e = family()
    assert tree.select_bfs(root, 0.4) is a
    assert tree.select_dfs(root, 0.4) is d
    assert tree.select_greedy(root, 0.4) is d
    node("f", 0.5, d), node("g", 0.7, d)
    assert tree.select_dfs(root, 0.4).id == "g"  # deeper, though worse
    assert tree.select_greedy(root, 0.4) is c  # d is expanded; the best leaf left
    node("h", 0.0, a)
    assert tree.select_bfs(root, 0.4) is c
    node("i", 0.0, c)
    assert tree.select_bfs(root, 0.4).id == "h"


def test_rebuilding_gives_what_the_backups_gave():
    root, a, b, c, d, e = family()
    node("f", 9.0, d)
    tree.back_up(d)
    before = [(n.id, n.q, n.visits) for n in root.walk_below()]
    tree.rebuild(root, [root, b, d])
    assert [(n.id, n.q, n.visits) for n in root.walk_below()] == before
    e.score = 20.0
    tree.rebuild(root, [root, b, d])
    assert b.q == pytest.approx(0.3 * (0.3 * 4.0 + 0.7 * 20.0) + 0.7 * 20.0)


def test_elites_are_drawn_by_reciprocal_rank_without_the_parent():
    assert tree.rank_weights(3) == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    root, a, b, c, d, e = family()
    assert [n.id for n in tree.list_elites(root, parent=b)] == ["d", "c", "a", "e"]
    drawn = Counter(tree.sample_elites(random.Random(i), root, b, 1)[0].id for i in range(4000))
    whole = 1 + 1 / 2 + 1 / 3 + 1 / 4
    for rank, name in enumerate("dcae", 1):
        assert drawn[name] / 4000 == pytest.approx(1 / rank / whole, abs=0.03)
    several = tree.sample_elites(random.Random(0), root, b, 9)
    assert sorted(n.id for n in several) == ["a", "c", "d", "e"]


def test_only_the_ten_best_are_elites():
    root = node()
    for i in range(14):
        node(f"n{i}", float(i), root)
    assert [n.id for n in tree.list_elites(root, root)] == [f"n{i}" for i in range(13, 3, -1)]


def test_other_branches_never_hold_the_parents_own():
    root, a, b, c, d, e = family()
    for seed in range(50):
        chosen = tree.sample_branches(random.Random(seed), root, d, 3)
        assert {n.id for n in chosen} == {"a", "c"}
    found = {n.id for s in range(50) for n in tree.sample_branches(random.Random(s), root, a, 1)}
    assert found == {"b", "c", "d"}  # down a branch only by its best child
