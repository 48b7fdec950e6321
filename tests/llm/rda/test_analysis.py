"""RDA's analysis of what robots did, and its reflection on subtasks."""

import pytest

from llm.errors import MethodError
from llm.methods.rda.analysis import cascade_failures, format_summary, read_analysis, scores_any, summarise
from llm.methods.rda.subtasks import read_subtasks, revise_subtasks
from llm.offline import OfflineWriter
from llm.records import (
    Candidate,
    Outcome,
    Write,
)
from tests.llm.experiment import Experiment
from tests.llm.rda.test_rda import asking, filmed, run, section, text

# --- reflection on subtasks ---------------------------------------------------------------------------------------


class Scripted:
    """Answers by heading; everything else as the offline writer does."""

    def __init__(self, backend, answers):
        self.backend, self.answers, self.model, self.endpoint = backend, answers, "scripted", "test"

    def complete(self, messages, count, seed, on_reply=None):
        replies = self.backend.complete(messages, count, seed)
        for what, said in self.answers.items():
            if f"# Now: {what}" in messages[-1]["content"]:
                told = said(messages) if callable(said) else said
                replies = [type(r)(**{**vars(r), "text": told}) for r in replies]
        for reply in replies:
            if on_reply:
                on_reply(reply)
        return replies


def scripted(**answers):
    return Scripted(OfflineWriter(), {what: said for what, said in answers.items()})


@pytest.mark.slow
def test_at_most_one_subtask_is_revised_and_their_number_stays():
    experiment = run(backend=scripted(revise="Revise 2: Straight: it goes straight ahead\nRevise 3: Another: too much"))
    before, after = (section(text(r), "Subtasks").splitlines() for r in experiment.of(Write)[:2])
    assert len(before) == len(after) and after[1] == "2. Straight: it goes straight ahead"
    assert [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b] == [1]
    kept = run(backend=scripted(revise="Revise 2: Straight: it goes straight"), options={"subtask_reflection": False})
    assert not asking(kept, "revise")
    assert len({section(text(r), "Subtasks") for r in kept.of(Write)}) == 1


@pytest.mark.parametrize(
    "answer", ["Keep all", "Revise 9: Beyond: there is none", "I would revise the second one.", "", "Revise 0: x: y"]
)
def test_other_answers_revise_nothing(answer):
    assert revise_subtasks(("a: b", "c: d"), answer) == ("a: b", "c: d")


def test_a_model_that_lists_no_subtasks_leaves_the_task_as_the_only_one():
    experiment = run(n=1, backend=scripted(list="I cannot do that."))
    assert section(text(experiment.of(Write)[0]), "Subtasks") == f"1. Success: {experiment.problem.description}"


def test_of_a_numbered_list_only_the_items_are_subtasks():
    items = "1. Stand: up\n   - on all feet\n2) **Walk**: ahead\n- Note: these are in order."
    assert read_subtasks(items, "run") == ("Stand: up", "Walk: ahead")
    assert read_subtasks("- Stand: up\n* Walk: ahead", "run") == ("Stand: up", "Walk: ahead")
    assert read_subtasks("- Stand: up\n- Run: faster than\n  1.5 m/s", "run") == ("Stand: up", "Run: faster than")
    assert read_subtasks("- Stand: up\n- Walk: for\n 3. seconds", "run")[:2] == ("Stand: up", "Walk: for")


# --- the analysis -------------------------------------------------------------------------------------------------

ANSWER = """Here is what I see.

**Subtask 1**
Behaviour: it stands up.
Evidence: none
Score: 1
Reason: all four feet are on the ground

Subtask 2: walking
Behaviour: it shuffles
Evidence: none
Score: 0
Reason: it stays in place

### Subtask 3
Behaviour: it turns
Evidence: frames 4 to 9 show a full turn
Score: **0.5**
Reason: only once

Subtask 4
Behaviour: it seems to run
Evidence: none
Score: 1.0
Reason: legs move fast
"""


def test_a_failed_subtask_fails_the_later_ones_unless_there_is_evidence():
    findings = read_analysis(ANSWER, 5)
    assert [f.score for f in findings] == [1, 0, 0.5, 1, 0]
    assert findings[4].reason == "the analysis does not speak of it"
    judged = cascade_failures(findings)
    assert [f.score for f in judged] == [1, 0, 0.5, 0, 0]
    assert judged[3].reason == "subtask 2 failed before it" and judged[1].reason == "it stays in place"


@pytest.mark.parametrize(
    "line, score",
    [
        ("Score: 1/2", 0.5),
        ("score = 0.5", 0.5),
        ("Score: \u00bd", 0.5),
        ("Score: 1 / 2", 0.5),
        ("Score: 0,5", 0.5),
        ("Score: 1, as it stands", 1),
        ("Score: 0.4", 0.5),
        ("Score: 0.9", 1),
        ("Score: (0.5)", 0.5),
        ("Score: 0.5 (in 3 of 10 frames)", 0.5),
        ("Score (0, 0.5 or 1): 1", 1),
        ("**Score [0/0.5/1]:** 1/2", 0.5),
        ("Score <0, 0.5 or 1>: 0", 0),
        ("none", 0),
    ],
)
def test_scores_are_read_as_models_write_them(line, score):
    assert read_analysis(f"Subtask 1\nBehaviour: x\n{line}\n", 1)[0].score == score


@pytest.mark.parametrize(
    "answer", ["", "I cannot help with that.", '{"subtasks": [{"score": 1}]}', "| Subtask 1 | it stands | 1 |"]
)
def test_what_is_no_analysis_sees_nothing(answer):
    assert [f.score for f in read_analysis(answer, 2)] == [0, 0]
    assert {f.reason for f in read_analysis(answer, 2)} == {"the analysis does not speak of it"}
    assert not scores_any(answer, 2) and scores_any(ANSWER, 2)


def test_coming_back_to_a_subtask_takes_nothing_from_it():
    answer = "Subtask 1\nScore: 1\n\nSubtask 2\nBehaviour: it limps\nScore: 0.5\n\nSubtask 3\nScore: 1\n"
    recap = "\nIn short:\n- Subtask 1 is done\n- Subtask 2: only half\n- Subtask 3, score: 0"
    assert [(f.score, f.behaviour) for f in read_analysis(answer + recap, 3)] == [(1, ""), (0.5, "it limps"), (1, "")]
    overview = "Subtask 1 and the others:\n\n"
    assert [f.score for f in read_analysis(overview + answer, 3)] == [1, 0.5, 1]


def test_subtasks_in_a_numbered_list_are_told_apart():
    answer = "1. **Subtask 1**\nScore:\n1\n2) Subtask 2: to walk\nScore: 0.5\n"
    assert [f.score for f in read_analysis(answer, 2)] == [1, 0.5]


class Refusing(Scripted):
    """Refuses this many analyses, and then goes on as the offline analyst."""

    def __init__(self, times):

        super().__init__(OfflineWriter(), {})
        self.times = times

    def complete(self, messages, count, seed, on_reply=None):
        if "# Now: analyse" in messages[-1]["content"] and self.times:
            self.times -= 1
            self.answers = {"analyse": "I cannot judge robots."}
        else:
            self.answers = {}
        return super().complete(messages, count, seed, on_reply)


def test_an_analysis_that_scores_nothing_is_asked_for_again():
    experiment = run(n=1, k=2, backend=Refusing(3))  # both, then the first of them once more
    asked = asking(experiment, "analyse")
    assert [said == "I cannot judge robots." for _, said in asked] == [True, True, True, False, False]
    texts = [text(request) for request, _ in asked]
    assert texts[2:4] == texts[:2] and texts[4] == texts[0] and len({request.seed for request, _ in asked}) == 5
    resumed = Experiment(method="rda", k=2, n=1, train=filmed, saved=experiment.saved)
    assert resumed.run() == experiment.winner and not resumed.requests


def test_what_nobody_saw_has_not_failed():
    seen = read_analysis("Subtask 2\nScore: 1\n\nSubtask 3\nScore: 0.5\nReason: slowly\n", 3)
    assert [f.score for f in cascade_failures(seen)] == [0, 1, 0.5]


def test_a_robot_of_which_nothing_can_be_read_is_left_out_and_not_the_worst():
    first = []

    def answer(messages):
        source = section(messages[-1]["content"], "Reward function that the robot was trained with")
        first.append(source)
        return "I cannot judge robots." if source == first[0] else "Subtask 1\nScore: 0"

    experiment = run(n=1, k=2, backend=scripted(analyse=answer))
    assert experiment.winner == "1-2"


def test_where_no_analysis_says_anything_nothing_is_called_the_best():
    with pytest.raises(MethodError, match="iteration 1: no analysis scores a subtask.*'I cannot judge robots.'"):
        run(n=1, k=2, backend=(backend := Refusing(9)))
    assert backend.times == 3


def test_several_looks_are_averaged_and_their_reasons_counted():
    good = "Subtask 1\nScore: 1\nSubtask 2\nScore: 0.5\nReason: it limps"
    bad = "Subtask 1\nScore: 1\nSubtask 2\nScore: 0\nReason: it falls"
    found = [read_analysis(t, 2) for t in (good, bad, bad)]
    summary = summarise(Outcome(Candidate("1-1", ""), True), found)
    assert summary.scores == (1, pytest.approx(0.5 / 3)) and summary.score == pytest.approx((1 + 0.5 / 3) / 2)
    assert format_summary(summary, ("stand: up", "run: far")) == (
        "Mean score of all subtasks: 0.58. Done: 1.\n- Subtask 2 (run: far) scores 0.17: it falls (2 times); it limps"
    )
