"""Comparisons on the site: planned by a form, carried through by the reaper, paused, cancelled, read and downloaded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from llm import prices
from llm.offline import MODEL
from simulation import catalog
from tests.webapp import bench_rows
from tests.webapp.fake_workers import do_work
from webapp import reaper
from webapp.bench.comparisons import overview
from webapp.bench.comparisons.forms import preset_choices, task_choices
from webapp.comparisons import background, csv_tables, report
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.contrasts import Contrast
from webapp.comparisons.experiment_results import Result
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.experiments import loop
from webapp.experiments.models import Experiment, LanguageModel, ModelCall, Request

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NEW = "/bench/comparisons/new/"
FORM: dict[str, Any] = {
    "tasks": ["Cartpole"],
    "methods": ["icpl"],
    "variants": "open_loop:k=3\n",
    "candidates": 6,
    "experiments": 2,
    "judge": "proxy",
    "judge_options": "",
    "preset": "quick",
    "seed": 0,
    "retrain": 0,
}


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def planned(**values: Any) -> Comparison:
    settings = {"tasks": ["Cartpole"], "methods": ["icpl:k=3", "open_loop:k=3"], "candidates": 6, "experiments": 2}
    return Comparison.objects.create(name="C", **{**settings, "retrain": 0, **values})


def statuses(comparison: Comparison) -> list[str]:
    """Of the plan's experiments, in its order; "-" for those that are not made yet."""
    rows = comparison.plan.existing()
    found = [rows.get(comparison.plan.public_id(cell)) for cell in comparison.plan.cells()]
    return [row.status if row else "-" for row in found]


def running(comparison: Comparison) -> Experiment:
    (row,) = [row for row in comparison.plan.existing().values() if row.live]
    return row


def carried_through(comparison: Comparison) -> None:
    """What reaper and workers do, to the end."""
    while comparison.status == "running":
        live = [row for row in comparison.plan.existing().values() if row.live]
        for row in live:
            do_work(row)
        background.continue_running()
        comparison.refresh_from_db()


# --- planning -----------------------------------------------------------------------------------------------------


def test_the_form_makes_the_plan_that_the_command_makes_and_starts_nothing(admin_client: Client) -> None:
    answer = admin_client.post(NEW, FORM)
    row = Comparison.objects.get()
    assert answer.status_code == 302 and answer["Location"] == f"/bench/comparisons/{row.public_id}/"
    arms = (parse_arm("icpl", 6), parse_arm("open_loop:k=3", 6))
    same = Plan(("Cartpole",), arms, 2, 6, contrasts=(Contrast(arms[1], arms[0]),))
    assert row.plan == same and row.plan.name == same.name
    assert row.name == "ICPL, OpenLoop on Cartpole" and row.status == "planned"
    background.continue_running()
    assert not Experiment.objects.exists()


def test_required_fields_are_marked(admin_client: Client) -> None:
    text = admin_client.get(NEW).content.decode()
    assert "Fields with a * must be filled in." in text
    labels = [text.split(f'for="id_{name}">')[1].split("</label>")[0] for name in ("candidates", "variants")]
    assert ["*" in label for label in labels] == [True, False]


def test_tasks_are_listed_by_kind(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """In lists and among boxes alike; each of Prefine's tasks has a kind, and one's own come last."""
    assert set(catalog.group_tasks()) == set(catalog.KINDS)
    assert sorted(name for names in catalog.group_tasks().values() for name in names) == sorted(catalog.tasks())
    own = {**catalog.tasks(), "Hopper": replace(catalog.task("Ant"), name="Hopper", kind="Your own")}
    monkeypatch.setattr(catalog, "tasks", lambda: own)
    assert [*catalog.group_tasks()][-1] == "Your own"
    boxes = admin_client.get(NEW).text.partition("<legend>Tasks")[2].partition("</fieldset>")[0]
    headings = re.findall(r'class="kind"[^>]*>([^<]+)<', boxes)
    assert headings == [*catalog.KINDS, "Your own"] and 'value="Cartpole"' in boxes.split("Balance and flight")[1]
    for page in ("/admin/experiments/experiment/add/", "/bench/studies/new/"):
        groups = re.findall(r'<optgroup label="([^"]+)"', admin_client.get(page).text)
        assert groups[: len(catalog.KINDS)] == [*catalog.KINDS]


def test_each_model_has_its_part_in_every_experiment(admin_client: Client) -> None:
    roles = ("model", "describer", "judge_model", "vision")
    rows = {role: LanguageModel.objects.create(name=role, kind="openai", base_url="http://x/v1") for role in roles}
    answer = admin_client.post(NEW, {**FORM, "judge": "model", **{role: row.pk for role, row in rows.items()}})
    comparison = Comparison.objects.get()
    background.start(comparison)
    background.continue_running()
    assert Experiment.objects.exists()
    for row in Experiment.objects.all():
        assert {role: getattr(row, role) for role in roles} == rows
    page = admin_client.get(answer["Location"]).content.decode()
    assert all(str(row) in page for row in rows.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"methods": [], "variants": ""}, "Choose at least one method"),
        ({"variants": "magic"}, "unknown method &#x27;magic&#x27;"),
        ({"variants": "icpl:colour=red"}, "has no option &#x27;colour&#x27;"),
        ({"tasks": []}, "This field is required"),
        ({"tasks": ["HumanoidJump"]}, "HumanoidJump is not one of the available choices"),
        ({"iterations": 10**6}, "must be between 1 and"),
        ({"candidates": 1}, "cannot spend 1 candidates"),
        ({"judge_options": "beta"}, "write it as name=value"),
        ({"judge_options": "colour=red"}, "has no option &#x27;colour&#x27;"),
        ({"experiments": 0}, "greater than or equal to 1"),
        ({"methods": ["magic"]}, "magic is no method for tasks of this kind"),
        ({"tasks": ["staircase"]}, "staircase is not one of the available choices"),
        ({"judge": "human"}, "human is not one of the available choices"),
    ],
)
def test_what_cannot_be_compared_is_said_and_what_was_typed_stays(
    admin_client: Client, change: dict[str, Any], words: str
) -> None:
    answer = admin_client.post(NEW, {**FORM, "name": "My own name", **change})
    assert answer.status_code == 422 and words in answer.content.decode() and "My own name" in answer.content.decode()
    assert not Comparison.objects.exists()


def test_the_baseline_is_chosen_and_shown(admin_client: Client) -> None:
    wanted = {**FORM, "methods": ["icpl", "open_loop"], "variants": "icpl:k=3"}
    answer = admin_client.post(NEW, {**wanted, "baseline": "open_loop"})
    row = Comparison.objects.get()
    assert row.methods == ["open_loop", "icpl", "icpl:k=3"] and row.plan.baseline.method == "open_loop"
    page = admin_client.get(answer["Location"]).content.decode()
    assert "baseline: OpenLoop" in page and page.count("<small>baseline</small>") == 1
    admin_client.post(NEW, {**wanted, "baseline": "variant"})
    assert Comparison.objects.first().methods[0] == "icpl:k=3"  # type: ignore[union-attr]
    assert b"not among those that are compared" in admin_client.post(NEW, {**wanted, "baseline": "eureka"}).content


def test_the_form_says_which_tasks_have_a_preset() -> None:
    titles = dict(preset_choices())
    assert titles["quick"] == catalog.PRESETS["quick"]
    for name, title in titles.items():
        lacking = [task for task, _ in task_choices("robots") if name not in catalog.task(task).presets]
        assert bool(lacking) == (" (only " in title or " (not " in title)


def test_before_the_start_it_says_what_it_may_cost(admin_client: Client) -> None:
    paid = {"price_input": 1.0, "price_output": 5.0}
    model = LanguageModel.objects.create(name="M", kind="openai", base_url="http://x.example/v1", model="m", **paid)
    free, dear = planned(), planned(model=model, token_budget=20_000)
    assert overview.build_overview(free).ceiling.free
    most = overview.build_overview(dear).ceiling
    assert (most.experiments, most.tokens) == (4, 80_000) and most.dollars == pytest.approx(0.4)
    assert overview.build_overview(
        planned(model=model, token_budget=20_000, dollar_budget=0.05)
    ).ceiling.dollars == pytest.approx(0.2)
    assert overview.build_overview(planned(model=model)).ceiling.tokens is None
    page = admin_client.get(f"/bench/comparisons/{dear.public_id}/").content.decode()
    assert "Candidates to try</dt><dd>24<" in page and "$0.40" in page
    background.start(dear)
    assert running(dear).token_budget == 20_000


def test_without_known_prices_a_budget_in_dollars_promises_nothing(admin_client: Client) -> None:
    unknown, listed = (
        LanguageModel.objects.create(name=name, kind="openai", base_url="http://x.example/v1", model=name)
        for name in ("nobody-sells-this", next(iter(prices.table())))
    )
    row = planned(model=unknown, dollar_budget=0.05)
    assert overview.build_overview(row).ceiling.dollars is None
    assert "unknown prices" in admin_client.get(f"/bench/comparisons/{row.public_id}/").content.decode()
    assert overview.build_overview(planned(model=listed, dollar_budget=0.05)).ceiling.dollars == pytest.approx(0.2)
    assert overview.build_overview(planned(model=listed, token_budget=1_000_000)).ceiling.dollars


def test_a_report_from_elsewhere_is_counted_and_not_run_again(admin_client: Client, tmp_path: Path) -> None:
    first = planned(methods=["icpl:k=3"], experiments=1)
    background.start(first)
    carried_through(first)
    request = Request.objects.first()
    for number, model in enumerate(("writer-1", *[MODEL] * 6)):
        call = {**bench_rows.make_call("text"), "model": model}
        ModelCall.objects.create(request=request, request_hash=f"{number}", seed=1, **call)
    report.write_report(first.plan, tmp_path / "there")
    Experiment.objects.all().delete()
    tables = [tmp_path / "there" / name for name in csv_tables.READ_BACK]
    sent = {**FORM, "methods": [], "variants": "icpl:k=3"}

    def send(**files: Path) -> Any:
        read = {name: SimpleUploadedFile(path.name, path.read_bytes()) for name, path in files.items()}
        return admin_client.post(NEW, {**sent, **read})

    assert "Choose both tables" in send(elsewhere_experiments=tables[0]).text
    assert (
        "It cannot be used: experiments.csv has no"
        in send(elsewhere_experiments=tables[1], elsewhere_rounds=tables[0]).text
    )
    [found] = csv_tables.read_reports(first.plan, [tmp_path / "there"]).values()
    assert isinstance(found, Result)
    assert (found.calls, found.offline_calls) == (1, 6)
    cost = next(line for line in (tmp_path / "there" / "report.md").read_text().splitlines() if "6.0" in line)
    assert [cell.strip() for cell in cost.split("|")][4:6] == ["1", "6.0"]
    address = send(elsewhere_experiments=tables[0], elsewhere_rounds=tables[1])["Location"]
    row = Comparison.objects.exclude(pk=first.pk).get()
    background.start(row)
    assert statuses(row) == ["-", "running"]
    page = admin_client.get(address).text
    assert "Finished elsewhere</dt><dd>1<" in page and page.count("<small>finished elsewhere</small>") == 1
    carried_through(row)
    assert row.status == "finished" and statuses(row) == ["-", "finished"]
    text = admin_client.get(f"{address}files/report.md").text
    assert "2 of 2 experiments finished" in text and "| ICPL on Cartpole, 1 |" in text and "| uploaded |" in text


def test_before_there_is_one_the_list_says_what_it_is_for(admin_client: Client) -> None:
    assert "Nothing has been compared here yet" in admin_client.get("/bench/comparisons/").content.decode()


# --- carrying through ---------------------------------------------------------------------------------------------


def test_it_runs_one_experiment_after_another_to_the_end() -> None:
    row = planned()
    assert background.start(row) and not background.start(row)
    assert statuses(row) == ["running", "-", "-", "-"]
    background.continue_running()
    assert statuses(row) == ["running", "-", "-", "-"]
    do_work(running(row))
    background.continue_running()
    assert statuses(row) == ["finished", "running", "-", "-"]
    carried_through(row)
    assert row.status == "finished" and statuses(row) == ["finished"] * 4
    assert background.read_state(row).seconds_left == 0 and not background.pause(row) and not background.cancel(row)


def test_what_is_finished_already_is_read_and_not_run_again(admin_client: Client) -> None:
    earlier = planned(methods=["icpl:k=3"])
    background.start(earlier)
    carried_through(earlier)
    wider = planned(experiments=3)
    assert background.read_state(wider).finished == 2 and background.read_state(wider).candidates == 12
    background.start(wider)
    assert statuses(wider) == ["finished", "running", "finished", "-", "-", "-"]
    assert (
        "Read, not run again</dt><dd>2</dd>"
        in admin_client.get(f"/bench/comparisons/{wider.public_id}/").content.decode()
    )
    assert background.read_state(planned(label="again")).finished == 0


def test_the_command_goes_on_with_what_the_site_has_done(capsys: pytest.CaptureFixture[str]) -> None:
    row = planned(methods=["icpl:k=3"])
    background.start(row)
    carried_through(row)
    words = ["--tasks", "Cartpole", "--methods", "icpl:k=3", "--budget", "candidates=6", "--experiments", "2"]
    call_command("compare", *words, "--retrain", "0", "--controls")
    said = capsys.readouterr().out
    assert "0 of 12 candidates to try" in said and Experiment.objects.count() == 2


def test_a_pause_puts_the_running_experiment_down_and_resuming_goes_on() -> None:
    row = planned()
    background.start(row)
    assert background.pause(row) and running(row).paused
    background.continue_running()
    assert statuses(row) == ["running", "-", "-", "-"] and row.status == "paused"
    assert background.start(row) and not running(row).paused
    carried_through(row)
    assert row.status == "finished"


def test_a_cancel_ends_what_runs_and_starts_nothing_more() -> None:
    row = planned()
    background.start(row)
    do_work(running(row))
    background.continue_running()
    assert background.cancel(row)
    background.continue_running()
    assert statuses(row) == ["finished", "cancelled", "-", "-"] and row.status == "cancelled"
    assert not background.start(row)


def test_what_another_comparison_wants_is_left_alone() -> None:
    first, second = planned(), planned(methods=["icpl:k=3"])
    background.start(first)
    background.start(second)  # the same experiment, which runs
    assert statuses(second)[0] == "running"
    assert background.pause(first) and not running(second).paused
    assert background.cancel(first) and statuses(second)[0] == "running"
    assert background.pause(second) and running(second).paused
    assert background.cancel(second) and statuses(second) == ["cancelled", "-"]


def test_what_only_a_waiting_comparison_wants_is_put_down_with_the_one_that_ran_it() -> None:
    first, second = planned(), planned(methods=["icpl:k=3"])
    background.start(first)
    assert background.cancel(first) and running(second).paused
    assert background.start(second) and not running(second).paused


def test_one_that_was_deleted_meanwhile_stops_no_reaper(monkeypatch: pytest.MonkeyPatch) -> None:
    row = planned()
    background.start(row)
    Comparison.objects.all().delete()
    monkeypatch.setattr(reaper, "STEPS", (lambda: background.start_next(row),))
    reaper.tick()


def test_a_full_disk_ends_no_comparison_without_its_records(
    settings: LazySettings, caplog: pytest.LogCaptureFixture, admin_client: Client
) -> None:
    row = planned(methods=["open_loop:k=3"], experiments=1)
    background.start(row)
    do_work(running(row))
    (settings.DATA_DIR / "records").write_text("a file where the folder should be")
    for _ in range(3):
        background.continue_running()
    row.refresh_from_db()
    assert row.status == "running"
    assert caplog.text.count("cannot write the record") == 1, "a reaper tries every second"
    page = admin_client.get(f"/bench/comparisons/{row.public_id}/").content.decode()
    assert "If the disk of the data folder is full, make room" in page
    (settings.DATA_DIR / "records").unlink()
    background.continue_running()
    row.refresh_from_db()
    assert row.status == "finished" and len(list((settings.DATA_DIR / "records").iterdir())) == 1


def test_more_experiments_cost_its_page_no_more_queries() -> None:
    few, many = planned(experiments=1), planned(experiments=4)

    def queries(row: Comparison) -> int:
        with CaptureQueriesContext(connection) as made:
            overview.build_overview(row)
        return len(made)

    for row in (few, many):
        background.start(row)
        carried_through(row)
    assert row.status == "finished" and queries(many) == queries(few)


def test_a_failure_holds_up_nothing_and_is_tried_again() -> None:
    row = planned()
    background.start(row)
    loop.advance(first := running(row))
    Experiment.objects.filter(pk=first.pk).update(status="failed", error="the endpoint is away")
    background.continue_running()
    carried_through(row)
    assert row.status == "failed" and statuses(row) == ["failed", "finished", "finished", "finished"]
    assert background.start(row) and statuses(row)[0] == "running"
    carried_through(row)
    assert row.status == "finished"


# --- the page -----------------------------------------------------------------------------------------------------


def test_the_page_shows_scores_progress_and_what_runs(admin_client: Client) -> None:
    row = planned()
    page = f"/bench/comparisons/{row.public_id}/"
    assert "Not started" in admin_client.get(page).content.decode()
    admin_client.post(f"{page}do/start/")
    row.refresh_from_db()
    do_work(running(row))
    background.continue_running()
    do_work(running(row), until="Write")
    shown = admin_client.get(page).content.decode()
    assert re.search(r"Experiments finished</dt><dd>1 of 4<", shown) and "Candidates tried</dt><dd>6 of 24<" in shown
    assert re.search(r'id="running">OpenLoop on Cartpole, 1 of 2</a>: round 1, writing', shown)
    assert 'hx-trigger="every 5s"' in shown and "499 ± 0 (ICPL)" in shown
    assert re.search(r'data-label="Mean TS">22\.00?0?\s*<', shown)
    assert shown.count("curves-Cartpole.svg") == 1
    wider = planned(tasks=["Cartpole", "Ant"])
    assert "curves-Ant" not in admin_client.get(f"/bench/comparisons/{wider.public_id}/").content.decode()
    fragment = admin_client.get(page, headers={"HX-Request": "true"}).content.decode()
    assert fragment.lstrip().startswith("<div") and "<html" not in fragment and "1 of 4" in fragment
    assert "1 of 4 experiments" in admin_client.get("/bench/comparisons/").content.decode()


def test_its_files_are_those_of_the_command(admin_client: Client, own_folder: None) -> None:
    row = planned(methods=["icpl:k=3"])
    background.start(row)
    carried_through(row)
    files = f"/bench/comparisons/{row.public_id}/files/"
    report = admin_client.get(f"{files}report.md")
    assert "2 of 2 experiments finished" in report.content.decode() and "attachment" in report["Content-Disposition"]
    assert admin_client.get(f"{files}rounds.csv").content.decode().count("\n") == 5
    figure = admin_client.get(f"{files}curves-Cartpole.svg")
    assert figure["Content-Type"] == "image/svg+xml" and b"<svg" in figure.content
    for name in ("other.csv", "..%2Fdb.sqlite3", "secret_key", "report.txt"):
        assert admin_client.get(files + name).status_code == 404


def test_a_plan_whose_method_is_gone_says_so(admin_client: Client) -> None:
    row = planned(methods=["was_removed"])
    answer = admin_client.get(f"/bench/comparisons/{row.public_id}/")
    assert "cannot be read any more: unknown method" in answer.content.decode()


def test_a_running_one_whose_method_is_gone_ends_and_holds_up_no_other(admin_client: Client) -> None:
    gone, other = planned(methods=["was_removed"], status="running"), planned(status="running")
    place = f"/bench/comparisons/{gone.public_id}/"
    assert admin_client.get("/bench/comparisons/").status_code == 200
    assert admin_client.get(f"{place}files/report.md").status_code == 404
    answer = admin_client.post(f"{place}do/pause/", follow=True)
    assert "cannot be read any more: unknown method" in answer.content.decode()
    background.continue_running()
    gone.refresh_from_db()
    assert gone.status == "failed" and statuses(other)[0] == "running"


# --- the admin ------------------------------------------------------------------------------------------------


def test_the_admin_leads_to_the_comparisons_and_to_a_new_one(admin_client: Client) -> None:
    html = admin_client.get("/admin/").content.decode()
    assert 'href="/bench/comparisons/"' in html and f'href="{NEW}"' in html
    page = admin_client.get("/admin/comparisons/comparison/").content.decode()
    (button,) = re.findall(r'href="(/admin/comparisons/comparison/[^"]*)"[^>]*>\s*(?:<[^>]*>\s*)*New comparison', page)
    answer = admin_client.get(button)
    assert answer.status_code == 302 and answer["Location"] == NEW
