"""Retraining trains one given reward under K seeds, and asks nobody."""

import dataclasses

import pytest

from llm.errors import MethodError
from llm.methods import METHODS, OFFERED
from llm.records import Outcome, Train, fingerprint_request, make_payload, result_to_json
from llm.replay import Finished, Saved, advance
from tests.llm.experiment import PROBLEM

REWARD = "def compute_reward(x):\n    return x, {}"


def open_training(k=3, reward=REWARD):
    opened = advance("retrain", PROBLEM, 7, k, 1, [], {"reward": reward})
    (asked,) = opened.requests
    return opened, asked


def finish(opened, asked, scores):
    outcomes = [
        Outcome(c, score != "failed", rts=None if score == "failed" else score)
        for c, score in zip(asked.candidates, scores, strict=True)
    ]
    result = result_to_json("Train", tuple(outcomes))
    return advance(
        "retrain", PROBLEM, 7, 3, 1, [Saved(0, 0, "Train", opened.fingerprint(0), result)], {"reward": REWARD}
    )


def test_the_reward_is_trained_once_for_each_seed_in_one_batch():
    _, asked = open_training()
    assert isinstance(asked, Train) and asked.own_seeds
    assert [(c.id, c.source) for c in asked.candidates] == [(f"1-{n}", REWARD) for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "scores, winner",
    [([1.0, 3.0, 2.0], "1-2"), (["failed", 1.0, 0.5], "1-2"), ([None, None, None], "1-1")],
    ids=["highest score", "one failed", "no metric"],
)
def test_the_policy_with_the_highest_score_wins(scores, winner):
    assert finish(*open_training(), scores) == Finished(winner)


def test_it_says_where_it_begins_without_a_reward_and_when_none_trained():
    with pytest.raises(MethodError, match="begin on the page of a finished experiment"):
        open_training(reward="")
    with pytest.raises(MethodError, match="none of the 3 candidates"):
        finish(*open_training(), ["failed"] * 3)


def test_it_is_known_and_not_offered():
    assert "retrain" in METHODS and "retrain" not in OFFERED
    with pytest.raises(ValueError, match="unknown method 'magic'") as refused:
        advance("magic", PROBLEM, 1, 3, 3, [])
    assert "retrain" not in str(refused.value)


def test_other_trainings_are_fingerprinted_as_before():
    _, asked = open_training()
    usual = dataclasses.replace(asked, own_seeds=False)
    assert "own_seeds" not in make_payload(usual) and fingerprint_request(usual) != fingerprint_request(asked)


def test_it_trains_by_the_metric_without_a_reward_and_evaluates_where_that_is_asked():
    opened = advance("retrain", PROBLEM, 7, 2, 1, [], {"by_metric": True, "episodes": 100})
    (request,) = opened.requests
    assert (request.by_metric, request.episodes, [c.source for c in request.candidates]) == (True, 100, ["", ""])
    assert make_payload(request)["by_metric"] is True and make_payload(request)["episodes"] == 100
