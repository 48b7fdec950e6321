"""Celery carries messages that wake workers. Tasks take ids; rows say what to do."""

import logging.config
import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging, task_postrun, task_prerun, worker_init, worker_shutting_down
from django.conf import settings
from kombu import Exchange, Queue

from webapp.base import logs, private_files, processes
from webapp.experiments.job_kinds import QUEUES
from webapp.experiments.protocol import list_queues

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
app = Celery("prefine")
app.config_from_object("django.conf:settings", namespace="CELERY")
KNOWN = [name for queue in QUEUES for name in list_queues(queue)]
app.conf.task_queues = [Queue(name, Exchange(name), routing_key=name, no_ack=True) for name in KNOWN]
"""Messages are not acknowledged: a worker whose broker was away when it would have done so took no more messages."""
app.autodiscover_tasks(["webapp.experiments", "webapp.archive"])


@worker_init.connect
def keep_files_private(**details: Any) -> None:
    private_files.write_private_files()


@worker_shutting_down.connect
def stop_current_job(**details: Any) -> None:
    """On SIGTERM Celery waits for the current job, so end that job; it is queued again."""
    processes.stopping.set()


@setup_logging.connect
def configure_logging(**details: Any) -> None:
    """Log as every other process does, instead of as Celery would."""
    logging.config.dictConfig(settings.LOGGING)


@task_prerun.connect
def begin_lines(task: Any, **details: Any) -> None:
    """Lines of a task are about the request that sent its message."""
    logs.CONTEXT["request"].set((task.request.headers or {}).get(logs.MESSAGE_HEADER, ""))


@task_postrun.connect
def end_lines(**details: Any) -> None:
    logs.CONTEXT["request"].set("")
