"""Executes jobs, in a worker or in `manage.py run_experiment`, never in the web process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from webapp.base import logs
from webapp.experiments import leases, loop, prompt_sets
from webapp.experiments.execute import answer_pairs, ask, film, film_pairs, perform, rate, train, write
from webapp.experiments.execute.run import run as test
from webapp.experiments.job_kinds import LLM
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Job

log = logging.getLogger(__name__)


def advance(lease: leases.Lease) -> None:
    with lease.settle() as experiment:
        loop.advance(experiment)


EXECUTORS: dict[str, Callable[[leases.Lease], None]] = {
    "advance": advance,
    "film": film.film,
    "pairs": film_pairs.film_pairs,
    "asked": film_pairs.film_answered_pairs,
    "answer": answer_pairs.answer_pairs,
    "write": write.write,
    "ask": partial(ask.ask_model, ask.build_question),
    "look": partial(ask.ask_model, ask.build_look),
    "judge": partial(ask.ask_model, ask.build_judgement),
    "train": train.train,
    "run": test,
    "perform": perform.perform,
    "rate": rate.rate,
}
"""By `Kind.executor` (webapp.experiments.kinds); by the job's kind where it answers no request."""


def find_executor(job: Job) -> Callable[[leases.Lease], None]:
    return EXECUTORS[KINDS[job.request.kind].executor if job.request and job.info.answers_request else job.kind]


def run_job(job_id: int, report: Callable[[dict[str, Any]], None] | None = None) -> bool:
    """Claim the job and execute it. False if it could not be claimed."""
    lease = leases.claim(job_id)
    if lease is None:
        return False
    lease.report = report
    with logs.note_context(job=str(job_id)), lease:
        log.info("%s begins, attempt %d, experiment %d", lease.job.kind, lease.job.attempt, lease.job.experiment_id)
        execute(lease)
    return True


def execute(lease: leases.Lease) -> None:
    """Do the job, in the words that its experiment chose for its language models."""
    experiment = lease.job.experiment
    if lease.job.queue == LLM and (reason := prompt_sets.explain_misfit(experiment)):
        lease.fail(reason)
        return
    with prompt_sets.use_chosen_prompts(experiment):
        find_executor(lease.job)(lease)
