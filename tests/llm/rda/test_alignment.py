import pytest

from llm.methods.rda.alignment import alignment, rating
from llm.offline import OfflineWriter
from tests.llm.experiment import PROBLEM

FILMS = [[f"data:image/jpeg;base64,{film}{frame}" for frame in range(3)] for film in range(5)]


class Rater:
    """A vision model that answers from a list, in turn."""

    model, endpoint = "rater", "test"

    def __init__(self, *answers):
        self.answers, self.seen = list(answers), []

    def complete(self, messages, count, seed, on_reply=None, tokens=0):
        self.seen.append((messages, seed))
        (reply,) = OfflineWriter().complete(({"role": "user", "content": "x"},), 1, seed)
        request = {**reply.request, "messages": list(messages)}
        reply = type(reply)(**{**vars(reply), "text": self.answers[(len(self.seen) - 1) % len(self.answers)]})
        reply = type(reply)(**{**vars(reply), "request": request})
        if on_reply:
            on_reply(reply)
        return [reply]


def test_five_films_rated_four_times_each():
    rater = Rater(*(f"It walks.\nRating: {n}" for n in (5, 4, 3, 4)))
    found = alignment(rater, PROBLEM, FILMS)
    assert found.ratings == ((5, 4, 3, 4),) * 5 and found.rate == pytest.approx(4 / 5)
    assert len(rater.seen) == len(found.calls) == 20 and len({seed for _, seed in rater.seen}) == 20
    content = rater.seen[4][0][-1]["content"]
    assert [part["image_url"]["url"] for part in content[1:]] == FILMS[1]
    assert PROBLEM.description in content[0]["text"] and "on a scale from 1 to 5" in content[0]["text"]


def test_an_answer_without_a_rating_is_asked_again():
    rater = Rater("I cannot see it.", "Rating: 2")
    assert alignment(rater, PROBLEM, FILMS[:1]).ratings == ((2, 2, 2, 2),)


def test_a_model_that_never_rates_leaves_no_rate():
    found = alignment(Rater("No."), PROBLEM, FILMS[:1])
    assert found.rate is None and "no usable answer in 3 tries" in found.error


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Rating: 4", 4),
        ("**Rating:** 5/5", 5),
        ("Rating: 3\nRating: 2", 2),
        ("Rating: 7", None),
        ("4", None),
        ("Rating: 4.", 4),
        ("Rating: 4.0", 4),
        ("Rating: 4.5", None),
        ("Rating (1-5): 4", 4),
        ("**Rating** [1 to 5]: **3**", 3),
    ],
)
def test_ratings(answer, value):
    assert rating(answer) == value
