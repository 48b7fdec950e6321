import pytest

from llm.errors import MethodError
from llm.messages import format_trace
from llm.records import Ask, Choose, Judge, Outcome, Pick, Train, Write
from tests.llm.experiment import Experiment, prompts, train


def kinds(experiment):
    return [type(r).__name__ for r in experiment.requests]


@pytest.mark.slow
def test_it_asks_what_algorithm_1_asks_in_its_order():
    experiment = Experiment(k=6, n=5)
    experiment.run()
    first, later = ["Write", "Train", "Judge"], ["Write", "Train", "Judge", "Ask"]
    last = ["Write", "Train", "Judge"]  # a description of the last best would be bought for nobody
    assert kinds(experiment) == first + 3 * later + last + ["Choose"]
    assert all(r.count == 6 for r in experiment.of(Write))
    assert len({r.seed for r in experiment.of(Write)}) == 5


def test_candidates_are_numbered_and_know_their_parent():
    experiment = Experiment(k=3, n=2)
    experiment.run()
    first, second = experiment.got(Write)
    assert [c.id for c in second] == ["2-1", "2-2", "2-3"]
    assert {c.parent for c in first} == {None}
    assert {c.parent for c in second} == {experiment.got(Judge)[0].best}


def test_the_winner_is_chosen_among_the_bests_of_all_iterations():
    experiment = Experiment(k=3, n=4)
    winner = experiment.run()
    picks = experiment.got(Judge)
    (choose,) = experiment.of(Choose)
    assert [o.candidate.id for o in choose.outcomes] == [p.best for p in picks]
    outcomes = [o for outcomes in experiment.got(Train) for o in outcomes]
    assert winner == max(outcomes, key=lambda o: o.rts).candidate.id


def test_one_iteration_needs_no_last_choice():
    experiment = Experiment(k=3, n=1)
    assert experiment.run() == experiment.got(Judge)[0].best
    assert kinds(experiment) == ["Write", "Train", "Judge"]


def test_the_first_prompt_holds_the_problem_and_no_example():
    experiment = Experiment(n=1)
    experiment.run()
    (prompt,) = prompts(experiment)
    for part in (experiment.problem.description, experiment.problem.observation_source.strip(), "- `dt`: float"):
        assert part in prompt
    assert "Preferred" not in prompt and "Reward trace" not in prompt


def test_a_later_prompt_holds_history_best_and_worst_with_their_traces():
    experiment = Experiment(k=3, n=4)
    experiment.run()
    prompt = "\n".join(m["content"] for m in experiment.of(Write)[3].messages)
    outcomes = {o.candidate.id: o for trained in experiment.got(Train) for o in trained}
    picks, differences = experiment.got(Judge)[:3], experiment.got(Ask)[:2]
    best, worst = outcomes[picks[2].best], outcomes[picks[2].worst]
    for shown in (best, worst):
        assert shown.candidate.source.strip() in prompt
        assert format_trace(shown.trace) in prompt
    for pick in picks[:2]:
        assert format_trace(outcomes[pick.best].trace) in prompt  # history: the trace
        assert outcomes[pick.best].candidate.source not in prompt  # but not the code
    assert all(difference in prompt for difference in differences)
    assert (
        prompt.index("Best of iteration 1") < prompt.index("Best of iteration 2") < prompt.index("best of iteration 3")
    )
    assert "near-constant" in prompt or "hardly changes" in prompt


def test_describe_compares_consecutive_bests():
    experiment = Experiment(k=3, n=4)
    experiment.run()
    outcomes = {o.candidate.id: o for trained in experiment.got(Train) for o in trained}
    bests = [outcomes[p.best].candidate.source.strip() for p in experiment.got(Judge)][:-1]
    for describe, (earlier, later) in zip(experiment.of(Ask), zip(bests, bests[1:], strict=False), strict=True):
        text = describe.messages[1]["content"]
        assert text.index(earlier) < text.index(later)


def judged_with(pick):
    def judge(request):
        ids = [o.candidate.id for o in request.outcomes]
        return ids[0] if isinstance(request, Choose) else pick(ids)

    return judge


def test_a_persons_words_reach_the_next_prompt_unless_switched_off():
    words = judged_with(lambda ids: Pick(ids[0], ids[-1], "the second one limps", ("smooth", "natural")))
    experiment = Experiment(n=2, judge=words)
    experiment.run()
    assert "the second one limps\nTags: smooth, natural" in prompts(experiment)[1]
    pure = Experiment(n=2, judge=words, options={"reasons": False})
    pure.run()
    assert "limps" not in "".join(prompts(pure))


@pytest.mark.slow
@pytest.mark.parametrize(("undecided", "words"), [("equal", "saw no difference"), ("skip", "could not judge them")])
@pytest.mark.parametrize("method", ["icpl", "scaling_3d", "rf_agent_judged", "rda_judged"])
def test_a_judge_who_names_nobody_gives_no_bad_example(method, undecided, words):
    """What was drawn is told as what it is, in the next prompt of every method that people judge."""
    drawn = judged_with(lambda ids: Pick(ids[0], ids[-1], undecided=undecided))
    options = {"budget": 11} if method == "rf_agent_judged" else {}
    experiment = Experiment(method=method, n=2, judge=drawn, options=options)
    experiment.run()
    later = [p for p in prompts(experiment) if words in p]
    assert later and not [p for p in later if "Rejected" in p or "Judged best" in p]
    assert words not in prompts(experiment)[0]


def test_failed_candidates_are_never_named_and_one_survivor_has_no_worst():
    def only_the_second(request):
        return tuple(o if o.candidate.id.endswith("-2") else _failed(o) for o in train(request))

    experiment = Experiment(k=3, n=2, train=only_the_second)
    assert experiment.run() in ("1-2", "2-2")
    assert experiment.got(Judge) == [Pick("1-2", None), Pick("2-2", None)]
    assert "Rejected reward function" not in prompts(experiment)[1]


def _failed(outcome):
    return Outcome(outcome.candidate, False, "its total became infinite")


@pytest.mark.parametrize("method", ["icpl", "open_loop"])
def test_it_stops_visibly_when_nothing_could_be_trained(method):
    experiment = Experiment(method=method, train=lambda r: tuple(_failed(o) for o in train(r)))
    with pytest.raises(MethodError, match="iteration 1: none of the 3 .* its total became infinite"):
        experiment.run()


@pytest.mark.parametrize("pick", [Pick("9-9", None), Pick("1-1", "9-9")])
def test_it_refuses_a_judge_who_names_what_was_not_shown(pick):
    experiment = Experiment(judge=judged_with(lambda ids: pick))
    with pytest.raises(MethodError, match="'9-9', but was shown 1-1, 1-2, 1-3"):
        experiment.run()
