"""Celery: the doorbell (design idea 3). Tasks take ids; rows say what to do."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
app = Celery("prefine")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["webapp.experiments"])
