"""Comparisons on the site: carried through by the reaper, paused, cancelled, read and downloaded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.webapp.comparison_plans import carried_through, planned, running, statuses
from tests.webapp.dashboard_pages import html
from tests.webapp.fake_workers import do_work
from webapp import reaper
from webapp.bench.comparisons import overview
from webapp.comparisons import background, command_plan
from webapp.comparisons.models import Comparison
from webapp.experiments import headless, loop
from webapp.experiments.models import Experiment

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
NEW = "/bench/comparisons/new/"


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


# --- planning -----------------------------------------------------------------------------------------------------


def test_before_there_is_one_the_list_says_what_it_is_for(admin_client: Client) -> None:
    assert "Nothing has been compared here yet" in admin_client.get("/bench/comparisons/").content.decode()


# --- carrying through ---------------------------------------------------------------------------------------------


def test_it_runs_one_experiment_after_another_to_the_end() -> None:
    row = planned(candidates=3)
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


def test_a_plan_says_what_the_command_began_of_it(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = planned()
    address = f"/bench/comparisons/{row.public_id}/"
    before = html(admin_client.get(address))
    assert "Not started. Start runs 4 experiments" in before and "hx-get" not in before

    def run(experiment: Experiment, report: Any) -> None:
        if Experiment.objects.count() == 3:
            raise KeyboardInterrupt  # while the third runs
        do_work(experiment)

    monkeypatch.setattr(headless, "run_to_end", run)
    monkeypatch.setattr(headless, "end_on_signals", lambda: None)
    words = ["--tasks", "Cartpole", "--methods", "icpl:k=3", "open_loop:k=3", "--budget", "candidates=6"]
    with pytest.raises(SystemExit):
        call_command("compare", *words, "--experiments", "2", "--retrain", "0", "--controls")
    assert statuses(row) == ["finished", "finished", "running", "-"]
    page = html(admin_client.get(address))
    assert "<code>./prefine compare</code> or another comparison began 3 of these experiments. Start runs 2" in page
    assert "Not started" not in page and 'hx-trigger="every 5s"' in page, "it follows what runs"


def test_what_the_command_runs_has_a_row_on_the_bench(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(experiment: Experiment, report: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(headless, "run_to_end", stop)
    monkeypatch.setattr(headless, "end_on_signals", lambda: None)
    words = ["compare", "--tasks", "cartpole", "--methods", "icpl:k=3", "Few=icpl:k=2", "--budget", "candidates=6"]
    words += ["--experiments", "1", "--retrain", "2"]
    call_command(*words, "--plan")
    assert not Comparison.objects.exists(), "it only says what would run"
    with pytest.raises(SystemExit):
        call_command(*words)
    row = Comparison.objects.get()
    assert row.name == "ICPL; Few; ICPL, repeated on Cartpole" and row.left_to_command
    index, page = (
        html(admin_client.get("/bench/comparisons/")),
        html(admin_client.get(f"/bench/comparisons/{row.public_id}/")),
    )
    assert "On the command line" in index and "0 of 8 experiments" in index
    assert "Begun by <code>./prefine compare</code>" in page and "Cancelling ends the experiments there too" in page
    monkeypatch.setattr(headless, "run_to_end", lambda experiment, report: do_work(experiment))
    call_command(*words)
    row = Comparison.objects.get()
    assert (
        row.status == "finished"
        and not row.left_to_command
        and "finished" in html(admin_client.get("/bench/comparisons/"))
    )


def test_the_command_leaves_a_row_of_the_bench_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    row = planned(methods=["icpl:k=3"], experiments=1)
    monkeypatch.setattr(headless, "run_to_end", lambda experiment, report: do_work(experiment))
    monkeypatch.setattr(headless, "end_on_signals", lambda: None)
    words = ["--tasks", "Cartpole", "--methods", "icpl:k=3", "--budget", "candidates=6", "--experiments", "1"]
    call_command("compare", *words, "--retrain", "0", "--controls")
    assert list(Comparison.objects.values_list("pk", "status", "by_command")) == [(row.pk, "planned", False)]


def test_two_commands_that_begin_at_once_make_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Comparison(tasks=["Cartpole"], methods=["icpl:k=3"], candidates=6) for _ in range(2))
    monkeypatch.setattr(command_plan, "_find_on_bench", lambda plan: None)  # neither has seen the other's
    rows = [command_plan.list_on_bench(row, row.plan) for row in (first, second)]
    assert rows[0].pk == rows[1].pk and Comparison.objects.count() == 1


def test_a_command_that_begins_again_with_other_budgets_says_so_on_the_bench() -> None:
    for budget in (5, None, 70):
        row = Comparison(tasks=["Cartpole"], methods=["icpl:k=3"], candidates=6, token_budget=budget)
        command_plan.list_on_bench(row, row.plan)
        assert Comparison.objects.get().token_budget == budget


def test_a_label_that_the_bench_cannot_keep_runs_without_a_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(headless, "run_to_end", lambda experiment, report: do_work(experiment))
    monkeypatch.setattr(headless, "end_on_signals", lambda: None)
    words = ["--tasks", "Cartpole", "--methods", "icpl:k=3", "--budget", "candidates=6", "--experiments", "1"]
    call_command("compare", *words, "--retrain", "0", "--controls", "--label", "x" * 70)
    assert not Comparison.objects.exists() and Experiment.objects.get().status == "finished"
    said = capsys.readouterr().err
    assert "The bench does not list this comparison. label: " in said and "at most 60 characters" in said


def test_a_pause_puts_the_running_experiment_down_and_resuming_goes_on() -> None:
    row = planned(candidates=3)
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
    few, many = planned(candidates=3, experiments=1), planned(candidates=3, experiments=3)

    def queries(row: Comparison) -> int:
        with CaptureQueriesContext(connection) as made:
            overview.build_overview(row)
        return len(made)

    for row in (few, many):
        background.start(row)
        carried_through(row)
    assert row.status == "finished" and queries(many) == queries(few)


def test_a_failure_holds_up_nothing_and_is_tried_again() -> None:
    row = planned(candidates=3)
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
    assert f'href="{NEW}">New comparison</a>' in page
