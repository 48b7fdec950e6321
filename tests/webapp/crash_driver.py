"""A panel of two who vote as soon as they can, while test_crash.py kills processes.

    python -m tests.webapp.crash_driver SECONDS PORT SEED ROUNDS

Starts one experiment for the panel, which votes at the site on this port; prints what became of it as JSON.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from tests.webapp.crash_voters import Voter  # noqa: E402
from webapp.base.store import store  # noqa: E402
from webapp.experiments import loop  # noqa: E402
from webapp.experiments.models import Candidate, Clip, Experiment, ModelCall  # noqa: E402
from webapp.review import panels  # noqa: E402
from webapp.review.models import Vote  # noqa: E402
from webapp.studies.assigning import find_participants  # noqa: E402
from webapp.studies.models import Arm, Assignment, Participant, Study  # noqa: E402

TINY = {"iterations": 30, "worlds": 64}
ENDED = ("finished", "failed", "cancelled")
ONCE = ("started", "written", "trained", "described", "picked", "finished", "judge")
"""Kinds of events that are told once."""


def start_experiment(rounds: int) -> Experiment:
    study = Study.objects.create(title="Crash", status="open", consent_text="c", contact="x")
    past = {"consented_at": timezone.now(), "instructed_at": timezone.now()}
    people = [Participant.objects.create(study=study, label=f"P{number}", **past) for number in (1, 2)]
    plan: dict[str, Any] = {"task": "Cartpole", "k": 2, "n": rounds}
    arm = Arm.objects.create(study=study, panel=len(people), **plan)
    plan["overrides"] = TINY
    row = Experiment.objects.create(name="person", judge="human", **plan)
    for person in people:
        Assignment.objects.create(participant=person, arm=arm, experiment=row)
    loop.start(row)
    return row


def is_counted(vote: Vote) -> bool:
    """Whether the vote is in its round's answer, with the other member's, and the answer is one that they name."""
    pooled, votes = vote.request.pooled, Vote.objects.filter(request=vote.request, undone_at=None)
    named = [panels.make_result(other) for other in votes]
    result = vote.request.result
    bests = [answer["best"] if isinstance(answer, dict) else answer for answer in named]
    best = result["best"] if isinstance(result, dict) else result
    return pooled is not None and pooled["people"] == len(votes) == 2 and best in bests


def find_repeated(rows: Iterable[Experiment]) -> list[list[Any]]:
    """Steps that took effect more than once: experiment, kind, text."""
    events = Counter((e.experiment_id, e.kind, e.text) for row in rows for e in row.events.all())
    return [list(event) for event, count in events.items() if count > 1 and event[1] in ONCE]


def collect_facts(row: Experiment, voters: list[Voter]) -> dict[str, Any]:
    """The facts that a test checks, as plain values."""
    clips = Clip.objects.filter(percent=100)
    return {
        "status": row.status,
        "error": row.error,
        "votes": sum(len(voter.thanked) for voter in voters),
        "votes_lost": [token for voter in voters for token in voter.lost()],
        "presses": sum(voter.presses for voter in voters),
        "site_killed_by_voters": sum(voter.kills for voter in voters),
        "refusals": [refusal for voter in voters for refusal in voter.refusals],
        "votes_not_counted": [v.pk for v in Vote.objects.all() if v.locked_at is None or not is_counted(v)],
        "twice": find_repeated([row]),
        "open_requests": row.requests.exclude(status="done").count(),
        "requests": row.requests.count(),
        "candidates": [i.candidates.count() for i in row.iterations.all()],
        "candidates_failed": list(Candidate.objects.exclude(status="trained").values_list("reason", flat=True)),
        "idle": not row.jobs.filter(status__in=("queued", "running")).exists(),
        "calls_twice": [
            key for key, n in Counter(ModelCall.objects.values_list("request", "request_hash", "seed")).items() if n > 1
        ],
        "clips": [clip.status for clip in clips],
        "files_missing": [c.video for c in clips if c.status == "ready" and not store.size(c.video)],
        "kinds": dict(Counter(e.kind for e in row.events.all())),
    }


def is_over(row: Experiment) -> bool:
    """Whether it has ended, and the clips that nothing waited for are made."""
    return row.status in ENDED and not row.jobs.filter(status__in=("queued", "running")).exists()


def main(seconds: float, port: int, seed: int, rounds: int) -> None:
    row, rng = start_experiment(rounds), random.Random(seed)
    voters = [Voter(person, port, rng) for person in find_participants(row)]
    print("started", flush=True)
    deadline = time.monotonic() + seconds
    while not (is_over(row) and all(voter.answered for voter in voters)):
        if any(voter.refusals for voter in voters) or time.monotonic() > deadline:
            break
        row.refresh_from_db()
        for voter in voters:
            voter.act()
        time.sleep(0.5)
    time.sleep(2)  # a message that comes twice would do its harm now
    print(json.dumps(collect_facts(row, voters)), flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
