"""Export, import and deletion of a study's data. Staff only; every step is in the audit log."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from webapp.archive import erasure, key_file, retention, work
from webapp.archive.models import Erasure, Export, Import, Origin
from webapp.audit import record
from webapp.base.http import HtmxHttpRequest
from webapp.base.store import store
from webapp.bench.form_fields import set_rows
from webapp.experiments import prompt_sets
from webapp.review.media import respond_with_range
from webapp.studies.models import Participant, Study

P = ParamSpec("P")
View = Callable[Concatenate[HtmxHttpRequest, P], HttpResponse]
EXPORT, IMPORT, KEY, ERASE = (
    "archive.add_export",
    "archive.add_import",
    "studies.view_recruit",
    "studies.delete_participant",
)
MOST_UPLOAD = 50 * 2**30
CHOOSE_PERSON = "Choose whose data to delete."


def require_right(right: str) -> Callable[[View[P]], View[P]]:
    """Refuse staff without this right."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def wrapper(request: HtmxHttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.has_perm(right):
                raise PermissionDenied("Your role does not include this.")
            return view(request, *args, **kwargs)

        return wrapper

    return decorate


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    rows = [(study, retention.find_due_day(study)) for study in Study.objects.select_related("origin")]
    may_export = request.user.has_perm(EXPORT)
    context = {
        "rows": rows,
        "imports": Import.objects.select_related("study__origin")[:20],
        "may_import": request.user.has_perm(IMPORT),
        "may_upload_prompts": request.user.has_perm(prompt_sets.UPLOAD),
        "exports": Export.objects.filter(study=None)[:20] if may_export else (),
        "may_export": may_export,
    }
    return render(request, "bench/data/index.html", context)


@require_safe
def study(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Study, pk=pk)
    user: Any = request.user
    people = row.participants.filter(deleted_at=None)
    context = {
        "study": row,
        "exports": row.exports.all(),
        "people": people.order_by("pilot", "label"),
        "counted": people.exclude_pilots().count(),
        "pilots": people.pilots().count(),
        "erasures": row.erasures.all(),
        "origin": Origin.objects.filter(study=row).first(),
        "due": retention.find_due_day(row),
        "may_export": user.has_perm(EXPORT),
        "may_key": user.has_perm(KEY),
        "may_erase": user.has_perm(ERASE),
    }
    return render(request, "bench/data/study.html", context)


class ExportForm(forms.Form):
    clips = forms.BooleanField(required=False)
    checkpoints = forms.BooleanField(required=False)
    fresh_labels = forms.BooleanField(required=False)
    pilots = forms.BooleanField(required=False)


@require_POST
@require_right(EXPORT)
def export(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Study, pk=pk)
    form = ExportForm(request.POST)
    form.is_valid()
    if row.exports.filter(status__in=(Export.Status.QUEUED, Export.Status.RUNNING)).exists():
        messages.warning(request, "An export of this study is being made already.")
    else:
        work.queue_task(Export(study=row, by=request.user.get_username(), **form.cleaned_data))
        record(request.user, "exported study", row, **form.cleaned_data)
        messages.success(request, "The export is being made. It stands below, with how far it is.")
    return redirect("archive:study", pk)


@require_safe
def progress(request: HtmxHttpRequest, kind: str, public_id: uuid.UUID) -> HttpResponse:
    """One row of the list, which the page asks for again while the work goes on."""
    task = get_object_or_404(work.KINDS[kind], public_id=public_id)
    return render(request, f"bench/data/_{kind}.html", {"task": task, "may_export": request.user.has_perm(EXPORT)})


@require_safe
def download(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponseBase:
    user = request.user
    if not user.has_perm(EXPORT):
        return HttpResponse(status=404)
    task = Export.objects.select_related("study").filter(public_id=public_id, status=Export.Status.DONE).first()
    if task is None:
        return HttpResponse(status=404)
    response = respond_with_range(request, task.key, "application/zip", str(public_id))
    if response.status_code in (200, 206) and request.method == "GET":  # a range counts as a download too
        record(user, "downloaded export", task.study)
    title = task.study.title if task.study else f"prefine-{task.name}"
    name = re.sub(r"[^\w-]+", "-", title).strip("-").lower() or "study"
    response["Content-Disposition"] = f'attachment; filename="{name}-{task.sha256[:8]}.zip"'
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@require_right(EXPORT)
def delete_export(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    task = get_object_or_404(Export, public_id=public_id)
    store.delete(task.key)
    task.delete()
    messages.success(request, "The file is deleted.")
    return redirect("archive:study", task.study_id) if task.study_id else redirect("archive:index")


@require_POST
@require_right(KEY)
def key_table(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Which pseudonym is which recruitment id; no export contains it."""
    row = get_object_or_404(Study, pk=pk)
    record(request.user, "downloaded the key table", row)
    headers = {"Content-Disposition": f'attachment; filename="study-{pk}-key.csv"', "Cache-Control": "no-store"}
    return HttpResponse(key_file.to_csv(row), content_type="text/csv; charset=utf-8", headers=headers)


class EraseForm(forms.Form):
    participant = forms.ModelChoiceField(
        Participant.objects.none(), error_messages=dict.fromkeys(("required", "invalid_choice"), CHOOSE_PERSON)
    )
    sure = forms.BooleanField(error_messages={"required": "Tick the box to delete: it cannot be undone."})

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_rows(self, "participant", study.participants.filter(deleted_at=None))


@require_POST
@require_right(ERASE)
def erase(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Delete a participant's data at the person's request."""
    row = get_object_or_404(Study, pk=pk)
    form = EraseForm(row, request.POST)
    if form.is_valid():
        erased = erasure.erase(form.cleaned_data["participant"], request.user, Erasure.Cause.WISH)
        messages.success(request, f"Deleted: {erased.total} rows, their files, and every export of this study.")
    else:
        messages.error(request, str(next(iter(form.errors.values()))[0]))
    return redirect("archive:study", pk)


class ImportForm(forms.Form):
    file = forms.FileField(
        error_messages={"required": "Choose the zip of an export.", "empty": "That file is empty."}, max_length=200
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_UPLOAD:
            raise forms.ValidationError(f"At most {MOST_UPLOAD // 2**30} GiB can be uploaded. Use the command line.")
        return file


@require_POST
@require_right(IMPORT)
def import_study(request: HtmxHttpRequest) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        messages.error(request, str(form.errors["file"][0]))
        return redirect("archive:index")
    file = form.cleaned_data["file"]
    task = Import(by=request.user.get_username(), name=file.name[:200])
    store.publish(task.key, file)
    work.queue_task(task)
    return redirect(f"{reverse('archive:index')}#imports")
