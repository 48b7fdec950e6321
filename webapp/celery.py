"""Celery carries messages that wake workers. Tasks take ids; rows say what to do."""

import os
from typing import Any

from celery import Celery
from celery.signals import worker_shutting_down
from kombu import Exchange, Queue

from webapp.base import processes

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
app = Celery("prefine")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name, Exchange(name), routing_key=name) for name in ("llm", "train", "film")]
app.conf.task_create_missing_queues = False
app.autodiscover_tasks(["webapp.experiments", "webapp.archive"])


@worker_shutting_down.connect
def stop_current_job(**details: Any) -> None:
    """On SIGTERM Celery waits for the current job, so end that job; it is queued again."""
    processes.stopping.set()
