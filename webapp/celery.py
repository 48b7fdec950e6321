"""Celery: the doorbell (design idea 3). Tasks take ids; rows say what to do."""

import os

from celery import Celery
from kombu import Exchange, Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
app = Celery("prefine")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_queues = [Queue(name, Exchange(name), routing_key=name) for name in ("llm", "train", "film")]
app.conf.task_create_missing_queues = False
app.autodiscover_tasks(["webapp.experiments"])
