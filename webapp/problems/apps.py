from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.db.models import ProtectedError
from django.db.models.signals import pre_delete


class ProblemsConfig(AppConfig):
    name = "webapp.problems"

    def ready(self) -> None:
        from webapp.problems import files  # noqa: F401 (connects what deletes files)

        pre_delete.connect(keep_what_is_used, sender=self.get_model("Problem"), dispatch_uid="keep used problems")


def keep_what_is_used(sender: Any, instance: Any, **_: Any) -> None:
    """A problem is a task, and tasks are named: experiments and studies hold its name, not a foreign key."""
    for label in ("experiments.Experiment", "studies.Arm"):
        used = apps.get_model(label).objects.filter(task=instance.name)
        if used.exists():
            raise ProtectedError(f"{instance} is used by {used.count()} of {label.partition('.')[2]}.", set(used[:5]))
