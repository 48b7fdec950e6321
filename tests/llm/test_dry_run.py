"""Flows are equal only where every request is."""

import dataclasses

import pytest

from llm.methods import METHODS
from llm.repetition_check import count_answers, find_equal_flows
from tests.llm.experiment import PROBLEM, VARIANTS

ANSWERS = dataclasses.replace(PROBLEM, form="answer", sections=("Answer", "Reasoning"))


def find(problem, k, n, *names):
    return [[names[i] for i in group] for group in find_equal_flows(problem, [(name, k, n, {}) for name in names])]


def test_one_round_makes_methods_equal_that_learn_from_rounds():
    names = ("icpl", "icpl_wo_rtdb", "eureka", "open_loop")
    assert find(PROBLEM, 6, 1, *names) == [["icpl", "icpl_wo_rtdb", "open_loop"]]
    assert find(PROBLEM, 3, 2, *names) == find(PROBLEM, 3, 5, *names) == []


def test_two_rounds_leave_out_what_only_later_ones_are_told():
    names = ("icpl", "icpl_wo_rt", "icpl_wo_rtd", "icpl_wo_rtdb")
    assert find(PROBLEM, 3, 2, *names) == [["icpl", "icpl_wo_rt", "icpl_wo_rtd"]]
    assert find(PROBLEM, 3, 3, *names) == []


def test_methods_that_choose_differently_are_not_equal():
    assert find(ANSWERS, 6, 1, "scaling_batch_score", "scaling_batch_vote", "scaling_batch_model") == []


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_an_option_that_changes_a_prompt_makes_another_flow(name, options):
    k, n = METHODS[name].k, METHODS[name].n
    assert find_equal_flows(PROBLEM, [(name, k, n, {}), (name, k, n, options)]) == []


def test_a_method_equals_itself():
    for name in ("icpl", "revolve", "scaling_3d"):
        assert find_equal_flows(PROBLEM, [(name, 3, 3, {})] * 2) == [(0, 1)]


@pytest.mark.parametrize(
    ("flow", "answers"),
    [
        (("rf_agent", 6, 11, {"budget": 512}), {"writer": 3 * 512}),  # written, thought aligned, verified
        (("rda", 8, 5, {}), {"writer": 1 + 5 * (8 + 8) + 4}),  # subtasks, rewards with their analyses, revisions
        (("rda", 4, 5, {"analyst": "frames", "subtasks": False}), {"writer": 20, "vision": 60}),
        (("icpl", 6, 5, {}), {"writer": 30, "describer": 3}),
    ],
)
def test_answers_are_counted_to_the_end_of_the_largest_published_searches(flow, answers):
    assert count_answers(PROBLEM, flow) == answers
