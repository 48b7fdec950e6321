import pytest

from llm.errors import JudgeError
from llm.judges.proxy import judge
from llm.records import Candidate, Choose, Judge, Outcome, Pick


def outcomes(*scores, failed=()):
    return tuple(
        Outcome(Candidate(f"1-{i}", "..."), ok=i not in failed, rts=score) for i, score in enumerate(scores, 1)
    )


def test_highest_is_best_and_lowest_is_worst():
    assert judge(Judge(1, outcomes(2.0, 5.0, -1.0, 3.0))) == Pick("1-2", "1-3")


def test_of_ties_the_first_is_best_and_the_last_is_worst():
    assert judge(Judge(1, outcomes(1.0, 1.0, 1.0))) == Pick("1-1", "1-3")


def test_failed_candidates_are_not_judged():
    assert judge(Judge(1, outcomes(9.0, 5.0, -1.0, failed={1, 3}))) == Pick("1-2", None)


def test_choose_names_the_highest():
    assert judge(Choose(outcomes(2.0, 5.0, 3.0))) == "1-2"


def test_without_a_score_it_says_why_that_may_be_and_asks_for_a_person():
    with pytest.raises(
        JudgeError, match="1-1 has no task score.*.it needs a person as judge., or its training ended before"
    ):
        judge(Judge(1, outcomes(None, None)))


def test_it_refuses_to_judge_nothing():
    with pytest.raises(JudgeError, match="no trained candidate"):
        judge(Judge(1, outcomes(1.0, failed={1})))
