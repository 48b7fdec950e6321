"""Trying a study out: a staff member becomes a pilot participant; one click deletes the data of all pilots."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST

from webapp.archive import erasure
from webapp.audit import record
from webapp.base.http import HtmxHttpRequest
from webapp.bench.form_fields import set_rows
from webapp.studies import pilots
from webapp.studies.models import Arm, Study


class PilotForm(forms.Form):
    arm = forms.ModelChoiceField(Arm.objects.none(), required=False)

    def __init__(self, study: Study, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        set_rows(self, "arm", study.arms.all())


@require_POST
def start(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Add a pilot and open their page, as a participant sees it."""
    study = get_object_or_404(Study, pk=pk)
    form = PilotForm(study, request.POST)
    if form.is_valid():
        try:
            pilot = pilots.add_pilot(study, form.cleaned_data["arm"])
        except ValueError as refusal:
            messages.error(request, str(refusal))
        else:
            record(request.user, "piloted study", study)
            return redirect(pilot)
    else:
        messages.error(request, "That is no arm of this study.")
    return redirect("bench:study", pk)


@require_POST
def delete(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    if not request.user.has_perm("studies.delete_participant"):
        raise PermissionDenied("Your role does not include this.")
    study = get_object_or_404(Study, pk=pk)
    erased = erasure.delete_pilots(study, request.user)
    messages.success(request, f"All pilot data is deleted: {erased.total} rows and their files.")
    return redirect("bench:study", pk)
