"""Plain words for where the robots are. No numbers but time, share and how many."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.experiments.progress import Progress

NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
STAGES = {"writing": "Getting ready", "training": "Practising", "filming": "Making the videos"}


@dataclass(frozen=True)
class Wait:
    headline: str
    percent: int
    left: str
    """How long still; empty where nobody can say yet."""
    stage: str
    path: tuple[tuple[str, str], ...]
    """(words, "done", "now" or "") for each stage and the person's turn after them."""


def wait_for_the_last_choice() -> Wait:
    """After the last round nothing is trained any more."""
    path = (*((stage, "done") for stage in STAGES.values()), ("Your turn", "now"))
    return Wait("Your favourites are being brought together", 99, "a moment left", "Your turn", path)


def wait_of(now: Progress, k: int) -> Wait:
    phase = now.phase if now.phase in STAGES else "writing"
    robots = sum(candidate.status != "failed" for candidate in now.candidates) or k
    headline = {
        "writing": "The next robots are getting ready" if now.iteration > 1 else "The robots are getting ready",
        "training": f"{count_of(robots).capitalize()} {'robot is' if robots == 1 else 'robots are'} practising",
        "filming": "The videos are being made",
    }[phase]
    # Never 100%: what the person waits for is there when this page gives way to it.
    percent = min(99, int(100 * now.fraction))
    return Wait(headline, percent, time_left(now.seconds_left), STAGES[phase], _path(phase))


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


def ask_of(kind: str, shown: int, ready: int) -> str:
    """What a page of videos asks, for the kind of its request: Judge, Choose or Compare."""
    if kind == "Choose":
        return "These won your rounds. Which one is the best of all?"
    if ready == 1:
        return "Only one robot finished practising this time. Have a look, then confirm."
    if kind == "Compare":
        return "Two once more. Which one does it better?"
    if shown == 2:
        return "Which of these two does it better? Mark it as the best, and the other as the worst."
    return f"Which of these {count_of(shown)} does it best, and which worst?"
