"""The preview of an A/B vote for staff: what an evaluator sees, every pair. Nothing is stored."""

from __future__ import annotations

import random
import uuid
from typing import Any

from csp.constants import NONE, SELF
from csp.decorators import csp_replace, csp_update
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils import timezone, translation
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_safe

from webapp.problems.files import respond_with_file
from webapp.problems.models import Attachment
from webapp.review.media import respond_with_clip
from webapp.studio import evaluators
from webapp.studio.preview import WIDTHS, find_language, list_languages
from webapp.votes import problem_pairs
from webapp.votes.film_copies import make_copy_name
from webapp.votes.languages import localize_poll
from webapp.votes.models import Evaluator, Pair, Poll, Showing

TITLES = {"consent": "Consent", "thanks": "The end", "closed": "Too late"}
CONTENT_TYPES = {"mp4": "video/mp4", "jpg": "image/jpeg"}


def _list_pages(poll: Poll) -> list[tuple[str, str]]:
    """Name and title of every page, in the order of an evaluator."""
    called = {Poll.Form.RATINGS: "Film", Poll.Form.GRADES: "Answer"}.get(Poll.Form(poll.form), "Pair")
    pairs = [(f"pair-{pair.position}", f"{called} {pair.position}") for pair in poll.pairs.all()]
    return [("consent", TITLES["consent"]), *pairs, ("thanks", TITLES["thanks"]), ("closed", TITLES["closed"])]


@require_safe
@never_cache
@csp_update({"frame-src": [SELF]})  # type: ignore[arg-type]
def show_preview(request: HttpRequest, public_id: uuid.UUID, name: str = "") -> HttpResponse:
    """The list of pages, and one of them in a frame."""
    poll = get_object_or_404(Poll, public_id=public_id)
    pages = _list_pages(poll)
    if not name:
        return redirect("vote_preview", poll.public_id, "pair-1" if len(pages) > 3 else "consent")
    if name not in dict(pages):
        raise Http404("There is no such page.")
    width, language = request.GET.get("width", ""), find_language(request, poll)
    context = {
        "poll": poll,
        "pages": pages,
        "name": name,
        "title": dict(pages)[name],
        "widths": WIDTHS,
        "width": width if width in dict(WIDTHS) else WIDTHS[0][0],
        "language": language,
        "languages": list_languages(poll),
        "address": f"{reverse('vote_preview_page', args=[poll.public_id, name])}?language={language}",
    }
    return render(request, "bench/votes/preview.html", context)


@require_safe
@never_cache
@xframe_options_sameorigin
@csp_replace({"frame-ancestors": [SELF], "form-action": [NONE]})  # type: ignore[arg-type]
def show_page(request: HttpRequest, public_id: uuid.UUID, name: str) -> HttpResponse:
    """One page as an evaluator sees it, in the language of the parameter; its forms send nothing."""
    poll = get_object_or_404(Poll, public_id=public_id)
    if name not in dict(_list_pages(poll)):
        raise Http404("There is no such page.")
    language = find_language(request, poll)
    with translation.override(language):
        localize_poll(poll, language)
        return _render_page(request, poll, name)


def _render_page(request: HttpRequest, poll: Poll, name: str) -> HttpResponse:
    evaluator = Evaluator(poll=poll, token="preview", consented_at=timezone.now())
    context: dict[str, Any] = {"poll": poll, "evaluator": evaluator, "preview": True, "state": name, "action": ""}
    if name.startswith("pair-"):
        context |= {"state": "ballot", **_make_ballot(evaluator, _find_pair(poll, int(name.removeprefix("pair-"))))}
    return render(request, "studio/votes/page.html", context)


def _find_pair(poll: Poll, position: int) -> Pair:
    return get_object_or_404(poll.pairs, position=position)


def _make_ballot(evaluator: Evaluator, pair: Pair) -> dict[str, Any]:
    """A pair as an evaluator could see it; the sides are drawn for the preview alone."""
    if not pair.answers and pair.first_answer and (pair.second_answer or evaluator.poll.is_single):
        pair.answers = problem_pairs.copy_answers(pair.first_answer, pair.second_answer)
    if not pair.medium.filmed and not pair.answers:
        raise Http404("An answer was deleted.")
    single = evaluator.poll.is_single
    first_left = single or random.Random(f"preview {pair.position}").random() < 0.5
    showing = Showing(evaluator=evaluator, pair=pair, position=pair.position, first_left=first_left, token="preview")
    address = [evaluator.poll.public_id, pair.position]
    sides = ("first", "second") if first_left else ("second", "first")
    tiles: list[evaluators.Tile] = [
        (
            letter,
            side,
            reverse("vote_preview_clip", args=[*address, which, "mp4"]),
            reverse("vote_preview_clip", args=[*address, which, "jpg"]),
        )
        for letter, side, which in zip("AB", ("left", "right"), sides[: 1 if single else 2], strict=False)
    ]
    files = {number: reverse("vote_preview_file", args=[*address, number]) for number in pair.answers.get("files", ())}
    return evaluators.make_ballot_context(showing, evaluator.poll.pairs.count(), tiles, files)


@require_safe
def serve_clip(request: HttpRequest, public_id: uuid.UUID, position: int, side: str, ending: str) -> HttpResponseBase:
    """A clip or poster of a pair: the poll's copy once it is open, before that the original."""
    rows = Pair.objects.select_related("first", "second")
    pair = rows.filter(poll__public_id=public_id, position=position).first()
    if pair is None or side not in ("first", "second") or ending not in CONTENT_TYPES:
        raise Http404("There is no such file.")
    clip = getattr(pair, side)
    if pair.origin:
        name = make_copy_name(getattr(pair, f"{side}_file"), ending)
    elif clip is None:
        raise Http404("This clip was deleted.")
    else:
        name = str(clip.video if ending == "mp4" else clip.poster)
    return respond_with_clip(request, name, CONTENT_TYPES[ending], f"preview {pair.pk} {side}")


@require_safe
def serve_file(request: HttpRequest, public_id: uuid.UUID, position: int, number: int) -> HttpResponseBase:
    """A file of the problem of a pair."""
    pair = get_object_or_404(Pair, poll__public_id=public_id, position=position)
    answer = pair.first_answer
    files = pair.answers.get("files") or (answer and problem_pairs.copy_answers(answer)["files"]) or ()
    if number not in files:
        raise Http404("There is no such file.")
    return respond_with_file(get_object_or_404(Attachment, pk=number))


BASE = "bench/votes/<uuid:public_id>/preview/"
urlpatterns = [
    path(BASE, show_preview, name="vote_preview_first"),
    path(f"{BASE}<slug:name>/", show_preview, name="vote_preview"),
    path(f"{BASE}<slug:name>/page/", show_page, name="vote_preview_page"),
    path(f"{BASE}<int:position>/<slug:side>.<str:ending>", serve_clip, name="vote_preview_clip"),
    path(f"{BASE}<int:position>/file/<int:number>/", serve_file, name="vote_preview_file"),
]
