"""Plain words for where the robots are. No numbers but time, share and how many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from llm.methods import METHODS
from webapp.experiments.kind import Judgement
from webapp.experiments.models import LoopSettings
from webapp.experiments.progress import Progress

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
STAGES = {"writing": "Getting ready", "training": "Practising", "filming": "Making the videos"}
MARK = "Mark the best video and the worst one."
MARK_OF_TWO = "Mark the better video as the best and the other as the worst."
IN_LINE = {
    "writing": "Your robots wait for their turn to get ready",
    "training": "Your robots wait for a free practice room",
    "filming": "The videos wait for their turn to be made",
}


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


def wait_for_the_end(chooses: bool) -> Wait:
    """After the last round nothing is trained any more: a last choice comes, where the method has one, or the end."""
    stages = tuple((stage, "done") for stage in STAGES.values())
    if chooses:
        path = (*stages, ("Your turn", "now"))
        return Wait("Your favourites are being brought together", 99, "a moment left", "Your turn", path)
    return Wait("That was the last round", 99, "a moment left", "Done", (*stages, ("Your turn", "done")))


def wait_of(now: Progress, k: int) -> Wait:
    if now.phase == "asking":
        return _almost(now)
    phase = now.phase if now.phase in STAGES else "writing"
    robots = sum(candidate.status != "failed" for candidate in now.candidates) or k
    headline = {
        "writing": "The next robots are getting ready" if now.iteration > 1 else "The robots are getting ready",
        "training": f"{count_of(robots).capitalize()} {'robot is' if robots == 1 else 'robots are'} practising",
        "filming": "The videos are being made",
    }[phase]
    # Never 100%: what the person waits for is there when this page gives way to it.
    percent = min(99, int(100 * now.fraction))
    if now.in_line:
        return Wait(IN_LINE[phase], percent, "", STAGES[phase], _path(phase), "other people's robots are before yours")
    return Wait(headline, percent, time_left(now.seconds_left), STAGES[phase], _path(phase))


def _almost(now: Progress) -> Wait:
    """The videos are there and something comes before them; not what, for that would tell of the method."""
    left, unknown = time_left(now.seconds_left), "nobody can say yet how long it takes"
    return Wait("The videos are almost ready", 99, left, STAGES["filming"], _path("filming"), unknown)


def meanwhile(now: Progress) -> str:
    """What goes on while somebody reads the first pages; empty where nothing does."""
    if now.in_line:
        return "Other people's robots are practising at the moment. Yours wait for a free practice room."
    return {
        "writing": "The first robots are getting ready meanwhile.",
        "training": "The first robots are practising already.",
        "filming": "The first videos are being made already.",
        "asking": "The first videos are almost ready.",
        "judging": "The first videos are ready.",
    }.get(now.phase, "")


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


def _path(phase: str) -> tuple[tuple[str, str], ...]:
    here = list(STAGES).index(phase)
    states = ["done"] * here + ["now"] + [""] * (len(STAGES) - here - 1)
    return (*zip(STAGES.values(), states, strict=True), ("Your turn", ""))


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


VIDEOS = "You watch short videos of robots that practise, and say which you like best and which least."
ANSWERS = "You read several answers to a problem, and say which is best and which worst."
EITHER = "You watch short videos of robots or read answers to problems, and say which is best and which worst."


def lead_of(plans: Iterable[LoopSettings], each: int) -> str:
    """What somebody is asked to do who may get any of these plans, `each` of them one after another."""
    plans = list(plans)
    problems = {plan.is_problem for plan in plans}
    said = [EITHER if len(problems) > 1 else ANSWERS if True in problems else VIDEOS]
    rounds = {plan_words(plan).rounds for plan in plans}
    robots = {plan_words(plan).robots for plan in plans}
    if len(rounds) == 1:
        there = "There is one round" if rounds == {"one round"} else f"There are {rounds.pop()}"
        videos = f" of {robots.pop()}, one video each" if problems == {False} and len(robots) == 1 else ""
        said.append(f"{there}{videos}.")
    if each > 1:
        said.append(f"You do this {count_of(each)} times, one after another.")
    return " ".join(said)


def ask_of(judgement: Judgement, shown: int, ready: int) -> str:
    """What a page of videos asks."""
    if judgement.final:
        return "These won your rounds. Which one is the best of all?"
    if ready == 1:
        return "Only one robot finished practising this time. Have a look, then confirm."
    if judgement.pair:
        return "Two once more. Which one does it better?"
    if shown == 2:
        return "Which of these two does it better? Mark it as the best, and the other as the worst."
    return f"Which of these {count_of(shown)} does it best, and which worst?"
