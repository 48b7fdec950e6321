"""PrefPPO and its successors ask for one training, whose policy learns from answers about pairs, and nothing else."""

import dataclasses

import pytest

from llm.errors import MethodError
from llm.methods import METHODS
from llm.records import Outcome, Pairs, Train, describe_meaning, fingerprint_request, make_payload, result_to_json
from llm.replay import Finished, Saved, advance
from simulation.catalog import ALGORITHMS
from tests.llm.experiment import PROBLEM
from trainer.preferences import algorithms

LEARNING = [name for name, method in METHODS.items() if method.asks_pairs]


def open_training(name="prefppo", **options):
    opened = advance(name, PROBLEM, 7, 1, 1, [], options)
    (asked,) = opened.requests
    return opened, asked


@pytest.mark.parametrize("name", LEARNING)
def test_one_policy_without_a_program_learns_by_the_methods_own_algorithm(name):
    truth = "reward" if METHODS[name].pairs_by_vision else "metric"
    _, asked = open_training(name, queries=1500, **({"truth": truth} if truth == "metric" else {}))
    assert isinstance(asked, Train) and [(c.id, c.source) for c in asked.candidates] == [("1-1", "")]
    usual = METHODS[name].value_of("selection", {})
    assert asked.pairs == Pairs(name, 1500, truth, 50, usual)


@pytest.mark.parametrize("name", LEARNING)
def test_what_a_method_offers_is_what_the_trainer_knows(name):
    method, algorithm = METHODS[name], algorithms.METHODS[name]
    choices = {option.name: option.choices for option in method.options}
    assert (
        choices.get("truth", algorithms.TRUTHS) == algorithms.TRUTHS and choices["selection"] == algorithms.SELECTIONS
    )
    assert ("truth" in choices) != METHODS[name].pairs_by_vision
    assert method.algorithm == algorithm.algorithm and method.algorithm in ALGORITHMS
    assert method.value_of("selection", {}) == algorithm.selection
    assert method.value_of("queries", {}) == min(algorithms.SESSIONS)
    assert set(LEARNING) == set(algorithms.METHODS)


def test_the_policy_is_the_winner_and_a_failed_one_ends_the_experiment():
    opened, asked = open_training()
    for outcome, winner in ((Outcome(asked.candidates[0], True), "1-1"), (Outcome(asked.candidates[0], False), None)):
        saved = Saved(0, 0, "Train", opened.fingerprint(0), result_to_json("Train", (outcome,)))
        if winner:
            assert advance("prefppo", PROBLEM, 7, 1, 1, [saved]) == Finished(winner)
        else:
            with pytest.raises(MethodError, match="none of the 1 candidates could be trained"):
                advance("prefppo", PROBLEM, 7, 1, 1, [saved])


def test_a_program_goes_with_the_policy_and_requests_without_one_are_as_before():
    _, asked = open_training(reward="def compute_reward(): ...")
    assert asked.candidates[0].source == "def compute_reward(): ..." and asked.pairs.prior
    assert make_payload(asked)["pairs"]["prior"] is True
    assert "prior" not in make_payload(open_training()[1])["pairs"]


def test_an_answer_is_about_what_the_policy_asked():
    _, few = open_training(queries=49)
    _, many = open_training(queries=150)
    assert describe_meaning("Train", make_payload(few)) != describe_meaning("Train", make_payload(many))
    usual = dataclasses.replace(few, pairs=None)
    assert "pairs" not in make_payload(usual) and fingerprint_request(usual) != fingerprint_request(few)
