"""Notes in a row's history, which the admin shows and the audit log keeps, what a form of the bench changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.admin.utils import construct_change_message
from django.http import HttpRequest


def log_saved(request: HttpRequest, form: Any, formsets: Sequence[Any] = (), added: bool = False) -> None:
    """Note that this form's row was added or changed, with the names of the fields, never with values."""
    LogEntry.objects.log_actions(
        user_id=request.user.pk or 0,
        queryset=[form.instance],
        action_flag=ADDITION if added else CHANGE,
        change_message=construct_change_message(form, formsets, added),
        single_object=True,
    )
