"""Prompts that would not fit into a model's context."""

import random

import pytest

from llm.feedback import Feedback, Round, write_prompt
from llm.messages import make_chat
from llm.methods.rf_agent import actions
from llm.methods.rf_agent.tree import Node
from llm.records import Candidate, Outcome, Write
from llm.sections import fill_prompt, join_texts, make_prompt, mark_optional, move_spans
from llm.shortening import ANSWER_TOKENS, LETTERS_PER_TOKEN, TOKENS_PER_IMAGE, Attempt, Conversation, shorten
from llm.writer import ask, write
from tests.llm.experiment import PROBLEM, Experiment, FakeVerdict
from tests.llm.scripted import QUESTION, Scripted, accept, program


def last_write():
    """The last prompt of ICPL with four earlier bests in its history."""
    experiment = Experiment(k=3, n=6)
    experiment.run()
    return experiment.of(Write)[-1]


def opened(request):
    """The conversation that a request begins."""
    return Conversation(request.messages, request.optional)


def room_for(letters):
    return letters // LETTERS_PER_TOKEN + ANSWER_TOKENS + 1


def size(messages):
    return sum(len(m["content"]) for m in messages)


def text_of(conversation, room):
    """The request's text at this room."""
    return shorten(conversation, room).messages[1]["content"]


def test_what_fits_stays_as_it_is():
    whole = opened(last_write())
    assert shorten(whole, 0) == shorten(whole, room_for(size(whole.messages))) == whole
    beside = room_for(size(whole.messages)) + 3 * TOKENS_PER_IMAGE
    assert shorten(whole, beside, images=3) == whole and shorten(whole, beside, images=4).left_out


def test_the_oldest_history_goes_first_and_the_prompt_says_so():
    whole = opened(last_write())
    text = text_of(whole, room_for(size(whole.messages) - 100))
    assert "(The oldest 1 left out: too long for this model.)" in text
    assert "## Best of iteration 1\n" not in text and "## Best of iteration 2\n" in text
    fewer = text_of(whole, room_for(size(whole.messages) - 900))
    assert fewer.count("left out") == 1 and "(The oldest 1 left" not in fewer and "## Best of iteration 4\n" in fewer


def test_best_and_worst_and_the_problem_are_never_left_out():
    conversation = opened(last_write())
    text = text_of(conversation, 1)
    assert "(The oldest 4 left out" in text and "## Best of iteration" not in text
    whole = conversation.messages[1]["content"]
    for heading in ("# Task", "# Preferred reward function", "# Rejected reward function", "# Now"):
        assert text.split(heading)[1].split("\n# ")[0] == whole.split(heading)[1].split("\n# ")[0]


@pytest.mark.slow
def test_the_writer_sends_what_fits_and_a_bought_answer_to_it_is_kept():
    wanted = last_write()
    backend = Scripted(lambda messages, seed: program(seed))
    written = write(backend, wanted, PROBLEM, accept, room=1)
    assert all("(The oldest 4 left out" in talk[1] for _, talk in backend.asked) and written.left_out == 4
    silent = Scripted(None)
    assert write(silent, wanted, PROBLEM, accept, saved=written.calls, room=1).candidates == written.candidates
    assert silent.asked == []
    assert ask(Scripted(lambda m, s: "yes"), QUESTION).text == "yes"


def test_a_prompt_of_which_all_answers_are_there_stays_whole_and_one_that_lacks_some_is_shortened():
    """What was bought under no known context is used; what is still missing is not asked for at a length refused."""
    wanted = last_write()
    written = write(Scripted(lambda messages, seed: program(seed)), wanted, PROBLEM, accept)
    silent = Scripted(None)
    assert write(silent, wanted, PROBLEM, accept, saved=written.calls, room=1).candidates == written.candidates
    assert silent.asked == []
    backend = Scripted(lambda messages, seed: program(seed))
    resumed = write(backend, wanted, PROBLEM, accept, saved=written.calls[:1], room=1)
    assert backend.asked and all("(The oldest 4 left out" in talk[1] for _, talk in backend.asked)
    assert len(resumed.candidates) == wanted.count and resumed.left_out == 4


def longest(experiment):
    """The longest prompt to write from."""
    experiment.run()
    return opened(max(experiment.of(Write), key=lambda request: size(request.messages)))


@pytest.mark.slow
def test_rf_agents_other_nodes_and_earlier_verdicts_go_and_the_parent_stays():
    conversation = longest(Experiment("rf_agent_judged", k=3, options={"budget": 27}))
    whole, least = conversation.messages[1]["content"], shorten(conversation, 1)
    text = least.messages[1]["content"]
    others = ("# Elite reward function", "# Reward function on the path", "# Reward function of another branch")
    assert any(title in whole for title in others) and not any(title in text for title in others)
    assert text.count("# Parent reward function") == 1 and text.count("Judged ") <= 1
    assert f"(The oldest {least.left_out} left out" in text and text.endswith(whole.rpartition("# Now")[2])


def tried(name, source="def compute_reward(a):\n    return a, {}\n"):
    return Outcome(Candidate(name, source), True)


def test_of_what_a_judge_said_in_many_rounds_the_last_stays():
    said = ' About that round the judge said: "It fell.\nThen not. Judged by its legs"'
    rounds = [f"Judged best of itself and 8 others in round {number}.{said}" for number in (1, 2, 3)]
    node = Node(tried("1-1"), verdicts=rounds)
    wanted = actions.expand_prompt(PROBLEM, random.Random(0), Node(), node, actions.STRUCTURE, False)
    conversation = Conversation(wanted.messages, wanted.optional)
    shorter = shorten(conversation, room_for(size(wanted.messages) - 10))
    assert shorter.left_out == 1 and "round 1." not in shorter.messages[1]["content"]
    least = text_of(conversation, 1)
    assert f"too long for this model.)\n\n{rounds[2]}\n\n# Now" in least and "round 2" not in least


def test_the_first_candidates_that_one_more_is_to_differ_from_go_from_the_oldest_on():
    whole = longest(Experiment(k=4, n=1, options={"diverse": True}))
    text = text_of(whole, room_for(size(whole.messages) - 10))
    assert "## Parent 1\n" not in text and "## Parent 2\n" in text and "## Parent 3\n" in text


NOTE = "(The oldest 7 left out: too long for this model.)"
HEADING = "## Best of iteration 1"


@pytest.mark.parametrize("written", [NOTE, HEADING, f"{NOTE}\n\n{HEADING}\n\nJudged best of itself and 1 others."])
def test_words_of_a_model_or_a_person_that_look_like_ours_change_nothing(written):
    """A note is counted, and a section found, by where the method put it: never by how a text reads."""
    rounds = [Round(i, tried(f"{i}-1"), None, f"It changed.\n\n{written}\n\nMore.", written) for i in (1, 2, 3)]
    wanted = write_prompt(PROBLEM, rounds, Feedback())
    least = text_of(Conversation(wanted.messages, wanted.optional), 1)
    assert len(wanted.optional) == 2 and "(The oldest 2 left out: too long for this model.)" in least
    assert least.count(written) == 2 and least.count("More.") == 1  # of the last round: what changed, and the reason
    assert "# Earlier iterations" in least and "# Preferred reward function (best of iteration 3)" in least


def test_a_part_within_a_part_goes_first_and_then_both_at_once():
    inner = join_texts(" ", [mark_optional("first", rank=0), "second"])
    listed = join_texts("\n\n", [mark_optional(join_texts("\n", ["## One", inner])), "## Two"])
    wanted = make_prompt(make_chat, fill_prompt("rda_subtasks", problem=listed))
    text = wanted.messages[1]["content"]
    assert [text[start:end] for start, end in wanted.optional] == ["first", "## One\nfirst second"]
    conversation = Conversation(wanted.messages, wanted.optional, parts_left_out=1)
    assert "## One\n(The oldest 1 left out: too long for this model.)\n\nsecond\n\n## Two" in str(
        conversation.messages[1]["content"]
    )
    least = text_of(conversation, 1)
    assert least.startswith("(The oldest 2 left out: too long for this model.)\n\n## Two")


def test_parts_are_found_again_in_a_text_whose_words_were_replaced():
    text = "Anna said: it hops. | Anna and Bo: it falls. | end"
    spans = [(0, 19), (22, 44)]
    moved = move_spans(spans, text, lambda said: said.replace("Anna", "[deleted]"))
    changed = text.replace("Anna", "[deleted]")
    assert [changed[a:b] for a, b in moved] == ["[deleted] said: it hops.", "[deleted] and Bo: it falls."]


def test_a_second_repair_has_no_room_for_the_first_attempt():
    refused = FakeVerdict(False, "parse", "wrong" * 300)
    backend = Scripted(lambda messages, seed: program(seed))
    wanted = Write(1, QUESTION.messages, 1, 5)
    room = room_for(size(QUESTION.messages) + 2500)
    written = write(backend, wanted, PROBLEM, lambda sources: [refused] * len(sources), room=room)
    assert [len(talk) for _, talk in backend.asked[:3]] == [1, 3, 3] and written.left_out == 1
    assert program(6).strip() in backend.asked[2][1][1]


@pytest.mark.slow
def test_a_prompt_says_that_an_attempt_was_left_out_also_when_it_is_shortened_again():
    first = opened(last_write())
    attempts = [
        Attempt(*({"role": role, "content": f"{role} {n} {'x' * 3000}"} for role in ("assistant", "user")))
        for n in (1, 2, 3)
    ]
    once = shorten(first.add_attempt(attempts[0]).add_attempt(attempts[1]), room_for(size(first.messages) + 7000))
    assert once.left_out == 1 and [m["content"][:12] for m in once.messages[2:]] == ["assistant 2 ", "(Earlier att"]
    again = shorten(once.add_attempt(attempts[2]), room_for(size(first.messages) + 6200))
    said = again.messages[3]["content"]
    assert said.count("Earlier attempts are left out") == 1 and said.endswith(attempts[2].verdict["content"])
    assert again.messages[1] == first.messages[1]  # no number there counts attempts
    text = shorten(shorten(first, room_for(size(first.messages) - 100)), 1).messages[1]["content"]
    assert "(The oldest 4 left out" in text and text.count("left out") == 1
