"""Context, batch, turn and 3D: number of answers, what prompts hold, choices by hand, and where voting goes wrong."""

import dataclasses
import random
import re

import pytest

from llm.errors import MethodError
from llm.forms import find_form
from llm.messages import format_trace
from llm.methods.scaling import choose_by_vote, choose_by_vote_and_model, find_negative, read_groups
from llm.records import Ask, Candidate, Choose, Judge, Outcome, Pick, Problem, Train, Write
from llm.replay import Finished, Saved
from tests.llm.experiment import PROBLEM, Experiment, prompts, train


def run(method, **values):
    experiment = Experiment(method=method, **values)
    return experiment, experiment.run()


def outcomes(experiment):
    return {o.candidate.id: o for trained in experiment.got(Train) for o in trained}


# --- batch ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["score", "model", "vote"])
def test_a_batch_is_k_times_n_answers_to_one_question(by):
    experiment, _ = run(f"scaling_batch_{by}", k=3, n=4)
    assert [w.count for w in experiment.of(Write)] == [3] * 4
    assert len({str(w.messages) for w in experiment.of(Write)}) == 1
    assert len(outcomes(experiment)) == 12
    assert not experiment.of(Judge) + experiment.of(Choose)


def test_by_score_the_highest_wins_and_no_model_is_asked():
    experiment, winner = run("scaling_batch_score", k=3, n=4)
    assert winner == max(outcomes(experiment).values(), key=lambda o: o.rts).candidate.id
    assert not experiment.of(Ask)


def test_by_score_an_answer_without_one_says_why_that_may_be():
    def unscored(request):
        return tuple(dataclasses.replace(o, rts=None) for o in train(request))

    with pytest.raises(MethodError, match="no metric .choose by model or vote., or its training ended before"):
        run("scaling_batch_score", k=2, n=1, train=unscored)


def test_by_model_the_model_sees_all_answers_and_chooses():
    experiment, winner = run("scaling_batch_model", k=3, n=4)
    (ask,) = experiment.of(Ask)
    text = ask.messages[1]["content"]
    assert ask.role == "judge"
    assert all(
        o.candidate.source.strip() in text and format_trace(o.trace) in text for o in outcomes(experiment).values()
    )
    (said,) = experiment.got(Ask)
    number = said.rpartition("Best: ")[2].strip()
    section = text.split(f"## Number {number}\n")[1].split("## Number")[0]
    assert outcomes(experiment)[winner].candidate.source.strip() in section


def test_the_model_has_to_name_one_of_all():
    experiment, _ = run("scaling_batch_model", k=3, n=2)
    assert [ask.choices for ask in experiment.of(Ask)] == [6]


def test_a_record_in_which_the_model_named_none_goes_on_and_asks_once_more():
    """As it was saved before answers were held to `choices`: without end, for each Retry of a person asks."""
    experiment = Experiment("scaling_batch_model", k=3, n=1)
    experiment.run()
    saved, seeds = experiment.saved[:-1], set()
    for _ in range(4):
        opened = experiment.advance(saved)
        (question,) = opened.requests
        seeds.add(question.seed)
        saved = [*saved, Saved(opened.step, 0, "Ask", opened.fingerprint(0), "I like the second one most.")]
    saved[-1] = dataclasses.replace(saved[-1], result="Best: 2")
    assert len(seeds) == 4 and isinstance(experiment.advance(saved), Finished)


# --- vote -----------------------------------------------------------------------------------------------------


def answer(number, *inputs):
    source = f"def compute_reward({', '.join(inputs)}):\n    a = {number} * {inputs[0]}\n    return a, {{'a': a}}\n"
    return Outcome(Candidate(f"1-{number}", source), True, rts=float(number))


def vote(answers, replies=()):
    """The id that wins, and the questions that were asked."""
    steps, asked, replies = choose_by_vote(PROBLEM, random.Random(1), 1, answers), [], list(replies)
    try:
        question = next(steps)
        while True:
            asked.append(question)
            question = steps.send(replies.pop(0))
    except StopIteration as stop:
        return stop.value.candidate.id, asked


def test_the_final_answer_of_a_reward_is_what_it_reads():
    assert find_form(PROBLEM).final_answer(answer(1, "up_vec", "dt")) == "Rewards what it reads from: dt, up_vec"


def test_equal_final_answers_count_together_without_a_model():
    winner, asked = vote([answer(1, "a"), answer(2, "b", "c"), answer(3, "c", "b")], ["[1] [2]"])
    assert winner == "1-2" and len(asked) == 1
    assert asked[0].role == "judge" and asked[0].messages[1]["content"].count("## Number") == 2
    assert vote([answer(1, "a"), answer(2, "a")]) == ("1-1", [])


def test_the_model_may_find_more_of_them_equivalent():
    answers = [answer(1, "a"), answer(2, "a"), answer(3, "b"), answer(4, "c"), answer(5, "d")]
    assert vote(answers, ["[1] [2] [3] [4]"])[0] == "1-1"
    assert vote(answers, ["[1] [2, 3, 4]"])[0] == "1-3"


def test_a_tie_goes_to_the_group_that_began_first():
    assert vote([answer(1, "b"), answer(2, "a"), answer(3, "a"), answer(4, "b")], ["[2] [1]"])[0] == "1-1"


def test_on_written_answers_the_model_chooses_within_the_largest_group():
    """The paper's second stage: three answers say 2, one says 3; the model sees the three alone."""
    problem = Problem("sum", "What is 1 + 1?", form="answer", sections=("Final answer", "Reasoning"))
    texts = [f"## Final answer\n\n{value}\n\n## Reasoning\n\nWay {i}." for i, value in enumerate("2322", 1)]
    answers = [Outcome(Candidate(f"1-{i}", text), True) for i, text in enumerate(texts, 1)]
    steps = choose_by_vote_and_model(problem, random.Random(0), 1, answers)
    asked = next(steps)
    shown = asked.messages[-1]["content"]
    assert asked.choices == 3 and "Way 2." not in shown
    number = re.search(r"## Number (\d)\n\n## Final answer\n\n2\n\n## Reasoning\n\nWay 3", shown)[1]
    with pytest.raises(StopIteration) as end:
        steps.send(f"Best: {number}")
    assert end.value.value.candidate.id == "1-3"
    (first,) = [outcome.candidate.id for outcome in finish(choose_by_vote(problem, random.Random(0), 1, answers))]
    assert first == "1-1"


def finish(steps):
    """The result of a generator that asks nothing."""
    with pytest.raises(StopIteration) as end:
        next(steps)
    return [end.value.value]


def test_unreadable_groups_are_asked_for_three_times_and_then_all_differ():
    answers = [answer(1, "a"), answer(2, "b"), answer(3, "b")]
    winner, asked = vote(answers, ["They differ.", "[1, 1]", "[1] [2]"])
    assert winner == "1-2" and len({a.seed for a in asked}) == 3
    answers = [answer(1, "a"), answer(2, "b"), answer(3, "b"), answer(4, "c"), answer(5, "d")]
    winner, asked = vote(answers, ["?", "[9]", "[1, 2] [2]"])
    assert winner == "1-2" and len(asked) == 3


@pytest.mark.parametrize(
    ("said", "groups"),
    [
        ("Reasons [1, 2].\n\n[1, 3] [2]", [[1, 3], [2]]),
        ("[3,1]", [[1, 3], [2]]),
        ("[2] [3] [1]", [[1], [2], [3]]),
        ("none", None),
        ("[1, 4]", None),
        ("[1] [1, 2]", None),
    ],
)
def test_groups_are_read_from_the_last_line_that_has_some(said, groups):
    assert read_groups(said, 3) == groups


# --- turn -----------------------------------------------------------------------------------------------------


def test_each_turn_revises_the_one_before():
    experiment, winner = run("scaling_turn", k=1, n=5)
    assert [w.parent for w in experiment.of(Write)] == [None, "1-1", "2-1", "3-1", "4-1"]
    assert winner == "5-1"
    trained = outcomes(experiment)
    for number, prompt in enumerate(prompts(experiment)[1:], 1):
        shown = [name for name, o in trained.items() if o.candidate.source.strip() in prompt]
        assert shown == [f"{number}-1"] and format_trace(trained[f"{number}-1"].trace) in prompt


def test_a_turn_that_failed_is_told_why_and_is_not_the_result():
    def last_fails(request):
        return tuple(
            dataclasses.replace(o, ok=o.candidate.id not in ("2-1", "4-1"), reason="it became infinite")
            for o in train(request)
        )

    experiment, winner = run("scaling_turn", k=1, n=4, train=last_fails)
    assert winner == "3-1"
    assert "It could not be trained: it became infinite" in prompts(experiment)[2]


def test_turns_need_k_of_1_and_something_trainable():
    with pytest.raises(MethodError, match="K must be 1, not 3"):
        run("scaling_turn", k=3)
    with pytest.raises(MethodError, match="none of the 2 answers could be tried. Last reason: bad"):
        run("scaling_turn", k=1, n=2, train=lambda r: tuple(Outcome(c, False, "bad") for c in r.candidates))


# --- 3D -------------------------------------------------------------------------------------------------------


def test_each_turn_shows_the_pair_of_the_turn_before_and_nothing_else():
    experiment, winner = run("scaling_3d", k=4, n=3, options={"feedback": "programs"})
    picks, trained = experiment.got(Judge), outcomes(experiment)
    assert winner == picks[-1].best
    assert [w.parent for w in experiment.of(Write)] == [None, picks[0].best, picks[1].best]
    for prompt, pick in zip(prompts(experiment)[1:], picks, strict=False):
        shown = {name for name, o in trained.items() if o.candidate.source.strip() in prompt}
        assert shown == {pick.best, pick.worst}
        assert not [name for name in shown if format_trace(trained[name].trace) in prompt]
        assert prompt.index(trained[pick.best].candidate.source.strip()) < prompt.index("# Rejected answer")


def test_on_robots_a_turn_shows_what_icpl_shows():
    """Traces of the pair, the differences, and the traces of earlier positives; the last turn's positive wins."""
    experiment, winner = run("scaling_3d", k=3, n=4)
    picks, trained = experiment.got(Judge), outcomes(experiment)
    assert winner == picks[-1].best and not experiment.of(Choose)
    written, told = experiment.of(Write)[-1], experiment.got(Ask)
    assert len(told) == 2, "none before there are two, none after the last turn"
    prompt = written.messages[-1]["content"]
    for name in (picks[2].best, picks[2].worst):
        assert trained[name].candidate.source.strip() in prompt and format_trace(trained[name].trace) in prompt
    for pick in picks[:2]:
        assert format_trace(trained[pick.best].trace) in prompt and trained[pick.best].candidate.source not in prompt
    assert all(difference in prompt for difference in told) and written.optional


@pytest.mark.slow
def test_a_uniform_negative_is_any_but_the_positive():
    drawn = set()
    for seed in range(12):
        experiment, _ = run("scaling_3d", k=4, n=2, seed=seed, options={"negative": "uniform"})
        (pick, _), trained = experiment.got(Judge), outcomes(experiment)
        prompt = prompts(experiment)[1]
        shown = [name for name, o in trained.items() if o.candidate.source.strip() in prompt]
        assert pick.best in shown and len(shown) == 2 and pick.worst is None
        assert not any(request.worst for request in experiment.of(Judge))
        lowest = min(experiment.got(Train)[0], key=lambda o: o.rts).candidate.id
        drawn |= {name == lowest for name in shown if name != pick.best}
        if drawn == {True, False}:
            break
    assert drawn == {True, False}


@pytest.mark.parametrize("negative", ["judge", "uniform"])
def test_a_judge_who_names_nobody_gives_no_negative(negative):
    seen = {name: Outcome(Candidate(name, ""), True) for name in ("1-1", "1-2", "1-3")}
    drawn = Pick("1-1", "1-2", undecided="equal")
    assert find_negative(random.Random(0), seen, drawn, negative) is None


@pytest.mark.parametrize(("reasons", "told"), [(True, ["", "limps at 1", "limps at 2"]), (False, ["", "", ""])])
def test_what_a_person_wrote_about_a_turn_is_in_the_prompt_of_the_next_alone_where_that_is_wanted(reasons, told):
    def judge(request):
        best, worst, *_ = (o.candidate.id for o in request.outcomes)
        return Pick(best, worst, reason=f"limps at {request.iteration}", tags=("falls over",))

    experiment, _ = run("scaling_3d", k=3, n=3, judge=judge, options={"reasons": reasons})
    written = ["\n".join(m["content"] for m in w.messages) for w in experiment.of(Write)]
    for prompt, words in zip(written, told, strict=True):
        assert ("limps" in prompt) == ("Tags: falls over" in prompt) == bool(words)
        assert words in prompt and prompt.count("limps") <= 1


def test_one_answer_has_no_negative():
    experiment, _ = run("scaling_3d", k=1, n=2, judge=lambda r: Pick(r.outcomes[0].candidate.id, None))
    assert "Rejected" not in prompts(experiment)[1]


# --- context --------------------------------------------------------------------------------------------------


def test_context_is_one_answer_of_so_many_tokens():
    experiment, winner = run("scaling_context", k=1, n=1, options={"context": 4000})
    assert winner == "1-1" and [type(r) for r in experiment.requests] == [Write, Train]
    assert experiment.of(Write)[0].tokens == 4000


@pytest.mark.parametrize("name", ["scaling_batch_score", "scaling_turn", "scaling_3d"])
def test_every_dimension_can_be_given_the_same_context(name):
    experiment, _ = run(name, k=1 if name == "scaling_turn" else 2, n=2, options={"context": 3000})
    assert {w.tokens for w in experiment.of(Write)} == {3000}
