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
from webapp.experiments import events, loop, results
from webapp.experiments.execute import frames
from webapp.experiments.execute.calls import buyer, learned, saved_calls, saver
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.leases import Lease
from webapp.experiments.models import Experiment, Request
from webapp.problems import lookup

VISION = "vision"
NO_VISION = (
    "Frames of the clips are to be shown to a vision model, and the experiment names none. Begin another "
    "with one, or have the method go by numbers (RDA: the option analyst = numbers), and the judge without frames."
)
SCENE = "\n\nThe picture shows the robot in its scene."
UNSEEN = (
    "\n\n(This rollout could not be filmed, so there are no pictures. Say of everything that only "
    "pictures could show that it was not seen; go by the numbers and the code above.)"
)


@dataclass(frozen=True)
class Posed:
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
    put(lease, request, str(request.payload["role"]), pose)


def look(lease: Lease) -> None:
    """A Look: words of the vision model about pictures."""
    request = lease.job.request
    assert request is not None
    put(lease, request, VISION, pose_look)


def judge(lease: Lease) -> None:
    """A judgement that a model makes."""
    request = lease.job.request
    assert request is not None
    put(lease, request, VISION if request.experiment.judge_frames else "judge", pose_judgement)


def put(lease: Lease, request: Request, role: str, posing: Callable[[Request], Posed]) -> None:
    """Ask the experiment's model in this role, and take in what it says."""
    experiment = lease.job.experiment
    if role == VISION and experiment.vision is None:
        lease.fail(NO_VISION)
        return
    with lease.beating() as stop_check:
        posed = posing(request)
        model, watching = experiment.model_for(role), WritingProgress(lease, stop_check, request, 1)
        said = writer.ask(
            buyer(lease, model, watching),
            posed.ask,
            saved_calls(request),
            watching.saving(saver(lease)),
            posed.images,
            lambda text: posed.read(text) is not None,
            stop_check,
            watching,
        )
    if said.error:
        learned(lease, model, said.room)
        lease.fail(f"Asking the {'vision model' if role == VISION else role} failed: {said.error}")
        return
    with lease.settle() as locked:
        if posed.unseen:
            text = f"Round {posed.ask.iteration}: there is no readable clip of {', '.join(posed.unseen)}; seen without."
            events.emit(locked, "unseen", text)
        results.complete(request, records.result_to_json(request.kind, posed.read(said.text)))


def pose(request: Request) -> Posed:
    asked = records.from_payload(request.kind, request.payload)
    assert isinstance(asked, records.Ask)
    pictures = scene(request.experiment) if asked.scene else figures(request.experiment)
    *before, last = asked.messages
    told = (*before, {**last, "content": last["content"] + SCENE}) if asked.scene and pictures else asked.messages
    return Posed(replace(asked, messages=told), partial(words, choices=asked.choices), pictures)


def scene(experiment: Experiment) -> tuple[str, ...]:
    """A picture of the task's robot; none where the task has none."""
    found = finders.find(name) if (name := lookup.still(experiment.task_info)) else None
    return (frames.data_url(Path(found)),) if found else ()


def figures(experiment: Experiment) -> tuple[str, ...]:
    """Those of the problem, which judges see as the writer does; a task has none."""
    return tuple(lookup.pictures(lookup.problem_named(experiment.task))) if not experiment.medium.filmed else ()


def words(text: str, choices: int = 0) -> str | None:
    """The answer; None where it is empty, or is to name one of so many and does not."""
    return text if text and (not choices or model_judge.names_one(text, choices)) else None


def pose_look(request: Request) -> Posed:
    """The question with the pictures and the values of their moments; where there are no pictures, it says so."""
    wanted = records.from_payload(request.kind, request.payload)
    assert isinstance(wanted, records.Look)
    which = (request.experiment, wanted.candidate, wanted.rollout)
    pictures = frames.of_rollout(*which, wanted.frames)
    *before, last = wanted.messages
    with frames.rollout_of(*which) as file:
        moments = values(file, wanted.frames)
    content = last["content"] + moments + ("" if pictures else UNSEEN)
    told = replace(wanted, messages=(*before, {**last, "content": content}))
    return Posed(told, words, tuple(pictures), () if pictures else (wanted.candidate,))


def values(file: Path | None, count: int) -> str:
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


def pose_judgement(request: Request) -> Posed:
    """The question to a model as the judge, with pictures of each candidate where it is to see some."""
    experiment, judged, seed = request.experiment, loop.judged(request), loop.seed_of(request)
    keys = [outcome.candidate.id for outcome in records.shown(judged)] if experiment.judge_frames else []
    pictures = {key: frames.of_candidate(experiment, key, experiment.judge_frames) for key in keys}
    counts = {key: len(found) for key, found in pictures.items()}
    asked = model_judge.question(judged, loop.problem_of(experiment), seed, counts)
    images = [url for outcome in asked.order for url in pictures.get(outcome.candidate.id, ())]
    unseen = tuple(key for key in keys if not counts[key])
    return Posed(asked.ask, partial(model_judge.read, asked), (*figures(experiment), *images), unseen)
