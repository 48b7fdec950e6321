"""Test a round's answers: programs on test cases in the jail, written answers against the reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from llm import records, writer
from llm.methods import METHODS
from programs.records import HarnessError, JailError
from webapp.experiments import loop, request_results
from webapp.experiments.candidates import read_outcome
from webapp.experiments.execute.model_calls import build_saver, note_context, open_budgeted_backend, read_saved_replies
from webapp.experiments.execute.train import find_candidates
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Candidate
from webapp.problems import answer_scores, lookup
from webapp.problems.answer_scores import Score
from webapp.problems.forms import get_form


class JudgeUnavailable(Exception):
    """The judging model gave no answer, for this reason."""


def run(lease: Lease) -> None:
    request = lease.job.request
    assert request is not None
    candidates = find_candidates(request)
    try:
        with lease.beat_in_background() as stop_check:
            scores = score_sources(lease, [c.source for c in candidates], stop_check)
    except (JailError, HarnessError, JudgeUnavailable) as error:
        lease.fail(f"Round {request.payload['iteration']} could not be tested: {error}")
        return
    with lease.settle() as experiment:
        for candidate, score in zip(candidates, scores, strict=True):
            save_score(candidate, score)
        outcomes = [
            replace(read_outcome(experiment, candidate.key), states={"outputs": score.outputs} if score.outputs else {})
            for candidate, score in zip(candidates, scores, strict=True)
        ]
        request_results.complete(request, records.result_to_json(request.kind, outcomes))


def score_sources(lease: Lease, sources: list[str], stop_check: Callable[[], None]) -> list[Score]:
    experiment, request = lease.job.experiment, lease.job.request
    assert request is not None
    problem = lookup.find_problem(experiment.task)
    matters = experiment.judge_info.uses_metric or METHODS[experiment.method].uses_metric
    ask = partial(ask_judging_model, lease, stop_check) if matters else None
    return get_form(problem).score(problem, sources, ask, loop.derive_seed(request), stop_check)


def ask_judging_model(lease: Lease, stop_check: Callable[[], None], question: records.Ask) -> str:
    """The judging model's reply on an answer and the reference. Only asked if the judge or method uses scores."""
    experiment, request = lease.job.experiment, lease.job.request
    assert request is not None
    model = experiment.get_model("judge")
    if model is None or model.is_offline:
        raise JudgeUnavailable(
            f"{answer_scores.UNDECIDED} Choose a language model as the judging model: it is asked then."
        )
    progress = WritingProgress(lease, stop_check, request, 1)
    reply = writer.ask(
        open_budgeted_backend(lease, "judge", progress),
        question,
        read_saved_replies(request),
        progress.wrap_saver(build_saver(lease)),
        accept=lambda text: answer_scores.read_verdict(text) is not None,
        stop_check=stop_check,
        watch=progress,
    )
    if reply.error:
        note_context(lease, model, reply.room)
        raise JudgeUnavailable(f"comparing an answer with the reference failed: {reply.error}")
    return reply.text


def save_score(candidate: Candidate, score: Score) -> None:
    candidate.status = Candidate.Status.TRAINED
    candidate.reason, candidate.metric_trace = score.reason, dict(score.details)
    candidate.rts = candidate.final_score = score.value
    candidate.save(update_fields=["status", "reason", "metric_trace", "rts", "final_score"])
