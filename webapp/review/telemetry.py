"""What a page reports about how it was watched: known keys with whole numbers, nothing personal."""

from __future__ import annotations

import json
from typing import Any

from webapp.base.http import strip_nul
from webapp.review.models import Screening, Trial, Viewing
from webapp.review.screenings import LETTERS

KEYS = {
    "started_ms": "the browser's clock when the page was opened, milliseconds since 1970",
    "sent_ms": "the browser's clock when this was sent",
    "load_ms": "from opening the page until its videos could play together",
    "decide_ms": "from then until the choice was confirmed, or the page left",
    "first_choice_ms": "from opening the page to the first choice",
    "changes": "choices that replaced an earlier one",
    "plays": "times that all videos were started",
    "scrubs": "times that the time bar was moved",
    "steps": "single frames stepped",
    "speeds": "changes of speed",
    "focus_lost": "times that another window or tab was looked at",
    "away_ms": "for how long in all",
    "failed_clips": "videos that did not load at some time",
    "retries": "attempts to load one again",
    "slow_line": "1 where the videos were loaded one after another",
    "viewport": "width of the page: 1 phone, 2 tablet, 3 desktop",
    "columns": "answers that stood beside each other in the first row, when the choice was confirmed",
    "enough": "1 when every video that could play had been watched for long enough",
}
"""What is stored about one opened page, and about a vote's page until it was cast. Rows have the server's times."""
CLIP_KEYS = {
    "first_play_ms": "from opening the page until this video first ran",
    "watched_ms": "for how long it ran, at any speed",
    "replays": "times that it ran from its beginning again",
    "enlarged": "times that it was enlarged",
    "stalls": "times that it stood still to load",
    "failed": "times that it did not load",
}
"""What is stored about each video, under "clips" and its letter."""
WATCH_UNKNOWN = {"enough": 0}
"""For a vote whose page does not report watching, because it has no script or was altered: such a vote is flagged."""
MOST_BYTES = 8192
MOST_SITTINGS = 20
"""How many opened pages of one screening are stored, so that reloading does not fill the database."""


def parse_telemetry(text: str) -> dict[str, Any]:
    """The known keys of what a browser sent; {} if it is not valid."""
    if len(text) > MOST_BYTES:
        return {}
    try:
        data = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    kept: dict[str, Any] = _keep_numbers(data, KEYS)
    clips = data.get("clips")
    if isinstance(clips, dict):
        kept["clips"] = {
            letter: _keep_numbers(clip, CLIP_KEYS)
            for letter, clip in sorted(clips.items())
            if len(letter) == 1 and letter in LETTERS and isinstance(clip, dict)
        }
    return kept


def _keep_numbers(data: dict[str, Any], keys: dict[str, str]) -> dict[str, int]:
    return {key: value for key, value in data.items() if key in keys and type(value) is int and 0 <= value < 2**53}


def save_viewing(viewed: Screening | Trial, sitting: str, data: dict[str, Any]) -> None:
    """Save the newest report of one opened page, unless it is empty or there are too many."""
    sitting = strip_nul(sitting)[:16]
    if not (sitting and data):
        return
    kind = "screening" if isinstance(viewed, Screening) else "trial"
    known = Viewing.objects.filter(**{kind: viewed}).values_list("sitting", flat=True)
    if sitting not in known and len(known) >= MOST_SITTINGS:
        return
    report = Viewing(**{kind: viewed}, sitting=sitting, data=data)
    Viewing.objects.bulk_create(
        [report], update_conflicts=True, unique_fields=[kind, "sitting"], update_fields=["data", "updated_at"]
    )
