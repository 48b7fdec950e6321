"""Every page of a study with sample content, for the preview. Built from unsaved rows, so that nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from webapp.studies.models.questionnaires import Item, Questionnaire, Response
from webapp.studies.questionnaires.moments import Placement, asks_arm
from webapp.studies.recruitment import find_code
from webapp.studies.texts.localizing import list_questions
from webapp.studio import check_page, practice
from webapp.studio.pages import Page, make_ballot_page
from webapp.studio.presentations import find_presentation, make_lead
from webapp.studio.questionnaire_page import make_page_context

TOKEN = "preview"
"""Stands for a personal link in the preview's addresses; no real token is this short."""
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
    """Takes the place of a review.models.Screening."""

    participant: Participant
    token: str = TOKEN


def make_participant(study: Study) -> Participant:
    """A participant that is not saved."""
    return Participant(study=study, token=TOKEN, label="Preview")


def make_clips(count: int) -> list[practice.PracticeTile]:
    """Practice clips in place of real ones, repeated as often as needed."""
    names = list(practice.CLIPS)
    return [practice.PracticeTile(letter, names[place % len(names)]) for place, letter in enumerate(LETTERS[:count])]


def count_shown(plan: Arm) -> int:
    return min(plan.k, len(LETTERS))


def make_progress(plan: Arm, phase: str, fraction: float, left: float | None, in_line: bool = False) -> Progress:
    states = tuple(CandidateState(i, "written", 0.4, "", None) for i in range(1, count_shown(plan) + 1))
    return Progress(phase, 1, plan.n, fraction, left, states, in_line)


def _make_check_page(study: Study, plan: Arm, wrongly: bool) -> Page:
    person = make_participant(study)
    person.attempts = int(wrongly)
    session: dict[str, Any] = {}
    questions = list_questions(study, [plan])
    if wrongly:
        comprehension.save_answers(session, person, {str(row.pk): _find_wrong_answer(row) for row in questions})
    return Page("check", check_page.make_page_context(person, questions, session))


def _find_wrong_answer(question: Question) -> str:
    return next((text for text in question.choices if text != question.correct_answer), "")


def _make_consent_page(study: Study, plan: Arm) -> Page:
    return Page(
        "consent", {"action": "", "lead": make_lead(study.arms.all(), study.experiments_each, study.interleaved)}
    )


def _make_instruction_page(study: Study, plan: Arm) -> Page:
    now = make_progress(plan, plan.medium.waiting_phase, 0.1, None)
    told = find_presentation(plan).describe_progress(now, plan.k)
    return Page("instruction", {"progress": told, **_make_task_context(plan)})


def _make_task_context(plan: Arm) -> Context:
    """The context of every page of the task."""
    return find_presentation(plan).make_task_context(
        plan.task_info, lambda row: reverse("admin:problems_attachment", args=[row.pk])
    )


def _make_practice_page(study: Study, plan: Arm) -> Page:
    return Page("practice", practice.make_page_context(make_participant(study), plan, find_presentation(plan)))


def _make_practised_page(study: Study, plan: Arm) -> Page:
    person, shown = make_participant(study), find_presentation(plan)
    context = practice.make_page_context(person, plan, shown)
    (best, _), (worst, _) = practice.make_feedback_context(person, context["k"], {}, shown)["usual"]
    choice = {"best": best.letter, "worst": worst.letter}
    feedback = practice.make_feedback_context(person, context["k"], choice, shown)
    return Page("practised", feedback | {"action": context["action"]})


def _make_waiting_page(study: Study, plan: Arm, in_line: bool) -> Page:
    fraction, seconds = (0.0, None) if in_line else (0.4, 130.0)
    now = make_progress(plan, plan.medium.waiting_phase, fraction, seconds, in_line)
    early = make_clips(count_shown(plan)) if plan.medium.filmed and not in_line else []
    return Page(
        "waiting",
        {"now": find_presentation(plan).describe_wait(now, plan.k), "clips": early, **_make_task_context(plan)},
    )


def _make_review_page(study: Study, plan: Arm, judgement: Judgement, count: int) -> Page:
    shown, places = find_presentation(plan), make_clips(count)
    page = make_ballot_page(SampleScreening(make_participant(study)), places, judgement, plan)
    read = shown.make_candidates_context(
        plan.task_info, places, lambda: [_make_tried(plan, place) for place in range(count)]
    )
    return replace(page, context=page.context | _make_task_context(plan) | read)


def _make_pairs_page(study: Study, plan: Arm) -> Page:
    """Pairs of practice clips, which the page's script shows one after another."""
    shown = [(first, second) for first in make_clips(4) for second in make_clips(4) if first.name != second.name]
    context = {"session": {"number": 1}, "address": "", "samples": practice.make_samples(shown)}
    return Page("pairs", context | _make_task_context(plan))


def _make_tried(plan: Arm, place: int) -> TriedSource:
    """A sample candidate of a problem."""
    assert isinstance(plan.task_info, Problem)
    return get_form(plan.task_info).make_sample(plan.task_info, place)


def _make_picked_page(study: Study, plan: Arm) -> Page:
    chosen = make_clips(count_shown(plan))
    vote = {"screening": SampleScreening(make_participant(study)), "cannot_tell": False}
    return Page("picked", {"vote": vote, "picks": [(chosen[0], ""), (chosen[-1], "")], "seconds": 10.0, "final": False})


def _make_code_page(name: str, outcome: str) -> Callable[[Study, Arm], Page]:
    def make(study: Study, plan: Arm) -> Page:
        context: Context = {"code": find_code(study, outcome)}
        return Page(name, context)

    return make


def _make_thanks_page(study: Study, plan: Arm) -> Page:
    page = _make_code_page("thanks", Outcome.FINISHED)(study, plan)
    if plan.medium.filmed:
        return replace(page, context=page.context | {"clip": make_clips(1)[0]})
    return replace(
        page, context=page.context | find_presentation(plan).make_winner_context(plan.task_info, _make_tried(plan, 0))
    )


def _make_failed_page(study: Study, plan: Arm) -> Page:
    return Page("failed", {"has_code": find_code(study, Outcome.STOPPED) is not None})


def _make_page(name: str, **context: Any) -> Callable[[Study, Arm], Page]:
    return lambda study, plan: Page(name, context)


def _has_rounds(study: Study, plan: Arm) -> bool:
    """Whether people judge rounds, and not pairs of segments."""
    return not plan.asks_pairs


def _has_segments(study: Study, plan: Arm) -> bool:
    return plan.asks_pairs


def _has_practice(study: Study, plan: Arm) -> bool:
    return study.practice


def _has_questions(study: Study, plan: Arm) -> bool:
    return bool(list_questions(study, [plan]))


def _has_pairs(study: Study, plan: Arm) -> bool:
    return METHODS[plan.method].compares


def _has_final_choice(study: Study, plan: Arm) -> bool:
    return METHODS[plan.method].chooses and plan.n > 1


BEFORE, ROUNDS, END = "Before the rounds", "The rounds", "The end"
STATES: dict[str, State] = {
    "consent": State("Consent", BEFORE, _make_consent_page),
    "instruction": State("Instruction", BEFORE, _make_instruction_page),
    "practice": State("Practice trial", BEFORE, _make_practice_page, _has_practice),
    "practised": State("After the practice trial", BEFORE, _make_practised_page, _has_practice),
    "check": State("Comprehension check", BEFORE, lambda s, p: _make_check_page(s, p, wrongly=False), _has_questions),
    "check-again": State(
        "Check, wrong answers", BEFORE, lambda s, p: _make_check_page(s, p, wrongly=True), _has_questions
    ),
    "check-failed": State("Check not passed", BEFORE, _make_code_page("check_failed", Outcome.FAILED), _has_questions),
    "waiting": State("Waiting", ROUNDS, lambda s, p: _make_waiting_page(s, p, in_line=False)),
    "in-line": State("Waiting behind others", ROUNDS, lambda s, p: _make_waiting_page(s, p, in_line=True)),
    "review": State(
        "A round", ROUNDS, lambda s, p: _make_review_page(s, p, judge.JUDGEMENT, count_shown(p)), _has_rounds
    ),
    "pairs": State("Pairs of videos", ROUNDS, _make_pairs_page, _has_segments),
    "pair": State("Two once more", ROUNDS, lambda s, p: _make_review_page(s, p, compare.JUDGEMENT, 2), _has_pairs),
    "final": State(
        "Final choice", ROUNDS, lambda s, p: _make_review_page(s, p, choose.JUDGEMENT, p.n), _has_final_choice
    ),
    "picked": State("After a choice", ROUNDS, _make_picked_page, _has_rounds),
    "paused": State("Paused", ROUNDS, _make_page("paused")),
    "failed": State("A failure", ROUNDS, _make_failed_page),
    "debriefing": State("Debriefing", END, _make_page("debriefing"), lambda study, plan: bool(study.debriefing)),
    "thanks": State("Thanks", END, _make_thanks_page),
    "leave": State("Leave the study", END, _make_page("leave")),
    "withdrawn": State("After leaving", END, _make_code_page("withdrawn", Outcome.WITHDRAWN)),
    "stopped": State("Stopped on our side", END, _make_code_page("stopped", Outcome.STOPPED)),
    "closed": State("Study closed", END, _make_page("closed", reason="closed")),
    "full": State("Study full", END, _make_page("closed", reason="full")),
    "early": State("Not open yet", END, _make_page("closed", reason="draft")),
}


def list_states(study: Study) -> dict[str, State]:
    """The pages by name, with those of the study's questionnaires in their groups."""
    found = {f"questionnaire-{row.pk}": _make_questionnaire_state(row) for row in study.questionnaires.all()}
    every = [*STATES.items(), *found.items()]
    return {name: state for group in (BEFORE, ROUNDS, END) for name, state in every if state.group == group}


def _make_questionnaire_state(row: Questionnaire) -> State:
    group = {Placement.BEFORE: BEFORE, Placement.ROUNDS: ROUNDS}.get(Placement(row.placement), END)
    return State(
        f"Questionnaire: {row.title}" + ("" if row.active else " (not shown)"),
        group,
        lambda study, plan: make_questionnaire_page(study, row),
        lambda study, plan: plan.pk is None or asks_arm(row, {plan.pk}),
    )


def make_questionnaire_page(study: Study, row: Questionnaire, items: Sequence[Item] | None = None) -> Page:
    """The page of a questionnaire; `items` takes the place of its saved items."""
    return Page("questionnaire", make_page_context(make_participant(study), Response(questionnaire=row), items=items))


def find_missing_reason(name: str, study: Study, plan: Arm) -> str:
    """Why a page is not shown; empty if it is."""
    if not lookup.task_exists(plan.task):
        return "its problem is not there"
    return "" if list_states(study)[name].used(study, plan) else "not in this study"


def make_page(name: str, study: Study, plan: Arm) -> Page:
    """The page with this name, as a participant in this arm sees it."""
    return list_states(study)[name].make(study, plan)
