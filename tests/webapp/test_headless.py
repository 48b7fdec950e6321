"""`./prefine run` as a user meets it: interrupted, continued, and beside nothing else."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command

from tests.webapp.fake_workers import start_experiment
from webapp.base.processes import stopping
from webapp.experiments import execute, headless
from webapp.experiments.models import Experiment

pytestmark = pytest.mark.slow


@pytest.fixture
def kept_signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
    stopping.clear()


@pytest.mark.django_db(transaction=True)
def test_an_error_that_nobody_foresaw_says_what_happened_and_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, kept_signals: None, capsys: pytest.CaptureFixture[str]
) -> None:
    def breaks(lease: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(execute.EXECUTORS, "write", breaks)
    with pytest.raises(ZeroDivisionError):  # as it is, with its traceback
        call_command("run_experiment", task="Cartpole", k=2, n=1)
    row = Experiment.objects.get()
    assert f"kept. Go on with: ./prefine run --resume {row.public_id}" in capsys.readouterr().err
    assert (row.status, row.jobs.get(kind="write").status) == ("running", "queued")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_that_strikes_where_it_is_lost_ends_it_all_the_same(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, kept_signals: None
) -> None:
    def swallowing(job: int, report: Any) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), number)
            time.sleep(60)

    row = start_experiment()
    headless.end_on_signals()
    monkeypatch.setattr(execute, "run_job", swallowing)
    with pytest.raises(KeyboardInterrupt):
        headless.run_to_end(row, lambda said: None)
    assert row.jobs.get().status == "queued"
