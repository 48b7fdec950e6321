"""The plan of a comparison: every arm on every task, repeated, each experiment with the same budget of candidates."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction

from llm.methods import METHODS
from llm.methods import get_method as find_method
from llm.methods.retrain import EPISODES
from llm.records import format_canonical
from simulation import catalog
from simulation.names import find_name
from webapp.comparisons import settings_digests
from webapp.comparisons.arms import MOST_LARGE_ROUNDS, Arm, name_arms, parse_arm
from webapp.comparisons.contrasts import Contrast, parse_contrasts
from webapp.experiments import judges
from webapp.experiments.models import Experiment, LanguageModel
from webapp.experiments.options import parse_options
from webapp.problems import lookup
from webapp.problems.media import get_medium

NAMESPACE = uuid.UUID("5d5a7d50-6b0c-4f5e-9a43-0a7e2b6f5c11")
REFERENCES = ("Human", "Sparse")
"""Rewards that stand beside those of methods: the task's human-written one, and its hidden metric itself."""
MOST_RETRAININGS = 20
AGAIN_SEEDS = 10_000
"""An arm that is a method again takes seeds this much higher."""


@dataclass(frozen=True)
class Cell:
    """One experiment of the comparison."""

    task: str
    arm: Arm
    index: int
    """The number of the repetition, from 0."""


def list_revisions() -> dict[str, int | str]:
    """Today's revision of every method and task that has another than its first, and the digest of every preset and
    human-written reward that is not as version 0.1.0 had it.
    """
    methods = {f"method {name}": method.revision for name, method in METHODS.items()}
    tasks = {f"task {name}": task.revision for name, task in catalog.list_tasks().items()}
    later = {name: revision for name, revision in {**methods, **tasks}.items() if revision > 1}
    return {**later, **settings_digests.list_changed()}


@dataclass(frozen=True)
class Plan:
    """A comparison. Two plans share the experiments in which they agree."""

    tasks: tuple[str, ...]
    arms: tuple[Arm, ...]
    experiments: int
    candidates: int
    judge: str = judges.WITHOUT_PEOPLE
    judge_options: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "quick"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    model: LanguageModel | None = None
    vision: LanguageModel | None = None
    describer: LanguageModel | None = None
    judge_model: LanguageModel | None = None
    label: str = ""
    """Makes its experiments differ from those of earlier comparisons with the same settings."""
    token_budget: int | None = None
    """Of each new experiment; `foreground.apply_budgets` sets it for those that have begun. A budget is no part of an
    experiment's id, because it changes no result.
    """
    dollar_budget: float | None = None
    retrain: int = 0
    """With how many further seeds each winner's reward is trained again; 0: none is."""
    contrasts: tuple[Contrast, ...] = ()
    """What is claimed and tested, each once."""
    revisions: Mapping[str, int | str] = field(default_factory=dict)
    """As `list_revisions` has them: experiments of another revision are others. Empty: as version 0.1.0 had it."""

    @property
    def labels(self) -> str:
        """The labels of all arms, joined."""
        labels = [arm.label for arm in self.arms]
        return ("; " if any("," in label for label in labels) else ", ").join(labels)

    @property
    def asks_own(self) -> bool:
        """Whether it has contrasts that are not every arm against the first, which a report tests in any case."""
        return bool(self.contrasts) and set(self.contrasts) != set(parse_contrasts((), self.arms, self.candidates))

    @property
    def tests_contrasts(self) -> bool:
        """Whether contrasts are tested: of scores, or its own ones of TS. Without retrainings there are no Human and
        Sparse, by which several robots' tasks are put together.
        """
        alone = len(self.tasks) == 1 or not any(get_medium(task).filmed for task in self.tasks)
        return bool(self.references) or (self.asks_own and alone)

    @property
    def baseline(self) -> Arm:
        """The arm that the others are tested against."""
        return self.arms[0]

    @property
    def judge_is_faultless(self) -> bool:
        """Whether the judge is the proxy without errors, but in controls."""
        judge = judges.JUDGES[self.judge]
        return judge.uses_metric and not judge.check_options(self.judge_options)

    @property
    def judge_is_plain_model(self) -> bool:
        """Whether the judge is a language model that sees no pictures."""
        judge = judges.JUDGES[self.judge]
        return judge.asks_model and not judge.check_options(self.judge_options)

    def find_judging(self, arm: Arm) -> dict[str, Any]:
        """The judge's options in this arm."""
        return {**self.judge_options, **dict(arm.judging)}

    def find_seed(self, cell: Cell) -> int:
        return self.seed + cell.index + AGAIN_SEEDS * cell.arm.again

    def retrains(self, cell: Cell) -> bool:
        """Whether the winner of this cell's experiment is trained again. A policy that learned from answers about pairs
        has no program; it is evaluated itself, which no choice among several has favoured.
        """
        return bool(self.retrain) and get_medium(cell.task).filmed and not find_method(cell.arm.method).asks_pairs

    def is_evaluated(self, cell: Cell) -> bool:
        """Whether the score of this cell is that of policies without exploration, not the TS."""
        return bool(self.retrain) and get_medium(cell.task).filmed

    def cells(self) -> Iterator[Cell]:
        """Repetition by repetition, so that all arms can be compared early."""
        for index in range(self.experiments):
            for task in self.tasks:
                for arm in self.arms:
                    yield Cell(task, arm, index)

    def public_id(self, cell: Cell) -> uuid.UUID:
        """The id of the cell's experiment, which is the same in every plan."""
        settings = [cell.task, cell.arm.method, cell.arm.k, cell.arm.n, cell.arm.settings, self.find_seed(cell)]
        judging = [self.judge, self.find_judging(cell.arm), self.preset, dict(self.overrides), self.label]
        models = [str(self.model or ""), str(self.vision or "")]
        optional = {"describer": self.describer, "judge_model": self.judge_model}
        revised = self._find_revised(
            f"task {cell.task}", f"method {cell.arm.method}", f"preset {cell.task} {self.find_preset(cell)}"
        )
        roles = {role: str(model) for role, model in optional.items() if model}
        words = {"prompts": cell.arm.prompt_set.digest} if cell.arm.prompt_set else {}
        return uuid.uuid5(
            NAMESPACE, format_canonical([*settings, *judging, *models, *filter(None, (roles, revised, words))])
        )

    @property
    def public_ids(self) -> list[uuid.UUID]:
        """The ids of all its experiments, in order."""
        return [self.public_id(cell) for cell in self.cells()]

    @property
    def name(self) -> str:
        """A name for the report's folder: the same for the same plan with the same own names. A repeated method's name
        was not given by the experimenter, and earlier versions gave it none.
        """
        ids = [*map(str, self.public_ids), *(arm.name for arm in self.arms if arm.name and not arm.again)]
        tasks = "-".join(self.tasks[:3]) + ("-and-more" if len(self.tasks) > 3 else "")
        return f"{tasks}-{uuid.uuid5(NAMESPACE, format_canonical(ids)).hex[:8]}"

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Every task with each of the presets that its arms train with."""
        return tuple(dict.fromkeys((cell.task, self.find_preset(cell)) for cell in self.cells()))

    def retraining_id(self, cell: Cell) -> uuid.UUID:
        """The id of the experiment that trains the cell's winner again."""
        return derive_retraining_id(self.public_id(cell), self.retrain)

    def reference_id(self, task: str, name: str) -> uuid.UUID:
        """The id of the experiment that trains a reference reward on this task, which all comparisons share."""
        settings = [task, self.preset, dict(self.overrides), self.retrain, self.label]
        settings += self._find_revised(f"task {task}").values()
        names = [f"preset {task} {self.preset}", *([f"reward {task}"] if name == "Human" else [])]
        changed = self._find_revised(*names)
        return uuid.uuid5(NAMESPACE, format_canonical(["reference", name, *settings, *([changed] if changed else [])]))

    def _find_revised(self, *names: str) -> dict[str, int | str]:
        return {name: self.revisions[name] for name in names if name in self.revisions}

    @property
    def references(self) -> list[tuple[str, str]]:
        """Every task with each reward that its scores are measured by."""
        tasks = [task for task in self.tasks if self.retrain and get_medium(task).filmed]
        return [(task, name) for task in tasks for name in REFERENCES]

    @property
    def all_ids(self) -> list[uuid.UUID]:
        """The ids of its experiments, of their retrainings and of the references."""
        retrained = [self.retraining_id(cell) for cell in self.cells() if self.retrains(cell)]
        return [*self.public_ids, *retrained, *(self.reference_id(*one) for one in self.references)]

    def find_preset(self, cell: Cell) -> str:
        """The plan's preset, or the one that goes with it where the method is defined for another algorithm."""
        algorithm = find_method(cell.arm.method).algorithm
        return catalog.match_preset(cell.task, self.preset, algorithm) if algorithm else self.preset

    def draft(self, cell: Cell) -> Experiment:
        """The cell's experiment, not saved."""
        return Experiment(
            public_id=self.public_id(cell),
            name=f"{cell.arm.label} on {cell.task}, {cell.index + 1} of {self.experiments}"[:120],
            task=cell.task,
            method=cell.arm.method,
            k=cell.arm.k,
            n=cell.arm.rounds,
            options=self._find_options(cell),
            judge=self.judge,
            judge_options=self.find_judging(cell.arm),
            preset=self.find_preset(cell),
            overrides=dict(self.overrides),
            seed=self.find_seed(cell),
            model=self.model,
            vision=self.vision,
            describer=self.describer,
            judge_model=self.judge_model,
            prompt_set=cell.arm.prompt_set,
            token_budget=self.token_budget,
            dollar_budget=self.dollar_budget,
        )

    def _find_options(self, cell: Cell) -> dict[str, Any]:
        """Those of its arm; a policy that learns from pairs is evaluated in place of retrainings."""
        evaluated = self.is_evaluated(cell) and find_method(cell.arm.method).asks_pairs
        return {**cell.arm.settings, **({"episodes": EPISODES} if evaluated else {})}

    def find_experiments(self) -> dict[uuid.UUID, Experiment]:
        """The experiments of this plan that exist, by id; retrainings and references too."""
        rows = Experiment.objects.filter(public_id__in=self.all_ids).select_related("winner__iteration")
        return {row.public_id: row for row in rows}

    def experiment(self, cell: Cell) -> Experiment:
        """The cell's experiment, created if needed."""
        return save_once(self.draft(cell))

    def problems(self) -> list[str]:
        """Why this plan cannot be run; empty when it can."""
        found = []
        first: Sequence[Cell] = [cell for cell in self.cells() if cell.index == 0]
        for cell in first:
            experiment = self.draft(cell)
            try:
                experiment.full_clean(validate_unique=False)
            except ValidationError as error:
                texts = "; ".join(f"{_get_label(name)}: {' '.join(t)}" for name, t in error.message_dict.items())
                found.append(f"{cell.arm.label} on {experiment.task_title}: {texts}")
        return found


def derive_retraining_id(search: uuid.UUID, seeds: int) -> uuid.UUID:
    """The id of the experiment in which a comparison trains this search's winner again with this number of seeds."""
    return uuid.uuid5(NAMESPACE, format_canonical(["retrain", str(search), seeds]))


def save_once(draft: Experiment) -> Experiment:
    """The experiment with the draft's id, saved if needed, also where a site and a command ask for it at once."""
    with contextlib.suppress(IntegrityError), transaction.atomic():
        if not Experiment.objects.filter(public_id=draft.public_id).exists():
            draft.save()
    return Experiment.objects.get(public_id=draft.public_id)


def _get_label(name: str) -> str:
    """What forms call a field of an experiment."""
    field = None if name == NON_FIELD_ERRORS else Experiment._meta.get_field(name)
    return str(getattr(field, "verbose_name", "plan"))


def _check_task(task: str, preset: str, iterations: int | None) -> None:
    """Raises ValueError where methods cannot be compared on this task or problem with these settings."""
    if lookup.find_task(task).metric is None:
        lack = get_medium(task).unscored
        raise ValueError(f"{lookup.find_title(task)} has {lack} by which methods could be compared")
    if not get_medium(task).filmed:
        return
    most = 10 * catalog.get_preset(task, preset).iterations
    if iterations is not None and not 1 <= iterations <= most:
        raise ValueError(f"--iterations must be between 1 and {most} for {task}")


def make_plan(
    tasks: Sequence[str],
    methods: Sequence[str],
    candidates: int,
    experiments: int,
    judge: str,
    judge_options: Sequence[str],
    preset: str,
    iterations: int | None,
    seed: int,
    model: LanguageModel | None,
    label: str,
    token_budget: int | None,
    dollar_budget: float | None,
    vision: LanguageModel | None = None,
    describer: LanguageModel | None = None,
    judge_model: LanguageModel | None = None,
    retrain: int = 0,
    contrasts: Sequence[str] = (),
    most_large_rounds: int = MOST_LARGE_ROUNDS,
    revisions: Mapping[str, int | str] | None = None,
) -> Plan:
    """A plan from the words of the command line or of a form; `Plan.problems` says whether it can be run. Without
    `revisions` it has today's.

    Raises ValueError for words that describe no plan.
    """
    if experiments < 1:
        raise ValueError("--experiments must be at least 1")
    if not 0 <= retrain <= MOST_RETRAININGS:
        raise ValueError(f"--retrain must be between 0 and {MOST_RETRAININGS}")
    tasks, judge = [lookup.find_name(task) for task in tasks], find_name("judge", judge, judges.JUDGES)
    preset = find_name("preset", preset, catalog.PRESETS)
    if judge in judges.ASKING_PEOPLE:
        raise ValueError("people judge in the browser: set up a study on the bench for each method")
    for task in tasks:
        _check_task(task, preset, iterations)
    arms = name_arms(parse_arm(text, candidates, most_large_rounds) for text in methods)
    for arm in arms:
        judges.JUDGES[judge].check_options({**parse_options(judge_options), **dict(arm.judging)})
    found = list_revisions() if revisions is None else revisions
    used = {*tasks, *(arm.method for arm in arms)}
    return Plan(
        tasks=tuple(dict.fromkeys(tasks)),
        arms=arms,
        experiments=experiments,
        candidates=candidates,
        judge=judge,
        judge_options=parse_options(judge_options),
        preset=preset,
        overrides={} if iterations is None else {"iterations": iterations},
        seed=seed,
        model=model,
        vision=vision,
        describer=describer,
        judge_model=judge_model,
        label=label,
        token_budget=token_budget,
        dollar_budget=dollar_budget,
        retrain=retrain,
        contrasts=parse_contrasts(contrasts, arms, candidates, most_large_rounds),
        revisions={name: found[name] for name in found if name.split()[1] in used},
    )
