"""Equal trainings are done once: results of real ones, each in the folder of its experiment."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from simulation import catalog
from tests.webapp.dashboard_pages import html
from tests.webapp.fake_workers import do_work, find_job, start_experiment
from trainer.records import read_result
from webapp.bench.experiments.prompt_versions import describe_task_revisions
from webapp.experiments import provenance, run_folder, upgrades
from webapp.experiments.execute import reuse, train
from webapp.experiments.models import Candidate, Experiment, Request, Run
from webapp.experiments.tasks import run_job

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.usefixtures("kept_trainings"),
]

TINY = {"iterations": 3, "worlds": 16}


@pytest.fixture
def data(folders: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout that may be worked in."""
    monkeypatch.setattr(provenance, "code_is_committed", lambda: True)


def begun(**values: Any) -> Experiment:
    """An experiment whose first round is to be trained."""
    row = start_experiment(**{"k": 2, "n": 1, "overrides": TINY, **values})
    do_work(row, until="Train")
    return row


def trained(row: Experiment) -> Request:
    run_job(find_job(row, "train").pk)
    return row.requests.get(kind="Train")


def result(request: Request) -> bytes:
    return (run_folder.get_folder(request) / "result.json").read_bytes()


def test_another_method_takes_over_what_came_of_the_same_rewards(data: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = trained(begun(name="first"))
    monkeypatch.setattr("tests.webapp.kept_trainings.find_kept", lambda job: pytest.fail("it was trained again"))
    other = trained(begun(name="other", method="open_loop"))
    assert result(other) == result(first)
    scores = Candidate.objects.order_by("iteration__experiment", "index").values_list("rts", "final_score", "status")
    assert list(scores[:2]) == list(scores[2:4]) and all(rts is not None for rts, _, _ in scores)
    assert first.run.seconds == other.run.seconds > 0
    assert first.jobs.get(kind="train").progress["made_by"]["device"].startswith(("cpu", "cuda"))
    assert {path.name for path in (run_folder.get_folder(other) / "rollouts").iterdir()} >= {"0-100.npz", "1-100.npz"}
    said = other.experiment.events.get(kind="trained before")
    assert "in first" in said.text and not said.public
    assert said.payload["experiment"] == str(first.experiment.public_id)
    assert not first.experiment.events.filter(kind="trained before").exists()


def revise(monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    """Upgrade to a version with other physics for this task."""
    newer = replace(catalog.get_task(task), revision=catalog.get_task(task).revision + 1)
    known = {**catalog.list_tasks(), task: newer}
    monkeypatch.setattr(catalog, "list_tasks", lambda: known)


def test_an_experiment_goes_on_after_its_task_changed_and_says_which_rounds_it_changed_for(
    data: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = begun(n=2)
    assert describe_task_revisions(row) == ""
    earlier, before = trained(row), catalog.get_task(row.task).revision
    revise(monkeypatch, row.task)
    do_work(row, until="Train")
    later = row.requests.filter(kind="Train").latest("pk")
    run_job(find_job(row, "train").pk)
    revisions = [Run.objects.get(request=request).task_revision for request in (earlier, later)]
    assert revisions == [before, before + 1]
    said = describe_task_revisions(row)
    assert f"revision {before + 1}" in said and f"round 1 on revision {before}" in said and "round 2" not in said


def test_pages_and_record_have_the_values_of_each_training_and_mark_those_that_changed(
    data: None, monkeypatch: pytest.MonkeyPatch, staff: Client
) -> None:
    row = begun(n=2)
    first = trained(row)
    used = Run.objects.get(request=first).preset
    assert (used["algorithm"], used["iterations"]) == ("ppo", TINY["iterations"])
    pages = [f"/bench/{row.public_id}/", f"/bench/{row.public_id}/1-1/"]
    shown = [html(staff.get(page)) for page in pages]
    assert "have changed since" not in shown[0] and '<th scope="col">Today' not in shown[1]
    assert f"<td>{used['learning_rate']}</td>" in shown[1]
    task = catalog.get_task(row.task)
    newer = replace(task, presets=task.presets | {"quick": replace(task.presets["quick"], gamma=0.5)})
    known = {**catalog.list_tasks(), task.name: newer}
    monkeypatch.setattr(catalog, "list_tasks", lambda: known)
    shown = [html(staff.get(page)) for page in pages]
    assert f"round 1 (gamma {used['gamma']}, today 0.5)" in shown[0]
    assert "<td><strong>0.5</strong></td>" in shown[1]
    (kept,) = upgrades.build_record(row).presets
    assert kept == {"step": first.step, "slot": first.slot, "preset": used}
    Run.objects.update(preset={})
    assert "<td><strong>0.5</strong></td>" in html(staff.get(pages[1])), "the training's folder has them, too"


def asks(**values: Any) -> bool:
    """Whether another experiment of the same rewards takes over the training that was done."""
    row = begun(**values)
    request = row.requests.get(kind="Train")
    work = train.build_job(row, request, train.find_candidates(request))
    taken = reuse.copy_equal_training(request, work, lambda: None)
    assert (taken is not None) == run_folder.get_folder(request).exists()
    return taken is not None


@contextlib.contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    before = path.read_text()
    path.write_text(text)
    yield
    path.write_text(before)


def test_what_is_not_taken_over(data: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of one training."""
    first = trained(begun())
    assert not asks(judge="human"), "people wait alike"
    assert not asks(seed=1) and not asks(overrides={**TINY, "iterations": 4}), "it is another training"
    assert asks()
    refuse_what_ran_otherwise(first, monkeypatch)
    assert asks()
    refuse_what_is_saved_otherwise(first)
    leave_links(run_folder.get_folder(first), tmp_path)
    begun_before(begun())
    (run_folder.get_folder(first) / "result.json").unlink()
    assert not asks(), "it has no result"


def refuse_what_ran_otherwise(first: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version, device, task or code."""
    done = first.jobs.get(kind="train")
    made_by = done.progress["made_by"]
    done.progress["made_by"] = {**made_by, "version": "another"}
    done.save()
    assert not asks(), "another version trained it"
    done.progress["made_by"] = made_by
    done.save()

    split = run_folder.get_folder(first) / "checkpoints" / "split.json"
    with changed(split, split.read_text().replace('"cpu"', '"cuda:0"')):
        assert not asks(), "another device trained it"
        with monkeypatch.context() as patch:
            patch.setenv("PREFINE_DEVICE", "nonsense")
            assert not asks()

    with monkeypatch.context() as patch:
        revise(patch, first.experiment.task)
        assert not asks(), "its task was at an earlier revision"
    with monkeypatch.context() as patch:
        patch.setattr(provenance, "code_is_committed", lambda: False)
        assert not asks(), "the code is changed"


def refuse_what_is_saved_otherwise(first: Request) -> None:
    """A result or a preset."""
    folder = run_folder.get_folder(first)
    ended = json.loads((folder / "result.json").read_text())
    for change in ({"error": "no space"}, {"cancelled": True}, {"candidates": [{"index": 0, "ok": False}]}):
        with changed(folder / "result.json", json.dumps({**ended, **change})):
            assert not asks(), "it failed in part"
    with changed(folder / "result.json", "{"):
        assert not asks(), "it is damaged"

    saved = folder / "checkpoints" / "preset.json"
    values = json.loads(saved.read_text())
    assert values["iterations"] == TINY["iterations"]
    with changed(saved, json.dumps({**values, "gamma": 0.5})):
        assert not asks(), "the preset had other values"
    with changed(saved, json.dumps(values)):
        saved.unlink()
        assert asks(), "an earlier version saved none"


def leave_links(folder: Path, tmp_path: Path) -> None:
    """Links are not followed."""
    (tmp_path / "secret").write_text("words")
    (folder / "rollouts" / "link.npz").symlink_to(tmp_path / "secret")
    before = len(list(folder.parent.glob("*/rollouts/0-100.npz")))
    assert asks()
    assert len(list(folder.parent.glob("*/rollouts/0-100.npz"))) == before + 1
    assert len(list(folder.parent.glob("*/rollouts/link.npz"))) == 1


def begun_before(row: Experiment) -> None:
    """A training that had begun goes on."""
    request = row.requests.get(kind="Train")
    run_folder.get_folder(request).mkdir(parents=True)
    work = train.build_job(row, request, train.find_candidates(request))
    assert reuse.copy_equal_training(request, work, lambda: None) is None
    assert read_result(run_folder.get_folder(request)) is None


def test_code_is_committed_where_no_program_is_changed_or_new(settings: Any, tmp_path: Path) -> None:
    settings.BASE_DIR = tmp_path / "checkout"
    (settings.BASE_DIR / "trainer").mkdir(parents=True)
    assert not provenance.code_is_committed() and provenance.read_commit() == ""  # no checkout
    program = settings.BASE_DIR / "trainer" / "a.py"
    program.write_text("a = 1\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    for said in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", "-C", str(settings.BASE_DIR), *said], check=True)
    assert provenance.code_is_committed() and len(provenance.read_commit()) == 40
    (settings.BASE_DIR / "notes").write_text("new, and no program")
    assert provenance.code_is_committed()
    (settings.BASE_DIR / "trainer" / "b.py").touch()
    assert not provenance.code_is_committed()
    (settings.BASE_DIR / "trainer" / "b.py").unlink()
    program.write_text("a = 2\n")
    assert not provenance.code_is_committed() and provenance.read_commit().endswith("-dirty")
