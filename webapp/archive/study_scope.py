"""Which rows belong to a study: its participants, their experiments, and the A/B votes that compare these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from webapp.archive.rules import Table
from webapp.experiments.models import Experiment
from webapp.problems.models import Problem
from webapp.studies.models import Study
from webapp.votes.models import Pair, Poll

MODELS = ("model", "describer", "judge_model", "vision")
EXPERIMENT_OF_CANDIDATE = "iteration__experiment"
SIDES = ("first__candidate", "second__candidate", "first_answer", "second_answer")
COMPARED_EXPERIMENTS = tuple(f"{side}__{EXPERIMENT_OF_CANDIDATE}" for side in SIDES)
"""From a pair of an A/B vote to the experiments that it compares."""


@dataclass(frozen=True)
class Options:
    """What an export contains beside the tables."""

    clips: bool = True
    checkpoints: bool = False
    fresh_labels: bool = False
    pilots: bool = False
    """Whether people who tried the study out count too."""


def select_rows(table: Table, keys: Sequence[Any], experiments: Sequence[int]) -> QuerySet[Any]:
    """The table's rows that belong to these roots and point to no other experiment than these."""
    condition = Q()
    for path in table.path.split("|"):
        condition |= Q(**{f"{path or 'pk'}__in": keys})
    for path in table.inside:
        condition &= Q(**{f"{path}__in": experiments})
    return table.cls._default_manager.filter(condition)


@dataclass(frozen=True)
class Scope:
    study: Study
    pilots: bool = False

    @cached_property
    def own(self) -> list[int]:
        """The experiments of the study's participants."""
        mine = Experiment.objects.filter(assignments__participant__in=self.participants)
        return sorted(set(mine.values_list("pk", flat=True)))

    @cached_property
    def participants(self) -> list[int]:
        people = self.study.participants.all() if self.pilots else self.study.participants.exclude_pilots()
        return sorted(people.values_list("pk", flat=True))

    @cached_property
    def left_out(self) -> list[int]:
        """The participants of the study whose rows are not in the export: its pilots."""
        return [] if self.pilots else sorted(self.study.participants.pilots().values_list("pk", flat=True))

    @cached_property
    def polls(self) -> list[int]:
        """Closed votes with a clip or an answer of this study; open ones are sealed."""
        closed = Poll.objects.filter(pk__in=self._pairs.values("poll"), status=Poll.Status.CLOSED)
        return sorted(closed.values_list("pk", flat=True))

    @property
    def _pairs(self) -> QuerySet[Pair]:
        of_own = Q()
        for side in COMPARED_EXPERIMENTS:
            of_own |= Q(**{f"{side}__in": self.own})
        return Pair.objects.filter(of_own)

    @cached_property
    def sealed(self) -> int:
        """Votes with a clip or an answer of this study that are not closed."""
        return Poll.objects.filter(pk__in=self._pairs.values("poll")).exclude(status=Poll.Status.CLOSED).count()

    @cached_property
    def experiments(self) -> list[int]:
        """The study's own experiments, and those without participants that the votes compare with them."""
        sides = Pair.objects.filter(poll__in=self.polls).values_list(*COMPARED_EXPERIMENTS)
        compared = {pk for pair in sides for pk in pair if pk}
        without_people = Experiment.objects.filter(pk__in=compared, assignments=None).values_list("pk", flat=True)
        return sorted({*self.own, *without_people})

    @cached_property
    def models(self) -> list[int]:
        used = [*Experiment.objects.filter(pk__in=self.experiments).values_list(*MODELS)]
        used += self.study.arms.values_list(*MODELS)
        return sorted({pk for row in used for pk in row if pk})

    @cached_property
    def prompt_sets(self) -> list[int]:
        chosen = {*Experiment.objects.filter(pk__in=self.experiments).values_list("prompt_set", flat=True)}
        return sorted(pk for pk in chosen | {*self.study.arms.values_list("prompt_set", flat=True)} if pk)

    @cached_property
    def problems(self) -> list[int]:
        """Problems that are the task of an experiment or an arm."""
        tasks = {*Experiment.objects.filter(pk__in=self.experiments).values_list("task", flat=True)}
        tasks |= {*self.study.arms.values_list("task", flat=True)}
        return sorted(Problem.objects.filter(name__in=tasks).values_list("pk", flat=True))

    def filter_rows(self, table: Table) -> QuerySet[Any]:
        keys: list[int] = {
            "audit": [],
            "study": [self.study.pk],
            "experiment": self.experiments,
            "poll": self.polls,
            "language model": self.models,
            "prompt set": self.prompt_sets,
            "problem": self.problems,
        }[table.root]
        rows = select_rows(table, keys, self.experiments)
        if table.model == "studies.Participant":
            return rows.exclude(pk__in=self.left_out)
        for path in table.person.split("|") if table.person and self.left_out else ():
            rows = rows.exclude(**{f"{path}__in": self.left_out})
        return rows


@dataclass(frozen=True)
class ExperimentScope:
    """Experiments by themselves: their rows, and those of their models and problems. No rows of people."""

    experiments: list[int]
    study: None = None

    def holds(self, table: Table) -> bool:
        return table.root in ("experiment", "language model", "prompt set", "problem") and not table.person

    def filter_rows(self, table: Table) -> QuerySet[Any]:
        chosen = Experiment.objects.filter(pk__in=self.experiments)
        keys: dict[str, list[Any]] = {
            "experiment": self.experiments,
            "language model": sorted({pk for row in chosen.values_list(*MODELS) for pk in row if pk}),
            "prompt set": list(chosen.exclude(prompt_set=None).values_list("prompt_set", flat=True).distinct()),
            "problem": list(Problem.objects.filter(name__in=chosen.values("task")).values_list("pk", flat=True)),
        }
        return select_rows(table, keys[table.root], self.experiments)
