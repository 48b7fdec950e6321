"""Have a model answer: in words, about frames of a clip, or as the judge."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from llm import records, writer
from llm.judges import model as model_judge
from webapp.experiments import events, loop, results
from webapp.experiments.execute import frames
from webapp.experiments.execute.calls import backend_of, room_of, saved_calls, saver, within_budget
from webapp.experiments.execute.watching import Watching
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, Request

NO_VISION = (
    "This method shows frames of the clips to a vision model, and the experiment names none. Set one as its vision "
    "model, or have the method go by numbers (RDA: the option analyst = numbers)."
)
UNSEEN = (
    "\n\n(There is no readable clip of this candidate, so there are no pictures. Say of everything that only "
    "pictures could show that it was not seen; go by the numbers and the code above.)"
)


def ask(lease: Lease) -> None:
    request, experiment = lease.job.request, lease.job.experiment
    assert request is not None
    wanted, read = question(request)
    role = "vision" if isinstance(wanted, records.Look) else wanted.role
    if role == "vision" and experiment.vision is None:
        lease.fail(NO_VISION)
        return
    with lease.beating() as stop_check:
        images: list[str] = []
        if isinstance(wanted, records.Look):
            wanted, images = shown(experiment, wanted)
        model, watching = experiment.model_for(role), Watching(lease, stop_check, request, 1)
        said = writer.ask(
            backend_of(model),
            wanted,
            saved_calls(request),
            watching.saving(saver(lease)),
            images,
            lambda text: read(text) is not None,
            within_budget(experiment, stop_check),
            room_of(model),
            watching,
        )
    if said.error:
        lease.fail(f"Asking the {role} failed: {said.error}")
        return
    with lease.settle() as locked:
        if isinstance(wanted, records.Look) and not images:
            text = f"Round {wanted.iteration}: there is no readable clip of {wanted.candidate}; analysed without it."
            events.emit(locked, "unseen", text)
        results.complete(request, records.result_to_json(request.kind, read(said.text)))


def shown(experiment: Experiment, wanted: records.Look) -> tuple[records.Look, list[str]]:
    """The question with its pictures; where there is no clip, with the words that there are none."""
    pictures = frames.of_candidate(experiment, wanted.candidate, wanted.frames)
    if pictures:
        return wanted, pictures
    *before, last = wanted.messages
    return replace(wanted, messages=(*before, {**last, "content": last["content"] + UNSEEN})), []


def question(request: Request) -> tuple[records.Ask | records.Look, Any]:
    """What to ask, and how to read the result out of an answer: None where it holds none."""
    if request.kind in ("Ask", "Look"):
        wanted = records.from_payload(request.kind, request.payload)
        assert not isinstance(wanted, records.Write)
        return wanted, lambda text: text or None
    judged = loop.judged(request)
    asked = model_judge.question(judged, loop.problem_of(request.experiment), loop.seed_of(request))
    return asked.ask, partial(model_judge.read, asked)
