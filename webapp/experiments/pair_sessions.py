"""Sessions in which people answer a training's pairs: they are opened, answered once, and the training goes on.

The caller of every function that changes something holds the experiment's lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from django.db.models import Count, Max, Q
from django.db.models.functions import Now

from llm import methods
from simulation import catalog
from trainer.preferences import algorithms, exchange
from webapp.experiments import events, jobs
from webapp.experiments.job_kinds import BACKGROUND_KINDS
from webapp.experiments.models import Clip, Experiment, Job, LoopSettings, PairSession, Request, Segment, SegmentPair

SKIPPED = "skip"


def asks_people(experiment: Experiment) -> bool:
    """Whether people answer the pairs that its policy asks about."""
    return experiment.asks_pairs and experiment.judge_info.asks_people


def asks_vision(experiment: LoopSettings) -> bool:
    """Whether the vision model answers the pairs that its policy asks about."""
    return experiment.asks_pairs and methods.get_method(experiment.method).pairs_by_vision


def asks_outside(experiment: Experiment) -> bool:
    """Whether its training stops for answers; else a simulated teacher gives them."""
    return asks_people(experiment) or asks_vision(experiment)


def stops_again(experiment: Experiment) -> bool:
    """Whether its training will stop for answers once more: it lacks some. Never of one that is not saved, a plan."""
    if experiment.pk is None or not asks_outside(experiment):
        return False
    ended = SegmentPair.objects.filter(
        session__request__experiment=experiment, session__status=PairSession.Status.ANSWERED
    )
    return ended.exclude(answer=SKIPPED).count() < read_queries(experiment)


def find_answered_at(request: Request) -> datetime | None:
    """When the last session of a training that stopped for answers had them all."""
    found: datetime | None = request.pair_sessions.aggregate(at=Max("answered_at"))["at"]
    return found


def count_slices(request: Request) -> int:
    """In how many slices a training has run so far, which stops for the answers of each session."""
    return 1 + request.pair_sessions.filter(status=PairSession.Status.ANSWERED, opened_at__isnull=False).count()


def read_seconds(plan: LoopSettings) -> float:
    """How long the segments are that people compare; 0: whole episodes."""
    return float(methods.get_method(plan.method).value_of("seconds", plan.options))


def read_queries(plan: LoopSettings) -> int:
    """How many pairs its policy asks about in all sessions."""
    return int(methods.get_method(plan.method).value_of("queries", plan.options))


def count_sessions(plan: LoopSettings) -> int:
    """In how many sessions its policy asks, unless the last one has skipped pairs."""
    return algorithms.Preferences(budget=read_queries(plan)).sessions


def format_pairs(count: int) -> str:
    return f"{count} pair{'' if count == 1 else 's'}"


def warn_of_teacher(task: str, method: str, options: Mapping[str, Any]) -> str:
    """What to know of the simulated teacher before such an experiment begins; empty where there is nothing."""
    chosen = methods.get_method(method)
    if not chosen.asks_pairs or chosen.pairs_by_vision:
        return ""
    truth, segment = str(chosen.value_of("truth", options)), int(chosen.value_of("segment", options))
    return algorithms.warn_of_late_metric(catalog.get_task(task), truth, segment)


def begin_session(experiment: Experiment, request: Request, queries: exchange.Queries) -> None:
    """Save the pairs with which a training has stopped, and order their films; once."""
    session, new = PairSession.objects.get_or_create(request=request, number=queries.session)
    if new:
        _save_pairs(session, queries)
        text = f"Session {session.number}: {format_pairs(len(queries.pairs))}, to be filmed"
        events.emit(experiment, "pairs", text, public=True)
    jobs.add(experiment, Job.Kind.PAIRS, request, percent=session.number)
    wait_if_open(experiment, request)


def save_answered(experiment: Experiment, request: Request, queries: exchange.Queries) -> None:
    """Save pairs that a simulated teacher has answered, and order their films, for which nothing waits; once."""
    answered = {"status": PairSession.Status.ANSWERED, "answered_at": Now()}
    session, new = PairSession.objects.get_or_create(request=request, number=queries.session, defaults=answered)
    if new:
        _save_pairs(session, queries)
        jobs.add(experiment, Job.Kind.ASKED, request, percent=session.number)


def find_unsaved(request: Request, folder: Path) -> list[exchange.Queries]:
    """Of the folder of a training, the sessions of its simulated teacher that `save_answered` has not saved."""
    saved = set(request.pair_sessions.values_list("number", flat=True))
    found = [
        exchange.read_queries(folder, 0, number) for number in exchange.list_sessions(folder, 0) if number not in saved
    ]
    return [queries for queries in found if queries is not None and queries.answers]


def count_filmed(experiments: Iterable[int]) -> dict[int, int]:
    """By experiment, the pairs of its sessions whose films are ready."""
    of = "session__request__experiment"
    ready = SegmentPair.objects.filter(first__status=Clip.Status.READY, second__status=Clip.Status.READY)
    return dict(ready.filter(**{f"{of}__in": experiments}).order_by().values_list(of).annotate(Count("pk")))


def give_up_films(job: Job, error: str) -> None:
    """Mark the films of a teacher's session as failed that no attempt has made."""
    missing = Segment.objects.filter(session__request=job.request, session__number=job.percent)
    missing.filter(status=Clip.Status.PENDING).update(status=Clip.Status.FAILED, error=error)


def forget_answered(request: Request) -> None:
    """Delete the sessions of a simulated teacher, with their films: the training begins again."""
    request.pair_sessions.filter(status=PairSession.Status.ANSWERED, opened_at=None).delete()
    request.jobs.filter(kind__in=BACKGROUND_KINDS).delete()


def _save_pairs(session: PairSession, queries: exchange.Queries) -> None:
    segments = Segment.objects.bulk_create(
        Segment(session=session, number=number) for number in range(queries.segments)
    )
    answers = queries.answers or ("",) * len(queries.pairs)
    SegmentPair.objects.bulk_create(
        SegmentPair(session=session, number=number, first=segments[first], second=segments[second], answer=answer)
        for number, ((first, second), answer) in enumerate(zip(queries.pairs, answers, strict=True))
    )


def open_session(experiment: Experiment, session: PairSession) -> None:
    """Have people, or the vision model, answer the pairs whose films are there; the others are skipped."""
    failed = Q(first__status=Clip.Status.FAILED) | Q(second__status=Clip.Status.FAILED)
    session.pairs.filter(failed).update(answer=SKIPPED)
    filming = PairSession.objects.filter(pk=session.pk, status=PairSession.Status.FILMING)
    if not filming.update(status=PairSession.Status.OPEN, opened_at=Now()):
        return
    left = session.pairs.filter(answer="").count()
    events.emit(experiment, "judge", f"Session {session.number}: {format_pairs(left)} to answer", public=True)
    wait_if_open(experiment, session.request)
    if not left:
        end_session(experiment, session)
    elif asks_vision(experiment):
        jobs.add(experiment, Job.Kind.ANSWER, session.request, percent=session.number)


def wait_if_open(experiment: Experiment, request: Request) -> None:
    """Show that the experiment waits for people, if a session of this training is open."""
    if asks_people(experiment) and request.pair_sessions.filter(status=PairSession.Status.OPEN).exists():
        running = Experiment.objects.filter(pk=experiment.pk, status=Experiment.Status.RUNNING)
        running.update(status=Experiment.Status.WAITING)
        experiment.status = Experiment.Status.WAITING


def end_session(experiment: Experiment, session: PairSession) -> bool:
    """Have the training go on with the answers of an open session, exactly once."""
    open_row = PairSession.objects.filter(pk=session.pk, status=PairSession.Status.OPEN)
    if not experiment.live or not open_row.update(status=PairSession.Status.ANSWERED, answered_at=Now()):
        return False
    Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.RUNNING)
    experiment.status = Experiment.Status.RUNNING
    answers = list(session.pairs.values_list("answer", flat=True))
    decided = sum(answer in ("first", "second") for answer in answers)
    asked, skipped = format_pairs(len(answers)), answers.count(SKIPPED)
    text = f"Session {session.number}: {asked}, {decided} decided, {skipped} skipped"
    events.emit(experiment, "answered", text)
    events.emit(experiment, "locked", public=True)
    job = jobs.add(experiment, Job.Kind.TRAIN, session.request)
    Job.objects.filter(pk=job.pk).update(estimates=[])  # its promises were about the slice before
    jobs.requeue(job)
    return True


def find_open_session(experiment: Experiment) -> PairSession | None:
    """The session whose pairs people should answer now, if there is one."""
    if not (experiment.live and asks_people(experiment)):
        return None
    sessions = PairSession.objects.filter(request__experiment=experiment, request__status=Request.Status.OPEN)
    return sessions.filter(status=PairSession.Status.OPEN).select_related("request").first()


def find_open_sessions(experiments: Iterable[Experiment]) -> dict[int, PairSession]:
    """`find_open_session` for many experiments, by experiment."""
    live = [row.pk for row in experiments if row.live and asks_people(row)]
    sessions = PairSession.objects.filter(request__experiment__in=live, request__status=Request.Status.OPEN)
    rows = sessions.filter(status=PairSession.Status.OPEN).select_related("request")
    return {row.request.experiment_id: row for row in rows}


def write_answers(request: Request, folder: Path) -> None:
    """Put the answers of all sessions so far into the training's folder, as they are now."""
    for session in request.pair_sessions.filter(status=PairSession.Status.ANSWERED):
        queries = exchange.read_queries(folder, 0, session.number)
        if queries is not None and not queries.answers:
            answers = [answer or SKIPPED for answer in session.pairs.values_list("answer", flat=True)]
            exchange.write_answers(folder, 0, session.number, queries.digest, answers)


def delete_answers(folder: Path) -> None:
    """Delete the answers from the training's folder: they are read when it starts, and no erasure reaches files."""
    for file in (folder / "answers").glob("*.json"):
        file.unlink()
