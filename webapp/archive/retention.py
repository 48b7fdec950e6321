"""Deletes a study's data at the end of its retention period, which every page of the bench announces."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from statistics import mean
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import Error, close_old_connections, transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from webapp.archive import orphan_files, redaction
from webapp.archive.erasure import Erased, erase_evaluator, erase_people, scrub_database
from webapp.archive.models import Erasure, Export, Redaction
from webapp.archive.study_scope import Scope
from webapp.audit import record
from webapp.base.store import store
from webapp.experiments.models import Experiment
from webapp.experiments.resource_use import sum_usage
from webapp.review.models import PairScreening, Trial, Vote
from webapp.studies import assigning, opening
from webapp.studies.models import Arm, Study
from webapp.votes.models import Evaluator

log = logging.getLogger(__name__)

WARNED_DAYS = 30
"""How many days before the end the pages of the bench announce it."""
GRACE_DAYS = 30
"""People who are taking part when a study closes have at least these days after the last answer."""
LONGEST_DAYS = 365_000
"""Longer periods are cut to these thousand years, because dates end."""
EXPORT_DAYS = 7
STEPS = ("instructed_at", "practised_at", "understood_at", "finished_at", "debriefed_at")
FIRST_SECONDS = 10
EVERY_SECONDS = 600


@dataclass(frozen=True)
class Due:
    study: Study
    on: date

    @property
    def days(self) -> int:
        return (self.on - timezone.localdate()).days


def find_due_day(study: Study) -> date | None:
    """The day on which the study's data is deleted; None while the study is open, where the data is kept for good, and
    once it is deleted.

    The period counts from the close, or from the last answer that was given after it.
    """
    if study.status != Study.Status.CLOSED or study.closed_at is None or study.retention_days is None:
        return None
    if study.deleted_at is not None and study.deleted_at >= study.closed_at:
        return None
    last = timezone.localdate(max(study.closed_at, _find_last_activity(study) or study.closed_at))
    on = last + _read_period(study)
    return max(on, last + timedelta(days=GRACE_DAYS)) if opening.count_active(study) else on


def _read_period(study: Study) -> timedelta:
    return timedelta(days=min(study.retention_days or 0, LONGEST_DAYS))


def _find_last_activity(study: Study) -> datetime | None:
    """When a participant last chose, answered or reached the end."""
    people = study.participants.exclude_pilots()
    moments = [
        Vote.objects.filter(screening__participant__in=people).aggregate(at=Max("created_at"))["at"],
        Trial.objects.filter(participant__in=people).aggregate(at=Max("answered_at"))["at"],
        PairScreening.objects.filter(participant__in=people).aggregate(at=Max("answered_at"))["at"],
        *people.aggregate(*map(Max, STEPS)).values(),
    ]
    return max((moment for moment in moments if moment), default=None)


def find_ending(before: date) -> Iterator[Due]:
    """Studies whose data is deleted on this day or before."""
    closed = Study.objects.filter(status=Study.Status.CLOSED, closed_at__isnull=False, retention_days__isnull=False)
    kept = Q(deleted_at=None) | Q(deleted_at__lt=F("closed_at"))  # opened and closed again after a deletion
    for study in closed.filter(kept):
        assert study.closed_at is not None
        if timezone.localdate(study.closed_at) + _read_period(study) > before:
            continue  # participants only make the day later, so most pages need no more queries
        on = find_due_day(study)
        if on is not None and on <= before:
            yield Due(study, on)


def list_ending_soon() -> list[Due]:
    """Studies whose data is deleted soon, the earliest first."""
    return sorted(find_ending(timezone.localdate() + timedelta(days=WARNED_DAYS)), key=lambda due: due.on)


def list_overdue() -> list[Study]:
    """Studies whose data is to be deleted now."""
    return [due.study for due in find_ending(timezone.localdate())]


def expire(study: Study, by: Any = "system") -> Erased:
    """Delete what the study's participants gave, and keep numbers; do nothing where that is not due."""
    with transaction.atomic():
        row = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        _lock_experiments(row)
        on = find_due_day(row)
        if on is None or on > timezone.localdate():
            return Erased()
        numbers = aggregate(row)
        people = list(row.participants.filter(deleted_at=None).order_by("pk"))
        polls = Scope(row).polls
        erased = erase_people(row, people)
        Study.objects.filter(pk=row.pk).update(deleted_at=timezone.now())
        cause = Erasure.Cause.RETENTION
        Erasure.objects.create(study=row, cause=cause, people=len(people), counts=erased.counts, aggregate=numbers)
        record(by, "deleted a study's data", row, people=len(people), rows=erased.total, due=str(on))
        for evaluator in Evaluator.objects.filter(poll__in=polls).order_by("pk"):
            erase_evaluator(evaluator, by)
    scrub_database()
    return erased


def _lock_experiments(study: Study) -> None:
    """Lock the study's experiments until the transaction ends, so that a choice is saved either before the due day is
    computed or after the deletion.
    """
    judged = Experiment.objects.filter(assignments__participant__study=study).values("pk")
    list(Experiment.objects.select_for_update(no_key=True).filter(pk__in=judged).order_by("pk").values_list("pk"))


def aggregate(study: Study) -> dict[str, Any]:
    """Numbers of the study that say nothing about any one person: counts, and means over arms. Without pilots."""
    people = study.participants.exclude_pilots()
    outcomes = Counter(people.values_list("outcome", flat=True))
    experiments = assigning.find_study_experiments(study)
    usage = sum_usage(experiments)
    return {
        "invited": people.count(),
        "consented": people.filter(consented_at__isnull=False).count(),
        "outcomes": {outcome or "on the way": count for outcome, count in sorted(outcomes.items())},
        "experiments": experiments.count(),
        "votes": Vote.objects.filter(request__experiment__in=experiments.values("pk"), undone_at=None).count(),
        "answers to pairs": _count_pair_answers(experiments),
        "tokens": {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens},
        "answers whose tokens are estimated": usage.estimated,
        "US dollars": usage.cost,
        "arms": [_aggregate_arm(arm) for arm in study.arms.all()],
    }


def _count_pair_answers(experiments: QuerySet[Experiment]) -> int:
    asked = PairScreening.objects.filter(pair__session__request__experiment__in=experiments.values("pk"))
    return asked.filter(released_at=None).exclude(answer="").count()


def _aggregate_arm(arm: Arm) -> dict[str, Any]:
    mine = assigning.find_study_experiments(arm.study).filter(assignments__arm=arm)
    ended = mine.filter(status=Experiment.Status.FINISHED).distinct()
    scores = [rts for rts in ended.values_list("winner__rts", flat=True) if rts is not None]
    numbers = {"arm": arm.name, "task": arm.task, "method": arm.method, "finished experiments": ended.count()}
    return {**numbers, "mean score of the winners": mean(scores) if scores else None}


@contextmanager
def log_failures(action: str) -> Iterator[None]:
    """Log an error of the block, which is tried again at the next look, and go on."""
    try:
        yield
    except (Error, ObjectDoesNotExist, OSError):
        log.exception("%s failed; it is tried again in %d minutes", action, EVERY_SECONDS // 60)


def tick() -> None:
    """Delete what is due: data of people, old exports, files without a row."""
    for study in list_overdue():
        with log_failures(f"deleting the data of study {study.pk}, whose retention period is over,"):
            erased = expire(study)
            log.info("the retention period of %s is over: %s rows deleted", study, erased.total)
    finish_redactions()
    stale = timezone.now() - timedelta(days=EXPORT_DAYS)
    for export in Export.objects.filter(Q(finished_at__lt=stale) | Q(finished_at=None, created_at__lt=stale)):
        with log_failures(f"deleting export {export.public_id}"):
            store.delete(export.key)
            export.delete()
    with log_failures("deleting files without a row"):
        orphan_files.delete_orphans()


def finish_redactions() -> None:
    """Take erased words out of files where the process that was to do it was killed."""
    for todo in Redaction.objects.all():
        with log_failures(f"taking erased words out of the files of experiment {todo.experiment_id}"):
            redaction.redact_files(todo)
            scrub_database()


def run(stop: threading.Event) -> None:
    """A thread of the reaper: ends what was interrupted at once, looks soon and then every ten minutes, until told to
    stop.
    """
    with log_failures("looking for erased words in files"):
        finish_redactions()
    pause = FIRST_SECONDS
    while not stop.wait(pause):
        with log_failures("looking for what is to be deleted"):
            tick()
        close_old_connections()
        pause = EVERY_SECONDS
