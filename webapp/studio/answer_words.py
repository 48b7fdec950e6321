"""Plain words of the pages where answers are read: answer, problem, round."""

from __future__ import annotations

from webapp.experiments.progress import Progress
from webapp.studio.words import Wait, count_of, time_left

STAGES = {"writing": "Being written", "training": "Being checked"}
END = "The answer that was chosen"
VERDICTS = {
    "ok": "right",
    "wrong": "wrong output",
    "time": "too slow",
    "memory": "too much memory",
    "output": "too much output",
    "crash": "stopped by an error",
}
UNKNOWN = "nobody can say yet how long it takes"


def wait_for_the_end(chooses: bool) -> Wait:
    """After the last round; `chooses`: people choose among the rounds' bests then."""
    path = (*((stage, "done") for stage in STAGES.values()), ("Your turn", "now" if chooses else "done"))
    headline = "Your favourites are being brought together" if chooses else "Your last choice is being taken in"
    return Wait(headline, 99, "a moment left", "Your turn", path, UNKNOWN)


def wait_of(now: Progress) -> Wait:
    phase = "training" if now.phase in ("training", "asking") else "writing"
    headline = "The answers are being checked" if phase == "training" else "New answers are being written"
    percent = min(99, int(100 * now.fraction))
    here = list(STAGES).index(phase)
    states = ["done"] * here + ["now"] + [""] * (len(STAGES) - here - 1)
    path = (*zip(STAGES.values(), states, strict=True), ("Your turn", ""))
    if now.in_line:
        return Wait("Your answers wait for their turn", percent, "", STAGES[phase], path, "others' come before yours")
    return Wait(headline, percent, time_left(now.seconds_left), STAGES[phase], path, UNKNOWN)


def meanwhile(now: Progress) -> str:
    """What goes on while somebody reads the first pages."""
    return (
        "The first answers are ready." if now.phase == "judging" else "The first answers are being written meanwhile."
    )


def ask_of(final: bool, pair: bool, shown: int) -> str:
    if final:
        return "These won your rounds. Which one is the best of all?"
    if shown == 1:
        return "There is only one answer this time. Read it, then confirm."
    if pair:
        return "Which of these two is the better answer?"
    return f"Which of these {count_of(shown)} answers is best, and which worst?"
