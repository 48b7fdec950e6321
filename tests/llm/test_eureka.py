"""Eureka against its Algorithm 1, step by step."""

import dataclasses

import pytest

from llm.errors import MethodError
from llm.messages import format_trace
from llm.records import Train, Write
from tests.llm.experiment import Experiment, prompts, train

SCORES = {"1-1": 3.0, "1-2": 9.0, "1-3": 5.0, "2-1": 4.0, "2-2": 1.0, "2-3": 7.5, "3-1": 2.0, "3-2": 6.0, "3-3": 6.0}


def scored(request):
    found = []
    for outcome in train(request):
        score = SCORES[outcome.candidate.id]
        metric = {"samples": [0.0, score / 2, score], "max": score, "mean": score / 2, "min": 0.0}
        found.append(dataclasses.replace(outcome, rts=score, metric_trace=metric))
    return tuple(found)


@pytest.fixture(scope="module")
def finished_experiment():
    experiment = Experiment(method="eureka", train=scored)
    return experiment, experiment.run()


def test_it_writes_and_trains_n_times_and_asks_nobody(finished_experiment):
    experiment, _ = finished_experiment
    assert [type(r).__name__ for r in experiment.requests] == ["Write", "Train"] * 3
    assert [w.count for w in experiment.of(Write)] == [3, 3, 3]


def test_each_round_starts_from_the_best_of_the_round_before(finished_experiment):
    """Greedy: 2-3 (7.5) is fed back although 1-2 (9) was better."""
    experiment, _ = finished_experiment
    assert [w.parent for w in experiment.of(Write)] == [None, "1-2", "2-3"]


def test_the_winner_is_the_best_of_all_rounds(finished_experiment):
    assert finished_experiment[1] == "1-2"


def test_a_prompt_holds_the_bests_code_trace_and_score_and_nothing_of_the_others(finished_experiment):
    experiment, _ = finished_experiment
    outcomes = {o.candidate.id: o for trained in experiment.got(Train) for o in trained}
    for prompt, best in zip(prompts(experiment)[1:], ("1-2", "2-3"), strict=True):
        shown = outcomes[best]
        assert shown.candidate.source.strip() in prompt
        assert format_trace({**shown.trace, "task_score": shown.metric_trace}) in prompt
        assert f"Task score reached: {SCORES[best]:.4g}" in prompt
        others = [o for name, o in outcomes.items() if name != best]
        assert not [o.candidate.id for o in others if o.candidate.source.strip() in prompt]
    assert "task score" not in prompts(experiment)[0].lower()


def test_a_candidate_that_failed_is_not_the_best():
    def broken(request):
        return tuple(dataclasses.replace(o, ok=o.candidate.id != "1-2") for o in scored(request))

    experiment = Experiment(method="eureka", train=broken)
    assert experiment.run() == "2-3"
    assert [w.parent for w in experiment.of(Write)] == [None, "1-3", "2-3"]


def test_without_a_score_it_says_why_that_may_be_and_what_to_use_instead():
    experiment = Experiment(method="eureka", train=lambda r: tuple(dataclasses.replace(o, rts=None) for o in train(r)))
    with pytest.raises(MethodError, match="no metric ..*ask a person instead., or its training ended before"):
        experiment.run()
