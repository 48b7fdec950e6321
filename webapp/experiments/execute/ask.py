"""Ask a model: for words, about frames of a clip, or as the judge."""

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
from llm.messages import format_components
from llm.prompts import render
from simulation.rollout import read_rollout
from webapp.experiments import events, loop, request_results
from webapp.experiments.execute import frames
from webapp.experiments.execute.model_calls import build_saver, note_context, open_budgeted_backend, read_saved_replies
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.kinds import KINDS
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
    """What to ask with which pictures; `read` takes the result from a reply, None if it holds none."""

    ask: records.Ask | records.Look | records.Rate
    read: Callable[[str], Any]
    images: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    """Candidates whose clip should be shown and cannot be read."""


def ask_model(build: Callable[[Request], Question], lease: Lease) -> None:
    """Ask the experiment's model in the request's role and save the result."""
    experiment, request = lease.job.experiment, lease.job.request
    assert request is not None
    role = KINDS[request.kind].find_role(experiment, request.payload)
    if role == VISION and experiment.vision is None:
        lease.fail(NO_VISION)
        return
    with lease.beat_in_background() as stop_check:
        question = build(request)
        model, progress = experiment.get_model(role), WritingProgress(lease, stop_check, request, 1)
        reply = writer.ask(
            open_budgeted_backend(lease, role, progress),
            question.ask,
            read_saved_replies(request),
            progress.wrap_saver(build_saver(lease)),
            question.images,
            lambda text: question.read(text) is not None,
            stop_check,
            progress,
        )
    if reply.error:
        note_context(lease, model, reply.room)
        lease.fail(f"Asking the {'vision model' if role == VISION else role} failed: {reply.error}")
        return
    with lease.settle() as locked:
        if question.unseen:
            unseen = ", ".join(question.unseen)
            text = f"Round {question.ask.iteration}: there is no readable clip of {unseen}; seen without."
            events.emit(locked, "unseen", text)
        request_results.complete(request, records.result_to_json(request.kind, question.read(reply.text)))


def build_question(request: Request) -> Question:
    ask = records.read_payload(request.kind, request.payload)
    assert isinstance(ask, records.Ask)
    pictures = read_scene(request.experiment) if ask.scene else read_figures(request.experiment)
    *before, last = ask.messages
    messages = (*before, {**last, "content": last["content"] + SCENE_NOTE}) if ask.scene and pictures else ask.messages
    return Question(replace(ask, messages=messages), partial(read_words, choices=ask.choices), pictures)


def read_scene(experiment: Experiment) -> tuple[str, ...]:
    """A picture of the task's robot, if there is one."""
    found = finders.find(name) if (name := lookup.find_still(experiment.task_info)) else None
    return (frames.to_data_url(Path(found)),) if found else ()


def read_figures(experiment: Experiment) -> tuple[str, ...]:
    """The figures of a problem, which judges see like the writer; robots' tasks have none."""
    return tuple(lookup.read_pictures(lookup.find_problem(experiment.task))) if not experiment.medium.filmed else ()


def read_words(text: str, choices: int = 0) -> str | None:
    """The reply; None if it is empty, or names none of the choices when there are some."""
    return text if text and (not choices or model_judge.names_one(text, choices)) else None


def build_look(request: Request) -> Question:
    """The question with pictures and the reward's values at their moments; without pictures it says so."""
    look_request = records.read_payload(request.kind, request.payload)
    assert isinstance(look_request, records.Look)
    which = (request.experiment, look_request.candidate, look_request.rollout)
    pictures = frames.read_rollout_frames(*which, look_request.frames)
    *before, last = look_request.messages
    with frames.open_rollout(*which) as file:
        moments = format_values(file, look_request.frames)
    content = last["content"] + moments + ("" if pictures else UNSEEN_NOTE)
    look = replace(look_request, messages=(*before, {**last, "content": content}))
    return Question(look, read_words, tuple(pictures), () if pictures else (look_request.candidate,))


def format_values(file: Path | None, count: int) -> str:
    """The values of the reward's components at `count` evenly spaced moments of a rollout, and which of these began a
    new episode, as text; empty if they were not recorded.
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
        values=format_components({name: series[steps].tolist() for name, series in rollout.components.items()}),
        began=f"Between a moment and the one before it, an episode restarted: {', '.join(began)}." if began else "",
    )
    return f"\n\n{text.rstrip()}"


def build_judgement(request: Request) -> Question:
    """The question to a model as the judge, with pictures of each candidate if the experiment wants them."""
    experiment, judged, seed = request.experiment, loop.build_judged(request), loop.derive_seed(request)
    keys = [outcome.candidate.id for outcome in records.list_shown(judged)] if experiment.judge_frames else []
    pictures = {key: frames.read_candidate_frames(experiment, key, experiment.judge_frames) for key in keys}
    counts = {key: len(found) for key, found in pictures.items()}
    asked = model_judge.make_question(judged, loop.describe_task(experiment), seed, counts)
    images = [url for outcome in asked.order for url in pictures.get(outcome.candidate.id, ())]
    unseen = tuple(key for key in keys if not counts[key])
    return Question(asked.ask, partial(model_judge.read, asked), (*read_figures(experiment), *images), unseen)
