import random

import pytest

from llm.forms.reward import format_sight
from llm.judges import model
from llm.judges.proxy import judge as proxy
from llm.messages import format_trace
from llm.offline import OfflineWriter
from llm.records import Choose, Compare, Judge, Pick, fingerprint_request
from llm.writer import ask
from tests.llm.experiment import HIDDEN_SCORES, PROBLEM, Experiment
from tests.llm.scripted import Scripted


@pytest.fixture(scope="module")
def outcomes():
    experiment = Experiment(k=4, n=1)
    experiment.run()
    return experiment.requests[2].outcomes


def number_of(question, outcome):
    return question.order.index(outcome) + 1


def test_it_is_shown_code_and_trace_of_each_and_nothing_of_the_metric(outcomes):
    question = model.make_question(Judge(1, outcomes), PROBLEM, 3)
    text = question.ask.messages[1]["content"]
    assert question.ask.role == "judge" and question.ask.seed == 3
    for o in outcomes:
        section = text.split(f"## Number {number_of(question, o)}\n")[1].split("## Number")[0]
        assert o.candidate.source.strip() in section and format_trace(o.trace) in section
        assert f"{o.rts:.4g}" not in text and o.candidate.id not in text
    assert not [s for s in HIDDEN_SCORES if f"{s:.4g}" in text]


def test_it_is_told_which_pictures_show_which_number(outcomes):
    blind, seen = (
        model.make_question(Judge(1, outcomes), PROBLEM, 3, p) for p in (None, {outcomes[0].candidate.id: 4})
    )
    assert "You cannot watch the robots. Judge from code and traces which" in blind.ask.messages[1]["content"]
    assert f"1 to 4 of number {number_of(seen, outcomes[0])}" in seen.ask.messages[1]["content"]
    assert format_sight([2, 0, 3]).splitlines()[1] == "1 to 2 of number 1, none of number 2, 3 to 5 of number 3."


def test_the_order_is_shuffled_by_the_seed(outcomes):
    questions = [model.make_question(Judge(1, outcomes), PROBLEM, seed) for seed in range(20)]
    orders = {tuple(o.candidate.id for o in question.order) for question in questions}
    assert len(orders) > 5
    assert model.make_question(Judge(1, outcomes), PROBLEM, 4) == model.make_question(Judge(1, outcomes), PROBLEM, 4)


def test_best_and_worst_are_read_as_the_candidates_behind_the_numbers(outcomes):
    question = model.make_question(Judge(1, outcomes), PROBLEM, 5)
    said = "Number 1 is the best: 3 others are worse.\n\n**Best:** 2\nWorst: 4."
    assert model.read(question, said) == Pick(question.order[1].candidate.id, question.order[3].candidate.id)


@pytest.mark.parametrize("word", ["Number", "number ", "#", "No. ", "Reward function", "candidate"])
def test_a_number_may_be_called_one(outcomes, word):
    question = model.make_question(Judge(1, outcomes), PROBLEM, 5)
    pick = model.read(question, f"Best: {word} 2\n**Worst**: {word} 1")
    assert pick == Pick(question.order[1].candidate.id, question.order[0].candidate.id)


def test_a_heading_above_a_list_names_none(outcomes):
    question = model.make_question(Judge(1, outcomes), PROBLEM, 5)
    reasons = "**Best candidate**\n1. moves fast\n\n**Worst candidate**\n2. falls"
    pick = model.read(question, f"Best: 2\nWorst: 1\n\n{reasons}")
    assert pick == Pick(question.order[1].candidate.id, question.order[0].candidate.id)


def test_where_the_worst_does_not_matter_it_is_not_asked_for(outcomes):
    question = model.make_question(Judge(1, outcomes, worst=False), PROBLEM, 5)
    assert "worst" not in question.ask.messages[1]["content"].lower()
    assert model.read(question, "Best: 2") == Pick(question.order[1].candidate.id, None)
    assert fingerprint_request(Judge(1, outcomes, worst=False)) == fingerprint_request(
        Judge(1, outcomes)
    )  # older records replay


@pytest.mark.parametrize(
    "said",
    [
        "",
        "None.",
        "Best: " + "1" * 5000 + "\nWorst: 1",
        "Best: 9\nWorst: 1",
        "Best: 1",
        "Best: 2\nWorst: 2",
        "Worst: 1",
    ],
)
def test_what_names_no_two_is_no_judgement(outcomes, said):
    assert model.read(model.make_question(Judge(1, outcomes), PROBLEM, 5), said) is None


def test_a_choice_and_a_comparison_are_read_too(outcomes):
    choice = model.make_question(Choose(outcomes), PROBLEM, 5)
    assert model.read(choice, "Best: 3") == choice.order[2].candidate.id
    assert "Worst" not in choice.ask.messages[1]["content"]
    for seed in range(4):
        pair = model.make_question(Compare(2, *outcomes[:2]), PROBLEM, seed)
        assert model.read(pair, f"Best: {number_of(pair, outcomes[1])}") == "second"
        assert model.read(pair, f"Best: {number_of(pair, outcomes[0])}") == "first"


def test_an_answer_that_cannot_be_read_is_asked_again(outcomes):
    question = model.make_question(Judge(1, outcomes), PROBLEM, 50)
    backend = Scripted(lambda messages, seed: "Hard to say." if seed < 52 else "Best: 1\nWorst: 2")
    said = ask(backend, question.ask, accept=lambda text: model.read(question, text) is not None)
    assert model.read(question, said.text) and len(said.calls) == 3


def test_the_offline_writer_judges_as_such_and_not_by_place(outcomes):
    picks = set()
    for seed in range(6):
        question = model.make_question(Judge(1, outcomes), PROBLEM, seed)
        said = ask(OfflineWriter(), question.ask).text
        assert "not a language model" in said
        picks.add(model.read(question, said))
    assert len({p.best for p in picks}) == 1 and None not in picks


@pytest.mark.slow
def test_a_whole_experiment_is_judged_by_a_model():
    def judge(request):
        question = model.make_question(request, PROBLEM, random.Random(str(request)).randrange(1000))
        return model.read(question, ask(OfflineWriter(), question.ask).text)

    assert Experiment(k=3, n=3, judge=judge).run()
    assert Experiment(k=3, n=3, judge=judge).run() == Experiment(k=3, n=3, judge=judge).run()
    assert Experiment(k=3, n=3, judge=proxy).run()
