"""Arms of a comparison have names of their own, and those that cannot differ are named before it runs."""

from __future__ import annotations

import csv
import json
import re
import uuid
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from llm.methods import METHODS
from simulation import catalog
from simulation.catalog import Preset, SacPreset
from tests.webapp.fake_workers import create_experiment
from webapp.comparisons import command_plan, csv_tables, experiment_results, report, settings_digests
from webapp.comparisons.arms import MOST_ROUNDS, add_usual, name_arms, parse_arm
from webapp.comparisons.management.commands import compare
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import REFERENCES, Plan, list_revisions
from webapp.comparisons.plan_warnings import describe_equal_arms
from webapp.experiments.loop import describe_task
from webapp.experiments.models import Candidate, Experiment, Iteration, LanguageModel

pytestmark = pytest.mark.django_db
NEW = "/bench/comparisons/new/"
FORM: dict[str, Any] = {
    **{"tasks": ["Cartpole"], "methods": ["icpl"], "variants": "icpl:k=3", "candidates": 6, "experiments": 2},
    **{"judge": "proxy", "judge_options": "", "preset": "quick", "seed": 0, "retrain": 0},
}


def plan_of(*methods: str, candidates: int = 6, **values: Any) -> Plan:
    arms = name_arms(parse_arm(text, candidates) for text in methods)
    return Plan(**{"tasks": ("Cartpole",), "arms": arms, "experiments": 1, "candidates": candidates, **values})


def finish(plan: Plan) -> None:
    """Every experiment with one candidate, whose score is its place."""
    for place, cell in enumerate(plan.cells(), 1):
        row = plan.experiment(cell)
        only = Candidate(iteration=Iteration.objects.create(experiment=row, number=1), index=1, status="trained")
        only.rts = float(place)
        only.save()
        Experiment.objects.filter(pk=row.pk).update(status="finished", winner=only)


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("methods", "labels"),
    [
        (["icpl", "icpl:k=3", "open_loop"], ["ICPL, K=6", "ICPL, K=3", "OpenLoop"]),
        (["icpl:k=3", "rf_agent:search=bfs"], ["ICPL", "RF-Agent (search=bfs)"]),
        (
            ["rf_agent:search=bfs", "rf_agent:search=bfs,k=3"],
            ["RF-Agent (search=bfs), K=6", "RF-Agent (search=bfs), K=3"],
        ),
        (["scaling_turn", "scaling_turn:k=1"], ["Turn scaling (reflection)"]),
        (["icpl", "Few at once=icpl:k=3", "icpl:k=3"], ["ICPL", "Few at once"]),
    ],
)
def test_a_label_is_unique_and_says_what_differs(methods: list[str], labels: list[str]) -> None:
    assert [arm.label for arm in plan_of(*methods).arms] == labels


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (["A=icpl", "A=open_loop"], "two arms are called 'A'"),
        (["ICPL=open_loop", "icpl"], "two arms are called 'ICPL'"),
        (["A=icpl", "B=icpl"], "'A' and 'B' are the same method with the same options"),
        (["=icpl"], "cannot be a name"),
        (["-1=icpl"], "cannot be a name"),
        ([f"{'A' * 61}=icpl"], "at most 60 characters"),
    ],
)
def test_an_own_name_that_is_not_unique_is_refused(methods: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan_of(*methods)


def test_names_make_no_other_experiments() -> None:
    plain, named = plan_of("icpl:k=3"), plan_of("Few at once=icpl:k=3")
    assert plain.public_ids == named.public_ids == plan_of("icpl:k=3", "icpl").public_ids[:1]
    assert plain.name != named.name  # the reports differ


@pytest.mark.slow
def test_variants_are_told_apart_in_every_table_and_figure(tmp_path: Path, admin_client: Client) -> None:
    answer = admin_client.post(NEW, FORM)
    comparison = Comparison.objects.get()
    assert comparison.name == "ICPL, K=6; ICPL, K=3 on Cartpole"
    finish(comparison.plan)
    text = report.write_report(comparison.plan, tmp_path).read_text()
    assert "each: ICPL, K=6; ICPL, K=3\n" in text and "against ICPL, K=6 |" in text
    for name in ("summary.csv", "experiments.csv", "rounds.csv"):
        with (tmp_path / name).open() as file:
            assert {row["label"] for row in csv.DictReader(file)} == {"ICPL, K=6", "ICPL, K=3"}, name
    for figure in tmp_path.glob("*.svg"):
        assert "ICPL, K=6" in figure.read_text() and "ICPL, K=3" in figure.read_text()
    page = admin_client.get(answer["Location"]).content.decode()
    assert "baseline: ICPL, K=6" in page and '<th scope="row">ICPL, K=3</th>' in page
    experiments = re.findall(r"ICPL, K=\d on Cartpole, \d of \d", page)
    assert len(experiments) == len(set(experiments)) == len(comparison.plan.public_ids)


def test_an_own_name_is_kept_and_shown(admin_client: Client) -> None:
    answer = admin_client.post(NEW, {**FORM, "variants": "Few at once=icpl:k=3"})
    page = admin_client.get(answer["Location"]).content.decode()
    assert Comparison.objects.get().name == "ICPL, Few at once on Cartpole" and "Few at once</th>" in page
    refused = admin_client.post(NEW, {**FORM, "variants": "ICPL=open_loop"})
    assert refused.status_code == 422 and "two arms are called &#x27;ICPL&#x27;" in refused.content.decode()


def test_a_report_with_labels_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    plan = plan_of("icpl", "icpl:k=3")
    finish(plan)
    report.write_report(plan, tmp_path)
    for name in csv_tables.READ_BACK:
        path = tmp_path / name
        path.write_text(path.read_text().replace('"ICPL, K=6"', "ICPL").replace('"ICPL, K=3"', "ICPL"))
        assert "K=" not in path.read_text()
    Experiment.objects.all().delete()
    found = csv_tables.read_reports(plan, [tmp_path])
    results = experiment_results.read_results(plan, found)
    assert [(result.arm.label, result.ts) for result in results] == [("ICPL, K=6", 1.0), ("ICPL, K=3", 2.0)]


# --- equal arms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [3, 6])
def test_arms_that_one_round_makes_equal_are_named(candidates: int) -> None:
    (words,) = describe_equal_arms(plan_of("icpl", "open_loop", "eureka", candidates=candidates))
    assert words.startswith(f"ICPL and OpenLoop are equal here: in 1 round of {candidates} candidates")


def test_arms_that_differ_are_not_named() -> None:
    assert describe_equal_arms(plan_of("icpl:k=3", "open_loop:k=3", "icpl:k=2")) == []
    assert describe_equal_arms(plan_of("icpl", "icpl:measures=true", "open_loop", "rf_agent", candidates=12)) == []


@pytest.mark.slow
def test_equal_arms_are_named_before_it_runs(admin_client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    answer = admin_client.post(NEW, {**FORM, "methods": ["icpl", "open_loop"], "variants": ""})
    page = admin_client.get(answer["Location"]).content.decode()
    assert "ICPL and OpenLoop are equal here" in page and 'id="start"' in page
    words = ["compare", "--tasks", "Cartpole", "--methods", "icpl", "open_loop", "--budget"]
    call_command(*words, "candidates=6", "--plan")
    assert "Warning: ICPL and OpenLoop are equal here" in capsys.readouterr().out
    call_command(*words, "candidates=12", "--plan")
    assert "Warning" not in capsys.readouterr().out


def test_rda_looks_at_clips_where_a_vision_model_is_named(db: None) -> None:
    typed = ["icpl", "rda", "Mine=rda:k=2", "rda:analyst=numbers", "rda:analyst=frames,rollouts=2"]
    seen = ["icpl", "rda:analyst=frames", "Mine=rda:k=2,analyst=frames", *typed[3:]]
    assert add_usual(typed, True, False) == seen and add_usual(seen, True, False) == seen
    judged = ["scaling_3d:negative=uniform", "scaling_3d:negative=judge", "rda"]
    assert add_usual(["scaling_3d", *judged[1:]], False, True) == judged
    assert add_usual(["scaling_3d", "rda"], False, False) == ["scaling_3d", "rda"]
    eyes = LanguageModel.objects.create(name="Eyes", kind="openai", base_url="http://x/v1")
    row = Experiment(name="x", task="PushCube", method="rda", k=2, judge="proxy", vision=eyes)
    row.clean()
    assert row.options == {"analyst": "frames"} and row.watched
    row.options = {"analyst": "numbers"}
    row.clean()
    row.clean()
    assert row.options == {"analyst": "numbers"} and not row.watched
    blind = LanguageModel.objects.create(name="Blind")
    unseeing = Experiment(name="y", task="PushCube", method="rda", k=2, judge="proxy", vision=blind)
    unseeing.clean()
    assert unseeing.options == {}, "the offline writer sees no pictures"
    earlier = create_experiment(method="rda", k=2, judge="proxy")
    earlier.vision, earlier.options = eyes, {}
    earlier.clean()
    assert not earlier.watched, "a draft of an earlier version, where numbers were the default, stays with them"
    earlier.options = {"analyst": "frames"}
    earlier.clean()
    assert earlier.watched and earlier.options == {"analyst": "frames"}
    assert "def succeeded" in describe_task(row).success and describe_task(Experiment(task="Ant")).success == ""


def test_generations_of_16_are_one_box_away(admin_client: Client, capsys: Any) -> None:
    form = {**FORM, "methods": ["icpl", "eureka", "revolve"], "variants": "eureka:k=8", "candidates": 80}
    admin_client.post(NEW, {**form, "as_published": "on"})
    made = Comparison.objects.get()
    assert made.methods == ["icpl", "eureka:k=16", "revolve:k=16", "eureka:k=8"]
    assert [(arm.k, arm.n) for arm in made.plan.arms] == [(5, 16), (16, 5), (16, 5), (8, 10)]
    admin_client.post(NEW, form)
    assert Comparison.objects.first().methods == ["icpl", "eureka", "revolve", "eureka:k=8"]  # type: ignore[union-attr]
    words = ["--tasks", "Cartpole", "--methods", "eureka", "--budget", "candidates=80", "--plan", "--retrain", "0"]
    call_command("compare", *words, "--as-published")
    assert "16 x 5" in capsys.readouterr().out


def test_a_row_of_version_0_1_0_keeps_its_rounds() -> None:
    """It has no limit of its own for 16 candidates a round; the database fills in the earlier one."""
    values = {"tasks": ["Cartpole"], "methods": ["rf_agent", "eureka:k=16"], "candidates": 512, "experiments": 2}
    new = Comparison.objects.create(name="New", retrain=0, contrasts=["eureka:k=16 > rf_agent"], **values)
    assert [(arm.k, arm.n) for arm in new.plan.arms][1] == (16, 32)
    later = "most_large_rounds", "revisions"
    with connection.cursor() as cursor:
        columns = [f.column for f in Comparison._meta.concrete_fields if f.name not in ("id", *later)]
        kept = [f"'{uuid.uuid4().hex}'" if name == "public_id" else name for name in columns]
        table = Comparison._meta.db_table
        cursor.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(kept)} FROM {table}")
    old = Comparison.objects.exclude(pk=new.pk).get()
    assert [(arm.k, arm.n) for arm in old.plan.arms][1] == (32, 16)
    assert [one.first.k for one in old.plan.contrasts] == [32]
    assert old.plan.revisions == {} and int(new.plan.revisions["method rf_agent"]) > 1
    assert not {*old.plan.public_ids} & {*new.plan.public_ids}


@pytest.mark.parametrize("own", [False, True])
def test_a_command_goes_on_where_version_0_1_0_began(own: bool, tmp_path: Path, settings: Any) -> None:
    """With five experiments, RDA without frames and 20 rounds at most; a folder that was named tells by its table."""
    settings.DATA_DIR = tmp_path
    LanguageModel.objects.create(name="Eyes", kind="openai", base_url="http://x/v1")
    methods = ["icpl", "rda", "eureka:k=16"]
    words = ["--tasks", "PushCube", "--methods", *methods, "--budget", "candidates=512", "--vision", "Eyes"]
    words += ["--out", str(tmp_path / "mine")] if own else []

    def read(*more: str) -> tuple[Plan, Path]:
        options = vars(compare.Command().create_parser("", "compare").parse_args([*words, *more]))
        row, folder = command_plan.read_comparison(options)
        return row.plan, folder

    now, folder = read()
    assert now.experiments == 6 and now.arms[1].options and now.arms[2].k == 16 and now.retrain == 5
    old, _ = read("--retrain", "0", "--controls", "--experiments", "5")
    arms = name_arms(parse_arm(text, 512, MOST_ROUNDS) for text in methods)
    old = replace(old, arms=arms, contrasts=(), revisions={})
    place = folder if own else tmp_path / "comparisons" / old.name
    for cell in list(old.cells())[:3]:
        old.experiment(cell)
    report.write_report(old, place)
    found, again = read()
    assert again == place and found.public_ids == old.public_ids and found.retrain == 0
    assert own or read("--as-published")[0].public_ids == now.public_ids
    assert read("--retrain", "5")[0].public_ids == now.public_ids, "asked for what that version had not"
    assert read("--experiments", "7")[0].experiments == 7


def test_a_folder_of_today_is_not_taken_for_one_of_version_0_1_0(tmp_path: Path) -> None:
    words = ["--tasks", "PushCube", "--methods", "icpl", "eureka:k=16", "--budget", "candidates=512"]
    options = vars(compare.Command().create_parser("", "compare").parse_args([*words, "--out", str(tmp_path)]))
    begun = command_plan.make_comparison(options, options["methods"], 0, []).plan
    for cell in list(begun.cells())[:2]:
        begun.experiment(cell)
    report.write_report(begun, tmp_path)
    found = command_plan.read_comparison(options)[0].plan
    assert found.public_ids == begun.public_ids and found.experiments == 6


def test_another_revision_makes_other_experiments_but_in_comparisons_that_are_stored(monkeypatch: Any) -> None:
    values = {"tasks": ["Cartpole"], "methods": ["icpl", "open_loop"], "candidates": 6, "experiments": 1, "retrain": 2}
    row = Comparison.objects.create(name="Old", **values)
    plan = row.plan
    assert plan.public_ids == replace(plan, revisions={}).public_ids, "a first revision changes no id"
    monkeypatch.setitem(METHODS, "icpl", replace(METHODS["icpl"], revision=2))
    row.refresh_from_db()
    assert row.plan.all_ids == plan.all_ids
    new = Comparison.objects.create(name="New", **values).plan
    assert new.public_ids[0] != plan.public_ids[0] and new.public_ids[1] == plan.public_ids[1]
    assert [new.reference_id(*one) for one in new.references] == [plan.reference_id(*one) for one in plan.references]
    changed = replace(plan, revisions={"task Cartpole": 2})
    assert not {*changed.all_ids} & {*plan.all_ids}
    assert new.revisions["method icpl"] == 2 and {"task Quadcopter", "method icpl"} <= list_revisions().keys()
    assert all(name.split()[1] in {"Cartpole", "icpl"} for name in new.revisions), "nothing of other tasks"


def test_other_numbers_of_a_preset_or_another_human_reward_make_other_experiments(monkeypatch: Any) -> None:
    info = catalog.get_task("Cartpole")
    values = {"tasks": ["Cartpole"], "methods": ["icpl"], "candidates": 6, "experiments": 1, "retrain": 2}

    def plan_with(**changed: Any) -> Plan:
        preset = replace(info.presets["quick"], **changed)
        known = {**catalog.list_tasks(), "Cartpole": replace(info, presets={**info.presets, "quick": preset})}
        monkeypatch.setattr(catalog, "list_tasks", lambda: known)
        return Comparison(name="Numbers", **values).plan

    plan = plan_with()
    assert "preset Cartpole quick" not in plan.revisions, "as version 0.1.0 had it"
    assert not {*plan_with(iterations=7).all_ids} & {*plan.all_ids}
    assert plan_with().all_ids == plan.all_ids
    monkeypatch.setattr(catalog, "read_reference_reward", lambda name: "def compute_reward():\n    return 0.0")
    human, sparse = (("Cartpole", name) for name in REFERENCES)
    other = plan_with()
    assert other.reference_id(*human) != plan.reference_id(*human)
    assert other.reference_id(*sparse) == plan.reference_id(*sparse) and other.public_ids == plan.public_ids


def test_a_command_goes_on_with_what_it_began_after_a_presets_numbers_changed(monkeypatch: Any) -> None:
    words = ["--tasks", "PushCube", "--methods", "icpl", "open_loop", "--budget", "candidates=6"]

    def read(*more: str) -> Comparison:
        options = vars(compare.Command().create_parser("", "compare").parse_args([*words, *more]))
        return command_plan.read_comparison(options)[0]

    begun = command_plan.list_on_bench(first := read(), first.plan)
    monkeypatch.setattr(settings_digests, "list_changed", lambda: {"preset PushCube quick": "other numbers"})
    assert read().plan.all_ids == begun.plan.all_ids and command_plan.has_other_revisions(read().plan)
    assert not command_plan.has_other_revisions(again := read("--label", "again").plan)
    assert again.revisions == {"preset PushCube quick": "other numbers"}
    command_plan.note_end(begun, failed=False)
    assert not {*read().plan.all_ids} & {*begun.plan.all_ids}, "what has ended is compared again"
    assert read("--report").plan.all_ids == begun.plan.all_ids, "a report is of what is there"


def test_a_new_default_of_presets_changes_digests_and_a_new_field_does_not() -> None:
    first = json.loads(settings_digests.FIRST.read_text())["defaults"]
    for made in (Preset, SacPreset):
        given = {field.name for field in fields(made) if field.default is not MISSING}
        assert given <= first[made.algorithm].keys(), "enter the new field's default in first_settings.json"
    preset = catalog.get_preset("Ant", "paper")
    assert preset.gae_lambda == 0.95  # type: ignore[union-attr]

    @dataclass(frozen=True)
    class Later(Preset):
        gae_lambda: float = 0.9

    later = Later(**{name: value for name, value in asdict(preset).items() if name != "gae_lambda"})
    assert settings_digests.digest_preset(later) != settings_digests.digest_preset(preset)


def test_what_does_not_change_a_training_changes_no_digest() -> None:
    preset = catalog.get_preset("Ant", "quick")
    assert settings_digests.digest_preset(replace(preset, gamma=0.9)) != settings_digests.digest_preset(preset)
    assert settings_digests.digest_preset(replace(preset, gamma=preset.gamma)) == settings_digests.digest_preset(preset)
    assert settings_digests.digest_reward("x = 1  # one\n") == settings_digests.digest_reward("x  = 1")
    assert settings_digests.digest_reward("if a:\n  b\n  c") == settings_digests.digest_reward("if a:\n    b\n\n    c")
    assert settings_digests.digest_reward("if a:\n  b\n  c") != settings_digests.digest_reward("if a:\n  b\nc")
    assert settings_digests.digest_reward("def (:") != settings_digests.digest_reward("if a:\n    b\n  c"), "no Python"
    kept = {name for name in settings_digests.list_changed() if "paper" not in name}
    assert not kept & {"preset Ant quick", "preset Humanoid quick", "reward Ant"}
