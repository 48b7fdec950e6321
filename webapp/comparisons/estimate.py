"""What a comparison takes before it has begun: answers, tokens, US dollars, samples, hours."""

from __future__ import annotations

import csv
import math
import uuid
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from statistics import mean

from django.conf import settings
from django.db.models import Avg, Count, Sum

from llm import prices
from llm.errors import MethodError
from llm.methods import get_method as find_method
from llm.repetition_check import count_answers
from llm.shortening import TOKENS_PER_IMAGE
from simulation import catalog
from trainer.records import apply_overrides
from webapp.comparisons import follow_ups, published
from webapp.comparisons.follow_ups import Step
from webapp.comparisons.plan import Cell, Plan
from webapp.experiments import judges, loop
from webapp.experiments.models import Experiment, ModelCall, Run
from webapp.problems.media import get_medium

RETRAININGS, REFERENCES = "retrainings", "Human, Sparse"
"""Names of rows that are no search's."""
LEAST_ANSWERS = 10
"""From this many answers of a model on, the measured tokens are used."""
HOUR = 3600


@dataclass(frozen=True)
class Tokens:
    """The tokens of one answer, and the source of these numbers."""

    read: float
    written: float
    source: str


@dataclass(frozen=True)
class Row:
    """What an arm takes on a task, or all references and retrainings do."""

    label: str
    task: str
    experiments: int
    answers: int | None = 0
    """None where the method does not say before how often it asks."""
    tokens: Tokens | None = None
    samples: int = 0
    seconds: float | None = None
    """Of training here; None where this installation has trained nothing alike."""


def describe(plan: Plan, elsewhere: Collection[uuid.UUID] = ()) -> list[str]:
    """A line for each arm on each task, and the sums, of what is not over."""
    rows = list_rows(plan, elsewhere)
    place = f"{'task':<16} {'method':<40} {'experiments':>11} {'answers':>8}"
    head = f"{place} {'tokens in':>11} {'out':>11} {'samples':>9} {'hours':>7}"
    lines = [head, *map(_describe_row, rows)]
    read = sum(row.answers * row.tokens.read for row in rows if row.tokens and row.answers)
    written = sum(row.answers * row.tokens.written for row in rows if row.tokens and row.answers)
    answers = sum(row.answers or 0 for row in rows)
    lines.append(f"In all {answers:,} answers, {read:,.0f} tokens read, {written:,.0f} written.")
    lines.append(_describe_samples(rows))
    if unknown := [
        f"{row.label} on {row.task}" for row in rows if row.answers is None or (row.answers and not row.tokens)
    ]:
        lines.append(f"Not counted, because nothing like it was measured here: {', '.join(unknown)}.")
    lines += [f"Tokens of an answer: {source}." for source in dict.fromkeys(r.tokens.source for r in rows if r.tokens)]
    if any(row.answers != 0 for row in rows):
        lines.append(_describe_dollars(plan, read, written))
    known = [row.seconds for row in rows if row.seconds is not None]
    if len(known) == len(rows):
        lines.append(f"Training: {sum(known) / HOUR:,.1f} hours at the speeds measured here.")
    else:
        lines.append(
            "Hours: not all of these trainings were measured here. They are samples / (3600 x samples a second), which "
            "./prefine benchmark training, and on a GPU gpu, measure."
        )
    return lines


def _describe_samples(rows: list[Row]) -> str:
    """Samples of the searches, and of the retrainings and references that follow them."""
    after = sum(row.samples for row in rows if row.label in (RETRAININGS, REFERENCES))
    searched = sum(row.samples for row in rows) - after
    return f"Million samples: {searched / 1e6:,.0f} of searches, {after / 1e6:,.0f} of retrainings and references."


def _describe_row(row: Row) -> str:
    read, written = "-", "-"
    if row.tokens and row.answers:
        read, written = f"{row.answers * row.tokens.read:,.0f}", f"{row.answers * row.tokens.written:,.0f}"
    hours = "?" if row.seconds is None else f"{row.seconds / HOUR:.1f}"
    asked = "?" if row.answers is None else f"{row.answers}"
    place = f"{row.task:<16} {row.label:<40} {row.experiments:>11} {asked:>8}"
    return f"{place} {read:>11} {written:>11} {row.samples / 1e6:>8,.0f}M {hours:>7}"


def _describe_dollars(plan: Plan, read: float, written: float) -> str:
    model = plan.model
    if model is not None and not model.is_offline:
        if model.price_input is not None and model.price_output is not None:
            dollars = (read * model.price_input + written * model.price_output) / 1e6
            return f"US dollars: {dollars:,.2f} at the prices of {model}."
        known = prices.find_list_prices(model.model)
        return (
            f"US dollars: {_format_price(known[-1], read, written)} at its list price."
            if known
            else "US dollars: no price."
        )
    each = ", ".join(f"{name} {_format_price(row[-1], read, written)}" for name, row in prices.read_table().items())
    return f"US dollars: none with the offline writer; by a model's list price: {each}."


def _format_price(price: prices.Price, read: float, written: float) -> str:
    return f"{(read * price.input + written * price.output) / 1e6:,.2f}"


def list_rows(plan: Plan, elsewhere: Collection[uuid.UUID] = ()) -> list[Row]:
    """Searches by task and arm, then references and retrainings by task; without what is over."""
    rows = plan.find_experiments()
    left = [step for step in follow_ups.list_steps(plan) if not step.is_over(rows, elsewhere)]
    searches: dict[tuple[str, str], list[Step]] = defaultdict(list)
    others: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for step in left:
        cell = step.cell
        if cell is not None and step.follows is None:
            searches[step.task, cell.arm.label].append(step)
        else:
            others[step.task, RETRAININGS if cell else REFERENCES].append(step)
    pace = _Pace(plan)
    found = [
        Row(label, task, len(steps), *_count_answers(plan, steps), *pace.measure(steps))
        for (task, label), steps in searches.items()
    ]
    return found + [Row(label, task, len(s), 0, None, *pace.measure(s)) for (task, label), s in others.items()]


def _count_answers(plan: Plan, steps: list[Step]) -> tuple[int | None, Tokens | None]:
    cell = steps[0].cell
    assert cell is not None
    arm = cell.arm
    if find_method(arm.method).pairs_by_vision:  # two questions about each pair
        return 2 * len(steps) * int(find_method(arm.method).value_of("queries", arm.settings)), None
    if not find_method(arm.method).writes:
        return 0, None
    problem = loop.describe_task(Experiment(task=cell.task))
    try:
        asked = count_answers(problem, (arm.method, arm.k, arm.n, arm.settings))
    except (MethodError, ValueError):  # it cannot go on with a made-up answer
        return None, None
    each = asked.total()
    asks_model = judges.JUDGES[plan.judge].asks_model and find_method(arm.method).asks_judge
    answers = len(steps) * (each + (arm.rounds + 1 if asks_model else 0))
    return answers, _find_tokens(plan, cell, each / arm.candidates, asked["vision"] / each)


def _find_tokens(plan: Plan, cell: Cell, ratio: float, seen: float) -> Tokens | None:
    """Of an answer: as this model gave them here, else as this method's prompts were measured before, and as a paper
    prints what a language model wrote for a reward. `ratio`: answers for each candidate; `seen`: the share of answers
    about pictures.
    """
    if plan.model is not None and not plan.model.is_offline:
        own = ModelCall.objects.filter(
            request__experiment__model=plan.model, request__experiment__method=cell.arm.method
        )
        found = own.aggregate(Count("pk"), Avg("prompt_tokens"), Avg("completion_tokens"))
        if found["pk__count"] >= LEAST_ANSWERS:
            source = f"measured here, {found['pk__count']} answers of {plan.model}"
            return Tokens(found["prompt_tokens__avg"], found["completion_tokens__avg"], source)
    if not get_medium(cell.task).filmed:
        return None
    read, written = _read_measured(), _read_printed()
    own_read = read.get(cell.arm.method)
    source = (
        "read as measured in docs/comparisons (where words and marks are counted); written as the RF-Agent paper "
        "prints it of a language model, which varies severalfold between models"
    )
    title = {"rf_agent": "RF-Agent", "revolve": "Revolve"}.get(cell.arm.method, "Eureka")
    pictures = seen * int(find_method(cell.arm.method).value_of("frames", cell.arm.settings)) if seen else 0.0
    source += f"; {TOKENS_PER_IMAGE} for each picture" if pictures else ""
    return Tokens((own_read or mean(read.values())) + pictures * TOKENS_PER_IMAGE, written[title] / ratio, source)


@cache
def _read_measured() -> dict[str, float]:
    """By method, tokens read for an answer, mean over the reports in docs/comparisons."""
    found: dict[str, list[float]] = defaultdict(list)
    for path in sorted((settings.BASE_DIR / "docs" / "comparisons").glob("*/experiments.csv")):
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                calls = int(row["model_calls"]) + int(row.get("offline_writer_answers") or 0)
                if calls:
                    found[row["method"]].append(int(row["input_tokens"]) / calls)
    return {method: mean(values) for method, values in found.items()}


@cache
def _read_printed() -> dict[str, float]:
    """By method, tokens written for a candidate in the RF-Agent paper's table, mean over its tasks and models."""
    found: dict[str, list[float]] = defaultdict(list)
    for row in published.read_published():
        if row.paper == "RF-Agent" and row.metric == "completion_tokens":
            found[row.method].append(float(row.value) / published.PRINTED_CANDIDATES)
    return {method: mean(values) for method, values in found.items()}


class _Pace:
    """Samples and seconds of trainings."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._speeds: dict[tuple[str, str], float | None] = {}

    def measure(self, steps: list[Step]) -> tuple[int, float | None]:
        """Samples of these trainings, all of one task and preset, and the seconds that they take here."""
        task, preset, count = steps[0].task, steps[0].preset, sum(step.candidates for step in steps)
        if not get_medium(task).filmed:
            return 0, 0.0
        samples = count * apply_overrides(catalog.get_preset(task, preset), dict(self.plan.overrides)).samples
        speed = self._find_speed(task, preset)
        return samples, None if speed is None else samples / speed

    def _find_speed(self, task: str, preset: str) -> float | None:
        """Samples a second of this installation's trainings on the task with the preset."""
        if (task, preset) not in self._speeds:
            runs = Run.objects.filter(request__experiment__task=task, request__experiment__preset=preset)
            found = runs.aggregate(Sum("samples"), Sum("seconds"))
            known = found["seconds__sum"] and math.isfinite(found["seconds__sum"])
            self._speeds[task, preset] = found["samples__sum"] / found["seconds__sum"] if known else None
        return self._speeds[task, preset]
