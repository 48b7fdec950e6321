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
from tests.webapp.comparison_plans import METHODS, contrast_plan, run_all
from tests.webapp.saved_rows import put_back
from webapp.comparisons import (
    background,
    csv_tables,
    estimate,
    experiment_results,
    follow_ups,
    foreground,
    plan_record,
    report,
)
from webapp.comparisons.experiment_results import ReferenceScores, Result
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


# --- what is run ------------------------------------------------------------------------------------------------


def run_plan(experiments: int) -> list[str]:
    """Whatever its contrasts are, it has the same experiments."""
    return run_all(contrast_plan(experiments=experiments))


def test_references_run_first_and_each_winner_is_trained_again_with_seeds_that_no_search_has() -> None:
    plan = contrast_plan()
    names = put_back(run_plan, 2)
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
        (live,) = [one for one in row.plan.find_experiments().values() if one.live]
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
    put_back(run_plan, 1)
    references = experiment_results.read_references(plan)
    report.write_report(plan, tmp_path / "there")
    held = csv_tables.read_reports(plan, [tmp_path / "there"])
    Experiment.objects.all().delete()
    scores = [round(one.score or 0, 1) for one in held.values() if isinstance(one, Result)]
    assert sorted(scores) == [301.5, 501.5]
    assert len(references) == 2 and experiment_results.read_references(plan, held) == references
    assert not [step for step in follow_ups.list_steps(plan) if not step.is_over(plan.find_experiments(), held)]
    text = report.write_report(plan, tmp_path / "joined", held).read_text()
    assert "| 1.000, 2.000 | 10.500 \u00b1 0.707 |" in text, "best moments of Human, too"
    assert csv_tables.read_reports(plan, [tmp_path / "joined"]).keys() == held.keys()


def test_references_of_another_plan_or_an_earlier_version_are_trained_here(tmp_path: Path) -> None:
    plan = contrast_plan(experiments=1)
    put_back(run_plan, 1)
    report.write_report(plan, tmp_path)
    more = replace(plan, retrain=3)
    assert not [one for one in csv_tables.read_reports(more, [tmp_path]).values() if isinstance(one, ReferenceScores)]
    table = tmp_path / "references.csv"
    table.write_text("\n".join(line.rsplit(",", 2)[0] for line in table.read_text().splitlines()) + "\n")
    held = csv_tables.read_reports(plan, [tmp_path])
    left = [step for step in follow_ups.list_steps(plan) if not step.is_over({}, held)]
    assert [step.cell for step in left] == [None, None], "the references alone"
    table.write_text("task,reward\n")
    with pytest.raises(ValueError, match="references.csv has no policies"):
        csv_tables.read_reports(plan, [tmp_path])


# --- the report and the page ----------------------------------------------------------------------------------------


def test_the_report_has_claims_scores_references_and_a_figure_each(tmp_path: Path) -> None:
    plan = contrast_plan("ICPL > OpenLoop")
    put_back(run_plan, 2)
    plan_record.fix(plan, tmp_path, datetime.now(UTC) - timedelta(hours=1))
    text = report.write_report(plan, tmp_path).read_text()
    assert "### 1. ICPL scores higher than OpenLoop\n\nFound: not shown: chance does not exclude it." in text
    assert "![claim-1.svg](claim-1.svg)" in text and (tmp_path / "claim-1.svg").exists()
    # steps 3 and 7 are ICPL's retrainings: 301, 302 and 701, 702; Human is step 0, Sparse 1
    row = next(line for line in text.splitlines() if line.startswith("| ICPL | 3 x 2 | 2/2 |"))
    scores = "501.500 \u00b1 282.843 | 4.000 | 301.500, 701.500 | 10.500 \u00b1 0.000 | 22.000 |"
    assert row.startswith(f"| ICPL | 3 x 2 | 2/2 | {scores}")
    assert "| Human |  | 2/2 | 1.500 \u00b1 0.707 | -1.000 | 1.000, 2.000 | 10.500 \u00b1 0.707 |" in text
    assert "before any of its experiments had finished: ICPL > OpenLoop." in text
    with (tmp_path / "references.csv").open() as file:
        assert file.read().splitlines()[1].startswith("Cartpole,Human,2,1.5,1.0 2.0,")
    again = [one for one in csv_tables.read_reports(plan, [tmp_path]).values() if isinstance(one, Result)]
    here = experiment_results.read_results(plan)
    assert sorted((one.retrained, one.peaks) for one in again) == sorted((one.retrained, one.peaks) for one in here)


def test_contrasts_that_are_changed_later_say_so(tmp_path: Path) -> None:
    plan = contrast_plan("ICPL > OpenLoop")
    began = datetime.now(UTC) - timedelta(hours=1)
    plan_record.fix(plan, tmp_path, began)
    assert len(plan_record.fix(plan, tmp_path, datetime.now(UTC))) == 1, "the same plan is not fixed again"
    put_back(run_plan, 2)
    versions = plan_record.fix(contrast_plan("OpenLoop > ICPL"), tmp_path, datetime.now(UTC))
    first, second = plan_record.describe_versions(versions, experiment_results.read_results(plan))
    assert "before any of its experiments had finished: ICPL > OpenLoop." in first
    assert (
        "changed" not in first
        and "Contrasts changed on" in second
        and "when 4 of its experiments had finished: OpenLoop > ICPL." in second
    )
    assert json.loads((tmp_path / plan_record.NAME).read_text())[0]["contrasts"] == ["ICPL > OpenLoop"]


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
    assert "again" not in said and "24 of 24 candidates to try" in said and not (folder / plan_record.NAME).exists()
    call_command(*COMMAND, "--report", "--out", folder, "--retrain", "2")
    assert (folder / plan_record.NAME).exists()


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
