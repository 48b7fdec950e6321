"""Plain answers and answers about images: asked again, saved, limited."""

import dataclasses

import pytest

from llm import errors
from llm.backend import hash_images
from llm.records import Look
from llm.writer import ask, write
from tests.llm.experiment import PROBLEM
from tests.llm.scripted import QUESTION, REQUEST, Scripted, accept, make_reply, program, refuse


def test_a_plain_answer_loses_its_thoughts():
    asked = ask(Scripted(lambda m, s: "<think>hm</think> It adds b. "), QUESTION)
    assert (asked.text, asked.error, len(asked.calls)) == ("It adds b.", "", 1)


def test_empty_and_cut_off_answers_are_asked_again():
    answers = {50: "", 51: make_reply(QUESTION.messages, 51, "It ad", "length"), 52: "It adds b."}
    asked = ask(Scripted(lambda m, s: answers[s]), QUESTION)
    assert asked.text == "It adds b." and len(asked.calls) == 3


def test_three_empty_answers_are_an_error():
    asked = ask(Scripted(lambda m, s: ""), QUESTION)
    assert asked.text == "" and "no usable answer in 3 tries" in asked.error


def test_a_failing_endpoint_is_a_result_of_a_plain_question_too():
    asked = ask(Scripted(lambda m, s: errors.UnknownModel("no such model")), QUESTION)
    assert (asked.error, asked.permanent) == ("no such model", True)


def test_a_saved_plain_answer_is_not_asked_again():
    first = ask(Scripted(lambda m, s: "It adds b."), QUESTION)
    silent = Scripted(lambda m, s: pytest.fail("asked again"))
    assert ask(silent, QUESTION, saved=first.calls) == dataclasses.replace(first)


def test_several_writes_of_a_round_give_ids_without_a_clash():
    later = dataclasses.replace(REQUEST, count=2, first=4)
    written = write(Scripted(lambda m, s: program(s)), later, PROBLEM, accept)
    assert [c.id for c in written.candidates] == ["2-4", "2-5"]


def test_the_thought_is_the_text_before_the_code_be_that_repaired_or_not():
    wanted = dataclasses.replace(REQUEST, count=1, thought=True)

    def script(messages, seed):
        return f"Second thought.\n{program(7)}" if len(messages) > 2 else f"First thought.\n{program('bad')}"

    (candidate,) = write(Scripted(script), wanted, PROBLEM, refuse("bad")).candidates
    assert candidate.thought == "First thought."  # a repair is asked for code alone
    (plain,) = write(Scripted(script), dataclasses.replace(wanted, thought=False), PROBLEM, refuse("bad")).candidates
    assert plain.thought == ""


def test_the_token_limit_reaches_the_model_only_where_there_is_one():
    class Limited(Scripted):
        limits = []

        def complete(self, messages, count, seed, on_reply=None, **more):
            self.limits.append(more)
            return super().complete(messages, count, seed, on_reply)

    backend = Limited(lambda m, s: program(s))
    write(backend, dataclasses.replace(REQUEST, tokens=500), PROBLEM, accept)
    write(backend, REQUEST, PROBLEM, accept)
    assert backend.limits == [{"tokens": 500}, {}]


# --- images -----------------------------------------------------------------------------------------------------

LOOK = Look(2, QUESTION.messages, "1-1", 2, 50)
IMAGES = ("data:image/jpeg;base64,AAAA", "data:image/jpeg;base64,BBBB")


class Seeing(Scripted):
    """Keeps what it was asked; the reply holds the digested messages, as the client's does."""

    def complete(self, messages, count, seed, on_reply=None):
        self.asked.append(list(messages))
        reply = make_reply(hash_images(messages), seed, "It walks.")
        if on_reply:
            on_reply(reply)
        return [reply]


def test_images_follow_the_text_of_the_last_message():
    backend = Seeing(None)
    assert ask(backend, LOOK, images=IMAGES).text == "It walks."
    (content,) = [m["content"] for m in backend.asked[0]]
    assert content[0] == {"type": "text", "text": "what changed?"}
    assert [part["image_url"]["url"] for part in content[1:]] == list(IMAGES)


def test_images_are_saved_as_hashes_and_an_answer_about_them_is_not_bought_twice():
    kept = []
    ask(Seeing(None), LOOK, images=IMAGES, on_call=kept.append)
    assert "base64" not in str(kept) and "sha256:" in str(kept)
    silent = Scripted(lambda m, s: pytest.fail("asked again"))
    assert ask(silent, LOOK, saved=kept, images=IMAGES).text == "It walks."
    other = Seeing(None)
    ask(other, LOOK, saved=kept, images=IMAGES[::-1])
    assert len(other.asked) == 1


def test_an_answer_that_is_not_accepted_is_asked_again_three_times():
    said = ask(Scripted(lambda m, s: str(s)), QUESTION, accept=lambda text: text == "52")
    assert said.text == "52" and len(said.calls) == 3
    assert "no usable answer in 3 tries" in ask(Scripted(lambda m, s: "no"), QUESTION, accept=lambda text: False).error
