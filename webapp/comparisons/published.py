"""The scores that the papers print (docs/published.csv), for the arms and tasks of a comparison."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings

from llm.methods import get_method as find_method
from webapp.comparisons.arms import Arm
from webapp.comparisons.experiment_results import Score
from webapp.comparisons.plan import Plan

NAMES = {
    "icpl": ("ICPL", "ICPL-proxy"),
    "icpl_wo_rt": ("ICPL w/o RT",),
    "icpl_wo_rtd": ("ICPL w/o RTD",),
    "icpl_wo_rtdb": ("ICPL w/o RTDB",),
    "open_loop": ("OpenLoop",),
    "eureka": ("Eureka",),
    "revolve": ("Revolve",),
    "rf_agent": ("RF-Agent",),
    "rda": ("RDA",),
    "scaling_context": ("Context Scaling",),
    "scaling_batch_score": ("Batch Scaling (Scoring-based BoN)",),
    "scaling_batch_model": ("Batch Scaling (LLM-based BoN)",),
    "scaling_batch_vote": ("Batch Scaling (Vote)",),
    "scaling_turn": ("Turn Scaling (Reflection)",),
    "scaling_3d": ("3D Scaling (Proxy Judge)",),
}
"""Method -> its names in the papers."""
JUDGED_BY_MODEL = {"scaling_3d": ("3D Scaling (LLM Judge)",)}
"""The same where a language model judges, as the paper has it: the bad example is drawn."""
REASONING_TEMPERATURE = ("temperature", 0.1)
"""The option that the 3D scaling paper's experiments on problems have."""
RF_AGENT_ABLATIONS: dict[tuple[tuple[str, Any], ...], str] = {
    (("actions", "mutation"),): "mutation",
    (("actions", "mutation+crossover"),): "mutation+crossover",
    (("actions", "mutation+reasoning"),): "mutation+reasoning",
    (("actions", "crossover+reasoning"),): "crossover+reasoning",
    (("actions", "mutation+crossover+reasoning"),): "mutation+crossover+reasoning",
    (("design_thought", False),): "w/o first design thought",
    (("thought_align", False),): "w/o second thought align",
    (("design_thought", False), ("thought_align", False)): "w/o all",
}
"""Options that differ from their defaults, in order -> the name of the ablation in the paper."""
PRINTED_CANDIDATES = 80
"""Candidates of each search whose tokens the RF-Agent paper prints."""
TOKENS = {"prompt_tokens": "input tokens", "completion_tokens": "output tokens", "usd": "US dollars"}
"""Metrics of what a search costs -> what tables here call them."""
QUERIES: dict[Any, tuple[str, ...]] = {49: ("49",), 150: ("150",), 1500: ("1.5k", "1500"), 15_000: ("15k",)}
"""Answers -> how the ICPL paper writes their number behind the names of its baselines."""
BY_METRIC = "simulated teacher uses sparse metric"
"""The note of baselines whose teacher compared the metric; that of the others compared the human-written reward."""
REFERENCES = ("Human", "Sparse")
UNITS = {"task_score": "", "success_rate": "", "correct": "of 5 right", "score": "of 100 points"}
"""Metrics of the papers that are comparable to scores here -> their unit, where it differs.

A problem scores 1 here for a right answer, else 0, or the share of a program's points: a mean TS of 0.6 is 3 of 5 right
in the papers, or 60 points. Votes are no score.
"""


@dataclass(frozen=True)
class Published:
    """One printed number."""

    paper: str
    table: str
    method: str
    task: str
    metric: str
    statistic: str
    value: str
    std: str
    note: str

    @property
    def shown(self) -> str:
        """The score as printed, with its deviation and unit."""
        number = f"{self.value} \u00b1 {self.std}" if self.std else self.value
        return f"{number} {UNITS[self.metric]}".strip()

    def is_score_on(self, task: str) -> bool:
        """Whether it is a score on this task, whose name the papers may write in capitals."""
        return self.task.casefold() == task.casefold() and self.metric in UNITS


@cache
def read_published() -> tuple[Published, ...]:
    """The whole file. Raises OSError without it, and TypeError or csv.Error for another file."""
    path = settings.BASE_DIR / "docs" / "published.csv"
    with path.open(newline="") as file:
        return tuple(Published(**row) for row in csv.DictReader(line for line in file if not line.startswith("#")))


def find_beside(score: Score, plan: Plan) -> list[Published]:
    """The published scores that stand beside an arm's."""
    return find_published(score.task, score.arm, plan.judge_is_faultless, plan.judge_is_plain_model)


def find_published(task: str, arm: Arm, faultless: bool, by_model: bool = False) -> list[Published]:
    """The published scores of this method with exactly these options on this task. A faultless proxy judged in the
    papers, or in 3D scaling also a language model (`by_model`); a method that asks another judge has none.
    """
    method = find_method(arm.method)
    judged = not method.uses_metric and (method.asks_judge or method.asks_pairs)
    if arm.is_control or (judged and not (faultless or by_model)):
        return []
    if method.asks_pairs:
        return _find_baselines(task, arm) if faultless else []
    if by_model and not set(method.judged_by_model.items()) <= set(arm.options):
        return []
    names = (NAMES if faultless or not judged else JUDGED_BY_MODEL).get(arm.method, ())
    usual = method.find_usual(True, by_model)
    options = sorted(option for option in arm.options if option not in usual.items())
    reasoning = REASONING_TEMPERATURE in options
    options = [option for option in options if option != REASONING_TEMPERATURE]
    if options:
        known = RF_AGENT_ABLATIONS.get(tuple(options)) if arm.method == "rf_agent" else None
        names = (known,) if known else ()
    rows = [row for row in read_published() if row.is_score_on(task) and row.method in names]
    return [row for row in rows if UNITS[row.metric]] if reasoning else rows


def _find_baselines(task: str, arm: Arm) -> list[Published]:
    """The ICPL paper's scores of a policy that learned from the same number of answers by the same truth.

    Segments are whole episodes there. Arms with other lengths get the same scores, which docs/methods.md says.
    """
    method = find_method(arm.method)
    if {name for name, _ in arm.options} - {"queries", "truth", "segment"}:
        return []
    names = [f"{method.title}-{name}" for name in QUERIES.get(method.value_of("queries", arm.settings), ())]
    by_metric = method.value_of("truth", arm.settings) == "metric"
    rows = [row for row in read_published() if row.is_score_on(task) and row.method in names]
    return [row for row in rows if (row.note == BY_METRIC) == by_metric]


def find_costs(task: str, arm: Arm) -> dict[str, Published]:
    """What the RF-Agent paper prints that a search of 80 candidates by this method, as published, costs on this task:
    by the names of tables here. Empty for others.
    """
    if arm.options or arm.is_control:
        return {}
    names = NAMES.get(arm.method, ())
    rows = [row for row in read_published() if row.paper == "RF-Agent" and row.metric in TOKENS]
    return {TOKENS[row.metric]: row for row in rows if row.method in names and row.task == task}


def find_references(task: str) -> list[Published]:
    """The published scores of human-written and sparse rewards on this task."""
    return [row for row in read_published() if row.is_score_on(task) and row.method in REFERENCES]
