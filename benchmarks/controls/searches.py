"""The experiments of a plan, side by side: each goes on until it needs a training, and all of these run at once.

Methods, writer, check, judge and trainer are those of the site; what is left out is the site around them.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from benchmarks.batch import Training, Trainings
from llm import writer
from llm.judges import proxy
from llm.methods import get_method as find_method
from llm.offline import OfflineWriter
from llm.records import (
    Ask,
    Candidate,
    Choose,
    Judge,
    Outcome,
    Pick,
    Problem,
    Request,
    Train,
    Write,
    fingerprint_request,
    list_shown,
)
from simulation import catalog
from simulation.rewards import dry_run, sample_states
from simulation.rewards.verdict import Verdict
from webapp.comparisons.plan import Cell, Plan
from webapp.experiments import judges

Check = Callable[[Sequence[str]], Sequence[Verdict]]


def build_check(task: str, states: int) -> Check:
    """The reward check in this process. It runs what the offline writer's rules put together, no model's code."""
    tried, known = sample_states.collect_samples(task), dict[str, Verdict]()

    def check(sources: Sequence[str]) -> list[Verdict]:
        for source in sources:
            if source not in known:
                known[source] = dry_run.judge(task, source, tried, states)
        return [known[source] for source in sources]

    return check


class Search:
    """One experiment of a plan."""

    def __init__(self, plan: Plan, cell: Cell, problem: Problem, check: Check) -> None:
        arm, method = cell.arm, find_method(cell.arm.method)
        self.cell, self.problem, self.check = cell, problem, check
        self.seed = plan.find_seed(cell)
        self.options = method.settings(arm.settings)
        self.judging = judges.JUDGES[plan.judge].check_options(plan.find_judging(arm))
        self.steps = method.function(
            problem, random.Random(self.seed), arm.k, arm.rounds, **method.select_own(self.options)
        )
        self.number, self.outcomes = 0, dict[str, Outcome]()
        self.waits: Train | None = None
        self.winner: Outcome | None = None
        self._go_on(None)

    @property
    def trainings(self) -> list[Training]:
        """What it waits for; seeds as the site has them (webapp.experiments.kinds.train.list_seeds)."""
        if self.waits is None:
            return []
        seed = 1000 * self.seed + self.waits.iteration
        return [Training(one.source, seed) for one in self.waits.candidates]

    def scores_of(self, number: int = 0) -> list[float]:
        """The RTS of all that were trained in this round; 0: in any."""
        wanted = f"{number}-" if number else ""
        return [one.rts for key, one in self.outcomes.items() if key.startswith(wanted) and one.rts is not None]

    def advance(self, trainings: Trainings) -> None:
        """Go on with the results."""
        assert self.waits is not None
        hidden = catalog.get_task(self.problem.task).metric_row
        outcomes = []
        for candidate, training in zip(self.waits.candidates, self.trainings, strict=True):
            found = trainings.find(training)
            trace = {name: row for name, row in found.trace.items() if name != hidden}
            outcomes.append(Outcome(candidate, found.ok, found.reason, trace, found.metric_trace, found.rts))
        self.outcomes |= {one.candidate.id: one for one in outcomes}
        self._go_on(tuple(outcomes))

    def _go_on(self, answer: Any) -> None:
        """Until it needs a training, or has its winner."""
        self.waits = None
        try:
            while self.waits is None:
                request = self.steps.send(answer)
                if isinstance(request, Train):
                    self.waits = request
                elif isinstance(request, list):
                    answer = [self._answer(one, slot) for slot, one in enumerate(request)]
                else:
                    answer = self._answer(request, 0)
                self.number += 1
        except StopIteration as stop:
            self.winner = self.outcomes[stop.value]

    def _answer(self, request: Request, slot: int) -> tuple[Candidate, ...] | Pick | str:
        if isinstance(request, Write):
            written = writer.write(OfflineWriter(), request, self.problem, self.check)
            assert not written.error, written.error
            return written.candidates
        if isinstance(request, Ask):
            return writer.ask(OfflineWriter(), request).text
        assert isinstance(request, Judge | Choose), f"{type(request).__name__} is not answered here"
        text = f"{self.seed} {self.number} {slot} {fingerprint_request(request, self.options)}"
        seed = int(hashlib.sha256(text.encode()).hexdigest()[:7], 16)
        options = self.judging if len(list_shown(request)) > 1 else {}
        return proxy.judge(request, options, seed, self._scale())

    def _scale(self) -> float:
        """The mean |RTS| so far, with the sign of the mean (webapp.experiments.loop.measure_score_scale)."""
        scores = [one.rts for one in self.outcomes.values() if one.rts is not None]
        return math.copysign(fmean(map(abs, scores)), fmean(scores))


def run_searches(searches: Sequence[Search], trainings: Trainings) -> None:
    """Run all to their winners."""
    while waiting := [one for one in searches if one.waits]:
        trainings.train(training for one in waiting for training in one.trainings)
        for one in waiting:
            one.advance(trainings)
