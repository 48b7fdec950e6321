import dataclasses
import json

import pytest

from llm.records import (
    Ask,
    Candidate,
    Choose,
    Compare,
    Judge,
    Look,
    Outcome,
    Pick,
    Train,
    Write,
    describe_meaning,
    fingerprint_request,
    hash_payload,
    list_trainable,
    make_payload,
    read_payload,
    result_from_json,
    result_to_json,
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


@pytest.mark.parametrize(
    "change",
    [
        *[{"iteration": 2}, {"messages": ()}, {"count": 5}, {"seed": 6}, {"parent": None}],
        *[{"first": 2}, {"thought": True}, {"tokens": 100}],
    ],
)
def test_every_field_of_a_request_is_in_its_fingerprint(change):
    assert fingerprint_request(dataclasses.replace(WRITE, **change)) != fingerprint_request(WRITE)


def about(request):
    """What an answer to it is about, as its row holds it."""
    return describe_meaning(type(request).__name__, json.loads(json.dumps(make_payload(request))))


WORDS = ({"role": "user", "content": "other words"},)
THREE = tuple(dataclasses.replace(OUTCOME, candidate=Candidate(f"1-{i}", f"source {i}")) for i in (1, 2, 3))


@pytest.mark.parametrize(
    ("request_", "change"),
    [
        *[(WRITE, {"messages": WORDS}), (WRITE, {"seed": 6}), (WRITE, {"tokens": 9}), (WRITE, {"thought": True})],
        *[
            (Ask(1, WRITE.messages, 5), {"messages": WORDS}),
            (Look(1, WRITE.messages, "1-1", 2, 5), {"messages": WORDS}),
        ],
        *[(Ask(1, WRITE.messages, 5), {"choices": 3}), (Judge(1, THREE), {"worst": False})],
    ],
)
def test_what_an_answer_is_about_does_not_depend_on_the_words(request_, change):
    assert about(dataclasses.replace(request_, **change)) == about(request_)


@pytest.mark.parametrize(
    ("request_", "change"),
    [
        *[(WRITE, {"iteration": 2}), (WRITE, {"count": 5}), (WRITE, {"parent": None})],
        *[(Train(1, (CANDIDATE,)), {"candidates": (Candidate("1-2", "source"),)}), (Train(1, ()), {"warm": "1-1"})],
        *[(Ask(1, (), 5), {"role": "judge"}), (Look(1, (), "1-1", 2, 5), {"candidate": "1-2"})],
        *[(Judge(1, THREE), {"outcomes": THREE[:2]}), (Choose(THREE), {"outcomes": THREE[1:]})],
        (Compare(1, *THREE[:2]), {"second": THREE[2]}),
    ],
)
def test_what_an_answer_is_about(request_, change):
    assert about(dataclasses.replace(request_, **change)) != about(request_)


def test_kinds_with_the_same_payload_differ():
    outcomes = (OUTCOME,)
    prints = {fingerprint_request(r) for r in (Judge(1, outcomes), Choose(outcomes), Train(1, (CANDIDATE,)), WRITE)}
    prints.add(fingerprint_request(Ask(1, WRITE.messages, 5)))
    assert len(prints) == 5


def test_judge_and_choose_carry_trainable_ids_and_no_score():
    failed = Outcome(Candidate("1-2", "source"), False, "diverged")
    assert make_payload(Judge(3, (OUTCOME, failed))) == {"iteration": 3, "candidates": ["1-1"]}
    assert make_payload(Choose((OUTCOME, failed))) == {"candidates": ["1-1"]}
    assert list_trainable((OUTCOME, failed)) == (OUTCOME,)


def test_fields_that_came_later_leave_older_fingerprints_as_they_were():
    """What was hashed before they existed, written out."""
    message = {"role": "user", "content": "x"}
    write = {"iteration": 1, "messages": [message], "count": 6, "seed": 5, "parent": "0-1"}
    assert json.loads(json.dumps(make_payload(WRITE))) == write
    candidate = {"id": "1-1", "source": "source", "parent": None}
    assert make_payload(Train(1, (CANDIDATE,))) == {"iteration": 1, "candidates": [candidate]}
    assert make_payload(Train(2, (CANDIDATE,), warm="1-1"))["warm"] == "1-1"
    assert result_to_json("Write", [CANDIDATE]) == [candidate]


def test_how_an_answer_is_checked_is_on_the_row_and_not_in_the_fingerprint():
    plain, choice = Ask(1, WRITE.messages, 5, "judge"), Ask(1, WRITE.messages, 5, "judge", choices=3)
    assert (
        make_payload(choice) == {**make_payload(plain), "choices": 3}
        and read_payload("Ask", make_payload(choice)) == choice
    )
    assert fingerprint_request(choice) == fingerprint_request(plain) == hash_payload("Ask", make_payload(choice))


def test_what_a_prompt_can_do_without_is_on_the_row_and_not_in_the_fingerprint():
    shortened = dataclasses.replace(WRITE, optional=((0, 1),))
    row = json.loads(json.dumps(make_payload(shortened)))
    assert row == {**json.loads(json.dumps(make_payload(WRITE))), "optional": [[0, 1]]}
    assert read_payload("Write", row) == shortened
    assert fingerprint_request(shortened) == fingerprint_request(WRITE) == hash_payload("Write", row)


def test_a_thought_is_kept_with_its_candidate():
    thoughtful = dataclasses.replace(CANDIDATE, thought="Reward speed.")
    assert result_from_json("Write", result_to_json("Write", [thoughtful])) == (thoughtful,)
    assert make_payload(Train(1, (thoughtful,)))["candidates"][0]["thought"] == "Reward speed."


def test_a_comparison_carries_two_ids_and_no_score():
    other = dataclasses.replace(OUTCOME, candidate=Candidate("2-1", "other"))
    assert make_payload(Compare(2, OUTCOME, other)) == {"iteration": 2, "candidates": ["1-1", "2-1"]}
    assert fingerprint_request(Compare(2, OUTCOME, other)) != fingerprint_request(Compare(2, other, OUTCOME))


@pytest.mark.parametrize("request_", [Ask(1, WRITE.messages, 5, "judge"), Look(1, WRITE.messages, "1-1", 20, 5), WRITE])
def test_a_request_to_a_model_is_read_back_from_its_row(request_):
    kind = type(request_).__name__
    assert read_payload(kind, json.loads(json.dumps(make_payload(request_)))) == request_


def test_an_unknown_role_is_refused():
    with pytest.raises(ValueError, match="unknown role 'poet'; known: writer, describer, judge, vision"):
        Ask(1, WRITE.messages, 5, "poet")
