"""Prompts that would not fit into a model's context."""

from llm.messages import ANSWER_TOKENS, LETTERS_PER_TOKEN, Fitted, fitted
from llm.records import Write
from llm.writer import ask, write
from tests.llm.experiment import PROBLEM, Experiment
from tests.llm.test_writer import QUESTION, Scripted, accept, program


def long_prompt():
    """The last prompt of ICPL with four earlier bests in its history."""
    experiment = Experiment(k=3, n=6)
    experiment.run()
    return experiment.of(Write)[-1]


def room_for(letters):
    return letters // LETTERS_PER_TOKEN + ANSWER_TOKENS + 1


def size(messages):
    return sum(len(m["content"]) for m in messages)


def test_what_fits_stays_as_it_is():
    messages = long_prompt().messages
    assert fitted(messages, 0) == fitted(messages, room_for(size(messages))) == Fitted(messages)


def test_the_oldest_history_goes_first_and_the_prompt_says_so():
    messages = long_prompt().messages
    text = fitted(messages, room_for(size(messages) - 100)).messages[1]["content"]
    assert "(The oldest 1 left out: too long for this model.)" in text
    assert "## Best of iteration 1\n" not in text and "## Best of iteration 2\n" in text
    fewer = fitted(messages, room_for(size(messages) - 900)).messages[1]["content"]
    assert fewer.count("left out") == 1 and "(The oldest 1 left" not in fewer and "## Best of iteration 4\n" in fewer


def test_best_and_worst_and_the_problem_are_never_left_out():
    messages = long_prompt().messages
    text = fitted(messages, 1).messages[1]["content"]
    assert "(The oldest 4 left out" in text and "## Best of iteration" not in text
    whole = messages[1]["content"]
    for heading in ("# Task", "# Preferred reward function", "# Rejected reward function", "# Now"):
        assert text.split(heading)[1].split("\n# ")[0] == whole.split(heading)[1].split("\n# ")[0]


def test_writer_and_ask_send_what_fits_and_a_bought_answer_to_it_is_kept():
    wanted = long_prompt()
    backend = Scripted(lambda messages, seed: program(seed))
    written = write(backend, wanted, PROBLEM, accept, room=1)
    assert all("(The oldest 4 left out" in talk[1] for _, talk in backend.asked) and written.left_out == 4
    silent = Scripted(None)
    assert write(silent, wanted, PROBLEM, accept, saved=written.calls, room=1).candidates == written.candidates
    assert silent.asked == []
    assert ask(Scripted(lambda m, s: "yes"), QUESTION, room=1).text == "yes"
