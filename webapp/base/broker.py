"""Send messages to workers. A message only says "look at the database": if it is lost, the reaper sends another."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db.models import Q
from django.db.models.functions import Now
from kombu.exceptions import ChannelError, OperationalError

from webapp.base import logs

log = logging.getLogger(__name__)


def send_message(task: str, arguments: tuple[Any, ...], queue: str) -> None:
    """Put a Celery message into this queue. An unreachable broker is logged, not raised."""
    headers = {logs.MESSAGE_HEADER: logs.read_context().get("request", "")}
    try:
        current_app.send_task(task, arguments, queue=queue, headers=headers, retry=False, ignore_result=True)
    except (OperationalError, ChannelError, OSError) as error:
        log.warning("the broker did not take %s%s: %s", task, arguments, error)


def is_unheard(seconds: float) -> Q:
    """Rows whose last message (`rung_at`) is older than this, or later than now: the database's clock was set back."""
    return Q(rung_at=None) | Q(rung_at__lt=Now() - timedelta(seconds=seconds)) | Q(rung_at__gt=Now())
