"""Films of robots."""

from __future__ import annotations

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.review import tags
from webapp.studio.practice import CLIPS
from webapp.studio.presentation import Presentation
from webapp.studio.words import Wait, count_of, time_left

LEAD = "You watch short videos of robots that practise, and say which you like best and which least."
STAGES = {"writing": "Getting ready", "training": "Practising", "filming": "Making the videos"}
IN_LINE = {
    "writing": "Your robots wait for their turn to get ready",
    "training": "Your robots wait for a free practice room",
    "filming": "The videos wait for their turn to be made",
}


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


def _path(phase: str) -> tuple[tuple[str, str], ...]:
    here = list(STAGES).index(phase)
    states = ["done"] * here + ["now"] + [""] * (len(STAGES) - here - 1)
    return (*zip(STAGES.values(), states, strict=True), ("Your turn", ""))


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


def ask_of(judgement: Judgement, shown: int, ready: int) -> str:
    """What a page of videos asks."""
    if judgement.is_final:
        return "These won your rounds. Which one is the best of all?"
    if ready == 1:
        return "Only one robot finished practising this time. Have a look, then confirm."
    if judgement.is_pair:
        return "Two once more. Which one does it better?"
    if shown == 2:
        return "Which of these two does it better? Mark it as the best, and the other as the worst."
    return f"Which of these {count_of(shown)} does it best, and which worst?"


PRESENTATION = Presentation(
    lead=LEAD,
    tags_best=tags.BEST,
    tags_worst=tags.WORST,
    meanwhile=meanwhile,
    wait_of=wait_of,
    wait_for_the_end=wait_for_the_end,
    ask_of=ask_of,
    trial_of_two="Which one does it better?",
    beside=lambda info, address: {},
    candidates=lambda info, places, tried: {},
    winner=lambda info, tried: {},
    practice=lambda places: {},
    practice_words=CLIPS.__getitem__,
)
