from typing import Any

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    name = "webapp.studies"

    def ready(self) -> None:
        from webapp.experiments.signals import prompt_set_uses_requested
        from webapp.problems.signals import uses_requested

        uses_requested.connect(find_arms, dispatch_uid="arms")
        prompt_set_uses_requested.connect(find_asking_arms, dispatch_uid="arms")


def find_arms(problem: Any, **_: Any) -> tuple[str, list[str]]:
    """The arms that use this problem."""
    return "arm", name_arms(task=problem.name)


def find_asking_arms(prompt_set: Any, **_: Any) -> tuple[str, list[str]]:
    """The arms that chose these prompts."""
    return "arm", name_arms(prompt_set=prompt_set)


def name_arms(**conditions: Any) -> list[str]:
    from webapp.studies.models import Arm

    arms = Arm.objects.filter(**conditions).select_related("study").order_by("pk")
    return [f"{arm.name} of {arm.study}" for arm in arms]
