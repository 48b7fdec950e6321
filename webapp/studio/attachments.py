"""Files of a problem, for the people who judge answers to it."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.base.http import strip_nul
from webapp.problems.files import respond_with_file
from webapp.problems.models import Attachment
from webapp.studies.models import Participant


@require_safe
@never_cache
def serve_attachment(request: HttpRequest, token: str, number: int) -> HttpResponseBase:
    participant = Participant.objects.filter(token=strip_nul(token), withdrawn_at=None).first()
    experiment = participant.experiment if participant else None
    row = Attachment.objects.filter(pk=number, problem__name=experiment.task).first() if experiment else None
    if row is None:
        raise Http404
    return respond_with_file(row)
