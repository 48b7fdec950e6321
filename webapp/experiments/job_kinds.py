"""The registry of kinds of jobs. What sets one apart is an entry here; the function that works on it is in
webapp/experiments/execute/, in `EXECUTORS`. No other file compares with the name of a kind.
"""

from __future__ import annotations

from dataclasses import dataclass

QUEUES = LLM, TRAIN, FILM = "llm", "train", "film"
"""Workers of the first queue ask language models, and advance methods."""


@dataclass(frozen=True)
class JobKind:
    """What differs between kinds of jobs."""

    name: str
    title: str
    """What pages call it."""
    queue: str
    step: str = ""
    """The step of a round that it belongs to: writing, training, filming or asking; empty if to none."""
    activity: str = ""
    """What the round's page says while it runs; empty: the words of its request's kind."""
    answers_request: bool = True
    """Whether it finds the result of its request, so that the request's kind names its executor."""
    measured: bool = False
    """Whether the time of its step is learned from its past jobs."""
    promised: bool = False
    """Whether the videos, or the answers, of a round wait for it, so that pages say when they come."""
    pausable: bool = False
    """Whether it stops at a pause, and later goes on from checkpoints or saved answers. The others end soon anyway."""
    repeated: bool = False
    """Whether an experiment has many, one after another; only a queued one is sure to see the latest rows."""
    films_clips: bool = False
    """Whether its percent says how far the training of the films is: nothing waits for those below 100."""
    of_session: bool = False
    """Whether its percent is the number of a session of pairs, between two slices of a training. The training's own job
    is older and is queued again."""
    background: bool = False
    """Whether nothing waits for it: it gives way to all other jobs of its queue, one runs at a time, and it fails no
    experiment.
    """
    trains: bool = False
    """Whether it trains policies. Its row says which version, machine and device did it."""


JOB_KINDS: dict[str, JobKind] = {
    kind.name: kind
    for kind in (
        JobKind(
            "train", "training or testing", TRAIN, "training", measured=True, promised=True, pausable=True, trains=True
        ),
        JobKind("write", "writing", LLM, "writing", measured=True, promised=True, pausable=True),
        JobKind("ask", "asking a model", LLM, "asking", measured=True, pausable=True),
        JobKind("perform", "recording episodes", FILM, "training"),
        JobKind(
            "film",
            "filming",
            FILM,
            "filming",
            "filming",
            answers_request=False,
            measured=True,
            promised=True,
            films_clips=True,
        ),
        JobKind("pairs", "filming pairs", FILM, "filming", "filming", answers_request=False, of_session=True),
        JobKind(
            "answer", "answering pairs", LLM, "asking", "asking about pairs", answers_request=False, of_session=True
        ),
        JobKind("advance", "next step", LLM, answers_request=False, repeated=True),
        JobKind("asked", "filming answered pairs", FILM, answers_request=False, background=True),
    )
}
"""By the name that rows keep. Where a round has jobs of several kinds, pages show the first of them here."""
PROMISED_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.promised)
TRAINING_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.trains)
CLIP_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.films_clips)
ROUND_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.promised and not kind.films_clips)
"""Jobs that a round waits for; films are made meanwhile or take little time."""
BACKGROUND_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.background)
COMPUTING_KINDS = tuple(kind.name for kind in JOB_KINDS.values() if kind.queue != LLM)
"""Jobs that keep a processor busy."""
MEASURED_KINDS = {kind.step: kind.name for kind in JOB_KINDS.values() if kind.measured}
"""By step: the kind of job whose time is learned."""
IMPORTANCE = {name: place for place, name in enumerate(JOB_KINDS)}


def list_kinds(queue: str) -> list[str]:
    """The kinds of jobs that workers of this queue do."""
    return [kind.name for kind in JOB_KINDS.values() if kind.queue == queue]


def list_urgent_kinds(queue: str) -> list[str]:
    """Those of them that jobs in the background give way to."""
    return [name for name in list_kinds(queue) if not JOB_KINDS[name].background]
