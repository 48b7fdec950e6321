"""Files of a problem, for the people who judge answers to it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.http import without_nul
from webapp.problems.models import Attachment
from webapp.studies.models import Participant


@require_safe
@never_cache
def attachment(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    participant = Participant.objects.filter(token=without_nul(token), withdrawn_at=None).first()
    experiment = participant.experiment if participant else None
    row = Attachment.objects.filter(pk=number, problem__name=experiment.task).first() if experiment else None
    if row is None:
        raise Http404
    return served(row)


def served(row: Attachment) -> HttpResponse:
    """Pictures are shown, everything else is downloaded: a file is whatever somebody uploaded. Raises Http404."""
    try:
        with row.file.open("rb") as file:
            content = file.read()
    except FileNotFoundError as error:
        raise Http404 from error
    named = content_disposition_header(not row.is_picture, row.name)
    return HttpResponse(content, content_type=row.content_type, headers={"Content-Disposition": named})
