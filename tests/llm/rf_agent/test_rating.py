"""A rating in what a model writes."""

import pytest

from llm.methods.rf_agent import read_rating


@pytest.mark.parametrize(
    "answer, value",
    [
        ("They agree.\n\nRating: 0.7", 0.7),
        ("rating: **-0.4**", -0.4),
        ("Rating: \u22120.25.", -0.25),
        ("Rating = 1", 1.0),
        ("**Rating:** +.5 (on a scale from -1 to 1)", 0.5),
        ("First I thought Rating: -1, but in the end Rating: 0,8", 0.8),
        ("I would rate it 0.3 on a scale of [-1, 1].", 0.3),
        ("Between -1 and 1, I say\n-0.9", -0.9),
        ("Rating: 8", 1.0),
        ("Rating: -5", -1.0),
        ("It fits well, mostly.", 0.0),
        ("The dof_vel2 term is fine. Score: 0.15", 0.15),
    ],
)
def test_ratings_are_found_in_what_models_write(answer, value):
    assert read_rating(answer) == value
