"""RF-Agent where rewards cannot be trained."""

import pytest

from llm.errors import MethodError
from llm.records import Ask, Outcome, Train, Write
from tests.llm.experiment import train
from tests.llm.rf_agent.test_rf_agent import first_and_last, of, rounds, run


def failing(bad):
    def training(request):
        return tuple(
            Outcome(o.candidate, False, "its total became infinite") if bad(o.candidate.id) else o
            for o in train(request)
        )

    return training


@pytest.mark.slow
def test_what_cannot_be_trained_costs_budget_and_joins_no_tree():
    experiment = run(train=failing(lambda name: name in ("1-2", "2-1", "2-5")))
    assert [len(r.candidates) for r in experiment.of(Train)] == [6, 8, 8, 8]
    assert [len(of(Ask, pairs)) for pairs in rounds(experiment)] == [10, 12, 16, 16]
    assert not {"1-2", "2-1", "2-5"} & {r.parent for r in experiment.of(Write)}


@pytest.mark.slow
def test_a_round_without_any_trained_child_goes_on_elsewhere():
    experiment = run(train=failing(lambda name: name.startswith("2-")))
    assert [type(r).__name__ for r, _ in rounds(experiment)[1]][-1] == "Train"
    assert len(experiment.of(Train)) == 4


def test_nothing_to_begin_with_stops_visibly():
    with pytest.raises(MethodError, match="iteration 1: none of the 6 .* its total became infinite"):
        run(train=failing(lambda name: True))


@pytest.mark.slow
def test_a_task_without_a_metric_needs_a_judge():
    def unscored(request):
        return tuple(Outcome(o.candidate, True, "", o.trace) for o in train(request))

    with pytest.raises(MethodError, match="no metric .use RF-Agent with a judge., or its training ended before"):
        run(train=unscored)
    assert run("rf_agent_judged", train=unscored, judge=first_and_last).winner
