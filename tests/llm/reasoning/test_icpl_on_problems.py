"""ICPL and OpenLoop on problems that answers or programs solve: what is asked, and what prompts hold."""

import pytest

from llm.answer_writer import write
from llm.feedback import Feedback, Round, write_prompt
from llm.methods.icpl import make_different_prompt
from llm.records import Ask, Candidate, Choose, Judge, Outcome, Run, Train, Write
from llm.shortening import Conversation, shorten
from tests.llm.experiment import Experiment
from tests.llm.reasoning.test_answers import ANSWER, PROGRAM, Scripted, answer, program


class Solved(Experiment):
    """Another answer at each request; the one with the highest number has the highest score."""

    number = 0

    def answer(self, request):
        if isinstance(request, Write):
            made = answer if self.problem is ANSWER else program
            self.number += request.count
            written = [made(self.number - request.count + i, f"${i}$").candidate for i in range(1, request.count + 1)]
            ids = [f"{request.iteration}-{index}" for index in range(request.first, request.first + request.count)]
            return tuple(Candidate(name, c.source, request.parent) for name, c in zip(ids, written, strict=True))
        if isinstance(request, Ask):
            return "The later one counts twice."
        if isinstance(request, Run):
            scored = enumerate(request.candidates)
            return tuple(Outcome(c, True, "said by g++", {}, {"cases": ["hidden"]}, 0.875309 + n) for n, c in scored)
        return super().answer(request)


def solved(method, problem, **values):
    experiment = Solved(method=method, problem=problem, k=3, n=4, **values)
    experiment.run()
    return experiment


@pytest.mark.parametrize("problem", [ANSWER, PROGRAM], ids=["answer", "program"])
@pytest.mark.parametrize("method", ["icpl", "icpl_wo_rtd", "icpl_wo_rtdb", "open_loop"])
def test_it_tries_answers_asks_for_best_and_worst_and_chooses_in_the_end(method, problem):
    experiment = solved(method, problem)
    assert not experiment.of(Train) and len(experiment.of(Run)) == len(experiment.of(Judge)) == 4
    assert len(experiment.of(Choose)) == 1 and len(experiment.of(Ask)) == (2 if method == "icpl" else 0)


def test_a_later_prompt_holds_best_worst_and_what_changed_and_no_result():
    experiment = solved("icpl", ANSWER)
    last = experiment.of(Write)[-1].messages
    text = last[1]["content"]
    assert "You solve problems" in last[0]["content"] and text.startswith("# Problem\n\nHow many?")
    assert "# Preferred answer (best of iteration 3)\n\n## Final answer\n\n$3$" in text
    assert "# Rejected answer (worst of iteration 3)\n\n## Final answer\n\n$1$" in text
    assert text.count("The later one counts twice.") == 2 and text.count("## Best of iteration 2\n") == 1
    for secret in ("5309", "hidden", "g++", "eward", "trace"):
        assert secret not in text
    (asked, _) = experiment.of(Ask)
    assert asked.role == "describer" and "# Earlier answer\n\n## Final answer\n\n$3$" in asked.messages[1]["content"]


def test_what_it_can_do_without_goes_first():
    rounds = [Round(i, answer(i, f"${i}$"), None, f"Change {i}." if i > 1 else "", "") for i in (1, 2, 3, 4)]
    wanted = write_prompt(ANSWER, rounds, Feedback())
    least = shorten(Conversation(wanted.messages, wanted.optional), 1).messages[1]["content"]
    assert len(wanted.optional) == 2 and "Change 2." not in least and "Change 4." in least
    assert "(The oldest 2 left out" in least and "# Rejected" not in least


def test_first_answers_may_be_asked_for_one_after_another():
    first = [answer(1, "$1$").candidate, answer(2, "$2$").candidate]
    wanted = make_different_prompt(ANSWER, first)
    text = wanted.messages[1]["content"]
    assert (
        "## Number 1\n\n## Final answer\n\n$1$" in text and len(wanted.optional) == 2 and "# Now: a different" in text
    )


def test_a_program_is_shown_in_its_fence():
    text = write_prompt(PROGRAM, [Round(1, program(1), program(2), "", "")], Feedback()).messages[1]["content"]
    assert "(best of iteration 1)\n\n```python\nprint(1)\n```" in text and "```python\nprint(2)\n```" in text


def test_scripted_answers_are_written_for_it():
    """The writer of answers reads what ICPL's prompt asks for."""
    wanted = write_prompt(ANSWER, [Round(1, answer(1, "$1$"), answer(2, "$2$"), "", "")], Feedback())
    request = Write(2, wanted.messages, 1, 5, "1-1", optional=wanted.optional)
    written = write(Scripted("## Final answer\n\n$7$"), request, ANSWER)
    assert [c.source for c in written.candidates] == ["## Final answer\n\n$7$"]
