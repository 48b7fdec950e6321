"""The plan of a comparison: every arm on every task, repeated, each experiment with the same budget of candidates."""

from __future__ import annotations

import contextlib
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import IntegrityError, transaction

from llm.method import Method
from llm.methods import OFFERED
from llm.methods import method as find_method
from llm.records import canonical
from simulation import catalog
from simulation.names import find_name
from webapp.experiments import judges
from webapp.experiments.models import Experiment, LanguageModel
from webapp.experiments.options import format_value, parse_options
from webapp.problems import lookup
from webapp.problems.media import get_medium

NAMESPACE = uuid.UUID("5d5a7d50-6b0c-4f5e-9a43-0a7e2b6f5c11")
MOST_ROUNDS = 20
LONGEST_NAME = 60


@dataclass(frozen=True)
class Arm:
    """A method with its options and its share of the budget."""

    method: str
    k: int
    n: int
    options: tuple[tuple[str, Any], ...] = ()
    """The options that differ from their defaults, without the budget."""
    budget: int = 0
    """For a method that counts its candidates itself; else 0."""
    name: str = field(default="", compare=False)
    """The experimenter's own; empty: the method and its options."""
    difference: str = field(default="", compare=False)
    """What `name_arms` adds where arms of one comparison have the same method and options, for example "K=3"."""

    @property
    def label(self) -> str:
        """What it is called; unique within its comparison (`name_arms`)."""
        if self.name:
            return self.name
        extra = ", ".join(f"{name}={format_value(value)}" for name, value in self.options)
        title = find_method(self.method).title + (f" ({extra})" if extra else "")
        return f"{title}, {self.difference}" if self.difference else title

    @property
    def candidates(self) -> int:
        return find_method(self.method).candidates_of(self.k, self.n, self.settings)

    @property
    def rounds(self) -> int:
        """`n`, or what follows from the budget of a method that counts its candidates."""
        return find_method(self.method).rounds_of(self.k, self.n, self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        own = {"budget": self.budget} if self.budget else {}
        return find_method(self.method).settings({**dict(self.options), **own})


def parse_arm(text: str, candidates: int) -> Arm:
    """An arm from "method" or "method:name=value,name=value"; k is one of the names. "Own name=" may stand before it.
    Raises ValueError.

    K stays the method's own where it divides the budget; else it is the divisor next to it.
    """
    head, _, rest = text.partition(":")
    own, named, name = (part.strip() for part in head.rpartition("="))
    if named:
        _check_name(own)
    return replace(_parse_method(name, rest, candidates), name=own)


def _check_name(name: str) -> None:
    if not re.match(r"\w", name) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"{name!r} cannot be a name: it begins with a letter or digit and has at most {LONGEST_NAME} characters"
        )


def _parse_method(typed: str, rest: str, candidates: int) -> Arm:
    name = find_name("method", typed, OFFERED)
    method = find_method(name)
    given = parse_options(part for part in rest.split(",") if part.strip())
    typed_k = given.pop("k", None)
    k = method.k if typed_k is None else _parse_whole(typed_k, "k")
    if k < method.least_k:
        raise ValueError(f"{method.title} needs at least {method.least_k} candidates a round, not {k}")
    if k > method.most_k:
        raise ValueError(f"{method.title} tries at most {method.most_k} at once, not {k}")
    if any(option.name == "budget" for option in method.options):
        options = method.settings({**given, "budget": candidates})
        return Arm(name, k, method.n, tuple((o, v) for o, v in options.items() if o != "budget"), candidates)
    if method.k * method.n == 1 and typed_k in (None, "1"):
        return Arm(name, 1, 1, tuple(method.settings(given).items()))  # one answer is what this method is
    if k > 1 and (candidates % k or candidates // k > MOST_ROUNDS):
        k = _find_divisor(method, k, candidates)
    return Arm(name, k, candidates // k, tuple(method.settings(given).items()))


def _parse_whole(text: str, name: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name}={text}: a whole number of at least 1 is needed")
    return int(text)


def _find_divisor(method: Method, k: int, candidates: int) -> int:
    """The divisor of the budget that is nearest to k and that the method can have; of two equally near, the larger."""
    least = max(method.least_k, -(-candidates // MOST_ROUNDS))
    fits = [d for d in range(least, candidates + 1) if candidates % d == 0]
    if not fits:
        raise ValueError(f"{method.title} cannot spend {candidates} candidates: it needs {method.least_k} a round")
    return min(fits, key=lambda d: (abs(d - k), -d))


def name_arms(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    """Each arm once, with a label that no other has. Raises ValueError for own names that are not unique."""
    once: dict[Arm, Arm] = {}
    for arm in arms:
        known = once.setdefault(arm, arm)
        if arm.name and known.name and arm.name != known.name:
            raise ValueError(f"{known.name!r} and {arm.name!r} are the same method with the same options")
        once[arm] = arm if arm.name else known
    unnamed = [arm for arm in once.values() if not arm.name]
    named = tuple(_tell_apart(arm, [o for o in unnamed if o.label == arm.label]) for arm in once.values())
    if twice := [label for label, count in Counter(arm.label for arm in named).items() if count > 1]:
        raise ValueError(f"two arms are called {twice[0]!r}: choose another name")
    return named


def _tell_apart(arm: Arm, alike: Sequence[Arm]) -> Arm:
    """The arm with K, N or both in its label, where others are called the same without."""
    if arm.name or len(alike) < 2:
        return arm
    shape = {"K": arm.k, "N": arm.n}
    for letters in ("K", "N", "KN"):
        if len({tuple(getattr(other, letter.lower()) for letter in letters) for other in alike}) == len(alike):
            break
    return replace(arm, difference=", ".join(f"{letter}={shape[letter]}" for letter in letters))


@dataclass(frozen=True)
class Cell:
    """One experiment of the comparison."""

    task: str
    arm: Arm
    index: int
    """The number of the repetition, from 0."""


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

    @property
    def labels(self) -> str:
        """The labels of all arms, joined."""
        labels = [arm.label for arm in self.arms]
        return ("; " if any("," in label for label in labels) else ", ").join(labels)

    @property
    def baseline(self) -> Arm:
        """The arm that the others are tested against."""
        return self.arms[0]

    @property
    def judge_is_faultless(self) -> bool:
        """Whether the judge is the proxy without errors."""
        judge = judges.JUDGES[self.judge]
        return judge.uses_metric and not judge.check_options(self.judge_options)

    def cells(self) -> Iterator[Cell]:
        """Repetition by repetition, so that all arms can be compared early."""
        for index in range(self.experiments):
            for task in self.tasks:
                for arm in self.arms:
                    yield Cell(task, arm, index)

    def public_id(self, cell: Cell) -> uuid.UUID:
        """The id of the cell's experiment, which is the same in every plan."""
        settings = [cell.task, cell.arm.method, cell.arm.k, cell.arm.n, cell.arm.settings, self.seed + cell.index]
        judging = [self.judge, dict(self.judge_options), self.preset, dict(self.overrides), self.label]
        models = [str(self.model or ""), str(self.vision or "")]
        optional = {"describer": self.describer, "judge_model": self.judge_model}
        roles = {role: str(model) for role, model in optional.items() if model}
        return uuid.uuid5(NAMESPACE, canonical([*settings, *judging, *models, *([roles] if roles else [])]))

    @property
    def public_ids(self) -> list[uuid.UUID]:
        """The ids of all its experiments, in order."""
        return [self.public_id(cell) for cell in self.cells()]

    @property
    def name(self) -> str:
        """A name for the report's folder: the same for the same plan with the same own names."""
        ids = [*map(str, self.public_ids), *(arm.name for arm in self.arms if arm.name)]
        tasks = "-".join(self.tasks[:3]) + ("-and-more" if len(self.tasks) > 3 else "")
        return f"{tasks}-{uuid.uuid5(NAMESPACE, canonical(ids)).hex[:8]}"

    @property
    def settings(self) -> tuple[tuple[str, str], ...]:
        """Every task with each of the presets that its arms train with."""
        return tuple(dict.fromkeys((cell.task, self.find_preset(cell)) for cell in self.cells()))

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
            options=cell.arm.settings,
            judge=self.judge,
            judge_options=dict(self.judge_options),
            preset=self.find_preset(cell),
            overrides=dict(self.overrides),
            seed=self.seed + cell.index,
            model=self.model,
            vision=self.vision,
            describer=self.describer,
            judge_model=self.judge_model,
            token_budget=self.token_budget,
            dollar_budget=self.dollar_budget,
        )

    def existing(self) -> dict[uuid.UUID, Experiment]:
        """The experiments of this plan that exist, by id."""
        rows = Experiment.objects.filter(public_id__in=self.public_ids).select_related("winner")
        return {row.public_id: row for row in rows}

    def experiment(self, cell: Cell) -> Experiment:
        """The cell's experiment, created if needed, also where a site and a command ask for it at once."""
        number = self.public_id(cell)
        with contextlib.suppress(IntegrityError), transaction.atomic():
            if not Experiment.objects.filter(public_id=number).exists():
                self.draft(cell).save()
        return Experiment.objects.get(public_id=number)

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
    most = 10 * catalog.preset(task, preset).iterations
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
) -> Plan:
    """A plan from the words of the command line or of a form; `Plan.problems` says whether it can be run.

    Raises ValueError for words that describe no plan.
    """
    if experiments < 1:
        raise ValueError("--experiments must be at least 1")
    tasks, judge = [lookup.find_name(task) for task in tasks], find_name("judge", judge, judges.JUDGES)
    preset = find_name("preset", preset, catalog.PRESETS)
    if judge in judges.ASKING_PEOPLE:
        raise ValueError("people judge in the browser: create a study in the admin for each method")
    for task in tasks:
        _check_task(task, preset, iterations)
    return Plan(
        tasks=tuple(dict.fromkeys(tasks)),
        arms=name_arms(parse_arm(text, candidates) for text in methods),
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
    )
