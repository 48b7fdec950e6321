"""Steps of people and workers on a site, by the names that every version has: addresses, models, Celery tasks.

Used in a process of its own, after django.setup(): to make a fixture with one version, and to go on with it in another.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client, override_settings
from django.test.client import ClientHandler

from webapp.celery import app

NO_STATE = "none"
HANDLER = ClientHandler(enforce_csrf_checks=False)
"""One for all browsers: each looks through all static files before its first answer."""


def rows(name: str) -> Any:
    """The manager of a model, by "app.Model"."""
    return apps.get_model(name)._default_manager


# --- workers --------------------------------------------------------------------------------------------------


def do_task(name: str, *arguments: Any) -> None:
    """Do what a worker does for this Celery task."""
    load_tasks()
    app.tasks[name](*arguments)


@cache
def load_tasks() -> None:
    """Once: Celery runs Django's checks each time."""
    app.loader.import_default_modules()


def queued(experiment: Any) -> Any:
    """Its next job, the oldest first; None where nothing is queued."""
    return rows("experiments.Job").filter(experiment=experiment, status="queued").order_by("pk").first()


def work(experiment: Any, stop_before: tuple[str, int] | None = None, most: int = 400) -> None:
    """Do an experiment's jobs here, one by one, until nothing is queued; `stop_before=("train", 2)` leaves its second
    training queued, and what stands behind it.
    """
    begun: dict[str, int] = {}
    for _ in range(most):
        job = queued(experiment)
        if job is None:
            return
        begun[job.kind] = begun.get(job.kind, 0) + 1
        if stop_before and job.kind == stop_before[0] and begun[job.kind] >= stop_before[1]:
            return
        do_task("prefine.run_job", job.pk)
    raise AssertionError(f"{experiment} has still work after {most} jobs")


def drain(most: int = 400) -> None:
    """Do every job that is queued, of all experiments that are not paused."""
    jobs = rows("experiments.Job").filter(status="queued", experiment__paused=False)
    for _ in range(most):
        job = jobs.order_by("pk").first()
        if job is None:
            return
        do_task("prefine.run_job", job.pk)
    raise AssertionError(f"there is still work after {most} jobs")


# --- people ---------------------------------------------------------------------------------------------------


def browser() -> Client:
    """A browser without a session."""
    client = Client(SERVER_NAME="localhost")
    client.handler = HANDLER
    return client


def staff(name: str = "admin") -> Client:
    """The browser of a person with an account."""
    client = browser()
    client.force_login(User.objects.get(username=name), "django.contrib.auth.backends.ModelBackend")
    return client


class Visitor:
    """A person with a personal link: of a study at /s/, of an A/B vote at /v/."""

    def __init__(self, address: str, client: Client | None = None) -> None:
        self.address, self.client = address, client or browser()
        self.text = ""

    @property
    def state(self) -> str:
        """The name of the page that was seen last."""
        found = re.search(r'data-state="([a-z_]+)"', self.text)
        return found[1] if found else NO_STATE

    def look(self) -> str:
        return self._saw(self.client.get(self.address, follow=True))

    def send(self, what: str, **fields: Any) -> str:
        """Post to one of the addresses below the personal link."""
        return self._saw(self.client.post(f"{self.address}{what}/", fields, follow=True))

    def _saw(self, response: Any) -> str:
        assert response.status_code == 200, f"{self.address}: {response.status_code} {response.content[:400]!r}"
        self.text = response.content.decode()
        return self.state

    def field(self, name: str) -> str:
        """The value of a hidden field of the page."""
        found = re.search(rf'name="{name}" value="([^"]*)"', self.text)
        assert found, f"the page {self.state} has no field {name}"
        return html.unescape(found[1])

    def offered(self, name: str) -> list[str]:
        """The values of a radio field."""
        return re.findall(rf'type="radio" name="{name}" value="([^"]*)"', self.text)

    def agree(self) -> str:
        return self.send("consent", hash=self.field("hash"), agree="yes")

    def choose(self, first: bool = True, **fields: Any) -> str:
        """Confirm a choice on the page of a round, a trial or the practice: the first video or the last as best."""
        best, worst = self.offered("best"), self.offered("worst")
        said = {"best": best[0 if first else -1]} | ({"worst": worst[-1 if first else 0]} if worst else {})
        if self.state == "practice":
            return self.send("practice", **said)
        return self.send("vote", screening=self.field("screening"), client="", **said, **fields)

    def answer_questions(self, right: bool = True) -> str:
        """One try at the comprehension check."""
        given: dict[str, Any] = {"attempt": self.field("attempt"), "version": self.field("version")}
        for question in rows("studies.Question").all():
            name = f"question-{question.pk}"
            texts = dict(re.findall(rf'name="{name}" value="(\d+)"[^>]*><span>([^<]*)</span>', self.text))
            correct = question.answers.splitlines()[question.correct - 1].strip()
            for place, text in texts.items():
                if (html.unescape(text).strip() == correct) == right:
                    given[name] = place
        return self.send("check", **given)

    def looked(self, **data: Any) -> int:
        """Tell how the page of a round is watched, as its script does; returns the answer's status."""
        said = {"screening": self.field("screening"), "sitting": "0123456789abcdef", "client": json.dumps(data)}
        return self.client.post(f"{self.address}viewing/", said).status_code


STEPS: dict[str, Callable[[Visitor], str]] = {
    "consent": Visitor.agree,
    "instruction": lambda person: person.send("ready"),
    "practice": Visitor.choose,
    "practised": lambda person: person.send("practice", then="on"),
    "check": Visitor.answer_questions,
    "review": Visitor.choose,
    "debriefing": lambda person: person.send("debriefed"),
}
"""The regular step on each page."""


def without_undo_time() -> Any:
    """A context in which earlier choices cannot be undone."""
    return override_settings(UNDO_SECONDS=0)


def go_to(person: Visitor, state: str, most: int = 30) -> None:
    """Walk this person to the page of this name, without steps of other people or workers."""
    for _ in range(most):
        if person.look() == state:
            return
        assert person.state in STEPS, f"from {person.state} nobody comes to {state}"
        STEPS[person.state](person)
    raise AssertionError(f"{person.address} stays at {person.state} and never comes to {state}")
