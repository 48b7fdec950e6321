"""A poll's copies of clips and posters, by ticket, like those of studies in webapp.review.media."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from webapp.base.http import strip_nul
from webapp.base.media_requests import skip_page_middleware
from webapp.review.media import respond_with_clip
from webapp.votes.film_copies import make_copy_name
from webapp.votes.models import Poll, Showing


@skip_page_middleware
@require_safe
def serve_clip(request: HttpRequest, token: str) -> HttpResponseBase:
    return _serve_copy(request, token, "mp4", "video/mp4")


@skip_page_middleware
@require_safe
def serve_poster(request: HttpRequest, token: str) -> HttpResponseBase:
    return _serve_copy(request, token, "jpg", "image/jpeg")


def _serve_copy(request: HttpRequest, token: str, ending: str, content_type: str) -> HttpResponseBase:
    token = strip_nul(token)
    showing = (
        Showing.objects.select_related("pair__poll")
        .filter(Q(left_token=token) | Q(right_token=token))
        .filter(evaluator__withdrawn_at=None, evaluator__poll__status=Poll.Status.OPEN)
        .first()
    )
    if showing is None:
        return HttpResponse(status=404)
    single = showing.pair.poll.is_single
    if single and token != showing.left_token:
        return HttpResponse(status=404)
    first = single or (token == showing.left_token) == showing.first_left
    file = showing.pair.first_file if first else showing.pair.second_file
    return respond_with_clip(request, make_copy_name(file, ending), content_type, token)
