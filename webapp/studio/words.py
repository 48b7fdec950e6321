"""Plain words for the progress of the robots. The only numbers are times, shares and counts."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from llm.methods import METHODS
from webapp.experiments.models import LoopSettings
from webapp.experiments.progress import Progress

NUMBERS = (
    gettext_noop("no"),
    gettext_noop("one"),
    gettext_noop("two"),
    gettext_noop("three"),
    gettext_noop("four"),
    gettext_noop("five"),
    gettext_noop("six"),
    gettext_noop("seven"),
    gettext_noop("eight"),
    gettext_noop("nine"),
    gettext_noop("ten"),
    gettext_noop("eleven"),
    gettext_noop("twelve"),
)
MARK = gettext_noop("Mark the best video and the worst one.")
MARK_OF_TWO = gettext_noop("Mark the better video as the best and the other as the worst.")


@dataclass(frozen=True)
class Wait:
    headline: str
    percent: int
    left: str
    """The time left; empty while it is unknown."""
    stage: str
    path: tuple[tuple[str, str], ...]
    """(words, "done", "now" or "") for each stage and the person's turn after them."""
    unknown: str
    """What the page says while the time left is unknown."""


@dataclass(frozen=True)
class PlanWords:
    """A plan in words for participants, from what its method declares."""

    rounds: str
    """For example: five rounds."""
    robots: str
    """The robots of a round: six robots, two robots; several robots if the method decides."""
    mark: str
    """The task of a round."""
    pairs: bool
    """Whether two videos are sometimes shown once more, to say which is better."""
    end: str
    """What comes after the last round."""
    winner: str
    """The caption of the robot that is shown at the end."""
    chosen: bool
    """Whether people chose this robot as the winner, alone or as a panel."""


def describe_plan(plan: LoopSettings) -> PlanWords:
    method = METHODS[plan.method]
    rounds = count_rounds(plan.n)
    two = plan.k == 2 and not method.rounds
    mark = _(MARK_OF_TWO if two else MARK)
    chosen = _("Your winner") if method.chooses else _("The robot that came out best")
    winner, chooses = _("The robot that you chose") if plan.n == 1 else chosen, method.chooses or plan.n == 1
    if method.asks_pairs:
        chooses = False
        winner = _("The robot that learned from your answers")
    end = _describe_end(plan.n, rounds, method.chooses)
    return PlanWords(rounds, _count_robots(plan), mark, method.compares, end, winner, chooses)


def count_rounds(number: int) -> str:
    return ngettext("one round", "%(count)s rounds", number) % {"count": spell_number(number)}


def _count_robots(plan: LoopSettings) -> str:
    if METHODS[plan.method].rounds:
        return _("several robots")
    return ngettext("one robot", "%(count)s robots", plan.k) % {"count": spell_number(plan.k)}


def _describe_end(n: int, rounds: str, chooses: bool) -> str:
    if n == 1:
        return _("After that round you are done.")
    if chooses:
        return _("After %(rounds)s you choose the winner.") % {"rounds": rounds}
    return _("After %(rounds)s you are done.") % {"rounds": rounds}


HELD_UP = gettext_noop("The study has to wait")
"""The headline of a wait while nothing goes on (webapp.experiments.held_up)."""
LEAST_IN_LINE = 60.0
"""Nobody who waits behind others is promised less than a minute: it would be said for as long as they take."""


def describe_time_left(seconds: float | None, late: bool = False, reason: str = "") -> str:
    """The time left, rounded as a person would say it. `late`: an earlier answer was too short, `reason`: why."""
    if late:
        longer = _("it takes longer than expected")
        why = {"restarted": _("a part had to begin again"), "busy": _("others are busy here, too")}.get(reason)
        longer = f"{longer} ({why})" if why else longer
        return f"{longer}: {describe_time_left(seconds)}" if seconds else longer
    if seconds is None:
        return ""
    if seconds < 20:
        return _("a few seconds left")
    if seconds < 50:
        return _("less than a minute left")
    minutes = round(seconds / 60)
    if minutes < 120:
        words = ngettext("about one minute left", "about %(count)s minutes left", minutes)
        return words % {"count": spell_number(minutes)}
    hours = round(seconds / 3600)
    return ngettext("about one hour left", "about %(count)s hours left", hours) % {"count": spell_number(hours)}


def describe_wait_left(now: Progress) -> str:
    """The time left of a wait, or why nobody can say it."""
    if now.late_reason == "held up":
        return _("a part of this site must be put right first; then it goes on by itself, and nothing is lost")
    seconds = now.seconds_left
    if seconds is not None and now.in_line:
        seconds = max(LEAST_IN_LINE, seconds)
    return describe_time_left(seconds, now.late, now.late_reason)


def spell_number(number: int) -> str:
    return _(NUMBERS[number]) if number < len(NUMBERS) else str(number)


def capitalize(sentence: str) -> str:
    """The sentence with a capital first letter; the others stay, because German nouns have theirs."""
    return sentence[:1].upper() + sentence[1:]
