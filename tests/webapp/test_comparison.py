"""`./prefine compare`: plans, arithmetic and reports on experiments that a player finishes; one real run at the end."""

from __future__ import annotations

import csv
import os
import re
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from llm.replay import read_record, replay
from tests import short_training
from tests.webapp import fake_workers
from tests.webapp.fake_workers import SOURCE
from tests.webapp.servers import embedded, have_ended, processes, wait_for
from trainer.machine import describe_machine
from webapp.bench.experiments import overview
from webapp.comparisons import csv_tables, experiment_results, foreground, published, report, report_details
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Arm, Plan, parse_arm
from webapp.experiments import headless, loop, progress, provenance
from webapp.experiments.models import Candidate, Experiment, Job, LanguageModel, ModelCall, Run

pytestmark = pytest.mark.slow

# --- plans --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "candidates", "expected"),
    [
        ("icpl", 30, ("icpl", 6, 5, (), 0)),
        ("icpl:k=10", 30, ("icpl", 10, 3, (), 0)),
        ("icpl:reasons=false", 12, ("icpl", 6, 2, (("reasons", False),), 0)),
        ("icpl", 7, ("icpl", 7, 1, (), 0)),
        ("icpl", 200, ("icpl", 10, 20, (), 0)),
        ("rda", 30, ("rda", 5, 6, (), 0)),
        ("rda", 20, ("rda", 4, 5, (), 0)),
        ("rf_agent", 30, ("rf_agent", 6, 11, (), 30)),
        (
            "rf_agent:search=bfs,self_verify=no",
            80,
            ("rf_agent", 6, 11, (("search", "bfs"), ("self_verify", False)), 80),
        ),
        ("scaling_context", 30, ("scaling_context", 1, 1, (), 0)),
    ],
)
def test_every_arm_spends_the_budget(text: str, candidates: int, expected: tuple[Any, ...]) -> None:
    made = parse_arm(text, candidates)
    assert (made.method, made.k, made.n, made.options, made.budget) == expected
    assert made.candidates == (1 if text == "scaling_context" else candidates)


def test_an_arm_says_what_it_is_and_sets_its_budget() -> None:
    made = parse_arm("rf_agent:search=bfs", 30)
    assert made.label == "RF-Agent (search=bfs)" and made.settings == {"budget": 30, "search": "bfs"}
    assert parse_arm("rf_agent", 80).settings == {}  # the default


def test_an_experiment_has_the_rounds_that_its_budget_pays(db: None) -> None:
    for candidates, rounds in ((6, 1), (30, 4)):
        plan = plan_of(parse_arm("rf_agent", candidates), candidates=candidates)
        assert plan.draft(next(plan.cells())).n == rounds
        options = plan.arms[0].settings
        earlier = Experiment.objects.create(method="rf_agent", k=6, n=11, options=options)  # as they were made once
        assert earlier.rounds == progress.read_all([earlier])[earlier.pk].n == rounds


@pytest.mark.parametrize(
    ("text", "candidates", "words"),
    [
        ("magic", 30, "unknown method 'magic'"),
        ("ICLP:k=3", 30, "Did you mean icpl?"),
        ("icpl:k=1", 30, "at least 2 candidates a round, not 1"),
        ("icpl:k=many", 30, "k=many: a whole number"),
        ("icpl:colour=red", 30, "has no option 'colour'"),
        ("icpl:reasons", 30, "write it as name=value"),
        ("icpl", 1, "cannot spend 1 candidates"),
    ],
)
def test_an_arm_that_cannot_be_is_refused(text: str, candidates: int, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_arm(text, candidates)


def plan_of(*arms: Arm, **values: Any) -> Plan:
    return Plan(**{"tasks": ("Cartpole",), "arms": arms, "experiments": 2, "candidates": 6, **values})


def test_repetitions_have_their_own_seeds_and_plans_share_their_experiments(db: None) -> None:
    icpl, loose = parse_arm("icpl:k=3", 6), parse_arm("open_loop:k=3", 6)
    plan, wider = plan_of(icpl), plan_of(icpl, loose, experiments=3)
    ids = [plan.public_id(cell) for cell in plan.cells()]
    assert len(set(ids)) == 2 and set(ids) <= {wider.public_id(cell) for cell in wider.cells()}
    assert [wider.draft(cell).seed for cell in wider.cells()] == [0, 0, 1, 1, 2, 2]
    for other in (
        plan_of(icpl, preset="paper"),
        plan_of(icpl, overrides={"iterations": 5}),
        plan_of(icpl, label="again"),
        plan_of(icpl, judge_options={"mistakes": 0.1}),
        plan_of(icpl, seed=7),
    ):
        assert not set(ids) & {other.public_id(cell) for cell in other.cells()}
        assert other.name != plan.name
    first = plan.experiment(next(plan.cells()))
    assert plan.experiment(next(wider.cells())).pk == first.pk
    assert Experiment.objects.count() == 1


def test_who_describes_and_judges_makes_another_experiment_only_where_it_is_named(db: None) -> None:
    """Those in docs/comparisons were made before these roles could be named."""
    with (settings.BASE_DIR / "docs" / "comparisons" / "cartpole" / "experiments.csv").open() as file:
        kept = next(csv.DictReader(file))
    plan = plan_of(parse_arm("icpl", 30), candidates=30)
    first = next(plan.cells())
    assert str(plan.public_id(first)) == kept["public_id"] == "ec51b0b2-e8bb-56b9-9e52-ca892840a997"
    writer, other = (LanguageModel(name=name, kind="openai", model="m") for name in ("A", "B"))
    ids = {
        plan_of(*plan.arms, **roles).public_id(first)
        for roles in ({}, {"describer": writer}, {"judge_model": writer}, {"judge_model": other})
    }
    assert len(ids) == 4
    draft = plan_of(*plan.arms, describer=writer, judge_model=other).draft(first)
    assert (draft.describer, draft.judge_model) == (writer, other)


def test_the_command_names_who_describes_and_who_judges(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cheap", "judge"):
        LanguageModel.objects.create(name=name, kind="openai", base_url="http://x.example/v1", model="m")
    words = ["compare", "--tasks", "Cartpole", "--methods", "icpl:k=3", "--budget", "candidates=6", "--judge", "model"]
    call_command(*words, "--describer", "cheap", "--judge-model", "judge", "--plan")
    assert "no limit of tokens" in capsys.readouterr().out
    with pytest.raises(CommandError, match="unknown language model 'nobody'"):
        call_command(*words, "--judge-model", "nobody", "--plan")


def test_problems_are_those_of_the_experiments(db: None) -> None:
    assert plan_of(parse_arm("icpl:k=3", 6)).problems() == []
    (said,) = plan_of(parse_arm("icpl:k=3", 6), tasks=("HumanoidJump",)).problems()
    assert said.startswith("ICPL on HumanoidJump: judge: HumanoidJump has no metric")


# --- what is gathered ---------------------------------------------------------------------------------------------


@pytest.fixture
def finished_plan(db: None) -> Plan:
    """ICPL twice and OpenLoop once to their ends, OpenLoop once begun. Position p of round r scores 10 r + p."""
    plan = plan_of(parse_arm("icpl:k=3", 6), parse_arm("open_loop:k=3", 6))
    for number, cell in enumerate(plan.cells()):
        row = plan.experiment(cell)
        loop.start(row)
        fake_workers.do_work(row, failed=(0,) if number == 0 else (), until="Train" if number == 3 else "")
    return plan


def test_scores_rounds_and_queries(finished_plan: Plan) -> None:
    first, other, second, begun = experiment_results.read_results(finished_plan)
    assert [r.finished for r in (first, other, second, begun)] == [True, True, True, False]
    assert [(r.number, r.candidates, r.best, r.mean, r.best_so_far) for r in first.rounds] == [
        (1, 3, 12.0, 11.5, 12.0),
        (2, 6, 22.0, 21.5, 22.0),
    ]
    assert (first.ts, first.failed) == (22.0, 2) and (second.ts, second.failed) == (22.0, 0)
    assert (begun.ts, begun.rounds) == (None, ())
    # 2 of 3 could be judged in each round: 1 + 1, and 1 for the winner; with 3: 3 + 3 + 1
    assert (first.queries, second.queries) == (3, 7)
    icpl, loose = experiment_results.group_scores(finished_plan, experiment_results.read_results(finished_plan))
    assert (icpl.values, icpl.fts, icpl.mean, icpl.deviation) == ([22.0, 22.0], 22.0, 22.0, 0.0)
    assert (len(loose.values), loose.deviation) == (1, None)


def test_the_bench_counts_the_queries_that_were_asked_and_says_what_was_overridden(
    db: None, admin_client: Client
) -> None:
    row = fake_workers.create_experiment(judge="human", n=2, overrides={"iterations": 7})
    loop.start(row)
    fake_workers.do_work(row, failed=(0,))  # two of three are left to compare: one query, where three would make three
    loop.answer(loop.find_waiting_request(row).pk, fake_workers.make_pick("1-2", "1-3"))
    page = admin_client.get(f"/bench/{row.public_id}/").content.decode()
    assert (
        overview.build_overview(row).queries == experiment_results.count_queries(row) == 1
        and "quick settings, iterations 7<" in page
    )


def test_the_papers_49_queries() -> None:
    def asked(kind: str, shown: int, result: Any) -> int:
        return experiment_results.count_pairs(kind, {"candidates": ["1-1"] * shown}, result)

    both, best = {"best": "1-1", "worst": "1-2"}, {"best": "1-1", "worst": None}
    assert 5 * asked("Judge", 6, both) + asked("Choose", 5, "1-1") == 49
    assert asked("Compare", 2, "first") == 1 and asked("Judge", 1, best) == 0
    assert asked("Judge", 6, best) == 5


def test_what_the_experiment_ended_with_counts_not_the_best_of_all(finished_plan: Plan) -> None:
    row = Experiment.objects.get(public_id=experiment_results.read_results(finished_plan)[2].public_id)
    row.winner = Candidate.objects.get(iteration__experiment=row, iteration__number=1, index=1)
    row.save()
    result = experiment_results.read_results(finished_plan)[2]
    assert (result.ts, result.best) == (10.0, 22.0)


def test_costs_are_added_and_an_unknown_price_is_unknown(finished_plan: Plan) -> None:
    row = Experiment.objects.get(public_id=experiment_results.read_results(finished_plan)[0].public_id)
    request = row.requests.get(step=0)
    Run.objects.create(request=row.requests.filter(kind="Train").first(), seconds=12.5)
    call = {"request": request, "model": "m", "data": {}, "prompt_tokens": 10, "completion_tokens": 4}
    ModelCall.objects.create(**call, request_hash="a", seed=1, cost=0.5)
    ModelCall.objects.create(**call, request_hash="b", seed=2, cost=0.25)
    result = experiment_results.read_results(finished_plan)[0]
    assert (result.calls, result.prompt_tokens, result.completion_tokens, result.cost) == (2, 20, 8, 0.75)
    assert result.train_seconds == 12.5
    ModelCall.objects.create(**call, request_hash="c", seed=3, cost=None)
    assert experiment_results.read_results(finished_plan)[0].cost is None


def test_how_far_it_is(finished_plan: Plan, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(4):  # however many experiments there are
        now = foreground.read_state(finished_plan)
    assert (now.finished, now.experiments, now.candidates, now.budget) == (3, 4, 18, 24)
    pace = experiment_results.measure_seconds_per_candidate(finished_plan, ["Cartpole"])["Cartpole"]
    assert now.seconds_left == pytest.approx(6 * pace)
    wider = replace(finished_plan, tasks=("Cartpole", "Ant"))
    with django_assert_max_num_queries(4):  # nor tasks
        assert foreground.read_state(wider).seconds_left is None
    Experiment.objects.filter(
        public_id__in=[finished_plan.public_id(c) for c in finished_plan.cells() if c.index == 0]
    ).update(task="Ant")
    paces = experiment_results.measure_seconds_per_candidate(wider, wider.tasks)
    assert paces.keys() == {"Cartpole", "Ant"}
    assert foreground.read_state(wider).seconds_left == pytest.approx(6 * paces["Cartpole"] + 24 * paces["Ant"])


def test_time_left_counts_everything_that_this_model_took_on_this_task(db: None) -> None:
    plan = plan_of(parse_arm("icpl:k=2", 6), experiments=1)
    row = plan.experiment(next(plan.cells()))
    loop.start(row)
    fake_workers.do_work(row)
    begun = timezone.now()
    for kind, seconds in (("write", 10), ("train", 60), ("ask", 4), ("film", 7), ("advance", 0)):
        jobs = row.jobs.filter(kind=kind)
        jobs.update(started_at=begun, finished_at=begun + timedelta(seconds=seconds), attempt=1, status="done")
    total = sum(
        seconds * row.jobs.filter(kind=kind).count()
        for kind, seconds in (("write", 10), ("train", 60), ("ask", 4), ("film", 7))
    )
    assert row.jobs.filter(kind="ask").exists()
    assert experiment_results.measure_seconds_per_candidate(plan, ["Cartpole", "Ant"]) == pytest.approx(
        {"Cartpole": total / 6}
    )
    other = LanguageModel.objects.create(name="slow", kind="openai", base_url="http://x.example/v1", model="m")
    assert (
        experiment_results.measure_seconds_per_candidate(plan_of(parse_arm("icpl:k=2", 6), model=other), ["Cartpole"])
        == {}
    )


# --- carrying it through -------------------------------------------------------------------------------------------


def test_an_error_that_nobody_foresaw_ends_one_experiment_and_no_other(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, driven = plan_of(parse_arm("open_loop:k=3", 3), experiments=2), list[str]()

    def drive(experiment: Experiment, said: Any) -> None:
        driven.append(experiment.name)
        if len(set(driven)) == 1:
            raise ValueError("a folder that holds another job")

    monkeypatch.setattr(headless, "run_to_end", drive)
    ended = [experiment.name for _, experiment in foreground.run_experiments(plan, lambda *said: None)]
    first, second = ended
    assert driven == [first] * settings.ATTEMPTS + [second]


def test_errors_between_which_steps_end_do_not_end_an_experiment(
    db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    plan, errors = plan_of(parse_arm("open_loop:k=3", 3), experiments=1), list[int]()

    def drive(experiment: Experiment, said: Any) -> None:
        if len(errors) <= settings.ATTEMPTS:
            errors.append(experiment.jobs.create(kind=Job.Kind.ADVANCE, status=Job.Status.DONE).pk)
            raise ValueError("a folder that holds another job")
        fake_workers.do_work(experiment)

    monkeypatch.setattr(headless, "run_to_end", drive)
    ((_, experiment),) = foreground.run_experiments(plan, lambda *said: None)
    assert experiment.status == "finished"


def test_what_was_finished_and_left_without_its_record_gets_it(
    finished_plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(headless, "run_to_end", lambda experiment, said: None)
    assert len(list(foreground.run_experiments(finished_plan, lambda *said: None))) == 1  # the one that had not ended
    records = list((tmp_path / "records").iterdir())
    assert len(records) == 3 and {path.suffix for path in records} == {".json"}
    assert replay(read_record(records[0])).candidate


def test_the_same_experiment_made_by_two_at_once_is_one(finished_plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell, *_), known = finished_plan.cells(), Experiment.objects.count()
    with monkeypatch.context() as faster:
        faster.setattr(QuerySet, "exists", lambda rows: False)
        assert finished_plan.experiment(cell).public_id == finished_plan.public_id(cell)
    assert Experiment.objects.count() == known


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
    planned = Comparison.objects.create(name="C", **settings)
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
    assert published.find_published("Ant", parse_arm("icpl:reasons=false", 30), True) == []
    assert all(float(row.value) is not None for row in published.read_published())


def test_published_numbers_of_problems_say_their_unit_and_are_found_in_any_case() -> None:
    (turns,) = published.find_published("imo2025-1", parse_arm("scaling_turn", 15), True)
    assert (turns.metric, turns.shown) == ("correct", "3 of 5 right")
    (points,) = published.find_published("ioi2025-2", parse_arm("scaling_batch_model", 15), True)
    assert points.shown == "24.19 \u00b1 12.7 of 100 points"
    assert published.find_published("IMO2025-1", parse_arm("scaling_turn", 15), True) == [turns]
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


# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "Nowhere", "--methods", "icpl"], "Nowhere"),
        (["--tasks", "HumanoidJump", "--methods", "icpl"], "has no metric by which methods could be compared"),
        (["--tasks", "Ant", "--methods", "magic"], "unknown method 'magic'"),
        (["--tasks", "Ant", "--methods", "icpl", "--budget", "30"], "write it as candidates=N"),
        (["--tasks", "Ant", "--methods", "icpl", "--judge", "human"], "people judge in the browser"),
        (["--tasks", "Ant", "--methods", "icpl", "--experiments", "0"], "at least 1"),
        (["--tasks", "Ant", "--methods", "icpl", "--iterations", "0"], "--iterations must be between 1 and"),
        (["--tasks", "Ant", "--methods", "icpl", "--model", "nobody"], "unknown language model 'nobody'"),
        (["--tasks", "Ant", "--methods", "icpl", "--judge-option", "colour=red"], "colour"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(db: None, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        call_command("compare", *arguments)
    assert not Experiment.objects.exists()


def test_a_plan_says_what_would_run_and_makes_nothing(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("compare", "--tasks", "cartpole", "ANT", "--methods", "ICPL", "RF-Agent", "rda", "--plan")
    said = capsys.readouterr().out
    assert re.search(r"Cartpole +ICPL +6 x 5 +5 +0", said) and re.search(r"Ant +RF-Agent +30 +5 +0", said)
    assert re.search(r"Ant +RDA +5 x 6 +5 +0", said)
    assert "900 of 900 candidates to try; time: not known before a first round." in said
    assert not Experiment.objects.exists()


@pytest.mark.timeout(900)
def test_an_interrupted_comparison_goes_on_and_reads_what_is_finished(tmp_path: Path) -> None:
    data = embedded(tmp_path / "data", short_training.python(tmp_path / "python"))
    words = ["compare", "--tasks", "Cartpole", "--methods", "icpl:k=2", "rf_agent:k=2", "--budget", "candidates=2"]
    words += ["--experiments", "1", "--iterations", "2", "--out", str(tmp_path / "out")]
    process = data.python("manage.py", *words)
    runs = data.data / "runs"
    wait_for(lambda: len(list(runs.glob("*/job.json"))) == 2, "the start of the second experiment's training", 600)
    ours = {pid: command for pid, (_, command) in processes().items() if str(runs) in command}
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 130 and "The same command goes on from here." in said and "Traceback" not in said
    assert "ICPL on Cartpole, 1 of 1: 1-" in said
    wait_for(lambda: have_ended(ours), "the end of the training processes")
    first = (tmp_path / "out" / "report.md").read_text()
    assert "1 of 2 experiments finished" in first

    said = data.manage(*words)
    assert re.search(r"ICPL +2 x 1 +1 +1\n", said) and "2 of 4 candidates to try" in said
    assert "RF-Agent on Cartpole, 1 of 1: 1-" in said and "ICPL on Cartpole, 1 of 1:" not in said
    text = (tmp_path / "out" / "report.md").read_text()
    assert "2 of 2 experiments finished" in text and (tmp_path / "out" / "curves-Cartpole.svg").exists()
    assert len(list(runs.glob("*/job.json"))) == 2

    other = embedded(tmp_path / "other")  # a machine that knows nothing of it
    words[words.index("--out") + 1] = str(tmp_path / "read back")
    said = other.manage(*words, "--with", str(tmp_path / "out"))
    assert "Finished elsewhere: 2 experiments" in said and "0 of 4 candidates to try" in said
    for name in ("summary.csv", "experiments.csv", "rounds.csv"):
        assert (tmp_path / "read back" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert "2 of 2 experiments finished" in (tmp_path / "read back" / "report.md").read_text()
    assert not list((other.data / "runs").glob("*"))
