"""The alignment of a comparison's policies beside their score: a part of its report, a table and a figure of a task."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from llm.methods import get_method
from simulation import catalog
from webapp.base.charts import Chart, Series
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.findings import References
from webapp.comparisons.markdown_tables import format_number, render_table
from webapp.comparisons.plan import REFERENCES, Cell, Plan
from webapp.comparisons.published import read_published
from webapp.experiments.alignment import NONE, Alignment, read_alignments
from webapp.experiments.models import Experiment
from webapp.problems.media import get_medium

TEXT = """\
Alignment: whether robots do what the task says, which a score need not tell. {who} Ratings are from 1 to 5; the rate is
the mean over the films of a method's policies, divided by 5, so that it lies between 0.2 and 1. {beside}"""
BY_MODEL = "Vision models rated what they saw in pictures of the films ({names})."
BY_PEOPLE = "People rated the films blindly."
PUBLISHED_NAMES: dict[tuple[str, tuple[tuple[str, Any], ...]], str] = {
    ("rda", ()): "RDA",
    ("rda", (("subtasks", False),)): "+ trajectory analysis",
    ("rda_scored", ()): "+ checkpoint",
    ("rda_scored", (("warm_start", False),)): "Eureka",
}
"""Methods here, with the options that differ -> their names in RDA's figures. Its Eureka is told the success test, so
it is not `eureka`; its Human dense and Human sparse are the references.
"""
PUBLISHED_REFERENCES = {"Human": "Human dense", "Sparse": "Human sparse"}
Aligned = Mapping[tuple[str, str], Alignment]
"""By task and name of a reference."""
NOBODY: Aligned = {}


@dataclass(frozen=True)
class Row:
    """A method or a reference on a task."""

    name: str
    each: tuple[Alignment, ...]
    """One for each experiment; of a reference there is one."""
    score: float | None

    @property
    def rates(self) -> tuple[float, ...]:
        return tuple(one.rate for one in self.each if one.rate is not None)

    @property
    def people(self) -> tuple[float, ...]:
        return tuple(one.people for one in self.each if one.people is not None)

    @property
    def rate(self) -> float | None:
        return fmean(self.rates) if self.rates else None

    @property
    def people_rate(self) -> float | None:
        return fmean(self.people) if self.people else None

    @property
    def answers(self) -> int:
        return sum(one.answers for one in self.each)

    @property
    def people_answers(self) -> int:
        return sum(one.people_answers for one in self.each)


def list_targets(plan: Plan) -> list[Experiment]:
    """The finished experiments whose policies stand for its methods and references, each once."""
    rows = plan.find_experiments()
    ids = [find_scored(plan, cell) for cell in plan.cells() if get_medium(cell.task).filmed]
    ids += [plan.reference_id(*one) for one in plan.references]
    found = [rows[number] for number in dict.fromkeys(ids) if number in rows]
    return [row for row in found if row.status == Experiment.Status.FINISHED]


def find_scored(plan: Plan, cell: Cell) -> uuid.UUID:
    """The experiment whose policies a cell's score is that of: the retraining of its winner, or the search itself."""
    return plan.retraining_id(cell) if plan.retrains(cell) else plan.public_id(cell)


def read_references(plan: Plan) -> Aligned:
    """The alignment of the references that were rated."""
    ids = {plan.reference_id(*one): one for one in plan.references}
    return {ids[number]: found for number, found in read_alignments(list(ids)).items()}


def list_rows(task: str, scores: Sequence[Score], references: References, aligned: Aligned) -> list[Row]:
    """Every method, and the references, where any of them was rated on this task; else none."""
    own = [score for score in scores if score.task == task]
    rows = [
        Row(one.arm.label, tuple(r.alignment for r in one.results if r.alignment != NONE), one.score) for one in own
    ]
    for name in REFERENCES:
        if (task, name) in aligned:
            held = references.get((task, name), ())
            rows.append(Row(name, (aligned[task, name],), fmean(held) if held else None))
    return rows if any(one != NONE for row in rows for one in row.each) else []


def build_section(task: str, rows: Sequence[Row], scores: Sequence[Score]) -> list[str]:
    """The task's part of a report; empty where nothing was rated."""
    if not rows:
        return []
    names = sorted({one.by for row in rows for one in row.each if one.by})
    people = any(row.people for row in rows)
    who = " ".join([*([BY_MODEL.format(names=", ".join(names))] if names else []), *([BY_PEOPLE] if people else [])])
    beside = "Beside it stands the success rate." if counts_successes(task) else "Beside it stands the score."
    head = [
        "method",
        "alignment",
        "answers",
        "each",
        *(["people", "their answers"] if people else []),
        name_score(task),
    ]
    printed = find_printed(scores)
    cells = [_build_cells(row, people) for row in rows]
    lines = [TEXT.format(who=who, beside=beside), render_table(head, cells)]
    return [*lines, *([printed] if printed else [])]


def _build_cells(row: Row, people: bool) -> list[str]:
    asked = [format_number(row.people_rate), str(row.people_answers)] if people else []
    each = ", ".join(map(format_number, row.rates)) or "-"
    return [row.name, format_number(row.rate), str(row.answers), each, *asked, format_number(row.score)]


def counts_successes(task: str) -> bool:
    """Whether its score is a success rate."""
    metric = catalog.get_task(task).metric if get_medium(task).filmed else None
    return bool(metric and metric.startswith(catalog.SUCCESS))


def name_score(task: str) -> str:
    return "success rate" if counts_successes(task) else "score"


def find_printed(scores: Sequence[Score]) -> str:
    """The rates of the RDA paper for the methods that are compared, and for its references; empty without such."""
    arms = [score.arm for score in scores if not score.arm.is_control]
    usual = {arm: get_method(arm.method).find_usual(True, False).items() for arm in arms}
    here = {arm: (arm.method, tuple(sorted(o for o in arm.options if o not in usual[arm]))) for arm in arms}
    names = [name for key, name in PUBLISHED_NAMES.items() if key in here.values()]
    names += [f"RDA, {arm.k} candidates" for arm, key in here.items() if PUBLISHED_NAMES.get(key) == "RDA"]
    if not names:
        return ""
    wanted = [*names, *PUBLISHED_REFERENCES.values()]
    rows = [row for row in read_published() if row.paper == "RDA" and row.metric == "alignment_rate"]
    said = [f"{row.method} {row.value} ({row.task})" for row in rows if row.method in wanted]
    return f"The RDA paper prints, over other tasks: {', '.join(said)}."


def build_chart(task: str, rows: Sequence[Row]) -> Chart:
    """Alignment beside success: every experiment's rate and the means; the success rate where the score is one."""
    places = [(float(place), row) for place, row in enumerate(rows)]
    series = []
    for name, field in (("vision model", "rates"), ("people", "people")):
        found = [(place, value) for place, row in places for value in getattr(row, field)]
        if found:
            xs, ys = zip(*found, strict=True)
            series.append(Series(f"alignment, {name}", xs, ys, look="points"))
    if counts_successes(task):
        held = [(place, row.score) for place, row in places if row.score is not None]
        series.append(Series("success rate", tuple(x for x, _ in held), tuple(y for _, y in held), look="marks"))
    beside = " and success rate" if counts_successes(task) else ""
    return Chart(
        slug=f"alignment-{task}",
        title=f"{task}: alignment{beside}",
        x_label="method",
        y_label=f"alignment rate{beside}",
        series=tuple(series),
        categories=tuple(row.name for row in rows),
        covers=(0.0, 1.0),
    )
