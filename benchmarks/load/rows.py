"""What the load finds in the database, as Prefine's own functions make it, and what must be there afterwards.

    python -m benchmarks.load.rows make PEOPLE EXPERIMENTS | ready | check

Runs in a process of its own among the rows of the measured site, and prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.db import transaction  # noqa: E402
from django.utils import timezone  # noqa: E402

from tests.webapp import fake_workers, rows  # noqa: E402
from webapp.base.store import store  # noqa: E402
from webapp.experiments import loop, request_results  # noqa: E402
from webapp.experiments.models import Candidate, Clip, Experiment, Job, Request  # noqa: E402
from webapp.review.models import Vote  # noqa: E402
from webapp.review.screenings import LETTERS  # noqa: E402
from webapp.studies import assigning  # noqa: E402
from webapp.studies.models import Arm, Assignment, Participant, Study  # noqa: E402

PLAN = {"task": "Cartpole", "k": 6, "n": 3}


def make_people(people: int, experiments: int) -> dict[str, Any]:
    """An open study with people who have read its first pages, spread over experiments that have begun."""
    study = rows.study(title="Load", panel=people // experiments, recruiting=True, parameter_required=True, **PLAN)
    past = {"consented_at": timezone.now(), "instructed_at": timezone.now()}
    made = Participant.objects.bulk_create(
        Participant(study=study, label=f"P{number:04d}", **past) for number in range(1, people + 1)
    )
    arm = study.arms.get()
    places = [Assignment(participant=person, arm=arm, position=1) for person in made]
    for first in range(0, people, arm.panel):
        experiment = assigning.create_experiment(places[first])
        for place in places[first : first + arm.panel]:
            place.experiment = experiment
        Assignment.objects.bulk_create(places[first : first + arm.panel])
        loop.start(experiment)
    return {"links": [person.get_absolute_url() for person in made], "open_link": f"/take/{study.open_link}/"}


def find_measured() -> list[Experiment]:
    """The experiments of the people who were there from the beginning."""
    return list(Experiment.objects.filter(assignments__participant__source="link").distinct().order_by("pk"))


def count_trainings() -> int:
    """How many of them wait for a worker that trains."""
    return Job.objects.filter(experiment__in=find_measured(), kind=Job.Kind.TRAIN, status=Job.Status.QUEUED).count()


def publish_clips() -> None:
    """Films for every candidate, which no page shows before its training ends."""
    for experiment in find_measured():
        for candidate in Candidate.objects.filter(iteration__experiment=experiment):
            clip = Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY)
            for key, content in zip((clip.video, clip.poster), rows._film(40 * candidate.index), strict=True):
                store.publish(key, content)


def end_trainings() -> None:
    """Every round becomes ready in one transaction, as when its last film is there."""
    with transaction.atomic():
        for experiment in find_measured():
            row = loop.lock(experiment.pk)
            request = row.requests.get(kind="Train", status=Request.Status.OPEN)
            request.jobs.update(status=Job.Status.DONE, started_at=request.created_at, finished_at=timezone.now())
            request_results.complete(request, fake_workers.make_outcomes(request, ()), advance=False)
            loop.advance(row)


def check(acknowledged: dict[str, list[str]]) -> dict[str, Any]:
    """What became of the votes that were acknowledged: by their page's token, the letters of best and worst."""
    stored: dict[str, list[list[str]]] = {token: [] for token in acknowledged}
    votes = Vote.objects.filter(undone_at=None).select_related("screening")
    for vote in votes:
        letters = [LETTERS[vote.screening.order.index(pk)] for pk in (vote.best_id, vote.worst_id)]
        stored.setdefault(vote.screening.token, []).append(letters)
    answered = Request.objects.filter(kind="Judge", experiment__in=find_measured(), status=Request.Status.DONE)
    voted = Counter(vote.request_id for vote in votes)
    panel = Arm.objects.get(study__title="Load").panel
    return {
        "acknowledged": len(acknowledged),
        "lost": sum(letters not in stored[token] for token, letters in acknowledged.items()),
        "twice": sum(len(found) > 1 for found in stored.values()),
        "not acknowledged": sum(token not in acknowledged for token in stored),
        "not locked": votes.filter(locked_at=None).count(),
        "full rounds": sum(count == panel for count in voted.values()),
        "answered rounds": answered.count(),
        "rounds counted wrongly": sum(
            (row.pooled or {"people": 1})["people"] != panel or voted[row.pk] != panel for row in answered
        ),
        "failed": [row.error for row in Experiment.objects.filter(status=Experiment.Status.FAILED)],
        "joined": Study.objects.get(title="Load").participants.filter(source="recruitment").count(),
    }


def main(task: str, *numbers: str) -> None:
    if task == "make":
        made = make_people(*map(int, numbers))
        print(json.dumps(made))
    elif task == "ready":
        publish_clips()
        print("published", flush=True)
        input()
        end_trainings()
        print(time.time())
    elif task == "trainings":
        print(count_trainings())
    else:
        print(json.dumps(check(json.load(sys.stdin))))


if __name__ == "__main__":
    main(*sys.argv[1:])
