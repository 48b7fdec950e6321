"""How pages show answers to problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from webapp.experiments.kind import Judgement
from webapp.experiments.progress import Progress
from webapp.problems import markdown
from webapp.problems.forms import get_form
from webapp.problems.forms.form import Text, TriedSource
from webapp.problems.lookup import TaskInfo
from webapp.problems.models import Attachment, Problem
from webapp.review import tags
from webapp.studio import practice_answers
from webapp.studio.presentation import Context, LetteredPlace, PracticePlace, Presentation
from webapp.studio.words import HELD_UP, Wait, describe_wait_left, spell_number

LEAD = gettext_noop("You read several answers to a problem, and say which is best and which worst.")
STAGES = {"writing": gettext_noop("Being written"), "training": gettext_noop("Being checked")}
END = gettext_noop("The answer that was chosen")
TIME_UNKNOWN = gettext_noop("nobody can say yet how long it takes")


@dataclass(frozen=True)
class ShownAnswer:
    """One answer as a page shows it. It does not reveal which method or model wrote it."""

    letter: str
    status: str
    text: Text


def make_answer(problem: Problem, tried: TriedSource, letter: str, status: str) -> ShownAnswer:
    return ShownAnswer(letter, status, get_form(problem).build_text(problem, tried))


def make_statement(problem: Problem) -> Context:
    return {"problem": problem, "sentence": problem.title, "statement": markdown.render_html(problem.statement)}


def make_task_context(info: TaskInfo, address: Callable[[Attachment], str]) -> Context:
    assert isinstance(info, Problem)
    return {**make_statement(info), "attachments": [(row, address(row)) for row in info.attachments.all()]}


def make_reference_context(problem: Problem) -> dict[str, SafeString]:
    """The solution, if reviewers may see it."""
    if not problem.show_reference:
        return {}
    final = markdown.render_formula(problem.answer) if problem.answer else SafeString("")
    return {"reference_answer": final, "reference": markdown.render_html(problem.reference)}


def make_candidates_context(
    info: TaskInfo, places: Sequence[LetteredPlace], tried: Callable[[], Sequence[TriedSource]]
) -> Context:
    assert isinstance(info, Problem)
    read = [make_answer(info, row, place.letter, place.status) for place, row in zip(places, tried(), strict=True)]
    return {"answers": read, **make_reference_context(info)}


def make_winner_context(info: TaskInfo, tried: TriedSource) -> Context:
    assert isinstance(info, Problem)
    return {"answer": make_answer(info, tried, "", "ready"), "end": _(END)}


def make_practice_context(places: Sequence[PracticePlace]) -> Context:
    """The practice answers in place of the practice clips."""
    problem, samples = practice_answers.make_problem(), practice_answers.SAMPLES
    read = [make_answer(problem, TriedSource(samples[place.name].text), place.letter, "ready") for place in places]
    return {**make_statement(problem), "answers": read}


def describe_last_wait(chooses: bool) -> Wait:
    """The wait after the last round. `chooses`: people then choose among the rounds' winners."""
    path = (*((_(stage), "done") for stage in STAGES.values()), (_("Your turn"), "now" if chooses else "done"))
    headline = _("Your favourites are being brought together") if chooses else _("Your last choice is being taken in")
    return Wait(headline, 99, _("a moment left"), _("Your turn"), path, _(TIME_UNKNOWN))


def describe_wait(now: Progress, k: int) -> Wait:
    phase = "training" if now.phase in ("training", "asking") else "writing"
    headline = _("The answers are being checked") if phase == "training" else _("New answers are being written")
    percent = min(99, int(100 * now.fraction))
    number = list(STAGES).index(phase)
    states = ["done"] * number + ["now"] + [""] * (len(STAGES) - number - 1)
    path = (*zip(map(_, STAGES.values()), states, strict=True), (_("Your turn"), ""))
    if now.in_line:
        in_line = _("Your answers wait for their turn")
        return Wait(in_line, percent, describe_wait_left(now), _(STAGES[phase]), path, _("others' come before yours"))
    if now.late_reason == "held up":
        headline = _(HELD_UP)
    return Wait(headline, percent, describe_wait_left(now), _(STAGES[phase]), path, _(TIME_UNKNOWN))


def describe_progress(now: Progress, k: int) -> str:
    """What happens while somebody reads the first pages."""
    return (
        _("The first answers are ready.")
        if now.phase == "judging"
        else _("The first answers are being written meanwhile.")
    )


def make_question(judgement: Judgement, shown: int, ready: int) -> str:
    if judgement.is_final:
        return _("These won your rounds. Which one is the best of all?")
    if shown == 1:
        return _("There is only one answer this time. Read it, then confirm.")
    if judgement.is_pair:
        return _("Which of these two is the better answer?")
    return _("Which of these %(count)s answers is best, and which worst?") % {"count": spell_number(shown)}


PRESENTATION = Presentation(
    lead=LEAD,
    tags_best=tags.ANSWERS_BEST,
    tags_worst=tags.ANSWERS_WORST,
    describe_progress=describe_progress,
    describe_wait=describe_wait,
    describe_last_wait=describe_last_wait,
    make_question=make_question,
    trial_question=gettext_noop("Which of these two is the better answer?"),
    make_task_context=make_task_context,
    make_candidates_context=make_candidates_context,
    make_winner_context=make_winner_context,
    make_practice_context=make_practice_context,
    describe_practice=lambda name: _(practice_answers.SAMPLES[name].words),
)
