"""Saves what a form of the bench holds, and notes it in the row's history, which the audit log keeps too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.admin.utils import construct_change_message
from django.db import transaction
from django.http import HttpRequest


@transaction.atomic
def save_form(request: HttpRequest, form: Any, formsets: Sequence[Any] = ()) -> None:
    """Save a new row whole, of a saved one the form's own fields alone: others may have changed meanwhile. The note has
    the names of the fields, never values.
    """
    row, added = form.instance, form.instance.pk is None
    row.save(**({} if added else {"update_fields": [name for name in form._meta.fields if name in form.fields]}))
    for formset in formsets:
        formset.save()
    LogEntry.objects.log_actions(
        user_id=request.user.pk or 0,
        queryset=[row],
        action_flag=ADDITION if added else CHANGE,
        change_message=construct_change_message(form, formsets, added),
        single_object=True,
    )
