"""RDA's alignment rate of trained policies: whether the robots in their films do what the task says, as a vision model
sees it, and as people do. The films and the model's ratings are an experiment of their own, of the method `align`.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from django.db.models import Count, QuerySet

from llm.judges.alignment import MOST
from llm.methods.align import ANSWERS, METHODS, PICTURES, VIDEOS
from llm.records import format_canonical
from webapp.experiments import judges, loop
from webapp.experiments.kinds import rate
from webapp.experiments.models import Candidate, Clip, Experiment, LanguageModel
from webapp.experiments.signals import ratings_requested

(ALIGN,) = METHODS
NAMESPACE = uuid.UUID("0e1b2f52-5f5a-4a08-9d5c-8a4d2f0f5c11")
LONGEST_NAME = Experiment._meta.get_field("name").max_length or 0


@dataclass(frozen=True)
class Order:
    """What is asked for: how many films of each policy, how many answers about each, from which model."""

    model: LanguageModel | None = None
    """None: films alone, for people to rate."""
    videos: int = VIDEOS
    answers: int = ANSWERS
    pictures: int = PICTURES

    @property
    def asked(self) -> int:
        """Answers about each film."""
        return self.answers if self.model else 0


@dataclass(frozen=True)
class Alignment:
    """Mean ratings of an experiment's policies, from 0.2 to 1; None where nobody of that kind rated them."""

    rate: float | None = None
    by: str = ""
    """The vision model."""
    films: int = 0
    answers: int = 0
    """The vision model's, over all films."""
    people: float | None = None
    people_answers: int = 0


NONE = Alignment()


def list_policies(experiment: Experiment) -> list[str]:
    """The candidates whose final policies stand for the experiment: all that a given reward has trained; of a search,
    the winner.
    """
    if experiment.searches:
        return [experiment.winner.key] if experiment.winner else []
    rows = Candidate.objects.filter(iteration__experiment=experiment, status=Candidate.Status.TRAINED)
    return [row.key for row in rows.select_related("iteration")]


def count_policies(experiments: Iterable[Experiment]) -> dict[uuid.UUID, int]:
    """How many `list_policies` has of each, in one query."""
    rows = list(experiments)
    trained = Candidate.objects.filter(iteration__experiment__in=rows, status=Candidate.Status.TRAINED)
    counts = dict(trained.values_list("iteration__experiment").annotate(Count("pk")))
    return {row.public_id: int(row.winner_id is not None) if row.searches else counts.get(row.pk, 0) for row in rows}


def draft(experiment: Experiment, order: Order) -> Experiment | None:
    """The experiment that films these policies and has them rated, not saved; None where there is no policy. The same
    order has the same id, so that it is carried out once, unless it has ended for good without its films.
    """
    policies = ",".join(list_policies(experiment))
    if not policies:
        return None
    given = {"of": str(experiment.public_id), "policies": policies, "answers": order.asked, "pictures": order.pictures}
    who = order.model.name if order.model else ""
    return Experiment(
        public_id=_find_free_id([given, order.videos, who]),
        name=f"Films of {_name_origin(experiment)}"[:LONGEST_NAME],
        task=experiment.task,
        method=ALIGN.name,
        options=ALIGN.settings(given),
        judge=judges.WITHOUT_PEOPLE,
        k=order.videos,
        n=policies.count(",") + 1,
        preset=experiment.preset,
        overrides=experiment.overrides,
        seed=experiment.seed,
        vision=order.model,
    )


def _find_free_id(parts: Sequence[Any]) -> uuid.UUID:
    """The id of these settings; of the next attempt where earlier ones were cancelled, or imported unfinished."""
    attempts = itertools.count(1)
    ids = (uuid.uuid5(NAMESPACE, format_canonical([*parts, *([n] if n > 1 else [])])) for n in attempts)
    return next(number for number in ids if not _has_ended_short(Experiment.objects.filter(public_id=number).first()))


def _has_ended_short(row: Experiment | None) -> bool:
    """Whether it has not finished and never will."""
    if row is None or row.status == Experiment.Status.FINISHED:
        return False
    return row.status == Experiment.Status.CANCELLED or loop.is_imported(row)


def _name_origin(experiment: Experiment) -> str:
    """What its policies come from. The name of what people judged may hold a label that an erasure would not find."""
    searched = experiment.retrains.iteration.experiment if experiment.retrains else experiment
    if searched.judge_info.asks_people:
        return f"{experiment.get_method_display()} on {experiment.task}, {str(experiment.public_id)[:8]}"
    return experiment.name


def find_films(of: Iterable[uuid.UUID]) -> dict[uuid.UUID, list[Clip]]:
    """By experiment, the films of its policies, of the newest order that has all of them."""
    orders = {row.pk: number for number, row in _find_newest(of, rated=False).items()}
    found: dict[uuid.UUID, list[Clip]] = {}
    clips = _find_ready(orders).select_related("candidate__iteration__experiment")
    for clip in clips.order_by("candidate", "pk"):
        found.setdefault(orders[clip.candidate.iteration.experiment_id], []).append(clip)
    return found


def count_films(of: Iterable[uuid.UUID]) -> dict[uuid.UUID, int]:
    """How many `find_films` has, by experiment."""
    orders = {row.pk: number for number, row in _find_newest(of, rated=False).items()}
    counts = _find_ready(orders).values_list("candidate__iteration__experiment").annotate(Count("pk"))
    return {orders[key]: films for key, films in counts}


def _find_ready(orders: Iterable[int]) -> QuerySet[Clip]:
    return Clip.objects.filter(candidate__iteration__experiment__in=list(orders), status=Clip.Status.READY)


def find_orders(of: Iterable[uuid.UUID]) -> dict[uuid.UUID, Experiment]:
    """By experiment, the newest order of its films, finished or not."""
    rows = Experiment.objects.filter(method=ALIGN.name, options__of__in=[str(number) for number in of])
    return {uuid.UUID(row.options["of"]): row for row in rows.order_by("created_at", "pk")}


def read_alignments(of: Collection[uuid.UUID]) -> dict[uuid.UUID, Alignment]:
    """By experiment, how its policies were rated: by the vision model of the newest order, and by people."""
    newest = _find_newest(of, rated=True)
    ratings: dict[int, list[tuple[str, int]]] = {row.pk: [] for row in newest.values()}
    answered = rate.find_answered(ratings).values_list("experiment", "payload__candidate", "result__rating")
    for experiment, film, rating in answered:
        if rating is not None:
            ratings[experiment].append((film, rating))
    found = {number: _summarize(row, ratings[row.pk]) for number, row in newest.items()}
    for number, (mean, count) in _read_people(of).items():
        found[number] = replace(found.get(number, NONE), people=mean, people_answers=count)
    return {number: one for number, one in found.items() if one != NONE}


def _find_newest(of: Iterable[uuid.UUID], rated: bool) -> dict[uuid.UUID, Experiment]:
    """By experiment, the newest finished order; `rated`: of those that ask a vision model."""
    rows = Experiment.objects.filter(method=ALIGN.name, status=Experiment.Status.FINISHED)
    rows = (
        rows.filter(options__of__in=[str(number) for number in of])
        .select_related("vision")
        .order_by("finished_at", "pk")
    )
    return {uuid.UUID(row.options["of"]): row for row in rows if not rated or row.options.get("answers", ANSWERS)}


def _summarize(row: Experiment, ratings: Iterable[tuple[str, int]]) -> Alignment:
    """Every film counts alike, however many answers about it could be read."""
    films: dict[str, list[int]] = {}
    for film, rating in ratings:
        films.setdefault(film, []).append(rating)
    if not films:
        return NONE
    by = str(row.vision) if row.vision else ""
    return Alignment(average(films.values()), by, len(films), sum(map(len, films.values())))


def average(films: Iterable[Collection[float]]) -> float:
    """The alignment rate: the mean of the films' mean ratings, as a share of the highest."""
    return fmean(fmean(ratings) for ratings in films) / MOST


def _read_people(of: Collection[uuid.UUID]) -> Mapping[uuid.UUID, tuple[float, int]]:
    """By experiment, people's alignment rate and how many ratings it is the mean of."""
    said: list[tuple[Any, Any]] = ratings_requested.send(Experiment, of=of)
    return {number: one for _, found in said for number, one in found.items()}
