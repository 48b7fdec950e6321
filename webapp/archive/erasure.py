"""What a person gave, taken out again: rows, files, copies, and every trace of who it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import DateTimeField, Model, Q, QuerySet
from django.utils import timezone

from webapp.archive import redaction
from webapp.archive.models import Erasure, Export, Origin
from webapp.archive.row_reader import Pseudonyms
from webapp.archive.rules import Omitted, Table
from webapp.archive.tables import OMITTED, TABLES
from webapp.audit import record
from webapp.base.on_commit import run_after_commit
from webapp.base.store import store
from webapp.experiments import headless, loop
from webapp.experiments.models import Experiment
from webapp.review import pairs
from webapp.review.models import GoldPair, GoldSet, Vote
from webapp.studies.models import Assignment, Outcome, Participant, Study, new_token
from webapp.votes.models import Evaluator, Pair, Poll

DELETED = "deleted"
KEPT = ("id", "study_id", "source", "pilot", "attempts", "outcome", "consent_version", "consent_hash")
"""What stays of a participant's row, beside days, so that counts stay right."""


@dataclass(frozen=True)
class Erased:
    """How many rows of each kind were deleted."""

    counts: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def erase(participant: Participant, by: Any = "participant", cause: str = Erasure.Cause.WISH) -> Erased:
    """Delete what the participant gave and everything that was made from it. The participant counts as withdrawn, and
    the personal link stops working. A second call changes nothing.
    """
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=participant.study_id)
        person = Participant.objects.filter(pk=participant.pk, deleted_at=None).first()
        if person is None:
            return Erased()
        erased = erase_people(study, [person])
        Erasure.objects.create(study=study, cause=cause, people=1, counts=erased.counts)
        record(by, "erased a participant's data", study, rows=erased.total)
    scrub_database()
    return erased


def erase_people(study: Study, people: Sequence[Participant]) -> Erased:
    """Erase these people in the caller's transaction: what is left identifies nobody and holds none of their words."""
    counts: Counter[str] = Counter()
    keys = [person.pk for person in people]
    _forget_copies(study, people)
    _forget_sessions({person.token for person in people}, keys)
    _forget_log_entries(people)
    for experiment in Experiment.objects.filter(assignments__participant__in=keys).distinct().order_by("pk"):
        loop.lock(experiment.pk)  # first: a vote that is being opened copies texts before this, or after it
        others = Participant.objects.filter(assignments__experiment=experiment, deleted_at=None).exclude(pk__in=keys)
        if others.exists():
            _redact_experiment(experiment, people)
        else:
            redaction.redact_copies(experiment, *_collect_personal_words(experiment, people))
            counts += _delete_gold(experiment) + _delete_experiment(experiment)
    answered = pairs.find_answered_pairs(keys)
    counts += _delete_rows(keys)
    pairs.pool_again(answered)  # the policies that learned from them learn without them from their next session on
    for person in people:
        _anonymize_row(person)
    return Erased(dict(sorted(counts.items())))


def delete_pilots(study: Study, by: Any) -> Erased:
    """Delete everybody who tried the study out, with all that they gave. Not even a count of them stays."""
    with transaction.atomic():
        row = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        people = list(row.participants.pilots().order_by("pk"))
        if not people:
            return Erased()
        erased = erase_people(row, people)
        row.participants.pilots().delete()
        record(by, "deleted pilot data", row, people=len(people), rows=erased.total)
    scrub_database()
    return erased


def _delete_experiment(experiment: Experiment) -> Counter[str]:
    """Delete an experiment that followed these people's choices alone; its workers stop."""
    loop.cancel(experiment)
    _forget_log_entries([experiment])
    _forget_origin(experiment)
    Experiment.objects.filter(pk=experiment.pk).update(name=DELETED)  # the audit log records the deletion with the name
    run_after_commit(headless.get_record_path(experiment).unlink, missing_ok=True)
    return _count(Experiment.objects.get(pk=experiment.pk).delete())


def _delete_gold(experiment: Experiment) -> Counter[str]:
    """Delete the gold sets and gold pairs that show the experiment's films, and record it in the audit log of their
    studies.
    """
    of_sets = Q(best__iteration__experiment=experiment) | Q(worst__iteration__experiment=experiment)
    of_pairs = Q(better__session__request__experiment=experiment) | Q(worse__session__request__experiment=experiment)
    counts: Counter[str] = Counter()
    found: dict[str, QuerySet[Any]] = {
        "sets": GoldSet.objects.filter(of_sets),
        "pairs": GoldPair.objects.filter(of_pairs),
    }
    for kind, rows in found.items():
        for study in Study.objects.filter(pk__in=rows.values("study")):
            lost = {kind: rows.filter(study=study).count()}
            record("system", f"lost gold {kind}: their films are of data that was deleted", study, **lost)
        counts += _count(rows.delete())
    return counts


def _redact_experiment(experiment: Experiment, people: Sequence[Participant]) -> None:
    """The other members of a panel keep the experiment, without the words and labels of these people."""
    redaction.redact(experiment, *_collect_personal_words(experiment, people))


def _collect_personal_words(experiment: Experiment, people: Sequence[Participant]) -> tuple[set[str], set[str]]:
    """The reasons that these people gave in the experiment, and their labels."""
    votes = Vote.objects.filter(request__experiment=experiment, screening__participant__in=people)
    reasons = {reason.strip() for reason in votes.values_list("reason", flat=True)}
    return reasons - {""}, {person.label for person in people}


def _delete_rows(keys: Sequence[int]) -> Counter[str]:
    """Delete every row that the declarations assign to one of these participants."""
    counts: Counter[str] = Counter()
    decisions: list[Table | Omitted] = [*TABLES.values(), *OMITTED.values()]
    for decision in reversed(decisions):
        if not decision.person:
            continue
        theirs = Q()
        for path in decision.person.split("|"):
            theirs |= Q(**{f"{path}__in": keys})
        counts += _count(decision.cls._default_manager.filter(theirs).delete())
    return counts


def _anonymize_row(person: Participant) -> None:
    """Empty the participant's row; it stays, with days in place of times, so that counts of people stay right."""
    now = timezone.now()
    blank = Participant(study_id=person.study_id)
    for at in Participant._meta.concrete_fields:
        if at.attname in KEPT:
            continue
        if isinstance(at, DateTimeField):
            moment = getattr(person, at.attname)
            setattr(person, at.attname, _truncate_to_day(moment) if moment else None)
        else:
            setattr(person, at.attname, getattr(blank, at.attname))
    person.label, person.token = f"{DELETED} {person.pk}", new_token()
    person.deleted_at, person.withdrawn_at = _truncate_to_day(now), person.withdrawn_at or _truncate_to_day(now)
    person.outcome = person.outcome or Outcome.WITHDRAWN
    person.save()


def _truncate_to_day(moment: datetime) -> datetime:
    return datetime.combine(moment.date(), time(), tzinfo=moment.tzinfo)


def _count(deleted: tuple[int, dict[str, int]]) -> Counter[str]:
    """Rows of each kind, from what Django's `delete` returns."""
    return Counter({_name_kind(label): count for label, count in deleted[1].items()})


def _name_kind(label: str) -> str:
    return TABLES[label].file if label in TABLES else label.partition(".")[2].lower()


def _forget_origin(experiment: Experiment) -> None:
    """After erasure a vote keeps its clip's role, not the name of the experiment."""
    public_id = str(experiment.public_id)
    for pair in Pair.objects.filter(Q(origin__first__experiment=public_id) | Q(origin__second__experiment=public_id)):
        for side in pair.origin.values():
            if side.get("experiment") == public_id:
                side["name"] = DELETED
        pair.save(update_fields=["origin"])


def _forget_copies(study: Study, people: Sequence[Participant]) -> None:
    """Delete the exports that contain these people, and replace labels in the audit rows that came with an import."""
    labels = {person.label: DELETED for person in people}
    exports = Export.objects.filter(study=study)
    pilots_alone = people and all(person.pilot for person in people)
    for export in exports.filter(pilots=True) if pilots_alone else exports:
        _delete_export(export)
    _forget_experiment_exports(study)
    for origin in Origin.objects.filter(study=study):
        origin.audit = Pseudonyms(labels).replace_text(origin.audit)
        origin.save(update_fields=["audit"])


def _forget_experiment_exports(study: Study) -> None:
    """Delete exports of experiments that somebody in the study judged, of their retrainings, and of deleted ones."""
    judged = set(Assignment.objects.filter(participant__study=study).values_list("experiment", flat=True))
    judged |= set(Experiment.objects.filter(retrains__iteration__experiment__in=judged).values_list("pk", flat=True))
    for export in Export.objects.filter(study=None):
        kept = Experiment.objects.filter(pk__in=export.experiments).count()
        if kept < len(export.experiments) or judged & set(export.experiments):
            _delete_export(export)


def _delete_export(export: Export) -> None:
    run_after_commit(store.delete, export.key)
    export.delete()


def _forget_sessions(tokens: Iterable[str], keys: Iterable[int] = ()) -> None:
    """Delete the sessions of browsers that used one of these links or hold answers of one of these people."""
    links, names = set(tokens), {f"{page} {key}" for key in keys for page in ("practice", "check")}
    for session in Session.objects.iterator(500):
        data = session.get_decoded()
        if names & set(data) or any(isinstance(value, str) and value in links for value in data.values()):
            session.delete()


def _forget_log_entries(rows: Sequence[Model]) -> None:
    """The admin's log of changes names the rows."""
    for row in rows:
        kind = ContentType.objects.get_for_model(type(row))
        LogEntry.objects.filter(content_type=kind, object_id=str(row.pk)).update(object_repr=DELETED, change_message="")


def erase_evaluator(evaluator: Evaluator, by: Any = "evaluator") -> Erased:
    """Anonymise an evaluator. Answers that a closed vote counts stay without a name; all others are deleted."""
    counts: Counter[str] = Counter()
    with transaction.atomic():
        poll = Poll.objects.select_for_update().get(pk=evaluator.poll_id)
        person = Evaluator.objects.get(pk=evaluator.pk)
        _forget_sessions({person.token})
        _forget_log_entries([person])
        person.label, person.token, person.external_id = f"{DELETED} {person.pk}", new_token(), ""
        person.save(update_fields=["label", "token", "external_id"])
        if poll.status != Poll.Status.CLOSED or person.finished_at is None:
            counts += _count(person.delete())
        record(by, "erased an evaluator's data", poll, rows=counts.total())
    scrub_database()
    return Erased(dict(sorted(counts.items())))


def scrub_database() -> None:
    """Empty SQLite's write-ahead log, which still holds deleted rows; the database file overwrites them itself."""
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
