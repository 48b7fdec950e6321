"""PREFINE_LOCAL_MODEL: a file that is named at the start of the site, with which experiments write."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import LazySettings

from llm.local import LocalWriter
from llm.offline import OfflineWriter
from tests.webapp.fake_workers import create_experiment, do_work
from webapp.experiments import execute, loop
from webapp.experiments.defaults import find_environment_model
from webapp.experiments.execute.model_calls import open_backend
from webapp.experiments.models import LanguageModel

pytestmark = pytest.mark.django_db


def test_the_named_file_is_what_new_experiments_use(settings: LazySettings, tmp_path: Path) -> None:
    assert find_environment_model() is None
    settings.LOCAL_MODEL = str(tmp_path / "coder.gguf")
    row = find_environment_model()
    assert row is not None and find_environment_model() == row and (row.kind, row.model) == ("offline", "coder.gguf")
    backend = open_backend(row)
    assert isinstance(backend, LocalWriter) and backend.path == tmp_path / "coder.gguf"
    assert str(tmp_path) not in str(LanguageModel.objects.values().get(pk=row.pk))


def test_what_began_with_a_file_goes_on_with_it(settings: LazySettings, tmp_path: Path) -> None:
    settings.LOCAL_MODEL = str(tmp_path / "small.gguf")
    began = find_environment_model()
    settings.LOCAL_MODEL = str(tmp_path / "large.gguf")
    later = find_environment_model()
    assert [open_backend(row).path.name for row in (began, later)] == ["small.gguf", "large.gguf"]  # type: ignore[union-attr]


def test_an_offline_row_that_once_was_an_endpoint_stays_the_offline_writer() -> None:
    assert isinstance(open_backend(LanguageModel(kind="offline", model="gpt-4o")), OfflineWriter)
    assert isinstance(open_backend(None), OfflineWriter)


def test_a_file_that_is_gone_stops_the_experiment_with_the_reason(settings: LazySettings, tmp_path: Path) -> None:
    settings.LOCAL_MODEL = str(tmp_path / "gone.gguf")
    row = create_experiment(model=find_environment_model())
    loop.start(row)
    do_work(row, until="Write")
    assert execute.run_job(row.requests.get(kind="Write").jobs.get().pk)
    row.refresh_from_db()
    assert row.status == "failed" and ("PREFINE_LOCAL_MODEL" in row.error or "requirements-local.txt" in row.error)
