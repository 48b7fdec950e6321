"""Where a participant is: one page per state, decided from the rows alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from django.urls import reverse

from llm.methods import METHODS
from webapp.experiments import loop, progress
from webapp.experiments.kind import Judgement
from webapp.experiments.kinds import compare, get_judgement, judge, train
from webapp.experiments.models import Candidate, Experiment, Iteration, Request
from webapp.problems.forms.form import TriedSource
from webapp.review import ballot, panels, trials
from webapp.review.models import Screening, Trial, Vote
from webapp.review.screenings import Tile, find_letters, find_screening, issue_tickets, make_practice_tiles, make_tiles
from webapp.studies import assigning, opening
from webapp.studies.models import Outcome, Participant
from webapp.studies.recruitment import find_code
from webapp.studio import practice as practice_trial
from webapp.studio.presentation import Presentation
from webapp.studio.presentations import lead_of, presentation_of
from webapp.studio.words import count_of

TITLES = {
    "consent": "Taking part",
    "instruction": "How it works",
    "practice": "Practice",
    "practised": "Practice",
    "check": "A few questions",
    "check_failed": "Thank you",
    "debriefing": "What it was about",
    "between": "Not your turn yet",
    "gathering": "Not your turn yet",
    "waiting": "Not your turn yet",
    "others": "Saved",
    "review": "Your turn",
    "picked": "Saved",
    "thanks": "Thank you",
    "paused": "A break",
    "failed": "Something went wrong",
    "stopped": "Your part has ended",
    "closed": "Closed",
    "withdrawn": "You have left",
}


@dataclass(frozen=True)
class Page:
    name: str
    """The template: studio/states/<name>.html."""
    context: dict[str, Any] = field(default_factory=dict)
    key: str = ""
    """What, beside the name, makes this another page: a browser that shows the same one is left alone."""

    @property
    def title(self) -> str:
        return TITLES[self.name]

    @property
    def template(self) -> str:
        return f"studio/states/{self.name}.html"

    @property
    def version(self) -> str:
        return hashlib.sha256(f"{self.name} {self.key}".encode()).hexdigest()[:16]


class Watched(Protocol):
    """A Screening, a Trial, or the sample of one: whom it is shown to, and under which name."""

    @property
    def participant(self) -> Participant: ...
    @property
    def token(self) -> str: ...


class Watchable(Protocol):
    """A clip on a page."""

    @property
    def status(self) -> str: ...


def page_of(participant: Participant) -> Page:
    experiment = participant.experiment
    if participant.withdrawn_at:
        return Page("withdrawn", _code(participant))
    if participant.outcome == Outcome.FAILED:
        return Page("check_failed", _code(participant))
    if participant.outcome == Outcome.STOPPED:
        return Page("stopped", _code(participant))
    if experiment and experiment.status == Experiment.Status.FINISHED:
        return _end(participant, experiment)
    if participant.consented_at is None or not participant.assignments.exists():
        return _door(participant)
    if experiment is None:
        return Page("between")
    if participant.instructed_at is None:
        said = presentation_of(experiment).meanwhile(progress.read_progress(experiment))
        return Page("instruction", {"meanwhile": said, **_beside(participant, experiment)})
    return _first_steps(participant, experiment) or _experiment_page(participant, experiment)


def _door(participant: Participant) -> Page:
    reason, deleted = opening.find_refusal(participant), participant.consented_at is not None
    if reason:
        return Page("closed", {"reason": reason, "deleted": deleted}, reason)
    context = {
        "deleted": deleted,
        "action": reverse("consent", args=[participant.token]),
        "lead": lead_of(participant.study.arms.all(), participant.study.experiments_each),
    }
    return Page("consent", context, participant.study.consent_hash)


def _first_steps(participant: Participant, experiment: Experiment) -> Page | None:
    """What comes once, before the first round."""
    study = participant.study
    if study.practice and participant.practised_at is None:
        return Page("practice", practice_trial.page_context(participant, experiment.k, presentation_of(experiment)))
    if participant.understood_at is None and study.questions.exists():
        return Page("check", {}, str(participant.attempts))
    return None


def _experiment_page(participant: Participant, experiment: Experiment) -> Page:
    if experiment.status == Experiment.Status.FAILED:
        return _failed(participant)
    if experiment.status == Experiment.Status.CANCELLED:
        return Page("stopped", _code(participant))
    if experiment.status == Experiment.Status.DRAFT:
        return _gathering(experiment)
    if experiment.paused:
        return Page("paused")
    request = loop.find_waiting_request(experiment)
    waits_for = 0 if request else progress.read_progress(experiment).iteration
    trial = trials.find_current(participant, experiment.n, waits_for)
    if trial:
        return _trial(participant, experiment, trial)
    if request is None:
        return _waiting(participant, experiment)
    vote = ballot.find_standing_vote(request, participant)
    if vote is None:
        return _review(participant, request)
    others = panels.count_others_choosing(request, participant) if vote.locked_at else 0
    return _others(others) if others else _picked(participant, request, vote)


def _failed(participant: Participant) -> Page:
    """Somebody can wait until it is mended, or end their part here."""
    coming = participant.study.codes.filter(outcome=Outcome.STOPPED).exists()
    return Page("failed", {"action": reverse("stop", args=[participant.token]), "has_code": coming})


def _beside(participant: Participant, experiment: Experiment) -> dict[str, Any]:
    """What stands on every page of the task."""
    return presentation_of(experiment).beside(
        experiment.task_info, lambda row: reverse("attachment", args=[participant.token, row.pk])
    )


def _gathering(experiment: Experiment) -> Page:
    """A panel that is not complete."""
    here = list(assigning.find_members(experiment))
    missing = max(1, here[0].arm.panel - len(here)) if here else 1
    return Page("gathering", {"count": count_of(missing), "many": missing > 1}, str(missing))


def _others(others: int) -> Page:
    return Page("others", {"count": count_of(others).capitalize(), "many": others > 1}, str(others))


def round_of(participant: Participant) -> int:
    """The round that this person is in; 0 before the first."""
    experiment = participant.experiment
    rounds = experiment.iterations.filter(aside=False) if experiment else Iteration.objects.none()
    return max(rounds.values_list("number", flat=True), default=0)


def _waiting(participant: Participant, experiment: Experiment) -> Page:
    training = train.find_requests(experiment).filter(status=Request.Status.OPEN).first()
    clips = make_practice_tiles(participant, training) if training else []
    now = progress.read_progress(experiment)
    key = f"{now.iteration} {' '.join(tile.token for tile in clips)}"
    over = experiment.iterations.filter(number=experiment.n).exclude(best=None).exists()
    words = presentation_of(experiment)
    wait = words.wait_for_the_end(METHODS[experiment.method].chooses) if over else words.wait_of(now, experiment.k)
    return Page("waiting", {"clips": clips, "now": wait, **_beside(participant, experiment)}, key)


def _review(participant: Participant, request: Request) -> Page:
    screening = find_screening(request, participant)
    shown = make_tiles(screening)
    if not any(tile.status == "ready" for tile in shown):
        return _failed(participant)
    return _ballot(participant, request.experiment, screening, shown, get_judgement(request))


def _trial(participant: Participant, experiment: Experiment, trial: Trial) -> Page:
    """A set between two rounds, which looks like a round."""
    asked = (judge if trial.asks_worst else compare).JUDGEMENT
    page = _ballot(participant, experiment, trial, make_tiles(trial), asked)
    question = {"ask": presentation_of(experiment).trial_of_two} if asked.is_pair else {}
    return replace(
        page, context=page.context | question | {"trial": True, "required": trials.find_required_letters(trial)}
    )


def _ballot(
    participant: Participant,
    experiment: Experiment,
    screening: Screening | Trial,
    shown: Sequence[Tile],
    judgement: Judgement,
) -> Page:
    """The page to judge on, with what is shown of candidates that are read."""
    page = ballot_page(screening, shown, judgement, presentation_of(experiment))

    def tried() -> list[TriedSource]:
        rows = Candidate.objects.in_bulk(screening.order)
        return [tried_of(rows[pk]) for pk in screening.order]

    read = presentation_of(experiment).candidates(experiment.task_info, shown, tried)
    return replace(page, context=page.context | _beside(participant, experiment) | read)


def tried_of(row: Candidate) -> TriedSource:
    return TriedSource(row.source, row.reason, row.metric_trace)


def ballot_page(
    screening: Watched, shown: Sequence[Watchable], judgement: Judgement, presentation: Presentation
) -> Page:
    ready = sum(tile.status == "ready" for tile in shown)
    context = {
        "action": reverse("vote", args=[screening.participant.token]),
        "screening": screening,
        "tiles": shown,
        "final": judgement.is_final,
        "pair": judgement.is_pair,
        "single": ready == 1,
        "ask": presentation.ask_of(judgement, len(shown), ready),
        "tags_best": presentation.tags_best,
        "tags_worst": presentation.tags_worst,
    }
    return Page("review", context, screening.token + " ".join(tile.status for tile in shown))


def _picked(participant: Participant, request: Request, vote: Vote) -> Page:
    shown = {tile.letter: tile for tile in make_tiles(vote.screening)}
    letters = find_letters(vote.screening, [vote.best_id, vote.worst_id])
    context = {
        "vote": vote,
        "picks": [(shown[letter], "") for letter in letters],
        "seconds": round(ballot.compute_undo_seconds(vote), 1),
        "final": get_judgement(request).is_final,
    }
    return Page("picked", context, f"{vote.screening.token} {vote.created_at}")


def _code(participant: Participant) -> dict[str, Any]:
    return {"code": find_code(participant.study, participant.outcome)}


def _end(participant: Participant, experiment: Experiment) -> Page:
    if participant.study.debriefing and participant.debriefed_at is None:
        coming = participant.study.codes.filter(outcome=Outcome.FINISHED).exists()
        return Page("debriefing", {"action": reverse("debriefed", args=[participant.token]), "has_code": coming})
    return _thanks(participant, experiment)


def _thanks(participant: Participant, experiment: Experiment) -> Page:
    winner = experiment.winner
    clip = winner.clips.filter(percent=100, status="ready").first() if winner else None
    token = issue_tickets(participant, [clip])[clip.pk] if clip else ""
    outcome = participant.outcome or Outcome.FINISHED  # another process may note it while this page is made
    code = find_code(participant.study, outcome)
    shown = presentation_of(experiment).winner(experiment.task_info, tried_of(winner)) if winner else {}
    return Page("thanks", {"clip": Tile("", token, "ready") if clip else None, "code": code, **shown}, outcome)
