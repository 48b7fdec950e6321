"""Requests that a test answers one by one, and methods that a test registers."""

from __future__ import annotations

from typing import Any

import pytest

from llm.method import Method
from llm.methods import METHODS
from webapp.base import claims
from webapp.experiments import execute
from webapp.experiments.models import Experiment

TALK = ({"role": "user", "content": "What does it do?"},)


@pytest.fixture
def without_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that renews a lease sees no row of a transaction that is never committed: on PostgreSQL it loses it."""
    monkeypatch.setattr(claims, "BEAT_SECONDS", 60.0)


def do_request(row: Experiment, kind: str) -> Any:
    """Do the open request's job here, and return its result."""
    request = row.requests.get(kind=kind, status="open")
    assert execute.run_job(request.jobs.get().pk)
    request.refresh_from_db()
    row.refresh_from_db()
    return request.result


@pytest.fixture
def register_method(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Registers a generator as the method `made_up`."""

    def register(function: Any) -> str:
        monkeypatch.setitem(METHODS, "made_up", Method("made_up", "Made up", "For a test.", function))
        return "made_up"

    return register
