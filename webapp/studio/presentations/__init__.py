"""How pages show candidates: one presentation for each medium (webapp/problems/media/)."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from webapp.experiments.models import LoopSettings
from webapp.problems import media
from webapp.studies.sentences import join_sentences
from webapp.studio.presentation import Presentation
from webapp.studio.presentations import answers, films
from webapp.studio.words import describe_plan, spell_number

PRESENTATIONS: dict[str, Presentation] = {
    media.films.MEDIUM.name: films.PRESENTATION,
    media.answers.MEDIUM.name: answers.PRESENTATION,
}
EITHER = gettext_noop(
    "You watch short videos of robots or read answers to problems, and say which is best and which worst."
)
PAIRS = gettext_noop(
    "You watch short videos of a robot that practises, two at a time, and say which one does it better."
)


def find_presentation(plan: LoopSettings) -> Presentation:
    return PRESENTATIONS[plan.medium.name]


def make_lead(plans: Iterable[LoopSettings], each: int, interleaved: bool = False) -> str:
    """What a participant does who may get any of these plans: `each` of them, one after another or in turns."""
    plans = list(plans)
    if plans and all(plan.asks_pairs for plan in plans):
        return join_sentences([_(PAIRS), *_describe_times(each, interleaved)])
    leads = {find_presentation(plan).lead for plan in plans}
    sentences = [_(EITHER if len(leads) > 1 else leads.pop() if leads else films.LEAD)]
    rounds = {describe_plan(plan).rounds for plan in plans}
    robots = {describe_plan(plan).robots for plan in plans}
    if len(rounds) == 1:
        one, words = plans[0].n == 1, {"rounds": rounds.pop()}
        if all(plan.medium.filmed for plan in plans) and len(robots) == 1:
            words["robots"] = robots.pop()
            sentence = (
                _("There is one round of %(robots)s, one video each.")
                if one
                else _("There are %(rounds)s of %(robots)s, one video each.")
            )
        else:
            sentence = _("There is one round.") if one else _("There are %(rounds)s.")
        sentences.append(sentence % words)
    return join_sentences([*sentences, *_describe_times(each, interleaved)])


def _describe_times(each: int, interleaved: bool) -> list[str]:
    if each < 2:
        return []
    words = (
        _("You do this %(count)s times; while one robot practises, you go on with the next.")
        if interleaved
        else _("You do this %(count)s times, one after another.")
    )
    return [words % {"count": spell_number(each)}]
