"""The loop: replays a method from its saved requests, opens the next ones, takes people's answers.

Every function that changes an experiment locks its row first: the order of locks is experiment, request, job.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Avg
from django.db.models.functions import Abs, Now

from llm import methods, prompts, records, replay
from llm.errors import JudgeError, MethodError, ReplayMismatch
from llm.records import Judged, Pick, Problem, describe_meaning, list_shown, make_payload, result_to_json
from simulation import catalog
from webapp.base.database import read_now
from webapp.base.prepared import Prepared
from webapp.experiments import events, jobs, pair_sessions, provenance, request_results, revisions
from webapp.experiments.candidates import find_candidate, read_outcome, save_candidates
from webapp.experiments.job_kinds import BACKGROUND_KINDS, CLIP_KINDS
from webapp.experiments.kind import PersonChoice
from webapp.experiments.kinds import JUDGED_KINDS, KINDS, choose, get_judgement, train
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, LoopSettings, Request
from webapp.problems import lookup

OPEN_REQUEST = Prepared(
    lambda experiment: Request.objects.filter(
        experiment=experiment, kind__in=JUDGED_KINDS, status=Request.Status.OPEN
    ).order_by("step", "slot")[:1]
)

# --- actions of people -------------------------------------------------------------------------------------------


@transaction.atomic
def start(experiment: Experiment) -> bool:
    """Start a draft. False if it has started before."""
    row = lock(experiment.pk)
    if row.status != Experiment.Status.DRAFT:
        return False
    known = methods.METHODS.get(row.method)
    revision, title = (known.revision, known.title) if known else (1, row.method)
    update_fields(row, experiment, status=Experiment.Status.RUNNING, started_at=read_now(), revision=revision)
    plan = f"{title} on {row.task}, K={row.k}, N={row.n}. {row.judge_info.title} judges."
    events.emit(row, "started", plan, public=True)
    jobs.add(row, Job.Kind.ADVANCE)
    return True


@transaction.atomic
def pause(experiment: Experiment) -> bool:
    """Pause: no new work begins, and trainings stop at a checkpoint. False if it is not live or already paused."""
    row = lock(experiment.pk)
    if not row.live or row.paused:
        return False
    update_fields(row, experiment, paused=True)
    events.emit(row, "paused", public=True)
    return True


@transaction.atomic
def resume(experiment: Experiment) -> bool:
    row = lock(experiment.pk)
    if not row.paused:
        return False
    update_fields(row, experiment, paused=False)
    events.emit(row, "resumed", public=True)
    jobs.ring_all(row)
    return True


@transaction.atomic
def cancel(experiment: Experiment) -> bool:
    """End an experiment for good; its results stay. False if it has ended."""
    row = lock(experiment.pk)
    if row.status in (Experiment.Status.CANCELLED, Experiment.Status.FINISHED):
        return False
    update_fields(row, experiment, status=Experiment.Status.CANCELLED, paused=False, finished_at=read_now())
    jobs.cancel(row)
    events.emit(row, "cancelled", public=True)
    return True


@transaction.atomic
def retry(experiment: Experiment) -> bool:
    """Continue from the step that failed. False if nothing has failed."""
    row = lock(experiment.pk)
    if row.status != Experiment.Status.FAILED or is_imported(row):
        return False
    update_fields(row, experiment, status=Experiment.Status.RUNNING, error="", flow_changed=False)
    row.requests.filter(status=Request.Status.FAILED).update(status=Request.Status.OPEN, error="", finished_at=None)
    events.emit(row, "retried", public=True)
    for job in row.jobs.filter(status=Job.Status.FAILED):
        if not job.info.repeated:
            jobs.requeue(job)
    jobs.add(row, Job.Kind.ADVANCE)
    return True


@transaction.atomic
def answer(request_pk: int, result: Any) -> bool:
    """Take a person's answer to a Judge (llm.records.Pick as JSON), Choose (a candidate id) or Compare (one of
    llm.records.ANSWERS) request, exactly once.

    False if the request is not open or the experiment is not live. Raises ValueError for an invalid answer.
    """
    request = Request.objects.get(pk=request_pk)
    row = lock(request.experiment_id)
    get_judgement(request).check_result(request.payload, result)
    if not row.live or not request_results.complete(request, result):
        return False
    row.status = Experiment.Status.RUNNING
    row.save(update_fields=["status"])
    return True


@transaction.atomic
def refilm(clip: Clip) -> bool:
    """Film a failed clip again. False if it has not failed."""
    row = lock(clip.candidate.iteration.experiment_id)
    failed = Clip.objects.filter(pk=clip.pk, status=Clip.Status.FAILED)
    if is_imported(row) or not failed.update(status=Clip.Status.PENDING, error=""):
        return False
    place = train.find_training(row, clip.candidate.key)
    assert place is not None
    jobs.requeue(jobs.add(row, Job.Kind.FILM, place[0], clip.percent))
    return True


def is_imported(experiment: Experiment) -> bool:
    """Whether it came with an import (webapp.archive): such an experiment is never continued."""
    return hasattr(experiment, "imported")


def find_waiting_request(experiment: Experiment) -> Request | None:
    """The open request that a person should answer, if there is one."""
    if not (experiment.judge_info.asks_people and experiment.live):
        return None
    asked = OPEN_REQUEST.find(experiment.pk)
    if asked is not None:
        asked.experiment = experiment
    return asked


def find_waiting_requests(experiments: Iterable[Experiment]) -> dict[int, Request]:
    """The requests that people should answer, by experiment."""
    asking = [row.pk for row in experiments if row.judge_info.asks_people and row.live]
    open_ = Request.objects.filter(experiment__in=asking, kind__in=JUDGED_KINDS, status=Request.Status.OPEN)
    return {request.experiment_id: request for request in open_.order_by("-step", "-slot")}


# --- steps of the loop -----------------------------------------------------------------------------------


def lock(pk: int) -> Experiment:
    """The experiment, locked until the transaction ends (SQLite locks the whole database instead)."""
    return Experiment.objects.select_for_update(no_key=True).get(pk=pk)


def describe_task(experiment: LoopSettings) -> Problem:
    """The task as methods get it."""
    info = experiment.task_info
    if not isinstance(info, catalog.TaskInfo):
        return lookup.to_record(info)
    shown = (info.description, catalog.read_observation_source(info.name), info.inputs)
    return Problem(info.name, *shown, success=catalog.read_success_source(info.name))


def advance(experiment: Experiment) -> None:
    """Replay the method and open its next requests. The caller holds the experiment's lock."""
    going_on = experiment.status == Experiment.Status.RUNNING
    pool = revisions.Pool(experiment)
    while going_on:
        try:
            if experiment.ends_early:
                going_on = _choose_among_rounds(experiment)
                continue
            state = replay.advance(
                experiment.method,
                describe_task(experiment),
                experiment.seed,
                experiment.k,
                experiment.n,
                revisions.read_answers(experiment),
                experiment.options,
                strict=False,
                find=pool.take_over,
                read_meaning=revisions.MeaningReader(experiment).read,
            )
            _follow_revision(experiment, state)
            if isinstance(state, replay.Finished):
                _finish(experiment, state.candidate)
                return
            going_on = any([_open_request(experiment, state, slot, pool) for slot in state.missing])
        except ReplayMismatch as error:
            request_results.fail(experiment, _describe_change(experiment, error), flow_changed=True)
            return
        except ValueError as error:  # the method, or an option of it or of the judge, is gone
            request_results.fail(experiment, str(error), flow_changed=experiment.requests.exists())
            return
        except (MethodError, JudgeError) as error:
            request_results.fail(experiment, str(error))
            return


def _follow_revision(experiment: Experiment, state: replay.Open | replay.Finished) -> None:
    """Follow the method's current revision, since all saved answers fit it."""
    today = methods.get_method(experiment.method).revision
    if experiment.revision != today:
        Experiment.objects.filter(pk=experiment.pk).update(revision=today)
        text = f"Revision {today} of the method, after {experiment.revision}: every answer so far fits."
        events.emit(experiment, "revised", text)
        experiment.revision = today


def _describe_change(experiment: Experiment, error: ReplayMismatch) -> str:
    """Why the experiment stops, for its page."""
    method = methods.get_method(experiment.method)
    then, now = experiment.revision, method.revision
    which = f" (revision {now}; the experiment follows revision {then})" if now != then else ""
    return f"What {method.title} asks for is not what it asked for when this experiment began{which}: {error}."


def _choose_among_rounds(experiment: Experiment) -> bool:
    """Ask the judge for the winner among the finished rounds, or finish with it. True if it was answered at once."""
    asked_for = choose.find_requests(experiment).exclude(status=Request.Status.ASIDE)
    request = asked_for.order_by("step").last()
    if request is not None and request.status == Request.Status.DONE:
        _finish(experiment, str(request.result))
        return False
    if created := request is None:
        asked = records.Choose(tuple(read_outcome(experiment, key) for key in revisions.list_bests(experiment)))
        step = revisions.get_last_step(experiment) + 1
        request = _create_request(experiment, step, 0, asked, records.fingerprint_request(asked, experiment.options))
    return _judge_request(experiment, request, build_judged(request), created)


def _open_request(experiment: Experiment, state: replay.Open, slot: int, pool: revisions.Pool) -> bool:
    """Save the request and queue its job, or have it judged. True if it was answered at once."""
    asked = state.requests[slot]
    kind = type(asked).__name__
    rows = experiment.requests.exclude(status=Request.Status.ASIDE).filter(step=state.step, slot=slot)
    request = rows.first()
    if created := request is None:
        if pool.rewrite_candidates(asked):
            return True
        request = _create_request(experiment, state.step, slot, asked, state.fingerprint(slot))
        _report_upgrade(experiment, state, request)
    now, then = describe_meaning(kind, make_payload(asked)), describe_meaning(request.kind, request.payload)
    if (kind, now) != (request.kind, then):
        other = f"{request.kind}: {replay.describe_differences(now, then)}"
        raise ReplayMismatch(f"step {state.step}: the method asks for {kind}, but the open request is {other}")
    if not created and request.fingerprint == state.fingerprint(slot):
        merged = make_payload(asked) | request.payload  # fields that an earlier version did not save are added
        experiment.requests.filter(pk=request.pk).update(payload=merged)
    jobs.revive(request)
    if isinstance(asked, Judged):
        return _judge_request(experiment, request, asked, created)
    Iteration.objects.update_or_create(experiment=experiment, number=asked.iteration, defaults={"aside": False})
    if isinstance(asked, records.Train | records.Perform):
        save_candidates(experiment, asked.candidates)  # those that no model wrote have no rows yet
    jobs.add(experiment, KINDS[kind].job, request)
    pair_sessions.wait_if_open(experiment, request)
    return False


def _create_request(experiment: Experiment, step: int, slot: int, asked: Any, fingerprint: str) -> Request:
    """Save a new request with the version, the prompts and the revision that asked it."""
    _keep_prompts(experiment)
    return Request.objects.create(
        experiment=experiment,
        step=step,
        slot=slot,
        kind=type(asked).__name__,
        fingerprint=fingerprint,
        payload=revisions.build_payload(experiment, asked),
        version=provenance.get_asking_version(),
        revision=experiment.revision,
        folder=revisions.name_folder(experiment, step, slot),
    )


def _keep_prompts(experiment: Experiment) -> None:
    """Keep the prompts of one's own that it asks with, each set of them once."""
    own = dict(prompts.read_own())
    name = prompts.hash_texts(own)
    if name and name not in experiment.prompts:
        experiment.prompts = {**experiment.prompts, name: own}
        Experiment.objects.filter(pk=experiment.pk).update(prompts=experiment.prompts)


def _report_upgrade(experiment: Experiment, state: replay.Open, request: Request) -> None:
    """Log the step from which another version of Prefine asks in other words."""
    versions = experiment.requests.exclude(pk=request.pk).order_by("pk").values_list("version", flat=True)
    if state.differs and request.version != (before := versions.last() or "an earlier version"):
        text = f"From step {request.step} on Prefine {request.version} asks, in other words than {before}."
        events.emit(experiment, "upgraded", text, payload={"steps": list(state.differs)})


def _judge_request(experiment: Experiment, request: Request, asked: Judged, created: bool) -> bool:
    """Have a request judged: at once if the judge can or one candidate is left, else by a model, else by people."""
    judge, judgement, seen, result = experiment.judge_info, get_judgement(request), list_shown(asked), None
    if len(seen) == 1:
        result = judgement.build_result(request.payload, PersonChoice(Pick(seen[0].candidate.id, None)))
    elif judge.decide:
        options = judge.check_options(experiment.judge_options)
        decided = judge.decide(asked, options, derive_seed(request), measure_score_scale(experiment))
        result = result_to_json(request.kind, decided)
    if result is not None:
        return request_results.complete(request, result, advance=False)
    if judge.asks_model:
        jobs.add(experiment, KINDS[request.kind].job, request)
        return False
    Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.WAITING)
    experiment.status = Experiment.Status.WAITING
    if created:
        events.emit(experiment, "judge", judgement.log_text.format(getattr(asked, "iteration", "")), public=True)
    return False


def derive_seed(request: Request) -> int:
    """The seed of a judge's randomness: the same at every replay, different for every request."""
    text = f"{request.experiment.seed} {request.step} {request.slot} {request.fingerprint}"
    return int(hashlib.sha256(text.encode()).hexdigest()[:7], 16)


def measure_score_scale(experiment: Experiment) -> float | None:
    """The mean |RTS| of all candidates trained so far, with the sign of their mean; None before there is one."""
    trained = Candidate.objects.filter(iteration__experiment=experiment, rts__isnull=False)
    trained = trained.exclude(status=Candidate.Status.ASIDE)
    found = trained.aggregate(size=Avg(Abs("rts")), mean=Avg("rts"))
    return None if found["size"] is None else math.copysign(found["size"], found["mean"])


def build_judged(request: Request) -> Judged:
    """The request of a Judge, Choose or Compare row, with its candidates' outcomes."""
    outcomes = [read_outcome(request.experiment, key) for key in request.payload["candidates"]]
    return get_judgement(request).build_judged(request.payload, outcomes)


def _finish(experiment: Experiment, candidate: str) -> None:
    winner = find_candidate(experiment, candidate)
    Experiment.objects.filter(pk=experiment.pk).update(
        status=Experiment.Status.FINISHED, winner=winner, finished_at=Now()
    )
    events.emit(experiment, "finished", f"The winner is {candidate}", public=True)
    train.order_clips(experiment, [winner])


def find_idle() -> list[Experiment]:
    """Running experiments without a queued or running job: they need an advance job."""
    working = Job.objects.filter(status__in=(Job.Status.QUEUED, Job.Status.RUNNING))
    working = working.exclude(kind__in=CLIP_KINDS, request__status=Request.Status.DONE)  # nothing waits for these clips
    working = working.exclude(kind__in=BACKGROUND_KINDS)
    running = Experiment.objects.filter(status=Experiment.Status.RUNNING, paused=False)
    return list(running.exclude(pk__in=working.values("experiment")))


def update_fields(row: Experiment, copy: Experiment, **values: Any) -> None:
    """Save these fields, and set them in the caller's copy, too."""
    for instance in (row, copy):
        for name, value in values.items():
            setattr(instance, name, value)
    row.save(update_fields=list(values))
