"""Have a model answer: in words, about frames of a clip, or as the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from django.contrib.staticfiles import finders

from llm import records, writer
from llm.judges import model as model_judge
from llm.messages import values_text
from llm.prompts import render
from simulation.rollout import read_rollout
from webapp.experiments import events, loop, request_results
from webapp.experiments.execute import frames
from webapp.experiments.execute.calls import build_saver, note_context, open_budgeted_backend, read_saved_replies
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, Request
from webapp.problems import lookup

VISION = "vision"
NO_VISION = (
    "Frames of the clips are to be shown to a vision model, and the experiment names none. Begin another "
    "with one, or have the method go by numbers (RDA: the option analyst = numbers), and the judge without frames."
)
SCENE_NOTE = "\n\nThe picture shows the robot in its scene."
UNSEEN_NOTE = (
    "\n\n(This rollout could not be filmed, so there are no pictures. Say of everything that only "
    "pictures could show that it was not seen; go by the numbers and the code above.)"
)


@dataclass(frozen=True)
class Question:
    """What to ask, with which pictures, and how to read the result out of an answer: None where it holds none."""

    ask: records.Ask | records.Look
    read: Callable[[str], Any]
    images: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    """Candidates whose clip was to be looked at, and that have none that can be read."""


def ask(lease: Lease) -> None:
    """An Ask: words of the model in its role."""
    request = lease.job.request
    assert request is not None
    ask_model(lease, request, str(request.payload["role"]), build_question)


def look(lease: Lease) -> None:
    """A Look: words of the vision model about pictures."""
    request = lease.job.request
    assert request is not None
    ask_model(lease, request, VISION, build_look)


def judge(lease: Lease) -> None:
    """A judgement that a model makes."""
    request = lease.job.request
    assert request is not None
    ask_model(lease, request, VISION if request.experiment.judge_frames else "judge", build_judgement)


def ask_model(lease: Lease, request: Request, role: str, posing: Callable[[Request], Question]) -> None:
    """Ask the experiment's model in this role, and take in what it says."""
    experiment = lease.job.experiment
    if role == VISION and experiment.vision is None:
        lease.fail(NO_VISION)
        return
    with lease.beating() as stop_check:
        posed = posing(request)
        model, watching = experiment.model_for(role), WritingProgress(lease, stop_check, request, 1)
        said = writer.ask(
            open_budgeted_backend(lease, model, watching),
            posed.ask,
            read_saved_replies(request),
            watching.wrap_saver(build_saver(lease)),
            posed.images,
            lambda text: posed.read(text) is not None,
            stop_check,
            watching,
        )
    if said.error:
        note_context(lease, model, said.room)
        lease.fail(f"Asking the {'vision model' if role == VISION else role} failed: {said.error}")
        return
    with lease.settle() as locked:
        if posed.unseen:
            text = f"Round {posed.ask.iteration}: there is no readable clip of {', '.join(posed.unseen)}; seen without."
            events.emit(locked, "unseen", text)
        request_results.complete(request, records.result_to_json(request.kind, posed.read(said.text)))


def build_question(request: Request) -> Question:
    asked = records.from_payload(request.kind, request.payload)
    assert isinstance(asked, records.Ask)
    pictures = read_scene(request.experiment) if asked.scene else read_figures(request.experiment)
    *before, last = asked.messages
    told = (*before, {**last, "content": last["content"] + SCENE_NOTE}) if asked.scene and pictures else asked.messages
    return Question(replace(asked, messages=told), partial(read_words, choices=asked.choices), pictures)


def read_scene(experiment: Experiment) -> tuple[str, ...]:
    """A picture of the task's robot; none where the task has none."""
    found = finders.find(name) if (name := lookup.find_still(experiment.task_info)) else None
    return (frames.to_data_url(Path(found)),) if found else ()


def read_figures(experiment: Experiment) -> tuple[str, ...]:
    """Those of the problem, which judges see as the writer does; a task has none."""
    return tuple(lookup.read_pictures(lookup.find_problem(experiment.task))) if not experiment.medium.filmed else ()


def read_words(text: str, choices: int = 0) -> str | None:
    """The answer; None where it is empty, or is to name one of so many and does not."""
    return text if text and (not choices or model_judge.names_one(text, choices)) else None


def build_look(request: Request) -> Question:
    """The question with the pictures and the values of their moments; where there are no pictures, it says so."""
    wanted = records.from_payload(request.kind, request.payload)
    assert isinstance(wanted, records.Look)
    which = (request.experiment, wanted.candidate, wanted.rollout)
    pictures = frames.read_rollout_frames(*which, wanted.frames)
    *before, last = wanted.messages
    with frames.open_rollout(*which) as file:
        moments = format_values(file, wanted.frames)
    content = last["content"] + moments + ("" if pictures else UNSEEN_NOTE)
    told = replace(wanted, messages=(*before, {**last, "content": content}))
    return Question(told, read_words, tuple(pictures), () if pictures else (wanted.candidate,))


def format_values(file: Path | None, count: int) -> str:
    """What the reward's components were worth at so many evenly spaced moments of a rollout, and which of these began
    an episode anew; nothing where that was not recorded.
    """
    try:
        rollout = read_rollout(file) if file else None
    except ValueError:  # its clip says why
        return ""
    if rollout is None or not rollout.components:
        return ""
    steps = np.arange(count) * len(rollout.qpos) // count
    episodes = np.cumsum(rollout.restart)[steps]
    began = [str(moment) for moment, new in enumerate(np.diff(episodes), 2) if new]
    text = render(
        "values",
        count=count,
        values=values_text({name: series[steps].tolist() for name, series in rollout.components.items()}),
        began=f"Between a moment and the one before it, an episode began anew: {', '.join(began)}." if began else "",
    )
    return f"\n\n{text.rstrip()}"


def build_judgement(request: Request) -> Question:
    """The question to a model as the judge, with pictures of each candidate where it is to see some."""
    experiment, judged, seed = request.experiment, loop.build_judged(request), loop.derive_seed(request)
    keys = [outcome.candidate.id for outcome in records.shown(judged)] if experiment.judge_frames else []
    pictures = {key: frames.read_candidate_frames(experiment, key, experiment.judge_frames) for key in keys}
    counts = {key: len(found) for key, found in pictures.items()}
    asked = model_judge.question(judged, loop.describe_task(experiment), seed, counts)
    images = [url for outcome in asked.order for url in pictures.get(outcome.candidate.id, ())]
    unseen = tuple(key for key in keys if not counts[key])
    return Question(asked.ask, partial(model_judge.read, asked), (*read_figures(experiment), *images), unseen)
