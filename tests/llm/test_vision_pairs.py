"""RL-VLM-F's two questions about a pair, and what is made of the second answer."""

from __future__ import annotations

import pytest

from llm.judges import vision_pairs
from llm.records import ANSWERS


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("0", "first"),
        ("1", "second"),
        ("-1", "skip"),
        ("**1**", "second"),
        ("Label: 0.", "first"),
        ("Attempt 0 falls, attempt 1 stands.\n1", "second"),
        ("Answer: -1", "skip"),
        ("**Answer:** 1", "second"),
        ("The answer is 1, because attempt 0 falls.", "skip"),
        ("Attempt 1 is better than attempt 0.", "skip"),
        ("1 (attempt 0 falls at once)", "skip"),
        ("0, not 1", "skip"),
        ("It is 0.5 to 1.5, or 10", "skip"),
        ("I cannot say.", "skip"),
        ("", "skip"),
    ],
)
def test_a_label_that_is_the_last_line_counts(text: str, answer: str) -> None:
    assert vision_pairs.read_preference(text, swapped=False) == answer
    assert vision_pairs.read_preference(text, swapped=True) == {"first": "second", "second": "first"}.get(
        answer, answer
    )
    assert answer in ANSWERS


def test_which_segment_stands_first_follows_from_the_seed_and_is_even() -> None:
    turned = [vision_pairs.is_swapped(seed) for seed in range(400)]
    assert turned == [vision_pairs.is_swapped(seed) for seed in range(400)] and 150 < sum(turned) < 250


def test_the_second_question_holds_the_words_of_the_first_and_no_pictures() -> None:
    first = vision_pairs.ask_analysis("Keep the pole up.", 4, 3, seed=5)
    second = vision_pairs.ask_preference("Keep the pole up.", "In attempt 0 it falls.", seed=5)
    said = str(first.messages[0]["content"])
    assert "Keep the pole up." in said and "first 4 are of attempt 0" in said and "other\n3 of attempt 1" in said
    assert "In attempt 0 it falls." in str(second.messages[0]["content"])
    assert first.role == second.role == "vision" and first.seed == second.seed == 5
