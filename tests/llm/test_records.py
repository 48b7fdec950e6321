import dataclasses
import json

import pytest

from llm.records import (
    Ask,
    Candidate,
    Choose,
    Judge,
    Outcome,
    Pick,
    Train,
    Write,
    fingerprint,
    payload,
    result_from_json,
    result_to_json,
    trainable,
)

CANDIDATE = Candidate("1-1", "source", None)
OUTCOME = Outcome(CANDIDATE, True, "", {"total": {"samples": [1.0], "max": 1.0}}, {"samples": [2.0]}, 2.5)
WRITE = Write(1, ({"role": "user", "content": "x"},), 6, 5, "0-1")


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("Write", (CANDIDATE, dataclasses.replace(CANDIDATE, parent="0-1"))),
        ("Train", (OUTCOME, Outcome(CANDIDATE, False, "diverged"))),
        ("Judge", Pick("1-1", None, "why", ("a", "b"))),
        ("Choose", "1-1"),
        ("Ask", "It adds y."),
        ("Look", "It walks."),
        ("Compare", "equal"),
    ],
)
def test_results_survive_the_database(kind, result):
    assert result_from_json(kind, json.loads(json.dumps(result_to_json(kind, result)))) == result


@pytest.mark.parametrize("change", [{"iteration": 2}, {"messages": ()}, {"count": 5}, {"seed": 6}, {"parent": None}])
def test_every_field_of_a_request_is_in_its_fingerprint(change):
    assert fingerprint(dataclasses.replace(WRITE, **change)) != fingerprint(WRITE)


def test_kinds_with_the_same_payload_differ():
    outcomes = (OUTCOME,)
    prints = {fingerprint(r) for r in (Judge(1, outcomes), Choose(outcomes), Train(1, (CANDIDATE,)), WRITE)}
    prints.add(fingerprint(Ask(1, WRITE.messages, 5)))
    assert len(prints) == 5


def test_judge_and_choose_carry_trainable_ids_and_no_score():
    failed = Outcome(Candidate("1-2", "source"), False, "diverged")
    assert payload(Judge(3, (OUTCOME, failed))) == {"iteration": 3, "candidates": ["1-1"]}
    assert payload(Choose((OUTCOME, failed))) == {"candidates": ["1-1"]}
    assert trainable((OUTCOME, failed)) == (OUTCOME,)
