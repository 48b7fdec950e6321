"""Saves a draft while it is being typed: a script posts the step's form, and hears at which fields it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.forms import BaseForm, BaseFormSet, ModelForm
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest, JsonResponse, QueryDict
from django.utils import timezone

from webapp.audit import record
from webapp.audit.models import Entry
from webapp.audit.request_scope import leave_unrecorded
from webapp.studies.models import Study
from webapp.studies.texts.localizing import QUESTION_FIELDS

RECORD_EVERY = timedelta(minutes=10)
"""Autosaves of one person in one step within this time are one entry of the audit log."""
FOLLOWING = ("title", "consent_text", *QUESTION_FIELDS)
"""Fields that Prefine writes again when others change."""


def keep_rows(posted: QueryDict) -> QueryDict:
    """The form without its ticks to remove a row: the page would go on with a row that is gone."""
    data = posted.copy()
    for name in [name for name in data if name.endswith(f"-{DELETION_FIELD_NAME}")]:
        del data[name]
    return data


def answer_saved(forms: Mapping[str, BaseForm | BaseFormSet[Any]], page: str) -> JsonResponse:
    """What the page shows in its fields now, and the page as it would be loaded now."""
    values = {}
    for form in _flatten(forms.values()):
        names = [name for name in FOLLOWING if name in form.fields]
        if isinstance(form, ModelForm) and form.instance.pk and names:
            form.instance.refresh_from_db(fields=names)
            values.update({form[name].auto_id: getattr(form.instance, name) for name in names})
    return JsonResponse({"values": values, "page": page})


def answer_refused(forms: Mapping[str, BaseForm | BaseFormSet[Any]]) -> JsonResponse:
    """The errors by field, and those of no field."""
    parts = list(_flatten(forms.values()))
    errors = [
        {"name": form[name].html_name, "id": form[name].auto_id, "text": " ".join(map(str, texts))}
        for form in parts
        for name, texts in form.errors.items()
        if name in form.fields
    ]
    loose = [str(text) for form in parts for text in form.non_field_errors()]
    loose += [str(text) for form in forms.values() if isinstance(form, BaseFormSet) for text in form.non_form_errors()]
    return JsonResponse({"errors": errors, "others": loose}, status=422)


def _flatten(forms: Iterable[BaseForm | BaseFormSet[Any]]) -> Iterable[BaseForm]:
    for form in forms:
        yield from form if isinstance(form, BaseFormSet) else [form]


def record_autosave(request: HttpRequest, study: Study, step: str) -> None:
    since = timezone.now() - RECORD_EVERY
    same = Entry.objects.filter(
        actor=request.user.get_username(), action="changed study", target_id=str(study.pk), created_at__gte=since
    )
    if any(entry.detail.get("step") == step for entry in same):
        leave_unrecorded("saved a draft while it was typed")
    else:
        record(request.user, "changed study", study, step=step)
