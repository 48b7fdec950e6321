"""What pages show of candidates: one presentation for each medium (webapp/problems/media/)."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.experiments.models import LoopSettings
from webapp.problems import media
from webapp.studio.presentation import Presentation
from webapp.studio.presentations import answers, films
from webapp.studio.words import count_of, plan_words

PRESENTATIONS: dict[str, Presentation] = {
    media.films.MEDIUM.name: films.PRESENTATION,
    media.answers.MEDIUM.name: answers.PRESENTATION,
}
EITHER = "You watch short videos of robots or read answers to problems, and say which is best and which worst."


def presentation_of(plan: LoopSettings) -> Presentation:
    return PRESENTATIONS[plan.medium.name]


def lead_of(plans: Iterable[LoopSettings], each: int) -> str:
    """What somebody is asked to do who may get any of these plans, `each` of them one after another."""
    plans = list(plans)
    leads = {presentation_of(plan).lead for plan in plans}
    said = [EITHER if len(leads) > 1 else leads.pop() if leads else films.LEAD]
    rounds = {plan_words(plan).rounds for plan in plans}
    robots = {plan_words(plan).robots for plan in plans}
    if len(rounds) == 1:
        there = "There is one round" if rounds == {"one round"} else f"There are {rounds.pop()}"
        videos = (
            f" of {robots.pop()}, one video each"
            if all(plan.medium.filmed for plan in plans) and len(robots) == 1
            else ""
        )
        said.append(f"{there}{videos}.")
    if each > 1:
        said.append(f"You do this {count_of(each)} times, one after another.")
    return " ".join(said)
