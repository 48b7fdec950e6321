"""Which version of Prefine wrote an experiment's prompts, and what of an earlier flow is set aside."""

from __future__ import annotations

import re
from dataclasses import dataclass

from llm import replay
from webapp.experiments.models import Experiment, Request


@dataclass(frozen=True)
class Asked:
    """From a step on, which version of Prefine wrote the prompts."""

    step: int
    round: int | None
    """None for the last choice."""
    version: str
    """Empty where it was not written down yet."""


def asked_by(experiment: Experiment) -> tuple[tuple[Asked, ...], int]:
    """Who wrote the prompts from which step on, and how many answers are set aside."""
    rows = experiment.requests.values_list("status", "finished_at", "step", "version", "payload__iteration")
    aside = [ended for status, ended, *_ in rows if status == Request.Status.ASIDE and ended]
    asked = [(step, version, number) for status, _, step, version, number in rows if status != Request.Status.ASIDE]
    rounds = {step: number for step, _, number in asked}
    spans = replay.asked_by((step, _short(version)) for step, version, _ in asked)
    return tuple(Asked(step, rounds[step], version) for step, version in spans), len(aside)


def _short(version: str) -> str:
    """With the first letters of the commit."""
    return re.sub(r"\b([0-9a-f]{9})[0-9a-f]{31}\b", r"\1", version)
