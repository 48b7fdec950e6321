from typing import Any

from django.apps import AppConfig

from simulation.names import match_name


class ComparisonsConfig(AppConfig):
    name = "webapp.comparisons"
    verbose_name = "Comparisons"

    def ready(self) -> None:
        from webapp.experiments.signals import prompt_set_uses_requested

        prompt_set_uses_requested.connect(find_comparisons, dispatch_uid="comparisons")


def find_comparisons(prompt_sets: Any, **_: Any) -> tuple[str, list[tuple[int, str]]]:
    """(a set's primary key, name) of the comparisons of which an arm chose the set."""
    from webapp.comparisons.arms import find_prompts
    from webapp.comparisons.models import Comparison

    rows = Comparison.objects.order_by("pk")
    return "comparison", [
        (prompt_set.pk, row.name)
        for row in rows
        for prompt_set in prompt_sets
        if any(match_name(typed, [prompt_set.name]) for typed in map(find_prompts, row.methods) if typed)
    ]
