"""A simulated model that likes a wrong answer best: a vote amplifies that, 3D with a judge does not. Fixed seeds."""

import dataclasses

import pytest

from benchmarks import bias, simulated

pytestmark = pytest.mark.slow


def right(way, repeats=24):
    return sum(bias.solve(way, 1000 * number) for number in range(1, repeats + 1)) / repeats


def test_voting_gets_worse_with_more_answers_and_3d_with_a_judge_does_not():
    by_name = {way.name: way for way in bias.WAYS}
    one = right(by_name["one answer"], 60)
    vote = right(bias.Way("", "scaling_batch_vote", 45, 1), 12)
    judged = right(by_name["3D 5 x 3, proxy"])
    expert = right(by_name["3D 5 x 3, an expert who errs once in four"])
    itself = right(by_name["3D 5 x 3, the model itself judges"])
    assert vote < one < 0.5 < expert <= judged
    assert judged >= 0.9 and vote <= 0.2 and itself < expert


def test_all_ways_at_equal_budget_write_as_many_answers():
    assert {way.k * way.n for way in bias.WAYS[1:]} == {bias.BUDGET}


def test_the_simulated_model_is_labelled_and_draws_what_it_believes():
    model = bias.reasoner()
    said = [model.say([{"role": "user", "content": "# Problem\n\nHow many?"}], seed) for seed in range(1000)]
    assert all(simulated.NOTICE in text for text in said)
    for final, chance in bias.BELIEFS.items():
        assert abs(sum(f"${final}$" in text for text in said) / 1000 - chance) < 0.05
    liked = f"# Preferred answer\n\n{simulated.answer('17')}\n\n# Rejected answer\n\n{simulated.answer('42')}"
    after = [model.say([{"role": "user", "content": liked}], seed) for seed in range(300)]
    assert sum("$17$" in text for text in after) > 150 > sum("$42$" in text for text in after)
    assert dataclasses.is_dataclass(model)
