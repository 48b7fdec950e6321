"""Answers and programs in memory: what prompts hold, votes by rule first, and writing that buys nothing twice."""

import random

import pytest

from llm.answer_writer import write
from llm.backend import Reply
from llm.forms import find_form
from llm.judges import model as model_judge
from llm.methods.scaling import choose_by_vote, make_pair_prompt, make_reflection_prompt
from llm.records import (
    Ask,
    Candidate,
    Choose,
    Judge,
    Outcome,
    Problem,
    Run,
    Write,
    make_payload,
    read_payload,
    result_from_json,
    result_to_json,
)

ANSWER = Problem("p", "How many?", form="answer", sections=("Final answer", "Reasoning"))
PROGRAM = Problem("q", "Add.", form="program", language="python")


def answer(number, final, **more):
    return Outcome(
        Candidate(f"1-{number}", f"## Final answer\n\n{final}\n\n## Reasoning\n\nNumber {number}."), True, **more
    )


def program(number, outputs="", reason=""):
    return Outcome(Candidate(f"1-{number}", f"print({number})"), True, reason, states={"outputs": outputs})


def vote(problem, answers, replies=()):
    """The id that wins, and the questions that were asked."""
    steps, asked, replies = choose_by_vote(problem, random.Random(1), 1, answers), [], list(replies)
    try:
        question = next(steps)
        while True:
            asked.append(question)
            question = steps.send(replies.pop(0))
    except StopIteration as stop:
        return stop.value.candidate.id, asked


def test_equal_answers_count_together_by_rule_and_no_model_is_asked():
    answers = [answer(1, "$3$"), answer(2, "$\\frac12$"), answer(3, "0.5"), answer(4, "$x=4$")]
    assert vote(ANSWER, answers) == ("1-2", [])


def test_only_those_that_no_rule_can_tell_are_put_before_the_model():
    answers = [answer(1, "7"), answer(2, "all primes"), answer(3, "the primes"), answer(4, "7.0"), answer(5, "primes")]
    winner, (asked,) = vote(ANSWER, answers, ["[2, 3, 4] [1]"])
    text = asked.messages[1]["content"]
    assert winner == "1-2" and text.count("## Number") == 4 and asked.role == "judge"
    assert vote(ANSWER, answers, ["[1] [2] [3] [4]"])[0] == "1-1"


def test_tolerance_belongs_to_the_problem():
    loose = Problem("p", "How far?", form="answer", sections=ANSWER.sections, tolerance=0.01)
    answers = [answer(1, "10.5 m"), answer(2, "9.81 m"), answer(3, "9.8 m")]
    assert vote(loose, answers)[0] == "1-2" and vote(ANSWER, answers)[0] == "1-1"


def test_programs_vote_by_what_they_print_and_silent_ones_stand_alone():
    answers = [program(1), program(2), program(3, "same"), program(4, "other"), program(5, "same")]
    assert vote(PROGRAM, answers) == ("1-3", [])


def test_a_pair_holds_both_answers_and_nothing_of_their_scores():
    good, bad = answer(1, "5", rts=0.875309), answer(2, "6", rts=0.125309)
    text = str(make_pair_prompt(ANSWER, good, bad))
    assert "Number 1." in text and "Number 2." in text and "5309" not in text


def test_reflection_on_a_program_shows_the_compilers_words_alone():
    shown = Outcome(Candidate("1-1", "print("), True, "SyntaxError", metric_trace={"cases": ["secret"]}, rts=0.0)
    text = make_reflection_prompt(PROGRAM, shown)[1]["content"]
    assert "SyntaxError" in text and "secret" not in text and "```python" in text


@pytest.mark.parametrize("judged", [Judge, Choose])
def test_a_judging_model_sees_problem_and_answers(judged):
    outcomes = (answer(1, "5", rts=1.0), answer(2, "6", rts=0.0))
    request = Judge(1, outcomes) if judged is Judge else Choose(outcomes)
    question = model_judge.make_question(request, ANSWER, 3)
    text = question.ask.messages[1]["content"]
    assert "How many?" in text and text.count("## Number") == 2 and "reward" not in text.lower()
    read = model_judge.read(question, "Because.\nBest: 2\nWorst: 1")
    best = question.order[1].candidate.id
    assert (read.best if judged is Judge else read) == best


def test_answers_are_run_not_trained_and_saved_as_json():
    request = find_form(ANSWER).trial(2, (answer(1, "5").candidate,))
    assert isinstance(request, Run)
    saved = result_to_json("Run", [program(1, "x")])
    assert result_from_json("Run", saved) == (program(1, "x"),)
    assert make_payload(request)["candidates"][0]["id"] == "1-1"


class Scripted:
    """Gives these texts, in order of the seeds asked for."""

    def __init__(self, *texts):
        self.texts, self.asked = list(texts), []

    def complete(self, messages, count, seed, on_reply=None, **more):
        self.asked.append((count, seed, more, messages))
        replies = []
        for number in range(seed, seed + count):
            text = self.texts.pop(0)
            end = "length" if text.endswith("...") else "stop"
            reply = Reply(text, end, None, None, 0.0, "m", "", {"messages": messages}, str(number), number, "")
            replies.append(reply)
            if on_reply:
                on_reply(reply)
        return replies


WRITE = Write(1, ({"role": "user", "content": "How many?"},), 3, 10, tokens=50)


def test_equal_answers_stay_and_one_without_a_final_answer_is_asked_afresh():
    backend = Scripted("## Final answer\n5", "I think ...", "## Final answer\n5", "## Final answer\n6 and then ...")
    written = write(backend, WRITE, ANSWER)
    assert [c.source[-20:] for c in written.candidates] == [
        "## Final answer\n5"[-20:],
        "## Final answer\n5"[-20:],
        "## Final answer\n6 and then ..."[-20:],
    ]
    assert [c.id for c in written.candidates] == ["1-1", "1-2", "1-3"]
    assert [r.stage for r in written.refused] == ["cut off"] and not written.error
    assert [(count, seed) for count, seed, _, _ in backend.asked] == [(3, 10), (1, 13)]
    assert all(more["tokens"] == 50 for _, _, more, _ in backend.asked)


def test_a_program_that_is_cut_off_is_asked_for_again_and_a_budget_ends_it():
    backend = Scripted(*["```python\nprint(1)..."] * 40)
    written = write(backend, WRITE, PROGRAM)
    assert not written.candidates and "only 0 of 3" in written.error and "allow more tokens" in written.error
    assert len(written.calls) == 12


def test_saved_replies_are_used_and_pictures_are_sent():
    first = Scripted("## Final answer\n1", "## Final answer\n2", "## Final answer\n3")
    images = ["data:image/png;base64,AA=="]
    calls = []
    write(first, WRITE, ANSWER, on_call=calls.append, images=images)
    assert first.asked[0][3][-1]["content"][1]["image_url"]["url"] == images[0]
    again = Scripted("## Final answer\n9")
    written = write(again, WRITE, ANSWER, saved=calls[:2], images=images)
    assert [c.source[-1] for c in written.candidates] == ["1", "2", "9"] and len(again.asked) == 1


def test_what_a_row_holds_is_the_request_again():
    assert read_payload("Write", make_payload(WRITE)) == WRITE
    assert read_payload("Ask", make_payload(Ask(0, WRITE.messages, 1, "judge"))).role == "judge"
