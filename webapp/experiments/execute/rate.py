"""Have the vision model rate a film: does the robot do what its task says?"""

from __future__ import annotations

from typing import Any

from llm import records
from llm.judges.alignment import read_rating
from webapp.experiments import request_results
from webapp.experiments.execute import frames
from webapp.experiments.execute.ask import Question, ask_model
from webapp.experiments.leases import Lease
from webapp.experiments.models import Request

UNSEEN = {"rating": None, "words": ""}


def rate(lease: Lease) -> None:
    """Ask about a film's pictures; where there are none, nobody is asked, and there is no rating."""
    request = lease.job.request
    assert request is not None
    asked = records.read_payload(request.kind, request.payload)
    assert isinstance(asked, records.Rate)
    with lease.beat_in_background():
        pictures = tuple(frames.read_candidate_frames(lease.job.experiment, asked.candidate, asked.frames))
    if not pictures:
        with lease.settle():
            request_results.complete(request, UNSEEN)
        return

    def build_question(request: Request) -> Question:
        return Question(asked, read_answer, pictures)

    ask_model(build_question, lease)


def read_answer(text: str) -> dict[str, Any] | None:
    """The rating with the words; None where the answer names none."""
    rating = read_rating(text)
    return None if rating is None else {"rating": rating, "words": text}
