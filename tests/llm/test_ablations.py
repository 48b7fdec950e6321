"""ICPL's ablations: what each prompt holds and must not hold."""

import dataclasses

import pytest

from llm.messages import format_trace
from llm.records import Ask, Judge, Pick, Train, Write
from tests.llm.experiment import Experiment, prompts, train

HISTORY, DIFFERENCE, REJECTED = "# Earlier iterations", "What changed against the best", "# Rejected reward function"


@pytest.fixture(scope="module")
def runs():
    found = {}
    for name in ("icpl", "icpl_wo_rt", "icpl_wo_rtd", "icpl_wo_rtdb"):
        found[name] = Experiment(method=name, k=3, n=4)
        found[name].run()
    return found


def last_prompt(experiment):
    return "\n".join(m["content"] for m in experiment.of(Write)[-1].messages)


def earlier_traces(experiment):
    """Whether the traces of the bests before the last are in the last prompt."""
    outcomes = {o.candidate.id: o for trained in experiment.got(Train) for o in trained}
    picks = experiment.got(Judge)[:2]
    found = {format_trace(outcomes[p.best].trace) in last_prompt(experiment) for p in picks}
    assert len(found) == 1
    return found.pop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "traces", "differences", "bad_example"),
    [
        ("icpl", True, True, True),
        ("icpl_wo_rt", False, True, True),
        ("icpl_wo_rtd", False, False, True),
        ("icpl_wo_rtdb", False, False, False),
    ],
)
def test_each_leaves_out_what_its_name_says(runs, name, traces, differences, bad_example):
    experiment = runs[name]
    prompt = last_prompt(experiment)
    assert earlier_traces(experiment) is traces
    assert (DIFFERENCE in prompt) is differences
    assert (HISTORY in prompt) is (traces or differences)
    assert (REJECTED in prompt) is bad_example and ("reject" in prompt) is bad_example
    assert len(experiment.of(Ask)) == (2 if differences else 0)


def test_the_describer_sees_programs_alone_unless_its_option_adds_traces(runs):
    traced = Experiment(method="icpl", k=3, n=4, options={"describe_traces": True})
    traced.run()
    for experiment, told in ((runs["icpl"], False), (runs["icpl_wo_rt"], False), (traced, True)):
        asked = "\n".join(m["content"] for request in experiment.of(Ask) for m in request.messages)
        outcomes = [o for trained in experiment.got(Train) for o in trained]
        assert any(format_trace(o.trace) in asked for o in outcomes) is told
        assert ("trace" in asked.lower()) is told
        history = last_prompt(experiment).partition(HISTORY)[2].partition("# Preferred")[0]
        assert ("on average" in history) is told


def test_where_one_alone_was_trained_no_prompt_speaks_of_a_rejected_one():
    def one(request):
        first, *others = train(request)
        return (first, *(dataclasses.replace(o, ok=False, reason="crashed", trace={}) for o in others))

    experiment = Experiment(method="icpl", k=3, n=2, train=one)
    experiment.run()
    assert "reject" not in last_prompt(experiment) and "worst" not in last_prompt(experiment)


def test_all_show_the_best_with_code_and_trace_and_how_to_go_on(runs):
    for experiment in runs.values():
        outcomes = {o.candidate.id: o for trained in experiment.got(Train) for o in trained}
        best = outcomes[experiment.got(Judge)[2].best]
        prompt = last_prompt(experiment)
        assert best.candidate.source.strip() in prompt and format_trace(best.trace) in prompt
        assert "hardly changes over the training" in prompt and "drowns" in prompt


def test_their_first_round_is_the_same(runs):
    assert len({prompts(experiment)[0] for experiment in runs.values()}) == 1
    assert len({str(experiment.got(Write)[0]) for experiment in runs.values()}) == 1


def test_reasons_can_be_switched_in_each():
    def judge(request):
        ids = [o.candidate.id for o in request.outcomes]
        return Pick(ids[0], ids[-1], "it limps") if isinstance(request, Judge) else ids[0]

    for reasons in (True, False):
        experiment = Experiment(method="icpl_wo_rtdb", n=2, judge=judge, options={"reasons": reasons})
        experiment.run()
        assert ("it limps" in last_prompt(experiment)) is reasons


def test_partial_metrics_can_be_shown_beside_preferences():
    states = {"seconds": 10.0, "falls": 3, "coordinates": [{"name": "height", "mean": 0.4321, "speed": 0.0}]}

    def filmed(request):
        return tuple(dataclasses.replace(o, states=states) for o in train(request))

    for measures in (True, False):
        experiment = Experiment(k=3, n=2, train=filmed, options={"measures": measures})
        experiment.run()
        assert last_prompt(experiment).count("- height: mean 0.4321, speed 0") == (2 if measures else 0)
        assert last_prompt(experiment).count("restarted 3 times") == (2 if measures else 0)
