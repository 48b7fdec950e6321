"""The pages of evaluators: one address, one page per state."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.base.http import read_browser_secret, strip_nul
from webapp.experiments.models import Candidate
from webapp.problems.files import respond_with_file
from webapp.problems.models import Attachment, Problem
from webapp.studies import limits, recruitment
from webapp.studies.agreement import check_agreement
from webapp.studio.page_language import use_language
from webapp.studio.pages import make_tried
from webapp.studio.presentations import answers
from webapp.votes import poll_ballot, poll_enrolment, questions, single_items
from webapp.votes.languages import localize_poll
from webapp.votes.models import Evaluator, Pair, Poll, Showing

EvaluatorView = Callable[[HttpRequest, Evaluator], HttpResponse]
Tile = tuple[str, str, str, str]
"""Letter, side, and the addresses of clip and poster."""
LONGEST_CLIENT = 2000


def require_evaluator(view: EvaluatorView) -> Callable[..., HttpResponse]:
    @never_cache
    @wraps(view)
    def wrapper(request: HttpRequest, token: str) -> HttpResponse:
        evaluator = Evaluator.objects.select_related("poll").filter(token=strip_nul(token)).first()
        if evaluator is None:
            return _render_unknown(request)
        language = use_language(request, evaluator.poll.offered_languages, evaluator.language)
        localize_poll(evaluator.poll, language)
        return view(request, evaluator)

    return wrapper


def _render_unknown(request: HttpRequest) -> HttpResponse:
    many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
    return render(request, "studio/unknown.html", {"many": many}, status=429 if many else 404)


@require_safe
@require_evaluator
def show_vote(request: HttpRequest, evaluator: Evaluator) -> HttpResponse:
    state = _find_state(evaluator)
    showing = poll_ballot.find_current_showing(evaluator) if state == "ballot" else None
    if state == "ballot" and showing is None:
        state = "thanks"  # the last answer was saved after the evaluator was read
    context: dict[str, Any] = {"poll": evaluator.poll, "evaluator": evaluator, "state": state}
    if state in ("ballot", "thanks") and evaluator.poll.status == Poll.Status.OPEN:
        context |= _make_undo_context(evaluator)
    if showing:
        context |= _make_ballot_context(evaluator, showing)
    if state == "consent":
        context["action"] = reverse("evaluate_consent", args=[evaluator.token])
    return render(request, "studio/votes/page.html", context)


def _find_state(evaluator: Evaluator) -> str:
    if evaluator.withdrawn_at:
        return "left"
    if evaluator.finished_at:
        return "thanks"
    if not poll_enrolment.is_taking(evaluator.poll):
        return "early" if evaluator.poll.status == Poll.Status.DRAFT else "closed"
    return "ballot" if evaluator.consented_at else "consent"


def _make_undo_context(evaluator: Evaluator) -> dict[str, Any]:
    """The last answer, while it may be taken back."""
    vote = poll_ballot.find_last_vote(evaluator)
    seconds = poll_ballot.compute_undo_seconds(vote) if vote else 0.0
    return {"undo": vote.showing.token, "undo_seconds": seconds} if vote and seconds > 0 else {}


def _make_ballot_context(evaluator: Evaluator, showing: Showing) -> dict[str, Any]:
    showing.evaluator = evaluator  # with the texts of the vote in the reader's language
    sides = (("A", "left", showing.left_token), ("B", "right", showing.right_token))[
        : 1 if evaluator.poll.is_single else 2
    ]
    tiles: list[Tile] = [
        (letter, side, reverse("pair_clip", args=[token]), reverse("pair_poster", args=[token]))
        for letter, side, token in sides
    ]
    numbers = showing.pair.answers.get("files", ())
    files = {number: reverse("pair_file", args=[showing.token, number]) for number in numbers}
    return make_ballot_context(showing, evaluator.showings.count(), tiles, files)


def make_ballot_context(
    showing: Showing, count: int, tiles: Sequence[Tile], files: Mapping[int, str]
) -> dict[str, Any]:
    """What the page of a pair shows, with the addresses of its clips or of its problem's files."""
    medium, poll = showing.pair.medium, showing.evaluator.poll
    if poll.is_single:
        return {**make_single_context(showing, tiles, files), "medium": medium, "showing": showing, "count": count}
    shown = {"tiles": tiles} if medium.filmed else _make_answers_context(showing.pair, showing, files)
    return {
        **shown,
        "medium": medium,
        "showing": showing,
        "question": questions.find_question(poll, showing.pair),
        "count": count,
        "strengths": poll_ballot.STRENGTHS.items() if poll.ask_strength else [],
    }


def make_single_context(showing: Showing, tiles: Sequence[Tile], files: Mapping[int, str]) -> dict[str, Any]:
    """What the page of one film to rate, or of one answer to grade, shows."""
    pair, poll = showing.pair, showing.evaluator.poll
    pair.poll = poll
    scale = {
        "question": questions.find_question(poll, pair),
        "marks": single_items.list_marks(poll),
        "most": single_items.get_highest(poll),
        "reasons": single_items.asks_reasoning(poll, pair),
    }
    if poll.form == Poll.Form.GRADES:
        return {**scale, **_make_answers_context(pair, showing, files)}
    words = [(number, _(text)) for number, text in single_items.RATINGS.items()]
    sentence = single_items.find_sentence(pair)
    return {**scale, "tiles": tiles, "ratings": words, "sentence": _(sentence) if sentence else ""}


def _make_answers_context(pair: Pair, showing: Showing, addresses: Mapping[int, str]) -> dict[str, Any]:
    """The problem of a pair, and its answers by the side on which this evaluator sees them."""
    copy: Mapping[str, Any] = pair.answers
    problem = Problem(**copy["problem"])
    sides: tuple[str, ...] = ("first", "second") if showing.first_left else ("second", "first")
    if showing.evaluator.poll.is_single:  # an expert grades blindly: the tests' points are the automatic score
        sides, problem.show_reference, problem.show_results = ("first",), True, False
    rows = [make_tried(Candidate(**copy[side])) for side in sides]
    shown = [answers.make_answer(problem, row, letter, "ready") for letter, row in zip("AB", rows, strict=False)]
    files = Attachment.objects.filter(pk__in=addresses).order_by("pk")
    return {
        **answers.make_statement(problem),
        "attachments": [(row, addresses[row.pk]) for row in files],
        "answers": list(zip(("left", "right"), shown, strict=False)),
        **answers.make_reference_context(problem),
    }


@require_POST
@require_evaluator
def give_consent(request: HttpRequest, evaluator: Evaluator) -> HttpResponse:
    if _find_state(evaluator) == "consent" and check_agreement(request, evaluator.poll.consent_hash):
        poll_enrolment.accept_consent(evaluator, get_language() or "")
    return redirect(evaluator)


@require_POST
@require_evaluator
def cast_vote(request: HttpRequest, evaluator: Evaluator) -> HttpResponse:
    answer = poll_ballot.Answer(
        choice=request.POST.get("choice", ""),
        strength=request.POST.get("strength", ""),
        rating=request.POST.get("rating", ""),
        reasoning=request.POST.get("reasoning", ""),
        client=_read_client(request.POST.get("client", "")),
    )
    message = poll_ballot.cast_vote(evaluator, strip_nul(request.POST.get("showing", "")), answer)
    if message:
        messages.info(request, message)
    return redirect(evaluator)


@require_POST
@require_evaluator
def take_back(request: HttpRequest, evaluator: Evaluator) -> HttpResponse:
    message = poll_ballot.take_back(evaluator, strip_nul(request.POST.get("showing", "")))
    if message:
        messages.info(request, message)
    return redirect(evaluator)


def _read_client(text: str) -> dict[str, int]:
    """The whole numbers of what the browser measured."""
    try:
        data = json.loads(text[:LONGEST_CLIENT] or "{}")
    except (ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {key: value for key, value in data.items() if type(value) is int and 0 <= value < 2**53}


@require_http_methods(["GET", "HEAD", "POST"])
@require_evaluator
def leave_poll(request: HttpRequest, evaluator: Evaluator) -> HttpResponse:
    if request.method == "POST" and not poll_enrolment.withdraw(evaluator):
        messages.info(request, _("This study has ended, so its answers cannot be taken out any more."))
        return redirect(evaluator)
    if request.method == "POST" or evaluator.withdrawn_at:
        return redirect(evaluator)
    return render(request, "studio/votes/leave.html", {"poll": evaluator.poll, "evaluator": evaluator})


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def join_poll(request: HttpRequest, token: str) -> HttpResponse:
    """The open link. Looking at it enrols nobody; agreeing does."""
    poll = Poll.objects.filter(recruitment_token=strip_nul(token), recruiting=True).first()
    if poll is None:
        return _render_unknown(request)
    localize_poll(poll, use_language(request, poll.offered_languages))
    arrival = _read_arrival(request, poll)
    if arrival is None:
        return render(request, "studio/votes/page.html", {"poll": poll, "state": "incomplete"}, status=400)
    known = poll_enrolment.find_evaluator(poll, arrival)
    if known:
        return redirect(known)
    if poll_enrolment.has_begun_elsewhere(poll, arrival):
        return _refuse_other_browser(request, poll)
    if not poll_enrolment.is_taking(poll):
        state = "early" if poll.status == Poll.Status.DRAFT else "closed"
        return render(request, "studio/votes/page.html", {"poll": poll, "state": state})
    if request.method == "POST" and check_agreement(request, poll.consent_hash):
        return _enrol(request, poll, arrival)
    context = {"poll": poll, "state": "consent", "action": request.get_full_path()}
    return render(request, "studio/votes/page.html", context)


def _read_arrival(request: HttpRequest, poll: Poll) -> poll_enrolment.Arrival | None:
    """The recruitment site's id of the person, with the tokens that confirm it; None if the id is not valid."""
    person = "PROLIFIC_PID" if request.GET.get("PROLIFIC_PID") else "id"
    arrival = recruitment.read_parameters(request.GET, person, "SESSION_ID")
    if arrival.problem or len(arrival.external_id) > poll_enrolment.LONGEST_ID:
        return None
    tokens = recruitment.derive_tokens(
        poll.recruitment_token, arrival.external_id, arrival.session, read_browser_secret(request)
    )
    return poll_enrolment.Arrival(arrival.external_id, tokens, request.session.get(f"poll {poll.pk}", ""))


def _refuse_other_browser(request: HttpRequest, poll: Poll) -> HttpResponse:
    many = limits.exceeds_limit(request, "link", limits.WRONG_LINKS)
    state, status = ("many", 429) if many else ("elsewhere", 403)
    return render(request, "studio/votes/page.html", {"poll": poll, "state": state}, status=status)


def _enrol(request: HttpRequest, poll: Poll, arrival: poll_enrolment.Arrival) -> HttpResponse:
    if limits.exceeds_limit(request, "join", limits.JOINS):
        return render(request, "studio/votes/page.html", {"poll": poll, "state": "many"}, status=429)
    evaluator = poll_enrolment.enrol(poll, arrival)
    if evaluator is None:
        return (
            _refuse_other_browser(request, poll)
            if poll_enrolment.has_begun_elsewhere(poll, arrival)
            else redirect(request.get_full_path())
        )
    poll_enrolment.accept_consent(evaluator, get_language() or "")
    request.session[f"poll {poll.pk}"] = evaluator.token
    return redirect(evaluator)


@require_safe
@never_cache
def serve_attachment(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    """Serve a file of the problem to the evaluator."""
    open_only = {"evaluator__withdrawn_at": None, "evaluator__poll__status": Poll.Status.OPEN}
    showing = Showing.objects.filter(token=strip_nul(token), **open_only).select_related("pair").first()
    row = Attachment.objects.filter(pk=number).first()
    if showing is None or row is None or number not in showing.pair.answers.get("files", ()):
        raise Http404
    return respond_with_file(row)
