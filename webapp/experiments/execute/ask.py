"""Have a model answer: in words, about frames of a clip, or as the judge."""

from __future__ import annotations

from functools import partial
from typing import Any

from llm import records, writer
from llm.judges import model as model_judge
from webapp.experiments import loop, results
from webapp.experiments.execute import frames
from webapp.experiments.execute.calls import backend_of, room_of, saved_calls, saver, within_budget
from webapp.experiments.leases import Lease
from webapp.experiments.models import Request

NO_VISION = (
    "This method shows frames of the clips to a vision model, and the experiment names none. Set one as its vision "
    "model, or have the method go by numbers (RDA: the option analyst = numbers)."
)
NO_CLIP = "the clip of {} could not be filmed, so a vision model cannot look at it"


def ask(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    wanted, read = question(request)
    role = "vision" if isinstance(wanted, records.Look) else wanted.role
    if role == "vision" and experiment.vision is None:
        lease.fail(NO_VISION)
        return
    with lease.beating() as stop_check:
        images = []
        if isinstance(wanted, records.Look):
            clip = frames.final_clip(experiment, wanted.candidate)
            images = frames.of(clip, wanted.frames) if clip else []
            if clip is None:
                lease.fail(f"Round {wanted.iteration}: {NO_CLIP.format(wanted.candidate)}.")
                return
        model = experiment.model_for(role)
        said = writer.ask(
            backend_of(model),
            wanted,
            saved_calls(request),
            saver(request),
            images,
            lambda text: read(text) is not None,
            within_budget(experiment, stop_check),
            room_of(model),
        )
    if said.error:
        lease.fail(f"Asking the {role} failed: {said.error}")
        return
    with lease.settle():
        results.complete(request, records.result_to_json(request.kind, read(said.text)))


def question(request: Request) -> tuple[records.Ask | records.Look, Any]:
    """What to ask, and how to read the result out of an answer: None where it holds none."""
    if request.kind in ("Ask", "Look"):
        wanted = records.from_payload(request.kind, request.payload)
        assert not isinstance(wanted, records.Write)
        return wanted, lambda text: text or None
    judged = loop.judged(request)
    asked = model_judge.question(judged, loop.problem_of(request.experiment), loop.seed_of(request))
    return asked.ask, partial(model_judge.read, asked)
