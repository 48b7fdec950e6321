"""The state of every loop. Logic about one row is here; writes across rows are in loop.py and jobs.py."""

from webapp.experiments.models.experiment import Candidate, Experiment, Iteration, Tag
from webapp.experiments.models.loop_settings import (
    LanguageModel,
    LoopSettings,
    method_choices,
    preset_choices,
    task_choices,
)
from webapp.experiments.models.pairs import PairSession, Segment, SegmentPair
from webapp.experiments.models.prompt_sets import PromptSet
from webapp.experiments.models.requests import Clip, Event, Job, ModelCall, Request, Run
from webapp.experiments.models.workers import Worker

__all__ = [
    "Candidate",
    "Clip",
    "Event",
    "Experiment",
    "Iteration",
    "Job",
    "LanguageModel",
    "LoopSettings",
    "ModelCall",
    "PairSession",
    "PromptSet",
    "Request",
    "Run",
    "Segment",
    "SegmentPair",
    "Tag",
    "Worker",
    "method_choices",
    "preset_choices",
    "task_choices",
]
