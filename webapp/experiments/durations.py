"""How long the steps of a round took on this installation."""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import dataclass

from django.db.models import Case, F, OuterRef, Q, QuerySet, Subquery, When

from llm.methods import ASKING_PAIRS
from llm.records import format_canonical
from trainer.records import FINAL
from webapp.experiments import pair_sessions
from webapp.experiments.courses import Course, read_course
from webapp.experiments.first_courses import FIRST_COURSES, PRESET
from webapp.experiments.job_kinds import JOB_KINDS, MEASURED_KINDS
from webapp.experiments.models import Experiment, Job, PairSession
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.shorter_rounds import SHARE, trains_shorter

REMEMBERED_JOBS = 7
"""A step is expected to take the median of this many newest jobs of its kind: the machine's load changes."""
EQUAL_STEPS: dict[str, tuple[str, ...]] = {
    "writing": ("model_id",),
    "training": ("preset", "overrides"),
    "filming": ("judge",),
    "asking": ("method", "judge", "model_id", "describer_id", "judge_model_id", "vision_id"),
}
"""By step: the settings beside task and K that measured experiments must share."""
LIKE_STEPS: dict[str, tuple[str, ...]] = {
    "writing": ("model_id",),
    "training": ("task", "preset", "overrides"),
    "filming": (),
}
"""By step: the settings that experiments of another K must share; the time of their parts is taken then."""
UNMEASURED_CLIP_SECONDS = 3.5
"""Two processes on two idle cores took 3.4 s (Cartpole) and 4.2 s (Ant) for a clip each, their start included."""
SHORTER = Q(experiment__training_start=TrainingStart.BEST_SHORT, request__payload__iteration__gt=1)
"""Trainings of later rounds that went on from the best; few begin without one, as the round before was not judged."""
SLICES = {"training": (F("answered_before"), F("created_at")), "filming": (F("created_at"), F("opened_at"))}
"""By step: when it begins and ends in a training that stops for the answers of each session."""
OWN_PROGRAMS = 2
"""The round's own programs that share a core with what is estimated, until it begins."""
StepKey = tuple[str, str]


@dataclass(frozen=True)
class Usual:
    """How jobs of one kind and settings went."""

    seconds: float | None = None
    """The median; None if none was done before."""
    courses: tuple[Course, ...] = ()


Known = dict[StepKey, Usual]
"""Measured jobs by step and settings, read once for many experiments."""
SHARED_SECONDS = 10.0
"""Seconds for which pages share what was measured: they ask often, and it changes only when a job ends."""


class SharedKnown:
    """Measured jobs that are read again every few seconds."""

    def __init__(self) -> None:
        self._known: Known = {}
        self._old_at = 0.0

    def get(self) -> Known:
        if time.monotonic() >= self._old_at:
            self._known, self._old_at = {}, time.monotonic() + SHARED_SECONDS
        return self._known


shared_known = SharedKnown()


def measure_step(experiment: Experiment, step: str, known: Known) -> float | None:
    """The seconds that this step usually takes for these settings; None if nothing like it was done before."""
    if step in SLICES and pair_sessions.stops_again(experiment):
        return measure_slice(experiment, step, known)
    seconds = _measure_whole_step(experiment, step, known)
    shorter = seconds is not None and step == "training" and trains_shorter(experiment)
    return SHARE * seconds if seconds is not None and shorter else seconds


def _measure_whole_step(experiment: Experiment, step: str, known: Known) -> float | None:
    """As `measure_step`, of a training of the preset's whole length."""
    seconds = _measure(experiment, step, ("task", "k", *EQUAL_STEPS[step]), known).seconds
    if seconds is None and step in LIKE_STEPS:
        each = _measure(experiment, step, LIKE_STEPS[step], known, each=True).seconds
        seconds = None if each is None else each * _count_parts(step, experiment.k)
    if seconds is None and step == "filming":
        return UNMEASURED_CLIP_SECONDS * _count_parts(step, experiment.k) * measure_load()
    return seconds


def measure_slice(experiment: Experiment, step: str, known: Known) -> float | None:
    """The seconds of this step between two sessions of answers, in which equally long parts of a policy's training lie:
    of this experiment and of others with its settings.
    """
    names = ("task", "k", *EQUAL_STEPS["training"], "method", "options")
    same = {f"request__experiment__{name}": getattr(experiment, name) for name in names}
    key = (f"{step} between sessions", format_canonical(same))
    if key not in known:
        before = PairSession.objects.filter(request=OuterRef("request"), number=OuterRef("number") - 1)
        sessions = PairSession.objects.filter(**same).annotate(answered_before=Subquery(before.values("answered_at")))
        began, ended = SLICES[step]
        ends = sessions.order_by("-pk").values_list(began, ended)[: REMEMBERED_JOBS + 1]
        found = [(end - begin).total_seconds() for begin, end in ends if begin and end]
        known[key] = Usual(statistics.median(found) if found else None)
    return known[key].seconds


def read_courses(experiment: Experiment, step: str, known: Known) -> tuple[Course, ...]:
    """The courses of this step's newest jobs for these settings, whatever K was; of a training that was never measured
    here, the course that it had elsewhere.
    """
    if step not in LIKE_STEPS:
        return ()
    measured = _measure(experiment, step, LIKE_STEPS[step], known, each=True)
    return measured.courses if measured.seconds is not None else _find_first_courses(experiment, step)


def _find_first_courses(experiment: Experiment, step: str) -> tuple[Course, ...]:
    usual = step == "training" and experiment.preset == PRESET and not experiment.overrides
    known = FIRST_COURSES.get(experiment.task) if usual and not experiment.asks_pairs else None
    return (known,) if known else ()


def _count_parts(step: str, k: int) -> int:
    """Into how many equal parts the time of a step with K candidates falls. Processes, one for each core, train or film
    one candidate each at a time; a model writes all.
    """
    return k if step == "writing" else -(-k // (os.cpu_count() or 1))


def measure_load() -> float:
    """How much slower films will be because of others' programs on this machine; at least 1.

    Of the programs that share a core, about two are the round's own training and early film, which end before.
    """
    return max(1.0, os.getloadavg()[0] / (OWN_PROGRAMS * (os.cpu_count() or 1)))


def _measure(experiment: Experiment, step: str, names: tuple[str, ...], known: Known, each: bool = False) -> Usual:
    """Of experiments that share these settings; `each`: the seconds of one part (_count_parts)."""
    learns = step == "training" and experiment.asks_pairs  # its time follows the answers it learns from
    names = (*names, "method", "options") if learns else names
    same = {f"experiment__{name}": getattr(experiment, name) for name in names}
    key = (f"{step} {each}", format_canonical(same))
    if key not in known:
        kind = JOB_KINDS[MEASURED_KINDS[step]]
        like = Job.objects.filter(kind=kind.name, percent=FINAL if kind.films_clips else 0, **same)
        if step == "training" and not learns:
            like = like.exclude(experiment__method__in=ASKING_PAIRS)
        if step == "training":  # those that waited for people ran in slices
            like = like.exclude(request__pair_sessions__opened_at__isnull=False)
        known[key] = _measure_jobs(like, step if each else "")
    return known[key]


def _measure_jobs(like: QuerySet[Job], parts_of: str) -> Usual:
    """Of the newest jobs; the seconds are those of one part of this step where one is named."""
    done = like.filter(status=Job.Status.DONE, attempt=1).order_by("-id")
    shared = Case(When(SHORTER, then=SHARE), default=1.0)
    names = ("started_at", "finished_at", "experiment__k", "progress__course", "share")
    newest = done.annotate(share=shared).values_list(*names)[:REMEMBERED_JOBS]
    whole = [
        ((ended - began).total_seconds() / share, k, [[at / share, fraction] for at, fraction in points or []])
        for began, ended, k, points, share in newest
        if began and ended
    ]
    seconds = [taken / (_count_parts(parts_of, k) if parts_of else 1) for taken, k, _ in whole]
    found = [read_course(points, taken) for taken, _, points in whole]
    courses = tuple(course for course in found if course)
    return Usual(statistics.median(seconds) if seconds else None, courses)
