"""Plain words for where the robots are. No numbers but time, share and how many."""

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
    """How long still; empty where nobody can say yet."""
    stage: str
    path: tuple[tuple[str, str], ...]
    """(words, "done", "now" or "") for each stage and the person's turn after them."""
    unknown: str = "we can say how long when they have practised a little"
    """Said where nobody can say how long still."""


@dataclass(frozen=True)
class PlanWords:
    """What a plan means for the person, from what its method declares."""

    rounds: str
    """For example: five rounds."""
    robots: str
    """How many a round has: six robots, two robots; several robots where the method decides."""
    mark: str
    """What is asked in a round."""
    pairs: bool
    """Whether two videos are sometimes shown once more, to say which is better."""
    end: str
    """What comes after the last round."""
    winner: str
    """What the robot is that is shown at the end."""
    chosen: bool
    """Whether it is one that people chose as the winner, alone or as a panel."""


def plan_words(plan: LoopSettings) -> PlanWords:
    method = METHODS[plan.method]
    rounds = "one round" if plan.n == 1 else f"{count_of(plan.n)} rounds"
    robots = "several robots" if method.rounds else f"{count_of(plan.k)} robots"
    two = plan.k == 2 and not method.rounds
    mark = MARK_OF_TWO if two else MARK
    after = "After that round" if plan.n == 1 else f"After {rounds}"
    end = "you choose the winner" if method.chooses and plan.n > 1 else "you are done"
    chosen = "Your winner" if method.chooses else "The robot that came out best"
    winner = "The robot that you chose" if plan.n == 1 else chosen
    return PlanWords(rounds, robots, mark, method.compares, f"{after} {end}.", winner, method.chooses or plan.n == 1)


def time_left(seconds: float | None) -> str:
    """Rounded as a person would say it: a false precision would only be wrong."""
    if seconds is None:
        return ""
    if seconds < 20:
        return "a few seconds left"
    if seconds < 50:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"about {count_of(minutes)} minute{'s' if minutes != 1 else ''} left"
    return f"about {count_of(round(seconds / 3600))} hours left"


def count_of(number: int) -> str:
    return NUMBERS[number] if number < len(NUMBERS) else str(number)
