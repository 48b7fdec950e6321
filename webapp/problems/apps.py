from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.db.models import ProtectedError
from django.db.models.signals import pre_delete


class ProblemsConfig(AppConfig):
    name = "webapp.problems"

    def ready(self) -> None:
        from webapp.problems import files  # noqa: F401 (connects what deletes files)

        pre_delete.connect(protect_used_problem, sender=self.get_model("Problem"), dispatch_uid="keep used problems")


def protect_used_problem(sender: Any, instance: Any, **_: Any) -> None:
    """Refuse to delete a problem that is used. The admin checks before it tries."""
    from webapp.base.uses import describe_uses
    from webapp.problems.signals import find_uses

    uses = describe_uses(instance, find_uses(instance))
    if uses:
        raise ProtectedError(" ".join(uses), {instance})
