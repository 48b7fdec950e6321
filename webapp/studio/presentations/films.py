"""How pages show films of robots."""

from __future__ import annotations

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.review import tags
from webapp.studio.practice import CLIPS
from webapp.studio.presentation import Presentation
from webapp.studio.words import Wait, describe_time_left, spell_number

LEAD = "You watch short videos of robots that practise, and say which you like best and which least."
STAGES = {"writing": "Getting ready", "training": "Practising", "filming": "Making the videos"}
IN_LINE = {
    "writing": "Your robots wait for their turn to get ready",
    "training": "Your robots wait for a free practice room",
    "filming": "The videos wait for their turn to be made",
}


def describe_last_wait(chooses: bool) -> Wait:
    """The wait after the last round, when nothing is trained. `chooses`: a last choice comes, else the end."""
    stages = tuple((stage, "done") for stage in STAGES.values())
    if chooses:
        path = (*stages, ("Your turn", "now"))
        return Wait("Your favourites are being brought together", 99, "a moment left", "Your turn", path)
    return Wait("That was the last round", 99, "a moment left", "Done", (*stages, ("Your turn", "done")))


def describe_wait(now: Progress, k: int) -> Wait:
    if now.phase == "asking":
        return _describe_almost_ready(now)
    phase = now.phase if now.phase in STAGES else "writing"
    robots = sum(candidate.status != "failed" for candidate in now.candidates) or k
    headline = {
        "writing": "The next robots are getting ready" if now.iteration > 1 else "The robots are getting ready",
        "training": f"{spell_number(robots).capitalize()} {'robot is' if robots == 1 else 'robots are'} practising",
        "filming": "The videos are being made",
    }[phase]
    # Never 100%: once everything is ready, another page takes the place of this one.
    percent = min(99, int(100 * now.fraction))
    if now.in_line:
        return Wait(
            IN_LINE[phase], percent, "", STAGES[phase], _make_path(phase), "other people's robots are before yours"
        )
    return Wait(headline, percent, describe_time_left(now.seconds_left), STAGES[phase], _make_path(phase))


def _describe_almost_ready(now: Progress) -> Wait:
    """The videos are ready but another step comes first; the page does not say which, to hide the method."""
    left, unknown = describe_time_left(now.seconds_left), "nobody can say yet how long it takes"
    return Wait("The videos are almost ready", 99, left, STAGES["filming"], _make_path("filming"), unknown)


def _make_path(phase: str) -> tuple[tuple[str, str], ...]:
    number = list(STAGES).index(phase)
    states = ["done"] * number + ["now"] + [""] * (len(STAGES) - number - 1)
    return (*zip(STAGES.values(), states, strict=True), ("Your turn", ""))


def describe_progress(now: Progress) -> str:
    """What the robots do while somebody reads the first pages; empty if they do nothing."""
    if now.in_line:
        return "Other people's robots are practising at the moment. Yours wait for a free practice room."
    return {
        "writing": "The first robots are getting ready meanwhile.",
        "training": "The first robots are practising already.",
        "filming": "The first videos are being made already.",
        "asking": "The first videos are almost ready.",
        "judging": "The first videos are ready.",
    }.get(now.phase, "")


def make_question(judgement: Judgement, shown: int, ready: int) -> str:
    """The question of a page of videos."""
    if judgement.is_final:
        return "These won your rounds. Which one is the best of all?"
    if ready == 1:
        return "Only one robot finished practising this time. Have a look, then confirm."
    if judgement.is_pair:
        return "Two once more. Which one does it better?"
    if shown == 2:
        return "Which of these two does it better? Mark it as the best, and the other as the worst."
    return f"Which of these {spell_number(shown)} does it best, and which worst?"


PRESENTATION = Presentation(
    lead=LEAD,
    tags_best=tags.BEST,
    tags_worst=tags.WORST,
    describe_progress=describe_progress,
    describe_wait=describe_wait,
    describe_last_wait=describe_last_wait,
    make_question=make_question,
    trial_question="Which one does it better?",
    make_task_context=lambda info, address: {},
    make_candidates_context=lambda info, places, tried: {},
    make_winner_context=lambda info, tried: {},
    make_practice_context=lambda places: {},
    describe_practice=CLIPS.__getitem__,
)
