"""Answers to problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.problems import markdown
from webapp.problems.forms import get_form
from webapp.problems.forms.form import Text, TriedSource
from webapp.problems.lookup import TaskInfo
from webapp.problems.models import Attachment, Problem
from webapp.review import tags
from webapp.studio import practice_answers
from webapp.studio.presentation import Context, Lettered, Practised, Presentation
from webapp.studio.words import Wait, count_of, time_left

LEAD = "You read several answers to a problem, and say which is best and which worst."
STAGES = {"writing": "Being written", "training": "Being checked"}
END = "The answer that was chosen"
UNKNOWN = "nobody can say yet how long it takes"


@dataclass(frozen=True)
class Answer:
    """One answer as a page shows it. Says nothing about how it came about, or of whom it is."""

    letter: str
    status: str
    text: Text


def answer(problem: Problem, tried: TriedSource, letter: str, status: str) -> Answer:
    return Answer(letter, status, get_form(problem).build_text(problem, tried))


def stated(problem: Problem) -> Context:
    return {"problem": problem, "sentence": problem.title, "statement": markdown.render_html(problem.statement)}


def beside(info: TaskInfo, address: Callable[[Attachment], str]) -> Context:
    assert isinstance(info, Problem)
    return {**stated(info), "attachments": [(row, address(row)) for row in info.attachments.all()]}


def reference(problem: Problem) -> dict[str, SafeString]:
    """The solution, where reviewers may see it."""
    if not problem.show_reference:
        return {}
    final = markdown.render_formula(problem.answer) if problem.answer else SafeString("")
    return {"reference_answer": final, "reference": markdown.render_html(problem.reference)}


def candidates(info: TaskInfo, places: Sequence[Lettered], tried: Callable[[], Sequence[TriedSource]]) -> Context:
    assert isinstance(info, Problem)
    read = [answer(info, row, place.letter, place.status) for place, row in zip(places, tried(), strict=True)]
    return {"answers": read, **reference(info)}


def winner(info: TaskInfo, tried: TriedSource) -> Context:
    assert isinstance(info, Problem)
    return {"answer": answer(info, tried, "", "ready"), "end": END}


def practice(places: Sequence[Practised]) -> Context:
    """Answers that everybody ranks alike in place of the clips of which that is true."""
    problem, samples = practice_answers.PROBLEM, practice_answers.SAMPLES
    read = [answer(problem, TriedSource(samples[place.name].text), place.letter, "ready") for place in places]
    return {**stated(problem), "answers": read}


def wait_for_the_end(chooses: bool) -> Wait:
    """After the last round; `chooses`: people choose among the rounds' bests then."""
    path = (*((stage, "done") for stage in STAGES.values()), ("Your turn", "now" if chooses else "done"))
    headline = "Your favourites are being brought together" if chooses else "Your last choice is being taken in"
    return Wait(headline, 99, "a moment left", "Your turn", path, UNKNOWN)


def wait_of(now: Progress, k: int) -> Wait:
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


def ask_of(judgement: Judgement, shown: int, ready: int) -> str:
    if judgement.is_final:
        return "These won your rounds. Which one is the best of all?"
    if shown == 1:
        return "There is only one answer this time. Read it, then confirm."
    if judgement.is_pair:
        return "Which of these two is the better answer?"
    return f"Which of these {count_of(shown)} answers is best, and which worst?"


PRESENTATION = Presentation(
    lead=LEAD,
    tags_best=tags.ANSWERS_BEST,
    tags_worst=tags.ANSWERS_WORST,
    meanwhile=meanwhile,
    wait_of=wait_of,
    wait_for_the_end=wait_for_the_end,
    ask_of=ask_of,
    trial_of_two="Which of these two is the better answer?",
    beside=beside,
    candidates=candidates,
    winner=winner,
    practice=practice,
    practice_words=lambda name: practice_answers.SAMPLES[name].words,
)
