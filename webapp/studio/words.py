"""Plain words for the progress of the robots. The only numbers are times, shares and counts."""

from __future__ import annotations

from dataclasses import dataclass

from llm.methods import METHODS
from webapp.experiments.models import LoopSettings

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MARK = "Mark the best video and the worst one."
MARK_OF_TWO = "Mark the better video as the best and the other as the worst."


@dataclass(frozen=True)
class Wait:
    headline: str
    percent: int
    left: str
    """The time left; empty while it is unknown."""
    stage: str
    path: tuple[tuple[str, str], ...]
    """(words, "done", "now" or "") for each stage and the person's turn after them."""
    unknown: str = "we can say how long when they have practised a little"
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
    rounds = "one round" if plan.n == 1 else f"{spell_number(plan.n)} rounds"
    robots = "several robots" if method.rounds else f"{spell_number(plan.k)} robots"
    two = plan.k == 2 and not method.rounds
    mark = MARK_OF_TWO if two else MARK
    after = "After that round" if plan.n == 1 else f"After {rounds}"
    end = "you choose the winner" if method.chooses and plan.n > 1 else "you are done"
    chosen = "Your winner" if method.chooses else "The robot that came out best"
    winner = "The robot that you chose" if plan.n == 1 else chosen
    return PlanWords(rounds, robots, mark, method.compares, f"{after} {end}.", winner, method.chooses or plan.n == 1)


def describe_time_left(seconds: float | None) -> str:
    """The time left, rounded as a person would say it."""
    if seconds is None:
        return ""
    if seconds < 20:
        return "a few seconds left"
    if seconds < 50:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {spell_number(minutes)} minute{'s' if minutes != 1 else ''} left"
    return f"about {spell_number(round(seconds / 3600))} hours left"


def spell_number(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)
