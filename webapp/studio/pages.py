"""A participant's page: one per state, decided from the database rows alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from llm.methods import METHODS
from webapp.base.prepared import Prepared
from webapp.experiments import loop, progress
from webapp.experiments.durations import shared_known
from webapp.experiments.kind import Judgement
from webapp.experiments.kinds import compare, get_judgement, judge, train
from webapp.experiments.models import Candidate, Experiment, Iteration, LoopSettings, PairSession, Request
from webapp.problems.forms.form import TriedSource
from webapp.review import ballot, pairs, panels, tags, trials
from webapp.review.models import Screening, Trial, Vote
from webapp.review.screenings import Tile, find_letters, find_screening, issue_tickets, make_practice_tiles, make_tiles
from webapp.studies import assigning, opening
from webapp.studies.models import Assignment, Outcome, Participant, Question
from webapp.studies.recruitment import find_own_code
from webapp.studio import practice as practice_trial
from webapp.studio.presentations import find_presentation, make_lead
from webapp.studio.questionnaire_page import find_response, make_page_context
from webapp.studio.words import capitalize, spell_number

TITLES = {
    "consent": gettext_noop("Taking part"),
    "instruction": gettext_noop("How it works"),
    "practice": gettext_noop("Practice"),
    "practised": gettext_noop("Practice"),
    "check": gettext_noop("A few questions"),
    "check_failed": gettext_noop("Thank you"),
    "questionnaire": gettext_noop("A few questions"),
    "debriefing": gettext_noop("What it was about"),
    "between": gettext_noop("Not your turn yet"),
    "gathering": gettext_noop("Not your turn yet"),
    "waiting": gettext_noop("Not your turn yet"),
    "others": gettext_noop("Saved"),
    "review": gettext_noop("Your turn"),
    "pairs": gettext_noop("Your turn"),
    "picked": gettext_noop("Saved"),
    "thanks": gettext_noop("Thank you"),
    "paused": gettext_noop("A break"),
    "failed": gettext_noop("Something went wrong"),
    "stopped": gettext_noop("Your part has ended"),
    "closed": gettext_noop("Closed"),
    "withdrawn": gettext_noop("You have left"),
}


@dataclass(frozen=True)
class Page:
    name: str
    """The template: studio/states/<name>.html."""
    context: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    """Part of the page's version besides the name: a browser with the same version is not sent the page again."""

    @property
    def title(self) -> str:
        return _(TITLES[self.name])

    @property
    def template(self) -> str:
        return f"studio/states/{self.name}.html"

    @property
    def version(self) -> str:
        return hashlib.sha256(f"{self.name} {self.key}".encode()).hexdigest()[:16]


class ScreeningLike(Protocol):
    """A Screening, a Trial, or a sample of one."""

    @property
    def participant(self) -> Participant: ...
    @property
    def token(self) -> str: ...


class ClipLike(Protocol):
    """A clip on a page."""

    @property
    def status(self) -> str: ...


ARM_PLACES = Prepared(
    lambda participant: Assignment.objects.select_related("arm", "experiment").filter(participant=participant)
)
CHECK_QUESTIONS = Prepared(lambda study: Question.objects.filter(study=study).values_list("asked_of", flat=True))
NEWEST_ROUND = Prepared(
    lambda experiment: (
        Iteration.objects.filter(experiment=experiment, aside=False)
        .order_by("-number")
        .values_list("number", flat=True)[:1]
    )
)


def prefetch_places(participant: Participant) -> None:
    """Read the participant's places once; a page asks for them many times."""
    places = Assignment.objects.filter(participant=participant)
    places._result_cache = ARM_PLACES.fetch(participant.pk)
    for place in places:
        place.participant = participant
    participant.__dict__.setdefault("_prefetched_objects_cache", {})["assignments"] = places


def find_page(participant: Participant) -> Page:
    experiment = participant.experiment
    if participant.withdrawn_at:
        return Page("withdrawn", _make_code_context(participant))
    if participant.outcome == Outcome.FAILED:
        return Page("check_failed", _make_code_context(participant))
    if participant.outcome == Outcome.STOPPED:
        return Page("stopped", _make_code_context(participant))
    if experiment and experiment.status == Experiment.Status.FINISHED:
        return _make_questionnaire_page(participant) or _make_end_page(participant, experiment)
    if participant.consented_at is None or not participant.assignments.exists():
        return _make_entry_page(participant)
    if experiment is None:
        return _make_questionnaire_page(participant) or Page("between")
    if participant.instructed_at is None:
        now = progress.read_progress(experiment)
        progress_text = find_presentation(experiment).describe_progress(now, experiment.k)
        return Page("instruction", {"progress": progress_text, **_make_task_context(participant, experiment)})
    return (
        _make_first_steps_page(participant, experiment)
        or _make_questionnaire_page(participant)
        or _make_experiment_page(participant, experiment)
    )


def _make_entry_page(participant: Participant) -> Page:
    reason, deleted = opening.find_refusal(participant), participant.consented_at is not None
    if reason:
        return Page("closed", {"reason": reason, "deleted": deleted}, reason)
    context = {
        "deleted": deleted,
        "action": reverse("consent", args=[participant.token]),
        "lead": make_lead(
            participant.study.arms.all(), participant.study.experiments_each, participant.study.interleaved
        ),
    }
    return Page("consent", context, participant.study.consent_hash)


def _make_first_steps_page(participant: Participant, experiment: Experiment) -> Page | None:
    """A page that comes once, before the first round."""
    study = participant.study
    if study.practice and participant.practised_at is None and not pairs.has_answered(participant):
        return Page(
            "practice", practice_trial.make_page_context(participant, experiment, find_presentation(experiment))
        )
    if participant.understood_at is None and _is_asked(participant):
        return Page("check", {}, str(participant.attempts))
    return None


def _is_asked(participant: Participant) -> bool:
    """Whether the check has a question that fits the person's arms."""
    asked = CHECK_QUESTIONS.fetch(participant.study_id)
    kinds = {"pairs" if place.arm.asks_pairs else "rounds" for place in participant.places} if any(asked) else set()
    return not kinds.isdisjoint(asked) or "" in asked


def _make_questionnaire_page(participant: Participant) -> Page | None:
    """The questionnaire that the person must answer before they go on."""
    response = find_response(participant)
    if response is None:
        return None
    context = make_page_context(participant, response)
    return Page("questionnaire", context, f"{response.pk} {context['version']}")


def _make_experiment_page(participant: Participant, experiment: Experiment) -> Page:
    if experiment.status == Experiment.Status.FAILED:
        return _make_failed_page(participant)
    if experiment.status == Experiment.Status.CANCELLED:
        return Page("stopped", _make_code_context(participant))
    if experiment.status == Experiment.Status.DRAFT:
        return _make_gathering_page(experiment)
    if experiment.paused:
        return Page("paused")
    session = pairs.find_session(participant)
    if session is not None:
        return _make_pairs_page(participant, experiment, session)
    request = loop.find_waiting_request(experiment)
    if request is None:
        now = progress.read_progress(experiment, shared_known.get())
        trial = trials.find_current(participant, experiment.n, now.iteration)
        if trial:
            return _make_trial_page(participant, experiment, trial)
        return _make_waiting_page(participant, experiment, now)
    request.experiment = experiment
    trial = trials.find_current(participant, experiment.n, waits_for=0)
    if trial:
        return _make_trial_page(participant, experiment, trial)
    vote = ballot.find_standing_vote(request, participant)
    if vote is None:
        return _make_review_page(participant, request)
    others = panels.count_others_choosing(request, participant) if vote.locked_at else 0
    return _make_others_page(others) if others else _make_picked_page(participant, request, vote)


def _make_pairs_page(participant: Participant, experiment: Experiment, session: PairSession) -> Page:
    """Pairs of videos, answered quickly; the script asks for them."""
    context = {"session": session, "address": reverse("pairs", args=[participant.token])}
    return Page("pairs", context | _make_task_context(participant, experiment), f"{session.pk}")


def _make_failed_page(participant: Participant) -> Page:
    """The person can wait until the failure is mended, or end their part here."""
    has_code = find_own_code(participant, Outcome.STOPPED) is not None
    return Page("failed", {"action": reverse("stop", args=[participant.token]), "has_code": has_code})


def _make_task_context(participant: Participant, experiment: Experiment) -> dict[str, Any]:
    """The context of every page of the task."""
    return find_presentation(experiment).make_task_context(
        experiment.task_info, lambda row: reverse("attachment", args=[participant.token, row.pk])
    )


def _make_gathering_page(experiment: Experiment) -> Page:
    """A panel that is not complete."""
    members = list(assigning.find_members(experiment))
    missing = max(1, members[0].arm.panel - len(members)) if members else 1
    headline = ngettext("Waiting for one other person", "Waiting for %(count)s other people", missing)
    return Page("gathering", {"headline": headline % {"count": spell_number(missing)}}, str(missing))


def _make_others_page(others: int) -> Page:
    words = ngettext("one other person is still choosing.", "%(count)s others are still choosing.", others)
    return Page("others", {"others": capitalize(words % {"count": spell_number(others)})}, str(others))


def find_round(participant: Participant) -> int:
    """The number of the person's current round; 0 before the first."""
    experiment = participant.experiment
    return (NEWEST_ROUND.find(experiment.pk) if experiment else None) or 0


def _make_waiting_page(participant: Participant, experiment: Experiment, now: progress.Progress) -> Page:
    training = train.find_requests(experiment).filter(status=Request.Status.OPEN).first()
    clips = make_practice_tiles(participant, training) if training else []
    key = f"{now.iteration} {' '.join(tile.token for tile in clips)}"
    last = experiment.iterations.filter(number=experiment.n).exclude(best=None)
    over = now.iteration >= experiment.n and last.exists()
    words = find_presentation(experiment)
    wait = (
        words.describe_last_wait(METHODS[experiment.method].chooses) if over else words.describe_wait(now, experiment.k)
    )
    context = {"round": now.iteration, "clips": clips, "now": wait}
    return Page("waiting", context | _make_task_context(participant, experiment), key)


def _make_review_page(participant: Participant, request: Request) -> Page:
    screening = find_screening(request, participant)
    shown = make_tiles(screening)
    if not any(tile.status == "ready" for tile in shown):
        return _make_failed_page(participant)
    return _make_judging_page(participant, request.experiment, screening, shown, get_judgement(request))


def _make_trial_page(participant: Participant, experiment: Experiment, trial: Trial) -> Page:
    """A trial between two rounds; it looks like a round."""
    asked = (judge if trial.asks_worst else compare).JUDGEMENT
    page = _make_judging_page(participant, experiment, trial, make_tiles(trial), asked)
    question = {"ask": _(find_presentation(experiment).trial_question)} if asked.is_pair else {}
    return replace(
        page, context=page.context | question | {"trial": True, "required": trials.find_required_letters(trial)}
    )


def _make_judging_page(
    participant: Participant,
    experiment: Experiment,
    screening: Screening | Trial,
    shown: Sequence[Tile],
    judgement: Judgement,
) -> Page:
    """The page to judge on, with the texts of candidates that are read."""
    page = make_ballot_page(screening, shown, judgement, experiment)

    def read_sources() -> list[TriedSource]:
        rows = Candidate.objects.in_bulk(screening.order)
        return [make_tried(rows[pk]) for pk in screening.order]

    read = find_presentation(experiment).make_candidates_context(experiment.task_info, shown, read_sources)
    return replace(page, context=page.context | _make_task_context(participant, experiment) | read)


def make_tried(row: Candidate) -> TriedSource:
    return TriedSource(row.source, row.reason, row.metric_trace)


def make_ballot_page(
    screening: ScreeningLike, shown: Sequence[ClipLike], judgement: Judgement, plan: LoopSettings
) -> Page:
    study = screening.participant.study
    ready = sum(tile.status == "ready" for tile in shown)
    context = {
        "action": reverse("vote", args=[screening.participant.token]),
        "screening": screening,
        "tiles": shown,
        "final": judgement.is_final,
        "pair": judgement.is_pair,
        "single": ready == 1,
        "ask": find_presentation(plan).make_question(judgement, len(shown), ready),
        "tags_best": tags.find_best(study, plan.task_info),
        "tags_worst": tags.find_worst(study, plan.task_info),
    }
    return Page("review", context, screening.token + " ".join(tile.status for tile in shown))


def _make_picked_page(participant: Participant, request: Request, vote: Vote) -> Page:
    vote.screening.request, vote.screening.participant = request, participant
    shown = {tile.letter: tile for tile in make_tiles(vote.screening)}
    letters = find_letters(vote.screening, [vote.best_id, vote.worst_id])
    context = {
        "vote": vote,
        "picks": [(shown[letter], "") for letter in letters],
        "seconds": round(ballot.compute_undo_seconds(vote), 1),
        "final": get_judgement(request).is_final,
    }
    return Page("picked", context, f"{vote.screening.token} {vote.created_at}")


def _make_code_context(participant: Participant) -> dict[str, Any]:
    return {"code": find_own_code(participant, participant.outcome)}


def _make_end_page(participant: Participant, experiment: Experiment) -> Page:
    if participant.study.debriefing and participant.debriefed_at is None:
        has_code = find_own_code(participant, Outcome.FINISHED) is not None
        return Page("debriefing", {"action": reverse("debriefed", args=[participant.token]), "has_code": has_code})
    return _make_thanks_page(participant, experiment)


def _make_thanks_page(participant: Participant, experiment: Experiment) -> Page:
    winner = experiment.winner
    clip = winner.clips.filter(percent=100, status="ready").first() if winner else None
    token = issue_tickets(participant, [clip])[clip.pk] if clip else ""
    outcome = participant.outcome or Outcome.FINISHED  # another process may store it while this page is made
    code = find_own_code(participant, outcome)
    shown = (
        find_presentation(experiment).make_winner_context(experiment.task_info, make_tried(winner)) if winner else {}
    )
    return Page("thanks", {"clip": Tile("", token, "ready") if clip else None, "code": code, **shown}, outcome)
