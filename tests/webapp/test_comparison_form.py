"""The form that plans a comparison: what it makes, refuses, says and costs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from llm import prices
from llm.offline import MODEL
from simulation import catalog
from tests.webapp import bench_rows
from tests.webapp.comparison_plans import carried_through, planned, running, statuses
from webapp.bench.comparisons import overview
from webapp.bench.comparisons.forms import SECTIONS, ComparisonForm, list_preset_choices, list_task_choices
from webapp.comparisons import background, csv_tables, report
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.contrasts import Contrast
from webapp.comparisons.experiment_results import Result
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan, list_revisions
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


def test_the_form_makes_the_plan_that_the_command_makes_and_starts_nothing(admin_client: Client) -> None:
    answer = admin_client.post(NEW, FORM)
    row = Comparison.objects.get()
    assert answer.status_code == 302 and answer["Location"] == f"/bench/comparisons/{row.public_id}/"
    arms = (parse_arm("icpl", 6), parse_arm("open_loop:k=3", 6))
    revisions = {name: value for name, value in list_revisions().items() if name.split()[1] == "Cartpole"}
    same = Plan(("Cartpole",), arms, 2, 6, contrasts=(Contrast(arms[1], arms[0]),), revisions=revisions)
    assert row.plan == same and row.plan.name == same.name
    assert row.name == "ICPL, OpenLoop on Cartpole" and row.status == "planned"
    background.continue_running()
    assert not Experiment.objects.exists()


def test_required_fields_are_marked(admin_client: Client) -> None:
    text = admin_client.get(NEW).content.decode()
    assert "Fields with a * must be filled in." in text
    labels = [text.split(f'for="id_{name}">')[1].split("</label>")[0] for name in ("candidates", "variants")]
    assert ["*" in label for label in labels] == [True, False]


def test_what_is_rarely_needed_is_folded_until_it_is_set(admin_client: Client) -> None:
    form = ComparisonForm()
    assert {name for names in SECTIONS.values() for name in names} == form.fields.keys()
    assert [is_open for title, _, is_open in form.sections if title] == [False] * (len(SECTIONS) - 1)
    assert [kind for kind, _, is_open in form.grouped_tasks if is_open] == ["Balance and flight"]
    text = admin_client.post(NEW, {**FORM, "seed": "-1"}).content.decode()
    part = text.partition("training iterations, seed</summary>")
    assert part[0].endswith('<details class="plan-part" open><summary>Judge&#x27;s options, ')
    assert part[2].index("id_seed_error") < part[2].index("</details>")


def test_tasks_are_listed_by_kind(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """In lists and among boxes alike; each of Prefine's tasks has a kind, and one's own come last."""
    assert set(catalog.group_tasks()) == set(catalog.KINDS)
    assert sorted(name for names in catalog.group_tasks().values() for name in names) == sorted(catalog.list_tasks())
    own = {**catalog.list_tasks(), "Hopper": replace(catalog.get_task("Ant"), name="Hopper", kind="Your own")}
    monkeypatch.setattr(catalog, "list_tasks", lambda: own)
    assert [*catalog.group_tasks()][-1] == "Your own"
    boxes = admin_client.get(NEW).text.partition("<legend>Tasks")[2].partition("</fieldset>")[0]
    headings = re.findall(r"<summary[^>]*>(.+?) \(\d+\)<", boxes)
    assert headings == [*catalog.KINDS, "Your own"] and 'value="Cartpole"' in boxes.split("Balance and flight")[1]
    for page in ("/bench/new/", "/bench/studies/new/"):
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
        ({"candidates": 0}, 'min="1"'),
        ({"methods": ["magic"]}, "magic is no method for tasks of this kind"),
        ({"tasks": ["staircase"]}, "staircase is not one of the available choices"),
        ({"judge": "human"}, "human is not one of the available choices"),
    ],
)
def test_what_cannot_be_compared_is_said_and_what_was_typed_stays(
    admin_client: Client, change: dict[str, Any], words: str
) -> None:
    answer = admin_client.post(NEW, {**FORM, "name": "My own name", **change})
    page = answer.content.decode()
    assert answer.status_code == 422 and words in page and "My own name" in page
    assert page.count("greater than or equal to 1") <= 1
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
    titles = dict(list_preset_choices())
    assert titles["quick"] == catalog.PRESETS["quick"]
    for name, title in titles.items():
        tasks = [task for task, _ in list_task_choices("robots")]
        have = [task for task in tasks if name in catalog.get_task(task).presets]
        assert len(have) == len(tasks) or title.endswith(f" ({len(have)} of {len(tasks)} tasks)")


def test_the_form_lists_the_tasks_of_a_preset_that_not_all_have(admin_client: Client) -> None:
    page = admin_client.get(NEW).content.decode()
    listed = page.partition("Which tasks have which preset?")[2].partition("</details>")[0]
    have = [task for task, _ in list_task_choices("robots") if "quick-sac" in catalog.get_task(task).presets]
    assert f"<strong>{catalog.PRESETS['quick-sac']}</strong>: {', '.join(have)}</p>" in listed
    assert f"<strong>{catalog.PRESETS['quick']}</strong>" not in listed


def test_before_the_start_it_says_what_it_may_cost(admin_client: Client) -> None:
    paid = {"price_input": 1.0, "price_output": 5.0}
    model = LanguageModel.objects.create(name="M", kind="openai", base_url="http://x.example/v1", model="m", **paid)
    free, dear = planned(), planned(model=model, token_budget=20_000)
    assert overview.build_overview(free).ceiling.free
    most = overview.build_overview(dear).ceiling
    assert (most.experiments, most.tokens) == (4, 80_000) and most.dollars == pytest.approx(0.4)
    again = overview.build_overview(planned(model=model, token_budget=20_000, retrain=5))
    assert again.ceiling == most, "winners and references are trained without a model"
    assert again.to_run == "10 experiments one after another: 4 of methods, 6 of winners and references"
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
        for name in ("nobody-sells-this", next(iter(prices.read_table())))
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
