from typing import Any

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "webapp.studies"

    def ready(self) -> None:
        from webapp.problems.signals import uses_requested

        uses_requested.connect(find_arms, dispatch_uid="arms")


def find_arms(problem: Any, **_: Any) -> tuple[str, list[str]]:
    """The arms that use this problem."""
    from webapp.studies.models import Arm

    arms = Arm.objects.filter(task=problem.name).select_related("study").order_by("pk")
    return "arm", [f"{arm.name} of {arm.study}" for arm in arms]
