"""What the faults find in the database, and what must be there afterwards.

    python -m benchmarks.faults.rows make PEOPLE | check

Runs in a process of its own among the rows of the site, and prints JSON.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

import imageio_ffmpeg  # noqa: E402

from tests.webapp import rows  # noqa: E402
from tests.webapp.crash_driver import find_repeated, is_counted  # noqa: E402
from webapp.base.store import store  # noqa: E402
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Run  # noqa: E402
from webapp.review.models import Vote  # noqa: E402
from webapp.review.screenings import LETTERS  # noqa: E402
from webapp.studies.models import Participant  # noqa: E402

PANEL = 2
PLAN = {"task": "Cartpole", "k": 2, "n": 2, "panel": PANEL}


def make_people(count: int) -> list[str]:
    """Personal links into an open study, whose holders have yet to come."""
    study = rows.study(title="Faults", **PLAN)
    people = [Participant(study=study, label=f"P{number:04d}") for number in range(1, count + 1)]
    return [person.get_absolute_url() for person in Participant.objects.bulk_create(people)]


def check(acknowledged: dict[str, list[str]], links: list[str]) -> dict[str, Any]:
    """What became of all votes that were acknowledged, by their page's token, with the letters of best and worst; and
    of the experiments of these people.
    """
    tokens = [link.strip("/").partition("/")[2] for link in links]
    experiments = list(Experiment.objects.filter(assignments__participant__token__in=tokens).distinct())
    of_these = {"candidate__iteration__experiment__in": experiments}
    return {
        **check_votes(acknowledged),
        "not counted": [
            vote.pk
            for vote in Vote.objects.filter(undone_at=None, request__experiment__in=experiments)
            if not (vote.locked_at and is_counted(vote))
        ],
        "begun": len(experiments),
        "finished": sum(row.status == Experiment.Status.FINISHED for row in experiments),
        "not finished": [f"{row}: {row.status} {row.error}" for row in experiments if row.status != "finished"],
        "rounds": Iteration.objects.filter(experiment__in=experiments).count(),
        "rounds without best and worst": [
            str(one)
            for one in Iteration.objects.filter(experiment__in=experiments)
            if None in (one.best_id, one.worst_id) or one.best_id == one.worst_id
        ],
        "trainings": Run.objects.filter(request__experiment__in=experiments).count(),
        "steps twice": find_repeated(experiments),
        "candidates failed": [
            f"{row.iteration}: {row.status} {row.reason}"
            for row in Candidate.objects.filter(iteration__experiment__in=experiments).exclude(status="trained")
        ],
        "clips": Clip.objects.filter(**of_these).count(),
        "clips missing": find_missing(Clip.objects.filter(**of_these)),
    }


def check_votes(acknowledged: dict[str, list[str]]) -> dict[str, Any]:
    stored: dict[str, list[list[str]]] = {token: [] for token in acknowledged}
    votes = Vote.objects.filter(undone_at=None).select_related("screening")
    for vote in votes:
        letters = [LETTERS[vote.screening.order.index(pk)] for pk in (vote.best_id, vote.worst_id) if pk]
        stored.setdefault(vote.screening.token, []).append(letters)
    told = Counter(
        experiment.pk for experiment in Experiment.objects.all() for _ in experiment.events.filter(kind="voted")
    )
    return {
        "acknowledged": len(acknowledged),
        "lost": [token for token, letters in acknowledged.items() if letters not in stored[token]],
        "twice": [token for token, found in stored.items() if len(found) > 1]
        + [f"experiment {pk}" for pk, count in told.items() if count != votes.filter(request__experiment=pk).count()],
    }


def find_missing(clips: Iterable[Clip]) -> list[str]:
    """Clips that are not ready, or whose film or still cannot be opened."""
    return [f"{clip}: {clip.status} {clip.error}" for clip in clips if clip.status != "ready" or not opens(clip)]


def opens(clip: Clip) -> bool:
    with tempfile.TemporaryDirectory() as folder, suppress(FileNotFoundError, RuntimeError):
        film, still = Path(folder, "film.mp4"), Path(folder, "still.jpg")
        store.fetch(clip.video, film)
        store.fetch(clip.poster, still)
        return all(imageio_ffmpeg.count_frames_and_secs(str(file))[0] > 0 for file in (film, still))
    return False


def main(task: str, *more: str) -> None:
    print(json.dumps(make_people(int(more[0])) if task == "make" else check(**json.load(sys.stdin))))


if __name__ == "__main__":
    main(*sys.argv[1:])
