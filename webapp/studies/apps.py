from typing import Any

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "webapp.studies"

    def ready(self) -> None:
        from webapp.problems.signals import asking_for_uses

        asking_for_uses.connect(arms_on, dispatch_uid="arms")


def arms_on(problem: Any, **_: Any) -> tuple[str, list[str]]:
    """The arms of studies that need this problem."""
    from webapp.studies.models import Arm

    arms = Arm.objects.filter(task=problem.name).select_related("study").order_by("pk")
    return "arm", [f"{arm.name} of {arm.study}" for arm in arms]
