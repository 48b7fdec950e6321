"""Contrasts that are fixed before a comparison runs: controls, tests, corrections, power."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.webapp.comparison_plans import METHODS, contrast_plan, plan_of
from webapp.base.statistics.aggregates import estimate_noise_floor
from webapp.comparisons import findings, plan_record, report
from webapp.comparisons.arms import name_arms, parse_arm
from webapp.comparisons.contrasts import Contrast, add_controls, parse_contrasts
from webapp.comparisons.experiment_results import Result, Score
from webapp.comparisons.plan import Plan
from webapp.comparisons.plan_warnings import UNTESTED, list_warnings
from webapp.comparisons.unread import find_unread

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


def test_controls_are_arms_of_their_own() -> None:
    arms = name_arms(parse_arm(text, 6) for text in ("icpl:k=3", "icpl:k=3,again=1", "icpl:k=3,judge.beta=0"))
    assert [arm.label for arm in arms] == ["ICPL", "ICPL (again=1)", "ICPL (judge.beta=0)"]
    plan = plan_of(*arms, judge_options={"mistake": "0.1"}, experiments=1)
    ids, rows = plan.public_ids, [plan.draft(cell) for cell in plan.cells()]
    assert len(set(ids)) == 3
    assert [row.seed for row in rows] == [0, 10_000, 0]
    assert [row.judge_options for row in rows] == [{"mistake": "0.1"}] * 2 + [{"mistake": "0.1", "beta": "0"}]
    with pytest.raises(ValueError, match="Eureka asks no judge"):
        parse_arm("eureka:judge.beta=0", 6)


def test_controls_bring_their_claims() -> None:
    arms = name_arms(parse_arm(text, 6) for text in METHODS)
    methods, claims = add_controls(METHODS, [], ["aa", "inverted", "blind", "dose"], arms)
    named = name_arms(parse_arm(text, 6) for text in methods)
    assert [one.text for one in parse_contrasts(claims, named, 6)] == [
        "OpenLoop vs ICPL",
        "ICPL > ICPL (judge.mistake=1)",
        "ICPL > ICPL (judge.beta=0)",
        "ICPL (judge.beta=0) = OpenLoop (judge.beta=0)",
        "ICPL (judge.beta=3) > ICPL (judge.beta=0)",
    ]
    assert "ICPL, repeated" in [arm.label for arm in named]


def test_a_repeated_method_is_told_from_every_other() -> None:
    """It is named after the arm that it repeats, and costs a comparison of an earlier version nothing."""
    typed = ["icpl:k=3", "icpl:k=6"]
    arms = name_arms(parse_arm(text, 6) for text in typed)
    methods, _ = add_controls(typed, [], ["aa"], arms)
    plan = plan_of(*name_arms(parse_arm(text, 6) for text in methods))
    assert [arm.label for arm in plan.arms] == ["ICPL, K=3", "ICPL, K=6", "ICPL, K=3, repeated"]
    earlier = plan_of(*name_arms(parse_arm(text, 6) for text in (*typed, "icpl:k=3,again=1")))
    assert (earlier.public_ids, earlier.name) == (plan.public_ids, plan.name)
    assert earlier.arms[2].label == "ICPL (again=1)"
    long = "x" * 60
    methods, _ = add_controls([f"{long}=icpl"], [], ["aa"], name_arms([parse_arm(f"{long}=icpl", 6)]))
    assert methods == [f"{long}=icpl", "ICPL, repeated=icpl:again=1"]


@pytest.mark.parametrize(
    ("text", "says"),
    [("icpl", "is no contrast"), ("ICPL > ICPL", "with itself"), ("ICPL > Eureka", "is not compared")],
)
def test_a_contrast_that_says_nothing_is_refused(text: str, says: str) -> None:
    arms = name_arms(parse_arm(one, 6) for one in METHODS)
    with pytest.raises(ValueError, match=says):
        parse_contrasts([text], arms, 6)


def test_what_the_offline_writer_does_not_read_is_marked() -> None:
    methods = ("icpl:k=3", "icpl:k=3,measures=true", "icpl_wo_rt:k=3", "icpl:k=3,judge.beta=0")
    arms = name_arms(parse_arm(text, 12) for text in methods)  # four rounds: history is from the third on
    contrasts = parse_contrasts(["icpl:k=3 vs icpl:k=3,measures=true", "ICPL w/o RT vs ICPL"], arms, 12)
    plan = plan_of(*arms, contrasts=contrasts, candidates=12)
    marked, seen = plan.contrasts
    assert find_unread(plan) == [marked]
    assert find_unread(replace(plan, contrasts=(seen, Contrast(plan.arms[3], plan.arms[0])))) == []
    unwritten = [parse_arm(text, 12) for text in ("prefppo", "pebble")]
    assert find_unread(plan_of(*unwritten, contrasts=(Contrast(*unwritten),))) == [], "no writer, so nothing to read"


def scores_of(plan: Plan, values: dict[tuple[str, int], list[float]]) -> list[Score]:
    """By task and number of the arm, the score of each repetition."""
    found = []
    for task in plan.tasks:
        for place, arm in enumerate(plan.arms):
            results = [
                Result(
                    arm,
                    task,
                    i,
                    plan.public_ids[0],
                    "finished",
                    i,
                    (),
                    0.0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0.0,
                    0.0,
                    **evaluated(score),
                )
                for i, score in enumerate(values.get((task, place), []))
            ]
            found.append(Score(arm, task, tuple(results)))
    return found


def evaluated(score: float) -> dict[str, Any]:
    return {"evaluated": True, "retrained": (score,)}


def test_a_contrast_is_tested_over_pairs_of_one_seed() -> None:
    """Seven pairs, each 1 higher: 2 of 128 sign patterns are as extreme."""
    plan = contrast_plan("ICPL > OpenLoop", experiments=7)
    values = {("Cartpole", 0): [2.0, 3, 4, 5, 6, 7, 8], ("Cartpole", 1): [1.0, 2, 3, 4, 5, 6, 7]}
    (found,) = findings.collect_evidence(plan, scores_of(plan, values), {}).findings
    assert (found.count, found.difference, found.p) == (7, 1.0, 2 / 128) and found.corrected == found.p
    assert found.verdict == "shown"
    turned = findings.collect_evidence(
        plan, scores_of(plan, {key: [-v for v in own] for key, own in values.items()}), {}
    )
    assert turned.findings[0].verdict == "contradicted: the other way round"


def test_the_correction_counts_every_planned_contrast() -> None:
    methods = (*METHODS, "icpl_wo_rt:k=3")
    plan = contrast_plan("ICPL > OpenLoop", "ICPL > ICPL w/o RT", methods=methods, experiments=7)
    values = {("Cartpole", 0): [2.0, 3, 4, 5, 6, 7, 8], ("Cartpole", 1): [1.0, 2, 3, 4, 5, 6, 7]}
    tested, waiting = findings.collect_evidence(plan, scores_of(plan, values), {}).findings
    assert tested.corrected == 2 * 2 / 128 and waiting.verdict == "nothing yet: no pair is finished"


def test_what_chance_alone_makes_is_no_finding() -> None:
    """A/A differences are 3 and -4; a difference of 1 over two pairs is below their floor."""
    methods = (*METHODS, "icpl:k=3,again=1")
    plan = contrast_plan("ICPL > OpenLoop", "ICPL = OpenLoop", methods=methods)
    values = {("Cartpole", 0): [10.0, 10.0], ("Cartpole", 1): [9.0, 9.0], ("Cartpole", 2): [7.0, 14.0]}
    evidence = findings.collect_evidence(plan, scores_of(plan, values), {})
    higher, equal = evidence.findings
    assert evidence.noise == (3.0, -4.0)
    assert higher.floor == estimate_noise_floor((3.0, -4.0), 2)
    assert (
        higher.verdict == "not shown: below the noise floor"
        and equal.verdict == "not contradicted: below the noise floor"
    )
    assert "can show no difference, however large: it takes 7 pairs at least" in evidence.power_words


def test_tasks_are_put_together_by_their_normalised_scores() -> None:
    """On Ant 0 is 1 and 1 is 3, on Quadcopter -2 and -1; where Human and Sparse are equal a task is left out."""
    plan = contrast_plan("ICPL > OpenLoop", tasks=("Ant", "Quadcopter", "Cartpole"), experiments=1)
    references = {
        **{("Ant", "Human"): (3.0, 3.0), ("Ant", "Sparse"): (1.0,)},
        **{("Quadcopter", "Human"): (-1.0,), ("Quadcopter", "Sparse"): (-2.0,)},
        **{("Cartpole", "Human"): (499.0,), ("Cartpole", "Sparse"): (499.0,)},
    }
    values = {("Ant", 0): [4.0], ("Ant", 1): [2.0], ("Quadcopter", 0): [-1.5], ("Quadcopter", 1): [-2.5]}
    evidence = findings.collect_evidence(plan, scores_of(plan, {**values, ("Cartpole", 0): [1.0]}), references)
    (found,) = evidence.findings
    assert found.differences == {"Ant": (1.0,), "Quadcopter": (1.0,)}
    assert found.pairs["Ant"] == ((1.5, 0.5),) and found.pairs["Quadcopter"] == ((0.5, -0.5),)
    assert evidence.left_out == ("Cartpole",) and evidence.is_normalised
    assert [one.name for one in evidence.aggregates] == ["ICPL", "OpenLoop", "Human", "Sparse"]
    assert evidence.aggregates[0].interquartile_mean == 1.0 and evidence.aggregates[3].interquartile_mean == 0.0


def test_without_retrainings_own_contrasts_are_tested_by_ts_where_tasks_can_be_put_together(tmp_path: Any) -> None:
    own, tasks = "ICPL > OpenLoop", ("Cartpole", "Ant")
    plan, usual = contrast_plan(own, retrain=0), contrast_plan(retrain=0)
    assert plan.tests_contrasts and not usual.tests_contrasts, "a report tests every arm against the first in any case"
    assert "### 1. ICPL scores higher than OpenLoop" in report.write_report(plan, tmp_path / "own").read_text()
    assert [version.contrasts for version in plan_record.read_versions(tmp_path / "own")] == [(own,)]
    assert "## Claims" not in report.write_report(usual, tmp_path / "usual").read_text()
    several = contrast_plan(own, retrain=0, tasks=tasks)
    assert not several.tests_contrasts and UNTESTED in list_warnings(several)
    assert UNTESTED not in list_warnings(contrast_plan(own, tasks=tasks)) + list_warnings(plan)


def test_policies_that_go_on_from_round_to_round_are_named_beside_others() -> None:
    def said(*methods: str) -> list[str]:
        return [
            words for words in list_warnings(contrast_plan(methods=methods)) if "go on from round to round" in words
        ]

    (words,) = said("icpl:k=3", "rda:k=3")
    assert words.startswith("The policies of RDA go on")
    assert not said("rda:k=3", "rda_scored:k=3") and not said("icpl:k=3", "rda:k=3,warm_start=false")


def test_power_says_what_a_plan_can_see() -> None:
    said = findings.describe_power(15, 1, 0.4, "m/s")
    assert said.startswith("With 15 pairs: 0.31 (m/s) in eight of ten cases")
    assert "5 pairs, with 7 contrasts corrected for, this plan can show no difference" in findings.describe_power(
        5, 7, 0.4, ""
    )
