"""Several experiments beside each other: their curves in one figure, and the films of their winners."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from trainer.records import FINAL
from webapp.base.charts import Chart, Series
from webapp.bench.experiments.run_columns import read_bests
from webapp.experiments import figures
from webapp.experiments.models import Clip, Experiment
from webapp.problems import lookup

MOST = 12
"""Experiments in one figure."""


@dataclass(frozen=True)
class Selected:
    """An experiment with a name that no other of the selection has."""

    experiment: Experiment
    label: str
    clip: Clip | None
    """The film of its winner's final policy."""


def read_selected(public_ids: Collection[uuid.UUID]) -> list[Selected]:
    """The first of these experiments that exist, in the order in which they were made."""
    rows = Experiment.objects.filter(public_id__in=public_ids).select_related("winner__iteration")
    chosen = list(rows.order_by("created_at", "pk")[:MOST])
    winners = [row.winner_id for row in chosen if row.winner_id]
    filmed = Clip.objects.filter(candidate__in=winners, percent=FINAL, status=Clip.Status.READY)
    clips = {clip.candidate_id: clip for clip in filmed}
    return [
        Selected(row, label, clips.get(row.winner_id) if row.winner_id else None)
        for row, label in zip(chosen, name_uniquely(chosen), strict=True)
    ]


def parse_ids(texts: Iterable[str]) -> list[uuid.UUID]:
    """Public ids, one or several with commas in a text; what is none is left out."""
    found = []
    for part in ",".join(texts).split(","):
        try:
            found.append(uuid.UUID(part.strip()))
        except ValueError:
            continue
    return found


def name_uniquely(rows: Sequence[Experiment]) -> list[str]:
    """The names, with the seed, and if need be the public id, where several are called the same."""
    names = [row.name for row in rows]
    for extras in ([f"seed {row.seed}" for row in rows], [str(row.public_id)[:8] for row in rows]):
        count = Counter(names)
        names = [f"{name}, {extra}" if count[name] > 1 else name for name, extra in zip(names, extras, strict=True)]
    return names


def draw_charts(selected: Sequence[Selected]) -> list[Chart]:
    """For each task two figures: the best score so far over the rounds, and the training of the winners."""
    by_task: dict[str, list[Selected]] = defaultdict(list)
    for one in selected:
        by_task[one.experiment.task].append(one)
    best = read_bests([one.experiment for one in selected])
    return [chart for task, own in by_task.items() for chart in _draw_task(task, own, best)]


def _draw_task(task: str, selected: Sequence[Selected], best: dict[int, dict[int, float]]) -> list[Chart]:
    metric = _find_metric(task)
    rounds, trainings, last = [], [], 2
    for one in selected:
        scores = best.get(one.experiment.pk, {})
        last = max(last, one.experiment.rounds)
        rounds.append(Series(one.label, tuple(map(float, scores)), tuple(scores.values())))
        if winner := one.experiment.winner:
            trace = winner.metric_trace.get("all") or winner.metric_trace.get("samples") or []
            trainings.append(figures.make_training_series(one.label, trace))
    short, slug = figures.shorten_metric(metric), task.lower()
    charts = [
        Chart(
            f"rounds-{slug}",
            f"{task}: best score so far",
            "round",
            f"RTS ({short})",
            tuple(rounds),
            (1, last),
            whole_x=True,
        ),
        Chart(f"training-{slug}", f"{task}: training of the winners", "training (%)", short, tuple(trainings)),
    ]
    return [chart for chart in charts if not chart.empty]


def _find_metric(task: str) -> str:
    """Empty where the task has none, or is a problem that was deleted."""
    try:
        return lookup.find_task(task).metric or ""
    except ValueError:
        return ""
