"""Winners trained again, references beside them, contrasts fixed before, and what is said of them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from tests.webapp import fake_workers
from tests.webapp.comparison_plans import plan_of
from webapp.base.statistics.aggregates import noise_floor
from webapp.comparisons import (
    background,
    csv_tables,
    estimate,
    experiment_results,
    findings,
    follow_ups,
    foreground,
    record,
    report,
)
from webapp.comparisons.arms import name_arms, parse_arm
from webapp.comparisons.contrasts import Contrast, add_controls, parse_contrasts
from webapp.comparisons.experiment_results import ReferenceScores, Result, Score
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.comparisons.unread import find_unread
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Experiment

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
METHODS = ("icpl:k=3", "open_loop:k=3")


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def contrast_plan(*texts: str, methods: tuple[str, ...] = METHODS, **values: Any) -> Plan:
    arms = name_arms(parse_arm(text, 6) for text in methods)
    return plan_of(*arms, contrasts=parse_contrasts(texts, arms, 6), **{"retrain": 2, **values})


def run_all(plan: Plan) -> list[str]:
    """Carry every step out in order, with made-up results; policy p of an experiment scores 100 times its steps' number
    plus p. Returns the names of the experiments in their order.
    """
    names = []
    for number, step in enumerate(follow_ups.list_steps(plan)):
        rows = plan.existing()
        assert step.is_ready(rows)
        row = follow_ups.create(step, rows)
        assert row is not None
        loop.start(row)
        fake_workers.do_work(row)
        names.append(row.name)
        for candidate in (
            Candidate.objects.filter(iteration__experiment=row) if step.cell is None or step.follows else ()
        ):
            Candidate.objects.filter(pk=candidate.pk).update(evaluation={"score": 100.0 * number + candidate.index})
    return names


# --- what is run ------------------------------------------------------------------------------------------------


def test_references_run_first_and_each_winner_is_trained_again_with_seeds_that_no_search_has() -> None:
    plan = contrast_plan()
    names = run_all(plan)
    assert names == [
        "Human on Cartpole",
        "Sparse on Cartpole",
        "ICPL on Cartpole, 1 of 2",
        "ICPL on Cartpole, 1 of 2, retrained",
        "OpenLoop on Cartpole, 1 of 2",
        "OpenLoop on Cartpole, 1 of 2, retrained",
        "ICPL on Cartpole, 2 of 2",
        "ICPL on Cartpole, 2 of 2, retrained",
        "OpenLoop on Cartpole, 2 of 2",
        "OpenLoop on Cartpole, 2 of 2, retrained",
    ]
    again = Experiment.objects.get(name="ICPL on Cartpole, 2 of 2, retrained")
    search = Experiment.objects.get(name="ICPL on Cartpole, 2 of 2")
    assert again.retrains == search.winner and (again.method, again.k) == ("retrain", 2)
    assert again.seed == 500_001 and search.seed == 1, "the second repetition's, for all methods alike"
    assert search.winner is not None
    assert again.options == {"reward": search.winner.source.strip(), "episodes": 100, "films": False}
    assert not again.watched, "no film but the best one's"
    sparse = Experiment.objects.get(name="Sparse on Cartpole")
    assert sparse.options["by_metric"] is True and sparse.requests.get().payload["episodes"] == 100
    state = foreground.read_state(plan)
    assert (state.finished, state.experiments, state.candidates, state.budget) == (10, 10, 36, 36)


def test_without_retraining_a_plan_is_what_it_was() -> None:
    """Ids and name, from which experiments and reports of earlier versions are found, and no further experiments."""
    plan, plain = contrast_plan(), contrast_plan(retrain=0)
    assert plan.name == plain.name and plan.public_ids == plain.public_ids == plain.all_ids
    assert [step.cell for step in follow_ups.list_steps(plain)] == list(plain.cells())
    assert plan.name == "Cartpole-0391d02e", "as version 0.1.0 named it"


def test_a_row_of_an_earlier_version_keeps_its_plan(admin_client: Client) -> None:
    values = {"tasks": ["Cartpole"], "methods": [*METHODS], "candidates": 6, "experiments": 1}
    row = Comparison.objects.create(name="Old", retrain=0, **values)
    assert row.plan.retrain == 0 and [one.text for one in row.plan.contrasts] == ["OpenLoop vs ICPL"]
    assert len(list(follow_ups.list_steps(row.plan))) == 2
    text = admin_client.get(f"/bench/comparisons/{row.public_id}/").text
    assert "Claims" not in text and "Normalised" not in text


def test_the_site_runs_retrainings_after_their_searches() -> None:
    values = {"tasks": ["Cartpole"], "methods": ["icpl:k=3"], "candidates": 6, "experiments": 1}
    row = Comparison.objects.create(name="New", retrain=2, **values)
    background.start(row)
    seen = []
    while row.status == "running":
        (live,) = [one for one in row.plan.existing().values() if one.live]
        seen.append(live.name)
        fake_workers.do_work(live)
        background.continue_running()
        row.refresh_from_db()
    assert row.status == "finished"
    assert seen == [
        *("Human on Cartpole", "Sparse on Cartpole"),
        *("ICPL on Cartpole, 1 of 1", "ICPL on Cartpole, 1 of 1, retrained"),
    ]


def test_what_was_finished_elsewhere_is_not_trained_here(tmp_path: Path) -> None:
    plan = contrast_plan(experiments=1)
    run_all(plan)
    references = experiment_results.read_references(plan)
    report.write_report(plan, tmp_path / "there")
    held = csv_tables.read_reports(plan, [tmp_path / "there"])
    Experiment.objects.all().delete()
    scores = [round(one.score or 0, 1) for one in held.values() if isinstance(one, Result)]
    assert sorted(scores) == [301.5, 501.5]
    assert len(references) == 2 and experiment_results.read_references(plan, held) == references
    assert not [step for step in follow_ups.list_steps(plan) if not step.is_over(plan.existing(), held)]
    report.write_report(plan, tmp_path / "joined", held)
    assert csv_tables.read_reports(plan, [tmp_path / "joined"]).keys() == held.keys()


def test_references_of_another_plan_or_an_earlier_version_are_trained_here(tmp_path: Path) -> None:
    plan = contrast_plan(experiments=1)
    run_all(plan)
    report.write_report(plan, tmp_path)
    more = replace(plan, retrain=3)
    assert not [one for one in csv_tables.read_reports(more, [tmp_path]).values() if isinstance(one, ReferenceScores)]
    table = tmp_path / "references.csv"
    table.write_text("\n".join(line.rpartition(",")[0] for line in table.read_text().splitlines()) + "\n")
    held = csv_tables.read_reports(plan, [tmp_path])
    left = [step for step in follow_ups.list_steps(plan) if not step.is_over({}, held)]
    assert [step.cell for step in left] == [None, None], "the references alone"
    table.write_text("task,reward\n")
    with pytest.raises(ValueError, match="references.csv has no policies"):
        csv_tables.read_reports(plan, [tmp_path])


# --- arms and contrasts -------------------------------------------------------------------------------------------


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


# --- findings -----------------------------------------------------------------------------------------------------


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
    (found,) = findings.gather(plan, scores_of(plan, values), {}).findings
    assert (found.count, found.difference, found.p) == (7, 1.0, 2 / 128) and found.corrected == found.p
    assert found.verdict == "shown"
    turned = findings.gather(plan, scores_of(plan, {key: [-v for v in own] for key, own in values.items()}), {})
    assert turned.findings[0].verdict == "contradicted: the other way round"


def test_the_correction_counts_every_planned_contrast() -> None:
    methods = (*METHODS, "icpl_wo_rt:k=3")
    plan = contrast_plan("ICPL > OpenLoop", "ICPL > ICPL w/o RT", methods=methods, experiments=7)
    values = {("Cartpole", 0): [2.0, 3, 4, 5, 6, 7, 8], ("Cartpole", 1): [1.0, 2, 3, 4, 5, 6, 7]}
    tested, waiting = findings.gather(plan, scores_of(plan, values), {}).findings
    assert tested.corrected == 2 * 2 / 128 and waiting.verdict == "nothing yet: no pair is finished"


def test_what_chance_alone_makes_is_no_finding() -> None:
    """A/A differences are 3 and -4; a difference of 1 over two pairs is below their floor."""
    methods = (*METHODS, "icpl:k=3,again=1")
    plan = contrast_plan("ICPL > OpenLoop", "ICPL = OpenLoop", methods=methods)
    values = {("Cartpole", 0): [10.0, 10.0], ("Cartpole", 1): [9.0, 9.0], ("Cartpole", 2): [7.0, 14.0]}
    evidence = findings.gather(plan, scores_of(plan, values), {})
    higher, equal = evidence.findings
    assert evidence.noise == (3.0, -4.0)
    assert higher.floor == noise_floor((3.0, -4.0), 2)
    assert (
        higher.verdict == "not shown: below the noise floor"
        and equal.verdict == "not contradicted: below the noise floor"
    )
    assert "can show nothing, however large: 7 pairs are the fewest" in evidence.power_words


def test_tasks_are_put_together_by_their_normalised_scores() -> None:
    """On Ant 0 is 1 and 1 is 3, on Quadcopter -2 and -1; where Human and Sparse are equal a task is left out."""
    plan = contrast_plan("ICPL > OpenLoop", tasks=("Ant", "Quadcopter", "Cartpole"), experiments=1)
    references = {
        **{("Ant", "Human"): (3.0, 3.0), ("Ant", "Sparse"): (1.0,)},
        **{("Quadcopter", "Human"): (-1.0,), ("Quadcopter", "Sparse"): (-2.0,)},
        **{("Cartpole", "Human"): (499.0,), ("Cartpole", "Sparse"): (499.0,)},
    }
    values = {("Ant", 0): [4.0], ("Ant", 1): [2.0], ("Quadcopter", 0): [-1.5], ("Quadcopter", 1): [-2.5]}
    evidence = findings.gather(plan, scores_of(plan, {**values, ("Cartpole", 0): [1.0]}), references)
    (found,) = evidence.findings
    assert found.differences == {"Ant": (1.0,), "Quadcopter": (1.0,)}
    assert found.pairs["Ant"] == ((1.5, 0.5),) and found.pairs["Quadcopter"] == ((0.5, -0.5),)
    assert evidence.left_out == ("Cartpole",) and evidence.is_normalised
    assert [one.name for one in evidence.aggregates] == ["ICPL", "OpenLoop", "Human", "Sparse"]
    assert evidence.aggregates[0].interquartile_mean == 1.0 and evidence.aggregates[3].interquartile_mean == 0.0


def test_power_says_what_a_plan_can_see() -> None:
    said = findings.describe_power(15, 1, 0.4, "m/s")
    assert said.startswith("With 15 pairs: 0.31 (m/s) in eight of ten cases")
    assert "5 pairs, with 7 contrasts corrected for, this plan can show nothing" in findings.describe_power(
        5, 7, 0.4, ""
    )


# --- the report and the page ----------------------------------------------------------------------------------------


def test_the_report_has_claims_scores_references_and_a_figure_each(tmp_path: Path) -> None:
    plan = contrast_plan("ICPL > OpenLoop")
    record.fix(plan, tmp_path, datetime.now(UTC))
    run_all(plan)
    text = report.write_report(plan, tmp_path).read_text()
    assert "### 1. ICPL scores higher than OpenLoop\n\nFound: not shown: chance does not exclude it." in text
    assert "![claim-1.svg](claim-1.svg)" in text and (tmp_path / "claim-1.svg").exists()
    # steps 3 and 7 are ICPL's retrainings: 301, 302 and 701, 702; Human is step 0, Sparse 1
    row = next(line for line in text.splitlines() if line.startswith("| ICPL | 3 x 2 | 2/2 |"))
    assert row.startswith("| ICPL | 3 x 2 | 2/2 | 501.500 \u00b1 282.843 | 4.000 | 301.500, 701.500 | 22.000 |")
    assert "| Human |  | 2/2 | 1.500 \u00b1 0.707 | -1.000 | 1.000, 2.000 |" in text
    assert "before any of its experiments had finished: ICPL > OpenLoop." in text
    with (tmp_path / "references.csv").open() as file:
        assert file.read().splitlines()[1].startswith("Cartpole,Human,2,1.5,1.0 2.0,")
    again = [one for one in csv_tables.read_reports(plan, [tmp_path]).values() if isinstance(one, Result)]
    here = experiment_results.read_results(plan)
    assert sorted(one.retrained for one in again) == sorted(one.retrained for one in here)


def test_contrasts_that_are_changed_later_say_so(tmp_path: Path) -> None:
    plan = contrast_plan("ICPL > OpenLoop")
    began = datetime.now(UTC) - timedelta(hours=1)
    record.fix(plan, tmp_path, began)
    assert len(record.fix(plan, tmp_path, datetime.now(UTC))) == 1, "the same plan is not fixed again"
    run_all(plan)
    versions = record.fix(contrast_plan("OpenLoop > ICPL"), tmp_path, datetime.now(UTC))
    first, second = record.describe_versions(versions, experiment_results.read_results(plan))
    assert "before any of its experiments had finished: ICPL > OpenLoop." in first
    assert (
        "changed" not in first
        and "Contrasts changed on" in second
        and "when 4 of its experiments had finished: OpenLoop > ICPL." in second
    )
    assert json.loads((tmp_path / record.NAME).read_text())[0]["contrasts"] == ["ICPL > OpenLoop"]


def test_the_page_shows_claims_scores_and_references(admin_client: Client) -> None:
    values = {"tasks": ["Cartpole"], "methods": [*METHODS], "candidates": 6, "experiments": 2}
    row = Comparison.objects.create(name="New", retrain=2, contrasts=["ICPL > OpenLoop"], **values)
    run_all(row.plan)
    page = admin_client.get(f"/bench/comparisons/{row.public_id}/").text
    assert "1. ICPL scores higher than OpenLoop" in page and "Not shown: chance does not exclude it." in page
    assert "Human <small>reference</small>" in page and ">Normalised</th>" in page
    for name, kind in (("claim-1.svg", "svg"), ("evaluated-Cartpole.svg", "svg"), ("plan.json", "json")):
        answer = admin_client.get(f"/bench/comparisons/{row.public_id}/files/{name}")
        assert answer.status_code == 200 and kind in answer["Content-Type"]
    listed = admin_client.get(f"/bench/?comparison={row.public_id}").text
    assert "ICPL on Cartpole, 1 of 2, retrained" in listed


def test_the_form_plans_retrainings_controls_and_contrasts(admin_client: Client) -> None:
    form = {"tasks": ["Cartpole"], "methods": ["icpl", "open_loop"], "candidates": 6, "experiments": 2, "seed": 0}
    form |= {"judge": "proxy", "preset": "quick", "retrain": 3, "controls": ["aa", "inverted"]}
    admin_client.post("/bench/comparisons/new/", form)
    row = Comparison.objects.get()
    assert row.methods == ["icpl", "open_loop", "ICPL, repeated=icpl:again=1", "icpl:judge.mistake=1"]
    assert row.retrain == 3
    assert row.contrasts == ["OpenLoop vs ICPL", "icpl > icpl:judge.mistake=1"]
    assert [one.text for one in row.plan.contrasts] == ["OpenLoop vs ICPL", "ICPL > ICPL (judge.mistake=1)"]
    page = admin_client.get(f"/bench/comparisons/new/?copy={row.public_id}").text
    assert "icpl:again=1" in page and "OpenLoop vs ICPL" in page
    answer = admin_client.post("/bench/comparisons/new/", {**form, "contrasts": "icpl beats open_loop"})
    assert answer.status_code == 422 and "is no contrast" in answer.text


def test_the_form_takes_the_references_of_a_report(admin_client: Client, tmp_path: Path) -> None:
    form: dict[str, Any] = {"tasks": ["Cartpole"], "methods": ["icpl"], "candidates": 6, "experiments": 1, "retrain": 2}
    form |= {"judge": "proxy", "preset": "quick", "seed": 0, "variants": "", "judge_options": ""}
    admin_client.post("/bench/comparisons/new/", form)
    plan = Comparison.objects.get().plan
    run_all(plan)
    report.write_report(plan, tmp_path)
    Experiment.objects.all().delete()

    def send(*names: str) -> Any:
        tables = [(name, tmp_path / f"{name}.csv") for name in names]
        fields = {f"elsewhere_{name}": SimpleUploadedFile(table.name, table.read_bytes()) for name, table in tables}
        return admin_client.post("/bench/comparisons/new/", {**form, **fields})

    assert "Choose both tables" in send("references").text
    address = send("experiments", "rounds", "references")["Location"]
    row = Comparison.objects.latest("pk")
    background.start(row)
    row.refresh_from_db()
    assert row.status == "finished" and not Experiment.objects.exists(), "nothing is left to run"
    assert "Cartpole,Human,2,1.5,1.0 2.0," in admin_client.get(f"{address}files/references.csv").text


# --- the command --------------------------------------------------------------------------------------------------

COMMAND = ["compare", "--tasks", "Cartpole", "--methods", *METHODS, "--budget", "candidates=6", "--experiments", "2"]


def test_the_command_plans_retrainings_and_a_pair_of_the_same_by_default(capsys: Any) -> None:
    call_command(*COMMAND, "--plan")
    said = capsys.readouterr().out
    assert "ICPL, repeated" in said and "Contrast: OpenLoop vs ICPL" in said
    assert "40 of 40" not in said and "candidates to try" in said
    call_command(*COMMAND, "--plan", "--controls", "--retrain", "0")
    said = capsys.readouterr().out
    assert "repeated" not in said and "24 of 24 candidates to try" in said


def test_a_comparison_of_an_earlier_version_goes_on_as_it_was(tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "begun"
    folder.mkdir()
    (folder / "report.md").write_text("# of a version without a record\n")
    call_command(*COMMAND, "--report", "--out", folder)
    said = capsys.readouterr().out
    assert "again" not in said and "24 of 24 candidates to try" in said and not (folder / record.NAME).exists()
    call_command(*COMMAND, "--report", "--out", folder, "--retrain", "2")
    assert (folder / record.NAME).exists()


def test_an_estimate_says_answers_tokens_samples_and_dollars(capsys: Any) -> None:
    call_command(*COMMAND, "--estimate", "--controls")
    said = capsys.readouterr().out
    assert "US dollars: none with the offline writer; by a model's list price: gpt-4o " in said
    plan = contrast_plan(retrain=5)
    rows = {row.label: row for row in estimate.list_rows(plan)}
    # 6 programs and one difference described... of two rounds none: only rounds between the first and the last have one
    assert rows["OpenLoop"].answers == 2 * 6 and rows["ICPL"].answers == 2 * 6
    samples = rows["Human, Sparse"].samples
    assert rows["retrainings"].samples == 2 * samples and rows["ICPL"].samples == 12 * samples / 10
