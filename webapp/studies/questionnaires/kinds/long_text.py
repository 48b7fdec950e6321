"""Several lines of text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from webapp.studies.questionnaires.kinds import short_text

MOST = 10_000

KIND = replace(
    short_text.KIND,
    name="long",
    title="Long text",
    read=partial(short_text.read, most=MOST),
    estimate_seconds=lambda item: 45.0,
)
