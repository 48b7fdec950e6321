"""What is deleted in the database leaves the disk, once that is committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import reverse

from tests.webapp.fake_workers import create_experiment, do_work
from webapp.base.store import store
from webapp.experiments import loop, run_folder
from webapp.experiments.models import Clip, Experiment

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row() -> Experiment:
    """A cancelled experiment with a training folder and a clip on the disk, and another one that keeps its own."""
    for name in ("deleted", "kept"):
        row = create_experiment(name=name, k=2, n=1)
        loop.start(row)
        do_work(row, until="Train")
        loop.cancel(row)
        (run_folder.get_folder(row.requests.get(kind="Train")) / "rollouts").mkdir(parents=True)
        clip = Clip.objects.create(candidate=row.iterations.get().candidates.first(), percent=100, status="ready")
        for file in (clip.video, clip.poster):
            store.publish(file, b"film")
    return Experiment.objects.get(name="deleted")


def on_disk(row: Experiment) -> tuple[list[str], Path]:
    clip = Clip.objects.get(candidate__iteration__experiment=row)
    return [clip.video, clip.poster], run_folder.get_folder(row.requests.get(kind="Train"))


@pytest.mark.slow
def test_deleting_an_experiment_in_the_admin_removes_its_clips_and_runs(row: Experiment) -> None:
    files, folder = on_disk(row)
    others, other = on_disk(Experiment.objects.get(name="kept"))
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    client.post(reverse("admin:experiments_experiment_delete", args=[row.pk]), {"post": "yes"})
    assert not Experiment.objects.filter(pk=row.pk).exists()
    assert not any(store.size(file) for file in files) and not folder.exists()
    assert all(store.size(file) for file in others) and other.exists()


def test_what_is_not_deleted_after_all_stays(row: Experiment) -> None:
    files, folder = on_disk(row)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        row.delete()
        raise ZeroDivisionError
    assert all(store.size(file) for file in files) and folder.exists()
