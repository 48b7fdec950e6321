"""The practice trial: the page of a round with clips that everybody ranks alike.

The database keeps only that the person has practised; the choice is in the browser's session, so that a reload shows
the same page.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models.functions import Now
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from webapp.base.text_lines import split_lines
from webapp.experiments.kinds import judge
from webapp.experiments.models import LoopSettings
from webapp.problems.medium import Medium
from webapp.studies.models import Participant
from webapp.studio.presentation import Presentation

SENTENCE = gettext_noop("The cart should keep the pole on it upright and still.")
CLIPS = {
    "still": gettext_noop("It keeps its pole upright and still all the time."),
    "sways": gettext_noop("It keeps its pole up, but sways a little."),
    "swings": gettext_noop("It keeps its pole up, but swings far to both sides."),
    "falls": gettext_noop("It drops its pole again and again."),
}
"""File in static/studio/practice -> what it shows, the best first; made by simulation.practice_clips."""
SHOWN = {2: ("still", "falls"), 3: ("still", "swings", "falls")}
"""The clips for rounds with fewer than four videos; other rounds show all."""
LETTERS = "ABCD"
WATCH_SECONDS = 2
"""How much of each clip must be watched before one can confirm; the clips are short."""


@dataclass(frozen=True)
class PracticeTile:
    """A practice clip on a page; review.screenings.Tile is a clip of a real round."""

    letter: str
    name: str
    token: str = ""
    status: str = "ready"

    @property
    def video(self) -> str:
        return static(f"studio/practice/{self.name}.mp4")

    @property
    def poster(self) -> str:
        return static(f"studio/practice/{self.name}.jpg")


def make_tiles(participant: Participant, k: int) -> list[PracticeTile]:
    """The practice clips in this person's own order."""
    names = list(SHOWN.get(max(2, k), CLIPS))
    random.Random(f"{participant.study.seed} practice {participant.label}").shuffle(names)
    return [PracticeTile(letter, name) for letter, name in zip(LETTERS, names, strict=False)]


def make_page_context(participant: Participant, plan: LoopSettings, presentation: Presentation) -> dict[str, Any]:
    """The context of the practice trial's page, which is the page of a round, or of pairs where people answer these."""
    k = 2 if plan.asks_pairs else plan.k
    shown = make_tiles(participant, k)
    return {
        "samples": make_samples([shown[:2]]) if plan.asks_pairs else "",
        "practice": True,
        "action": reverse("practice", args=[participant.token]),
        "screening": {"token": f"practice {participant.token}", "watch_seconds": WATCH_SECONDS},
        "tiles": shown,
        "sentence": _(SENTENCE),
        "ask": presentation.make_question(judge.JUDGEMENT, len(shown), len(shown)),
        "k": k,
        "presentation": presentation,
        "tags_best": split_lines(participant.study.reasons_best) or presentation.tags_best,
        "tags_worst": split_lines(participant.study.reasons_worst) or presentation.tags_worst,
        **presentation.make_practice_context(shown),
    }


def make_samples(pairs: Sequence[Sequence[PracticeTile]]) -> str:
    """Practice clips as the script of the page of pairs reads them; it sends no answers about them."""
    sides = ("left", "right")
    rows = [
        {"token": str(number)}
        | {side: tile.video for side, tile in zip(sides, pair, strict=True)}
        | {f"{side}_still": tile.poster for side, tile in zip(sides, pair, strict=True)}
        for number, pair in enumerate(pairs)
    ]
    return json.dumps(rows)


def make_feedback_context(
    participant: Participant, k: int, choice: Mapping[str, str], presentation: Presentation
) -> dict[str, Any]:
    """The choice, and what most people choose. `choice`: the letters of best and worst; empty for cannot tell."""
    shown = {tile.letter: tile for tile in make_tiles(participant, k)}
    ranked = sorted(shown.values(), key=lambda tile: list(CLIPS).index(tile.name))
    best, worst = shown.get(choice.get("best", "")), shown.get(choice.get("worst", ""))
    return {
        "sentence": _(SENTENCE),
        "usual": [(tile, presentation.describe_practice(tile.name)) for tile in (ranked[0], ranked[-1])],
        "chosen": [tile for tile in (best, worst) if tile],
        "as_usual": (best, worst) == (ranked[0], ranked[-1]),
    }


def read_choice(session: Mapping[str, Any], participant: Participant) -> dict[str, str] | None:
    """This browser's choice in the practice trial; None before that."""
    choice = session.get(_make_session_key(participant))
    return choice if isinstance(choice, dict) else None


def _make_session_key(participant: Participant) -> str:
    return f"practice {participant.pk}"


def parse_choice(posted: Mapping[str, str], letters: list[str], medium: Medium) -> dict[str, str] | str:
    """The letters chosen, or a sentence that says what is wrong with the choice."""
    if "cannot_tell" in posted or posted.get("answer") in ("equal", "skip"):
        return {}
    if posted.get("answer") in ("left", "right"):
        return dict(zip(("best", "worst"), letters if posted["answer"] == "left" else letters[1::-1], strict=False))
    best, worst = posted.get("best", ""), posted.get("worst", "")
    if best not in letters or worst not in letters:
        return str(medium.choose_both)
    if best == worst:
        return str(medium.both_are_same)
    return {"best": best, "worst": worst}


def save_choice(session: MutableMapping[str, Any], participant: Participant, chosen: dict[str, str] | None) -> None:
    """Keep the choice; None deletes it, to practise once more."""
    if chosen is None:
        session.pop(_make_session_key(participant), None)
    else:
        session[_make_session_key(participant)] = chosen


def mark_practised(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, practised_at=None).update(practised_at=Now())
