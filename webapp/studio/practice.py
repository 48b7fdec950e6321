"""The practice trial: the page of a round with clips that everybody ranks alike. Nothing of it is kept but that it was.

What was chosen lives in the browser's session, so that a reload shows the same; on another device one practises again.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone

from webapp.experiments.kinds import judge
from webapp.studies.models import Participant
from webapp.studio.presentation import Presentation

SENTENCE = "The cart should keep the pole on it upright and still."
CLIPS = {
    "still": "keeps its pole upright and still all the time",
    "sways": "keeps its pole up, but sways a little",
    "swings": "keeps its pole up, but swings far to both sides",
    "falls": "drops its pole again and again",
}
"""File in static/studio/practice -> what one sees there. The best first; made by simulation.practice_clips."""
SHOWN = {2: ("still", "falls"), 3: ("still", "swings", "falls")}
"""With fewer than four videos a round, these; else all."""
LETTERS = "ABCD"
WATCH_SECONDS = 2
"""Of each clip before one can confirm: they are short, and one sees at once what happens."""


@dataclass(frozen=True)
class PracticeTile:
    """A practice clip on a page; review.screenings.Tile is the one of a real round."""

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


def tiles(participant: Participant, k: int) -> list[PracticeTile]:
    """The practice clips in this person's own order."""
    names = list(SHOWN.get(max(2, k), CLIPS))
    random.Random(f"{participant.study.seed} practice {participant.label}").shuffle(names)
    return [PracticeTile(letter, name) for letter, name in zip(LETTERS, names, strict=False)]


def page_context(participant: Participant, k: int, presentation: Presentation) -> dict[str, Any]:
    """What the page of a round needs, for the practice trial."""
    shown = tiles(participant, k)
    return {
        "practice": True,
        "action": reverse("practice", args=[participant.token]),
        "screening": {"token": f"practice {participant.token}", "watch_seconds": WATCH_SECONDS},
        "tiles": shown,
        "sentence": SENTENCE,
        "ask": presentation.ask_of(judge.JUDGEMENT, len(shown), len(shown)),
        "k": k,
        "presentation": presentation,
        "tags_best": presentation.tags_best,
        "tags_worst": presentation.tags_worst,
        **presentation.practice(shown),
    }


def feedback_context(
    participant: Participant, k: int, said: Mapping[str, str], presentation: Presentation
) -> dict[str, Any]:
    """What was chosen, and what most people would have; `said` has letters as best and worst, none for cannot tell."""
    shown = {tile.letter: tile for tile in tiles(participant, k)}
    ranked = sorted(shown.values(), key=lambda tile: list(CLIPS).index(tile.name))
    best, worst = shown.get(said.get("best", "")), shown.get(said.get("worst", ""))
    return {
        "sentence": SENTENCE,
        "usual": [(tile, presentation.practice_words(tile.name)) for tile in (ranked[0], ranked[-1])],
        "chosen": [tile for tile in (best, worst) if tile],
        "as_usual": (best, worst) == (ranked[0], ranked[-1]),
    }


def said_in(session: Mapping[str, Any], participant: Participant) -> dict[str, str] | None:
    """What this browser chose in the practice trial; None before that."""
    said = session.get(_key(participant))
    return said if isinstance(said, dict) else None


def _key(participant: Participant) -> str:
    return f"practice {participant.pk}"


def choice_of(posted: Mapping[str, str], letters: list[str]) -> dict[str, str] | str:
    """The letters chosen, or what is wrong with the choice."""
    if "cannot_tell" in posted:
        return {}
    best, worst = posted.get("best", ""), posted.get("worst", "")
    if best not in letters or worst not in letters:
        return "Choose the best and the worst video, then confirm."
    if best == worst:
        return "Best and worst were the same video. Choose two different ones."
    return {"best": best, "worst": worst}


def remember(session: MutableMapping[str, Any], participant: Participant, chosen: dict[str, str] | None) -> None:
    """Keep what was chosen; None forgets it, to practise once more."""
    if chosen is None:
        session.pop(_key(participant), None)
    else:
        session[_key(participant)] = chosen


def done(participant: Participant) -> None:
    Participant.objects.filter(pk=participant.pk, practised_at=None).update(practised_at=timezone.now())
