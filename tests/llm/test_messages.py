"""Prompts that would not fit into a model's context."""

from llm.messages import ANSWER_TOKENS, LETTERS_PER_TOKEN, TOKENS_PER_IMAGE, Fitted, fitted
from llm.records import Write
from llm.writer import ask, write
from tests.llm.experiment import PROBLEM, Experiment, Says
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
    beside = room_for(size(messages)) + 3 * TOKENS_PER_IMAGE
    assert fitted(messages, beside, images=3) == Fitted(messages) and fitted(messages, beside, images=4).left_out


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


def test_a_prompt_of_which_all_answers_are_there_stays_whole_and_one_that_lacks_some_is_shortened():
    """What was bought under no known context is used; what is still missing is not asked for at a length refused."""
    wanted = long_prompt()
    written = write(Scripted(lambda messages, seed: program(seed)), wanted, PROBLEM, accept)
    silent = Scripted(None)
    assert write(silent, wanted, PROBLEM, accept, saved=written.calls, room=1).candidates == written.candidates
    assert silent.asked == []
    backend = Scripted(lambda messages, seed: program(seed))
    resumed = write(backend, wanted, PROBLEM, accept, saved=written.calls[:1], room=1)
    assert backend.asked and all("(The oldest 4 left out" in talk[1] for _, talk in backend.asked)
    assert len(resumed.candidates) == wanted.count and resumed.left_out == 4


def longest(experiment):
    """The text of the longest prompt to write from."""
    experiment.run()
    return max((request.messages for request in experiment.of(Write)), key=size)


def test_rf_agents_other_nodes_and_earlier_verdicts_go_and_the_parent_stays():
    messages = longest(Experiment("rf_agent_judged", k=3, options={"budget": 27}))
    whole, least = messages[1]["content"], fitted(messages, 1)
    text = least.messages[1]["content"]
    others = ("# Elite reward function", "# Reward function on the path", "# Reward function of another branch")
    assert any(title in whole for title in others) and not any(title in text for title in others)
    assert text.count("# Parent reward function") == 1 and text.count("Judged ") <= 1
    assert f"(The oldest {least.left_out} left out" in text and text.endswith(whole.rpartition("# Now")[2])


def test_of_what_a_judge_said_in_many_rounds_the_last_stays():
    said = ' About that round the judge said: "It fell.\nThen not. Judged by its legs"'
    rounds = [f"Judged best of itself and 8 others in round {number}.{said}" for number in (1, 2, 3)]
    talk = [{"role": "user", "content": f"# Parent reward function\n\n{' '.join(rounds)}\n\n# Now"}]
    shorter = fitted(talk, room_for(size(talk) - 10))
    assert shorter.left_out == 1 and "round 1." not in shorter.messages[0]["content"]
    least = fitted(talk, 1).messages[0]["content"]
    assert least.endswith(f"too long for this model.)\n\n{rounds[2]}\n\n# Now") and "round 2" not in least


def test_the_first_candidates_that_one_more_is_to_differ_from_go_from_the_oldest_on():
    messages = longest(Experiment(k=4, n=1, options={"diverse": True}))
    text = fitted(messages, room_for(size(messages) - 10)).messages[1]["content"]
    assert "## Parent 1\n" not in text and "## Parent 2\n" in text and "## Parent 3\n" in text


def test_a_second_repair_has_no_room_for_the_first_attempt():
    refused = Says(False, "parse", "wrong" * 300)
    backend = Scripted(lambda messages, seed: program(seed))
    wanted = Write(1, QUESTION.messages, 1, 5)
    room = room_for(size(QUESTION.messages) + 2500)
    written = write(backend, wanted, PROBLEM, lambda sources: [refused] * len(sources), room=room)
    assert [len(talk) for _, talk in backend.asked[:3]] == [1, 3, 3] and written.left_out == 1
    assert program(6).strip() in backend.asked[2][1][1]


def test_a_prompt_says_that_an_attempt_was_left_out_also_when_it_is_shortened_again():
    first = long_prompt().messages
    tried = [{"role": role, "content": f"{role} {n} {'x' * 3000}"} for n in (1, 2, 3) for role in ("assistant", "user")]
    once = fitted((*first, *tried[:4]), room_for(size(first) + 7000))
    assert once.left_out == 1 and [m["content"][:12] for m in once.messages[2:]] == ["assistant 2 ", "(Earlier att"]
    again = fitted((*once.messages, *tried[4:]), room_for(size(first) + 6200))
    said = again.messages[3]["content"]
    assert said.count("Earlier attempts are left out") == 1 and said.endswith(tried[5]["content"])
    assert again.messages[1] == first[1]  # no number there counts attempts
    text = fitted(fitted(first, room_for(size(first) - 100)).messages, 1).messages[1]["content"]
    assert "(The oldest 4 left out" in text and text.count("left out") == 1
