"""How pages show candidates: one presentation for each medium (webapp/problems/media/)."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.experiments.models import LoopSettings
from webapp.problems import media
from webapp.studio.presentation import Presentation
from webapp.studio.presentations import answers, films
from webapp.studio.words import describe_plan, spell_number

PRESENTATIONS: dict[str, Presentation] = {
    media.films.MEDIUM.name: films.PRESENTATION,
    media.answers.MEDIUM.name: answers.PRESENTATION,
}
EITHER = "You watch short videos of robots or read answers to problems, and say which is best and which worst."


def find_presentation(plan: LoopSettings) -> Presentation:
    return PRESENTATIONS[plan.medium.name]


def make_lead(plans: Iterable[LoopSettings], each: int) -> str:
    """What a participant is asked to do who may get any of these plans, `each` of them one after another."""
    plans = list(plans)
    leads = {find_presentation(plan).lead for plan in plans}
    sentences = [EITHER if len(leads) > 1 else leads.pop() if leads else films.LEAD]
    rounds = {describe_plan(plan).rounds for plan in plans}
    robots = {describe_plan(plan).robots for plan in plans}
    if len(rounds) == 1:
        count = "There is one round" if rounds == {"one round"} else f"There are {rounds.pop()}"
        videos = (
            f" of {robots.pop()}, one video each"
            if all(plan.medium.filmed for plan in plans) and len(robots) == 1
            else ""
        )
        sentences.append(f"{count}{videos}.")
    if each > 1:
        sentences.append(f"You do this {spell_number(each)} times, one after another.")
    return " ".join(sentences)
