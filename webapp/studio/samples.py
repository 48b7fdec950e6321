"""Every page of a study with made-up content, for the preview: built from unsaved rows, so that nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.urls import reverse

from llm.methods import METHODS
from webapp.experiments.kind import Judgement
from webapp.experiments.kinds import choose, compare, judge
from webapp.experiments.progress import CandidateState, Progress
from webapp.problems import lookup
from webapp.problems.forms import get_form
from webapp.problems.forms.form import TriedSource
from webapp.problems.models import Problem
from webapp.studies import comprehension
from webapp.studies.models import Arm, Outcome, Participant, Question, Study
from webapp.studies.recruitment import find_code
from webapp.studio import check_page, practice
from webapp.studio.pages import Page, ballot_page
from webapp.studio.presentations import lead_of, presentation_of

TOKEN = "preview"
"""In the addresses of a preview's pages: no link begins so, and none leads anywhere."""
LETTERS = "ABCDEFGHIJKL"
Context = dict[str, Any]


@dataclass(frozen=True)
class State:
    title: str
    group: str
    make: Callable[[Study, Arm], Page]
    used: Callable[[Study, Arm], bool] = lambda study, plan: True
    """Whether this study has the page at all."""


@dataclass(frozen=True)
class SampleScreening:
    """What review.models.Screening is to a page."""

    participant: Participant
    token: str = TOKEN


def somebody(study: Study) -> Participant:
    """A participant who is not in the database."""
    return Participant(study=study, token=TOKEN, label="Preview")


def clips(count: int) -> list[practice.PracticeTile]:
    """Practice clips in place of the robots' own, again and again."""
    names = list(practice.CLIPS)
    return [practice.PracticeTile(letter, names[place % len(names)]) for place, letter in enumerate(LETTERS[:count])]


def shown_in_a_round(plan: Arm) -> int:
    return min(plan.k, len(LETTERS))


def progress_of(plan: Arm, phase: str, fraction: float, left: float | None, in_line: bool = False) -> Progress:
    states = tuple(CandidateState(i, "written", 0.4, "", None, False) for i in range(1, shown_in_a_round(plan) + 1))
    return Progress(phase, 1, plan.n, fraction, left, states, in_line)


def _check(study: Study, plan: Arm, wrongly: bool) -> Page:
    person = somebody(study)
    person.attempts = int(wrongly)
    session: dict[str, Any] = {}
    if wrongly:
        comprehension.save_answers(session, person, {str(row.pk): _wrong_answer(row) for row in study.questions.all()})
    return Page("check", check_page.page_context(person, session))


def _wrong_answer(question: Question) -> str:
    return next((text for text in question.choices if text != question.correct_answer), "")


def _consent(study: Study, plan: Arm) -> Page:
    return Page("consent", {"action": "", "lead": lead_of(study.arms.all(), study.experiments_each)})


def _instruction(study: Study, plan: Arm) -> Page:
    now = progress_of(plan, "training" if plan.medium.filmed else "writing", 0.1, None)
    return Page("instruction", {"meanwhile": presentation_of(plan).meanwhile(now), **_beside(plan)})


def _beside(plan: Arm) -> Context:
    """What stands on every page of the task."""
    return presentation_of(plan).beside(plan.task_info, lambda row: reverse("admin:problems_attachment", args=[row.pk]))


def _practice(study: Study, plan: Arm) -> Page:
    return Page("practice", practice.page_context(somebody(study), plan.k, presentation_of(plan)))


def _practised(study: Study, plan: Arm) -> Page:
    person = somebody(study)
    shown = presentation_of(plan)
    (best, _), (worst, _) = practice.feedback_context(person, plan.k, {}, shown)["usual"]
    said = {"best": best.letter, "worst": worst.letter}
    action = practice.page_context(person, plan.k, shown)["action"]
    return Page("practised", practice.feedback_context(person, plan.k, said, shown) | {"action": action})


def _waiting(study: Study, plan: Arm, in_line: bool) -> Page:
    phase = "training" if plan.medium.filmed else "writing"
    now = progress_of(plan, phase, 0.0 if in_line else 0.4, None if in_line else 130.0, in_line)
    early = clips(shown_in_a_round(plan)) if plan.medium.filmed and not in_line else []
    return Page("waiting", {"now": presentation_of(plan).wait_of(now, plan.k), "clips": early, **_beside(plan)})


def _review(study: Study, plan: Arm, judgement: Judgement, count: int) -> Page:
    shown, places = presentation_of(plan), clips(count)
    page = ballot_page(SampleScreening(somebody(study)), places, judgement, shown)
    read = shown.candidates(plan.task_info, places, lambda: [_sample(plan, place) for place in range(count)])
    return replace(page, context=page.context | _beside(plan) | read)


def _sample(plan: Arm, place: int) -> TriedSource:
    """A made-up candidate of a problem."""
    assert isinstance(plan.task_info, Problem)
    return get_form(plan.task_info).make_sample(plan.task_info, place)


def _picked(study: Study, plan: Arm) -> Page:
    chosen = clips(shown_in_a_round(plan))
    vote = {"screening": SampleScreening(somebody(study)), "cannot_tell": False}
    return Page("picked", {"vote": vote, "picks": [(chosen[0], ""), (chosen[-1], "")], "seconds": 10.0, "final": False})


def _with_code(name: str, outcome: str) -> Callable[[Study, Arm], Page]:
    def make(study: Study, plan: Arm) -> Page:
        context: Context = {"code": find_code(study, outcome)}
        return Page(name, context)

    return make


def _thanks(study: Study, plan: Arm) -> Page:
    page = _with_code("thanks", Outcome.FINISHED)(study, plan)
    if plan.medium.filmed:
        return replace(page, context=page.context | {"clip": clips(1)[0]})
    return replace(page, context=page.context | presentation_of(plan).winner(plan.task_info, _sample(plan, 0)))


def _failed(study: Study, plan: Arm) -> Page:
    return Page("failed", {"has_code": find_code(study, Outcome.STOPPED) is not None})


def _plain(name: str, **context: Any) -> Callable[[Study, Arm], Page]:
    return lambda study, plan: Page(name, context)


def _asks(study: Study, plan: Arm) -> bool:
    return study.questions.exists()


def _compares(study: Study, plan: Arm) -> bool:
    return METHODS[plan.method].compares


def _chooses(study: Study, plan: Arm) -> bool:
    return METHODS[plan.method].chooses and plan.n > 1


BEFORE, ROUNDS, END = "Before the rounds", "The rounds", "The end"
STATES: dict[str, State] = {
    "consent": State("Consent", BEFORE, _consent),
    "instruction": State("Instruction", BEFORE, _instruction),
    "practice": State("Practice trial", BEFORE, _practice, lambda study, plan: study.practice),
    "practised": State("After the practice trial", BEFORE, _practised, lambda study, plan: study.practice),
    "check": State("Comprehension check", BEFORE, lambda s, p: _check(s, p, wrongly=False), _asks),
    "check-again": State("Check, wrong answers", BEFORE, lambda s, p: _check(s, p, wrongly=True), _asks),
    "check-failed": State("Check not passed", BEFORE, _with_code("check_failed", Outcome.FAILED), _asks),
    "waiting": State("Waiting", ROUNDS, lambda s, p: _waiting(s, p, in_line=False)),
    "in-line": State("Waiting behind others", ROUNDS, lambda s, p: _waiting(s, p, in_line=True)),
    "review": State("A round", ROUNDS, lambda s, p: _review(s, p, judge.JUDGEMENT, shown_in_a_round(p))),
    "pair": State("Two once more", ROUNDS, lambda s, p: _review(s, p, compare.JUDGEMENT, 2), _compares),
    "final": State("Final choice", ROUNDS, lambda s, p: _review(s, p, choose.JUDGEMENT, p.n), _chooses),
    "picked": State("After a choice", ROUNDS, _picked),
    "paused": State("Paused", ROUNDS, _plain("paused")),
    "failed": State("A failure", ROUNDS, _failed),
    "debriefing": State("Debriefing", END, _plain("debriefing"), lambda study, plan: bool(study.debriefing)),
    "thanks": State("Thanks", END, _thanks),
    "leave": State("Leave the study", END, _plain("leave")),
    "withdrawn": State("After leaving", END, _with_code("withdrawn", Outcome.WITHDRAWN)),
    "stopped": State("Stopped on our side", END, _with_code("stopped", Outcome.STOPPED)),
    "closed": State("Study closed", END, _plain("closed", reason="closed")),
    "full": State("Study full", END, _plain("closed", reason="full")),
    "early": State("Not open yet", END, _plain("closed", reason="draft")),
}


def missing(name: str, study: Study, plan: Arm) -> str:
    """Why a page is not shown; empty where it is."""
    if not lookup.task_exists(plan.task):
        return "its problem is not there"
    return "" if STATES[name].used(study, plan) else "not in this study"


def page(name: str, study: Study, plan: Arm) -> Page:
    """The page of this name, as somebody in this arm would see it."""
    return STATES[name].make(study, plan)
