"""The sheet of a study's personal links."""

from __future__ import annotations

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.audit import record
from webapp.base.csv_cells import format_table
from webapp.base.http import get_site_address
from webapp.studies.models import Participant, Study


@require_safe
@never_cache
@permission_required("studies.view_participant", raise_exception=True)
def link_sheet(request: HttpRequest, study_id: int) -> HttpResponse:
    """Every personal link of a study as CSV: a person who has one is that participant."""
    study = get_object_or_404(Study, pk=study_id)
    people = list(study.participants.exclude_pilots().filter(source=Participant.Source.LINK).order_by("label"))
    rows = [["participant", "link", "status"]]
    for person in people:
        link = f"{get_site_address(request)}{person.get_absolute_url()}"
        rows.append([person.label, link, _describe_status(person)])
    response = HttpResponse(format_table(rows), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="links-{slugify(study.title)[:40] or study.pk}.csv"'
    record(request.user, "downloaded links", study, participants=len(people))
    return response


def _describe_status(person: Participant) -> str:
    if person.outcome:
        return person.get_outcome_display().lower()
    return "taking part" if person.consented_at else "not begun"
