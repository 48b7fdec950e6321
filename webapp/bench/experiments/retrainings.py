"""The retrainings of a winner's reward, beside its score in the search that found it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from webapp.base.charts import drop_infinite
from webapp.base.statistics.group_tests import Mean, summarize_mean
from webapp.experiments import progress
from webapp.experiments.models import Candidate, Experiment
from webapp.experiments.repeating import RETRAINING


@dataclass(frozen=True)
class Retraining:
    experiment: Experiment
    progress: progress.Progress
    mean_actions: Mean | None
    """Of the final policies' scores without exploration, over whole episodes; None before there is one."""
    final: Mean | None
    """The mean of the scores at the end of training."""
    rts: Mean | None

    @property
    def first_seed(self) -> int:
        """The first seed, as webapp.experiments.kinds.train draws it."""
        return 1000 * self.experiment.seed + 1

    @property
    def last_seed(self) -> int:
        return self.first_seed + self.experiment.k - 1


@dataclass(frozen=True)
class RetrainingTable:
    origin: Candidate
    """The winner of the search."""
    rows: list[Retraining]

    @property
    def running(self) -> bool:
        return any(row.experiment.live for row in self.rows)

    @property
    def starts_differ(self) -> bool:
        """Whether some started from other policies than the search."""
        search = self.origin.iteration.experiment
        return any(row.experiment.training_start != search.training_start for row in self.rows)


def read_retrainings(experiment: Experiment) -> RetrainingTable | None:
    """All of this experiment's winner, or this one where it is a retraining; None without any."""
    origin = experiment.retrains or experiment.winner
    rows = [experiment] if experiment.retrains else _find_retrainings(experiment)
    if origin is None or not rows or experiment.asks_pairs:
        return None
    finals: dict[int, list[float]] = defaultdict(list)
    scores: dict[int, list[float]] = defaultdict(list)
    evaluated: dict[int, list[float]] = defaultdict(list)
    trained = Candidate.objects.filter(iteration__experiment__in=rows, status=Candidate.Status.TRAINED)
    columns = ("iteration__experiment", "final_score", "rts", "evaluation")
    for pk, final, rts, evaluation in trained.values_list(*columns):
        for found, value in ((finals, final), (scores, rts), (evaluated, evaluation.get("score"))):
            if (score := drop_infinite(value)) is not None:
                found[pk].append(score)
    states = progress.read_all(rows)
    return RetrainingTable(
        origin,
        [
            Retraining(row, states[row.pk], *(_summarize_known(found[row.pk]) for found in (evaluated, finals, scores)))
            for row in rows
        ],
    )


def _find_retrainings(experiment: Experiment) -> list[Experiment]:
    if experiment.winner is None:
        return []
    return list(experiment.winner.retrainings.filter(method=RETRAINING.name).order_by("pk"))


def _summarize_known(values: list[float]) -> Mean | None:
    return summarize_mean(values) if values else None
