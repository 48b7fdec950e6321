"""The page on which people answer many pairs quickly: it sends answers as they are given, and gets the next pairs."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.urls import path, reverse
from django.views.decorators.http import require_POST, require_safe

from webapp.base.http import HtmxHttpRequest, strip_nul
from webapp.base.media_requests import skip_page_middleware
from webapp.experiments.models import PairSession
from webapp.review import media, pairs
from webapp.review.models import PairScreening
from webapp.studies.models import Participant
from webapp.studio.pages import find_page, prefetch_places
from webapp.studio.personal_links import require_participant
from webapp.studio.words import describe_time_left

MOST_CHANGES = 200
"""The most changes of one request: a page that was offline sends all that it kept."""
LARGEST_SEQUENCE = 2**53
"""JavaScript counts no further."""
SIDES = ("left", "right")


@require_POST
@require_participant
def answer_pairs(request: HtmxHttpRequest, participant: Participant) -> HttpResponse:
    """Take answers, and say which pairs come next. Answers that were taken before change nothing."""
    changes = parse_changes(request.body)
    if changes is None:
        return HttpResponse(status=400)
    prefetch_places(participant)
    if participant.study.interleaved:
        pairs.save_late_changes(participant, changes)
    session = pairs.find_session_of_answers(participant)
    told = describe_state(participant, session, changes) if session else {}
    prefetch_places(participant)  # an answer may have ended the session
    if session is None or find_page(participant).name != "pairs":
        return JsonResponse({"over": True, "pairs": []})
    return JsonResponse(told)


def describe_state(
    participant: Participant, session: PairSession, changes: tuple[pairs.Change, ...] = ()
) -> dict[str, Any]:
    """What the page's script is told; it says nothing about what made the videos."""
    state = pairs.follow(participant, session, changes)
    return {
        "pairs": [_describe_pair(screening) for screening in state.shown],
        "given": [_describe_pair(screening) for screening in state.given],
        "done": state.done,
        "total": state.total,
        "left": describe_time_left(state.seconds_left) if state.done < state.total else "",
    }


def _describe_pair(screening: PairScreening) -> dict[str, str]:
    found = {"token": screening.token}
    for side in SIDES:
        found[side] = reverse("pair_video", args=[screening.token, side])
        found[f"{side}_still"] = reverse("pair_still", args=[screening.token, side])
    return found


def parse_changes(body: bytes) -> tuple[pairs.Change, ...] | None:
    """The changes that a page sends; None if they cannot be read."""
    try:
        rows = json.loads(body)["changes"][:MOST_CHANGES]
        found = tuple(
            pairs.Change(strip_nul(str(row["token"])), str(row["answer"]), int(row["sequence"]), _parse_seconds(row))
            for row in rows
        )
        return found if all(0 <= change.sequence < LARGEST_SEQUENCE for change in found) else None
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def _parse_seconds(row: dict[str, Any]) -> float | None:
    value = row.get("seconds")
    return float(value) if isinstance(value, int | float) and 0 <= value < pairs.MOST_SECONDS else None


@skip_page_middleware
@require_safe
def serve_video(request: HttpRequest, token: str, side: str) -> HttpResponseBase:
    return media.serve_segment(request, token, side, "video/mp4")


@skip_page_middleware
@require_safe
def serve_still(request: HttpRequest, token: str, side: str) -> HttpResponseBase:
    return media.serve_segment(request, token, side, "image/jpeg")


urlpatterns = [
    path("s/<str:token>/pairs/", answer_pairs, name="pairs"),
    path("pair/<str:token>/<str:side>/", serve_video, name="pair_video"),
    path("pair/<str:token>/<str:side>/still/", serve_still, name="pair_still"),
]
