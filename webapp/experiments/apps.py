from typing import Any

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "webapp.experiments"

    def ready(self) -> None:
        from webapp.experiments import file_deletion  # noqa: F401 (connects what deletes files)
        from webapp.problems.signals import uses_requested

        uses_requested.connect(find_experiments, dispatch_uid="experiments")


def find_experiments(problem: Any, **_: Any) -> tuple[str, list[str]]:
    """The experiments that use this problem."""
    from webapp.experiments.models import Experiment

    return "experiment", [row.name for row in Experiment.objects.filter(task=problem.name).order_by("pk")]
