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
    return "arm", [name for _, name in name_arms(task=problem.name)]


def find_asking_arms(prompt_sets: Any, **_: Any) -> tuple[str, list[tuple[int, str]]]:
    """(a set's primary key, name) of the arms that chose these prompts."""
    return "arm", [(key, name) for key, name in name_arms(prompt_set__in=prompt_sets) if key]


def name_arms(**conditions: Any) -> list[tuple[int | None, str]]:
    """(primary key of its set of prompts or None, name) of each arm."""
    from webapp.studies.models import Arm

    arms = Arm.objects.filter(**conditions).select_related("study").order_by("pk")
    return [(arm.prompt_set_id, f"{arm.name} of {arm.study}") for arm in arms]
