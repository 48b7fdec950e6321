"""Runs a comparison, one experiment after another, and reports its progress."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count

from webapp.comparisons import follow_ups, pace
from webapp.comparisons.follow_ups import OVER, Step
from webapp.comparisons.plan import Plan
from webapp.experiments import headless, loop
from webapp.experiments.models import Candidate, Experiment, Job

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class State:
    """How far a comparison is."""

    finished: int
    experiments: int
    searches_left: int
    """Experiments of methods that have not ended; the rest train references, and winners' rewards again."""
    candidates: int
    """Trained so far; a cancelled experiment counts as done."""
    budget: int
    seconds_left: float | None
    """None until a candidate of every remaining task has been trained on this installation."""


def read_state(plan: Plan, elsewhere: Collection[uuid.UUID] = ()) -> State:
    """The state of the rows now, with these experiments finished elsewhere."""
    rows = plan.find_experiments()
    trained = count_trained(rows.values())
    finished = spent = budget = total = searches_left = 0
    left: dict[tuple[str, str], int] = {}
    for step in follow_ups.list_steps(plan):
        row = rows.get(step.public_id)
        done = trained.get(row.pk, 0) if row else 0
        ended = step.is_over(rows, elsewhere)
        spent += step.candidates if ended else min(done, step.candidates)
        budget += step.candidates
        finished += ended
        total += 1
        if not ended:
            searches_left += step.is_search
            place = step.task, step.preset
            left[place] = left.get(place, 0) + max(0, step.candidates - done)
    paces = pace.measure_seconds_per_candidate(plan, left)
    known = left.keys() == paces.keys()
    seconds = sum(left[place] * paces[place] for place in left) if known else None
    return State(finished, total, searches_left, spent, budget, seconds)


def count_trained(experiments: Iterable[Experiment]) -> dict[int, int]:
    """By experiment, how many candidates were trained or failed."""
    over = (Candidate.Status.TRAINED, Candidate.Status.FAILED)
    found = Candidate.objects.filter(iteration__experiment__in=[row.pk for row in experiments], status__in=over)
    return dict(found.values_list("iteration__experiment").annotate(Count("pk")).order_by())


def apply_budgets(plan: Plan, elsewhere: Collection[uuid.UUID] = ()) -> None:
    """Set the plan's budgets on the experiments that have begun and are not over."""
    budgets = {name: getattr(plan, name) for name in ("token_budget", "dollar_budget")}
    budgets = {name: value for name, value in budgets.items() if value is not None}
    for number in plan.public_ids if budgets else ():
        if number not in elsewhere:  # one by one: each takes its own lock and no other
            Experiment.objects.filter(public_id=number).exclude(status__in=OVER).update(**budgets)


def run_experiments(
    plan: Plan, report: Callable[[Step, Experiment, dict[str, Any]], None], elsewhere: Collection[uuid.UUID] = ()
) -> Iterator[tuple[Step, Experiment]]:
    """Run every experiment that is not over here or elsewhere, continue interrupted ones, and yield each as it ends.

    The next run retries an experiment that fails. A finished experiment without a record gets one; its last clips are
    left to a site's workers.
    """
    apply_budgets(plan, elsewhere)
    for step in follow_ups.list_steps(plan):
        if step.public_id in elsewhere:
            continue
        rows = plan.find_experiments()
        experiment = follow_ups.create(step, rows) if step.is_ready(rows) else None
        if experiment is None:
            continue
        if experiment.status in OVER:
            if experiment.status == Experiment.Status.FINISHED and not headless.get_record_path(experiment).exists():
                headless.save_record(experiment)
            continue
        for begin in (loop.start, loop.resume, loop.retry):
            begin(experiment)

        def report_words(words: dict[str, Any], step: Step = step, experiment: Experiment = experiment) -> None:
            report(step, experiment, words)

        _run_experiment(experiment, report_words)
        experiment.refresh_from_db()
        if experiment.status == Experiment.Status.FINISHED:
            headless.save_record(experiment)
        yield step, experiment


def _run_experiment(experiment: Experiment, report: Callable[[dict[str, Any]], None]) -> None:
    """Run it to its end; retry after unexpected errors, up to settings.ATTEMPTS in a row without a finished step."""
    errors, ended = 0, -1
    while errors < settings.ATTEMPTS:
        try:
            headless.run_to_end(experiment, report)
            return
        except OSError:  # a full disk stops every experiment
            raise
        except Exception:  # a fault in one experiment, whatever it is, must not keep the others from being run
            log.exception("%s: an unexpected error", experiment)
        before, ended = ended, experiment.jobs.filter(status=Job.Status.DONE).count()
        errors = errors + 1 if ended == before else 1
