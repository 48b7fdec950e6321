"""A study whose arms were judged to the end, with scores that a test chooses."""

from datetime import timedelta

from django.utils import timezone

from llm.records import Candidate as MethodCandidate
from llm.records import Judge, fingerprint_request, make_payload
from llm.records import Outcome as MethodOutcome
from tests.webapp import rows
from webapp.experiments.models import Candidate, Experiment, Iteration, Request
from webapp.review.models import Screening, Vote
from webapp.studies import assigning
from webapp.studies.models import Assignment, Participant

SECONDS, WAIT = 20, 100
"""How long everybody chooses, and waits before a question."""


def create_study(scores, **values):
    """`scores`: arm -> final score of the winner of each of its participants, who judge two rounds.

    With `experiments_each` above 1, the first participant of every arm is the same person, and so on.
    """
    names = list(scores)
    study = rows.study(k=3, n=2, **values)
    study.arms.update(name=names[0])
    for name in names[1:]:
        rows.arm(study, name, k=3, n=2)
    for position, arm in enumerate(study.arms.all(), 1):
        for number, score in enumerate(scores[arm.name], 1):
            label = f"P{number}" if study.experiments_each > 1 else f"{arm.name}{number}"
            judge_experiment(add_person(study, label), arm, position if study.experiments_each > 1 else 1, score)
    return study


def add_person(study, label, **values):
    now = timezone.now()
    person, _ = Participant.objects.get_or_create(
        study=study, label=label, defaults={"consented_at": now, "instructed_at": now, **values}
    )
    return person


def judge_experiment(person, arm, position, score, drawn=False):
    """Two rounds of three candidates; the best of the last one, with this final score, wins."""
    place = Assignment(participant=person, arm=arm, position=position)
    place.experiment = experiment = assigning.create_experiment(place)
    place.save()
    start = now = timezone.now() - timedelta(hours=1)
    best = None
    for number in (1, 2):
        round_ = Iteration.objects.create(experiment=experiment, number=number)
        final = score - 10 * (2 - number)
        shown = [
            Candidate.objects.create(
                iteration=round_,
                index=index,
                source="x",
                status="trained",
                rts=final + 5 - index,
                final_score=final - index + 1,
            )
            for index in (1, 2, 3)
        ]
        best, worst = shown[0], shown[-1]
        outcomes = tuple(MethodOutcome(MethodCandidate(one.key, one.source), True, rts=one.rts) for one in shown)
        asked = Judge(number, outcomes)
        request = Request.objects.create(
            experiment=experiment,
            step=number,
            kind="Judge",
            fingerprint=fingerprint_request(asked),
            payload=make_payload(asked),
            status="done",
        )
        screening = Screening.objects.create(
            request=request, participant=person, seed=number, order=[one.pk for one in shown]
        )
        vote = Vote.objects.create(request=request, screening=screening, best=best, worst=worst, cannot_tell=drawn)
        now += timedelta(seconds=WAIT)
        Request.objects.filter(pk=request.pk).update(created_at=now)
        Screening.objects.filter(pk=screening.pk).update(opened_at=now)
        now += timedelta(seconds=SECONDS)
        Vote.objects.filter(pk=vote.pk).update(created_at=now, locked_at=now)
        Iteration.objects.filter(pk=round_.pk).update(best=best, worst=worst)
    Experiment.objects.filter(pk=experiment.pk).update(
        status="finished", winner=best, started_at=start, finished_at=now
    )
    return experiment
