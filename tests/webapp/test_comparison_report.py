"""The report of a comparison, and the published scores that stand in it."""

from __future__ import annotations

import csv
import os
import re
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from tests.webapp.comparison_plans import copy_finished_plan, plan_of
from tests.webapp.fake_workers import SOURCE
from trainer.machine import describe_machine
from webapp.comparisons import (
    cost_tables,
    csv_tables,
    experiment_results,
    published,
    report,
    report_details,
    report_figures,
)
from webapp.comparisons.arms import Arm, parse_arm
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.experiments import provenance
from webapp.experiments.models import Candidate, Experiment, Job, Run

pytestmark = pytest.mark.slow


@pytest.fixture
def finished_plan(db: None) -> Plan:
    return copy_finished_plan()


# --- the report ---------------------------------------------------------------------------------------------------


def test_the_report_holds_scores_costs_tests_rounds_and_what_was_published(finished_plan: Plan, tmp_path: Path) -> None:
    text = report.write_report(finished_plan, tmp_path).read_text()
    assert "3 of 4 experiments finished" in text and "the offline writer (rules, not a language model)" in text
    row = next(line for line in text.splitlines() if line.startswith("| ICPL |"))
    assert "3 x 2" in row and "2/2" in row and "22.000 \u00b1 0.000" in row and row.endswith("| 499 \u00b1 0 (ICPL) |")
    assert "| ICPL | 499 \u00b1 0 | task_score | highest of 5 | ICPL, 6 | proxy judge |" in text
    assert re.search(r"\| OpenLoop \| 1, 2 \| 1 \| 1\.0000 \| 1\.0000 \| 0\.6667 \|", text)
    assert "| ICPL | 12.000 | 22.000 |" in text  # best so far by round
    for name in ("curves-Cartpole.svg", "scores-Cartpole.svg"):
        assert name in text and (tmp_path / name).read_text().count("<svg") == 1
    with (tmp_path / "experiments.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["label"], r["experiment"], r["status"], r["ts"]) for r in rows] == [
        ("ICPL", "1", "finished", "22.0"),
        ("OpenLoop", "1", "finished", "22.0"),
        ("ICPL", "2", "finished", "22.0"),
        ("OpenLoop", "2", "running", ""),
    ]
    with (tmp_path / "rounds.csv").open() as file:
        assert [r["best_rts_so_far"] for r in csv.DictReader(file)] == ["12.0", "22.0"] * 3


def test_an_experiment_that_was_ended_early_is_named(finished_plan: Plan, tmp_path: Path, admin_client: Client) -> None:
    row = Experiment.objects.get(name="ICPL on Cartpole, 2 of 2")
    row.ends_early, row.winner = True, row.iterations.get(number=1).best
    row.save()
    row.iterations.filter(number=2).delete()
    text = report.write_report(finished_plan, tmp_path).read_text()
    assert "## Ended early" in text and "\n- ICPL on Cartpole, 2: 1 of 2 rounds\n" in text
    assert "| 2/2 (1 ended early) |" in text
    with (tmp_path / "experiments.csv").open() as file:
        assert [line["ended_early"] for line in csv.DictReader(file)] == ["", "", "1", ""]
    again = csv_tables.read_reports(finished_plan, [tmp_path])
    assert [result.shortfall for result in again.values()].count("1 of 2 rounds") == 1
    settings = {"tasks": ["Cartpole"], "methods": ["icpl:k=3", "open_loop:k=3"], "candidates": 6, "experiments": 2}
    planned = Comparison.objects.create(name="C", retrain=0, **settings)
    page = admin_client.get(f"/bench/comparisons/{planned.public_id}/").text
    assert "<small>1 ended early</small>" in page and page.count("ended early: 1 of 2 rounds") == 1


def test_the_report_says_what_tried_the_candidates(finished_plan: Plan, tmp_path: Path) -> None:
    here = f"{describe_machine()} by Prefine {provenance.read_version()}"
    assert f"Tried and reported on {here}." in report.write_report(finished_plan, tmp_path).read_text()
    with (tmp_path / "experiments.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["machine"] for row in rows[:3]} == {describe_machine()} and rows[3]["machine"] == ""
    assert rows[0]["version"] == provenance.read_version() and provenance.read_commit() in provenance.read_version()
    first, other, second, _ = (Experiment.objects.get(public_id=row["public_id"]) for row in rows)
    moved = first.jobs.filter(kind="train").latest("pk")
    moved.progress["made_by"] = {"machine": "another one", "version": "9"}
    moved.save()
    for job in second.jobs.filter(kind="train"):  # as they were before this was written down
        del job.progress["made_by"]
        job.save()
    report_details._finished.clear()  # another process writes this report
    text = report.write_report(finished_plan, tmp_path).read_text()
    machines, versions = (
        f"{describe_machine()}; another one; an unknown machine",
        f"{provenance.read_version()}; 9; unknown",
    )
    assert f"Tried on {machines} by Prefine {versions}. Reported on {here}." in text


def test_seconds_on_a_gpu_are_those_of_trainings_that_say_so(finished_plan: Plan, tmp_path: Path) -> None:
    """One experiment on a GPU but for a round, one on a CPU, one whose second training does not say."""
    devices = (("cuda:0 NVIDIA H200", "cpu"), ("cpu", "cpu"), ("cuda:0 NVIDIA H200", None))
    for result, on in zip(experiment_results.read_results(finished_plan), devices, strict=False):
        row = Experiment.objects.get(public_id=result.public_id)
        for seconds, device, request in zip((10.0, 4.5), on, row.requests.filter(kind="Train"), strict=True):
            Run.objects.create(request=request, seconds=seconds)
            job = Job.objects.get(request=request, kind="train")
            job.progress["made_by"] = {"machine": "M", "version": "1"} | ({"device": device} if device else {})
            job.save()
    found = experiment_results.read_results(finished_plan)
    assert [(r.train_seconds, r.gpu_seconds) for r in found] == [(14.5, 10.0), (14.5, 0.0), (14.5, None), (0.0, 0.0)]
    icpl, loose = experiment_results.group_scores(finished_plan, found)
    assert icpl.mean_of("gpu_seconds") is None and icpl.mean_of("train_seconds") == 14.5
    assert loose.mean_of("gpu_seconds") == 0.0
    text = report.write_report(finished_plan, tmp_path).read_text()
    assert re.search(r"\| ICPL \|[^\n]* \| (14|15) \| - \|", text) and re.search(r"OpenLoop [^\n]* \| 0 \|", text)
    with (tmp_path / "experiments.csv").open() as file:
        assert [r["gpu_seconds"] for r in csv.DictReader(file)] == ["10.0", "0.0", "", "0.0"]


def test_how_unlike_candidates_were_is_the_mean_over_rounds(finished_plan: Plan, tmp_path: Path) -> None:
    """One of three reads and does something else: two pairs of three are at distance 1, and 1/1.05 of a third."""
    row = Experiment.objects.get(public_id=experiment_results.read_results(finished_plan)[2].public_id)
    request = row.requests.filter(kind="Train").earliest("step")
    other = SOURCE.replace("dof_pos", "dof_vel").replace("exp", "tanh").replace("square", "abs")
    request.result[2]["candidate"]["source"] = other.format(weight=1)
    for outcome, at in zip(request.result, (0.0, 0.0, 1.0), strict=True):
        outcome["states"] = {"falls": 0, "seconds": 1.0, "coordinates": [{"mean": at, "speed": 0.5}]}
    request.save()
    text = report.write_report(finished_plan, tmp_path).read_text()
    with (tmp_path / "experiments.csv").open() as file:
        found = [(r["code_diversity"], r["film_diversity"]) for r in csv.DictReader(file)]
    assert found[0] == found[1] == ("0.0", "") and found[3] == ("", "")
    assert float(found[2][0]) == pytest.approx(2 / 3 / 2) and float(found[2][1]) == pytest.approx(2 / 3 / 1.05 / 3)
    assert re.search(r"\| ICPL \|.*\| 0\.17 \| 0\.21 \|\n", text)  # 1/6: the other experiment's programs are alike


def test_the_report_says_where_no_score_tells_methods_apart(finished_plan: Plan, tmp_path: Path) -> None:
    words = "All methods reached the same score every time, 22.000: this task, so trained, does not tell"
    assert words in report.write_report(finished_plan, tmp_path).read_text()
    Candidate.objects.filter(pk=Experiment.objects.get(name="OpenLoop on Cartpole, 1 of 2").winner_id).update(rts=21.0)
    assert "All methods reached" not in report.write_report(finished_plan, tmp_path).read_text()


def test_scores_that_differ_in_millimetres_are_told_apart(finished_plan: Plan, tmp_path: Path) -> None:
    Candidate.objects.filter(rts=22.0).update(rts=-0.0141)
    Candidate.objects.filter(pk=Experiment.objects.get(name="OpenLoop on Cartpole, 1 of 2").winner_id).update(
        rts=-0.0136
    )
    text = report.write_report(finished_plan, tmp_path).read_text()
    assert "| -0.0141 \u00b1 0.000 |" in text and "All methods reached" not in text
    assert re.search(r"\| 0\.000500 \| 1 of 1 \|", text)  # OpenLoop less ICPL, same seed


def test_a_report_before_anything_has_run(db: None, tmp_path: Path) -> None:
    text = report.write_report(plan_of(parse_arm("icpl:k=3", 6)), tmp_path).read_text()
    assert "0 of 2 experiments finished" in text and not list(tmp_path.glob("*.svg"))


def test_a_report_is_replaced_as_a_whole(db: None, tmp_path: Path) -> None:
    first = report.write_report(plan_of(parse_arm("icpl:k=3", 6)), tmp_path / "report")
    os.link(first, tmp_path / "being read")
    report.write_report(plan_of(parse_arm("open_loop:k=3", 6)), tmp_path / "report")
    assert "each: ICPL" in (tmp_path / "being read").read_text() and "each: OpenLoop" in first.read_text()
    assert {path.suffix for path in first.parent.iterdir()} == {".md", ".csv"}


def test_published_numbers_are_found_by_method_task_and_ablation() -> None:
    (ant,) = [row for row in published.find_published("Ant", parse_arm("eureka", 30), True) if row.paper == "ICPL"]
    assert ant.metric == "task_score" and float(ant.value) > 0
    assert {row.method for row in published.find_references("Ant")} == {"Human", "Sparse"}
    (ablation,) = published.find_published("Ant", parse_arm("rf_agent:actions=mutation", 30), True)
    assert (ablation.value, ablation.table) == ("5.13", "7")
    without = parse_arm("rf_agent:thought_align=no,design_thought=no", 30)
    assert [row.value for row in published.find_published("Ant", without, True)] == ["4.96"]
    assert published.find_published("Ant", parse_arm("icpl:reasons=false", 30), True) == []
    assert all(float(row.value) is not None for row in published.read_published())


def test_tokens_that_a_paper_prints_stand_beside_those_of_here(finished_plan: Plan) -> None:
    icpl, _ = experiment_results.group_scores(finished_plan, experiment_results.read_results(finished_plan))
    spent = [replace(result, prompt_tokens=33_000, completion_tokens=1500) for result in icpl.results]
    arm = parse_arm("rf_agent", 30)
    shown = cost_tables.build_printed_costs_table([replace(icpl, arm=arm, task="Ant", results=spent)])
    assert "| RF-Agent | input tokens | 1100 | 3220 | 80 candidates |" in shown  # 257,564 / 80
    assert "| RF-Agent | output tokens | 50 | 871 | 80 candidates |" in shown
    assert cost_tables.build_printed_costs_table([icpl]) == ""
    assert not published.find_costs("Ant", parse_arm("rf_agent:actions=none", 30))


def test_a_large_budget_keeps_the_published_generation() -> None:
    assert [(a.k, a.n) for a in (parse_arm("eureka:k=16", 512), parse_arm("revolve:k=16", 512))] == [(16, 32)] * 2
    assert parse_arm("rf_agent", 512).candidates == 512


def test_published_numbers_of_problems_say_their_unit_and_are_found_in_any_case() -> None:
    (turns,) = published.find_published("imo2025-1", parse_arm("scaling_turn", 15), True)
    assert (turns.metric, turns.shown) == ("correct", "3 of 5 right")
    (points,) = published.find_published("ioi2025-2", parse_arm("scaling_batch_model", 15), True)
    assert points.shown == "24.19 \u00b1 12.7 of 100 points"
    assert published.find_published("IMO2025-1", parse_arm("scaling_turn", 15), True) == [turns]
    assert published.find_published("IMO2025-1", parse_arm("scaling_turn:temperature=0.1", 15), True) == [turns]
    assert not published.find_published("Ant", parse_arm("scaling_context:temperature=0.1", 30), True)
    judged = [parse_arm(text, 15) for text in ("scaling_3d:negative=uniform", "scaling_3d", "icpl", "scaling_turn")]
    found = [{row.method for row in published.find_published("imo2025-1", one, False, True)} for one in judged]
    assert found == [{"3D Scaling (LLM Judge)"}, set(), set(), {turns.method}]
    assert not any(row.is_score_on(row.task) for row in published.read_published() if row.metric in ("votes", "usd"))
    assert {row.statistic for row in published.read_published() if row.metric == "correct"} == {"of 5"}


def test_a_number_that_one_paper_prints_with_more_and_with_fewer_digits_stands_once(db: None) -> None:
    one = plan_of(parse_arm("icpl", 30), tasks=("Ant",), judge_options={"beta": "-1"})
    text = report.render_markdown(one, [], experiment_results.group_scores(one, []), {})
    assert "| 12.04 \u00b1 1.69 (ICPL) |" in text and "| ICPL-proxy | 12.040 \u00b1 1.69 |" in text


@pytest.mark.parametrize("how", [{"judge": "model"}, {"judge_options": {"beta": "5"}}])
def test_what_a_faultless_proxy_decided_stands_beside_nothing_else(db: None, how: dict[str, Any]) -> None:
    arms = [parse_arm(text, 30) for text in ("icpl", "scaling_3d", "eureka", "scaling_batch_score")]
    faultless, other = (plan_of(*arms, tasks=("Ant",), **set_) for set_ in ({"judge_options": {"beta": "-1"}}, how))
    assert all(published.find_published("Ant", one, faultless.judge_is_faultless) for one in arms)
    assert [bool(published.find_published("Ant", one, other.judge_is_faultless)) for one in arms] == [
        False,
        False,
        True,
        True,
    ]
    text = report.render_markdown(other, [], experiment_results.group_scores(other, []), {})
    assert "| Eureka | 10.86 " in text and "| 3D Scaling (Proxy Judge) |" not in text and "| ICPL-proxy |" not in text


def test_a_figure_has_the_gain_over_the_first_round(finished_plan: Plan, tmp_path: Path) -> None:
    icpl, loose = experiment_results.group_scores(finished_plan, experiment_results.read_results(finished_plan))
    assert report_figures.list_gains(icpl) == {2: [10.0, 10.0]} and report_figures.list_gains(loose) == {2: [10.0]}
    better = replace(icpl.results[1], rounds=(replace(icpl.results[1].rounds[0], best=11.0), icpl.results[1].rounds[1]))
    chart = report_figures.build_gain_chart("Cartpole", [replace(icpl, results=(icpl.results[0], better))])
    (line,) = chart.series
    assert (line.x, line.y) == ((2.0,), (10.5,))
    assert line.low[0] == pytest.approx(10.5 - 12.706 * 0.5, abs=0.01), "Student's t, one degree of freedom"
    text = report.write_report(finished_plan, tmp_path).read_text()
    assert "gain-Cartpole.svg" in text and "budget-" not in text


def test_a_figure_over_tokens_where_every_method_is_limited() -> None:
    arms = [parse_arm(text, 6) for text in ("scaling_3d:k=3,context=2000", "scaling_batch_score:k=3,context=1000")]
    rounds = tuple(experiment_results.Round(n, 3 * n, float(n), float(n), float(n)) for n in (1, 2))
    scores = [score_of(arm, rounds) for arm in arms]
    charts = {chart.slug: chart for chart in report_figures.build_charts("Cartpole", scores, {})}
    assert [line.x for line in charts["budget-Cartpole"].series] == [(6000.0, 12_000.0), (3000.0, 6000.0)]
    free = score_of(parse_arm("icpl:k=3", 6), rounds)
    assert not any(c.slug.startswith("budget") for c in report_figures.build_charts("Cartpole", [*scores, free], {}))


def score_of(arm: Arm, rounds: tuple[experiment_results.Round, ...]) -> experiment_results.Score:
    """A finished experiment with these rounds."""
    counts = dict(failed=0, queries=0, calls=0, prompt_tokens=0, completion_tokens=0, cost=0.0, train_seconds=0.0)
    who = dict(arm=arm, task="Cartpole", index=0, public_id=uuid.uuid4(), status="finished", seed=0)
    return experiment_results.Score(
        arm, "Cartpole", (experiment_results.Result(**who, rounds=rounds, ts=2.0, **counts),)
    )
