"""Lists of language models and experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from webapp.bench.admin.bench_admin import FormPageAdmin, render_state
from webapp.experiments import loop
from webapp.experiments.models import Experiment, LanguageModel


@admin.register(Experiment)
class ExperimentAdmin(FormPageAdmin):
    new_page = "bench:experiment_new"
    list_display = ["name", "state", "task", "method", "judge", "created_at", "live_link"]
    list_filter = ["status", "task", "method", "judge"]
    search_fields = ["name", "public_id"]
    actions = ["start", "pause", "resume", "cancel"]

    @admin.display(description="status", ordering="status")
    def state(self, experiment: Experiment) -> SafeString:
        if experiment.paused:
            return render_state("paused", "Paused")
        return render_state(experiment.status, experiment.get_status_display())

    @admin.display(description="live page")
    def live_link(self, experiment: Experiment) -> SafeString:
        return format_html('<a href="{}">Open</a>', reverse("bench:experiment", args=[experiment.public_id]))

    def has_delete_permission(self, request: HttpRequest, obj: Experiment | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (obj and obj.live)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[Any]]:
        """Rows of a loop, which cannot be deleted one by one, are deleted with their experiment."""
        rows, counts, refused, protected = super().get_deleted_objects(objs, request)
        return rows, counts, refused & {str(self.opts.verbose_name)}, protected

    def find_form_page(self, obj: Experiment) -> str:
        return reverse("bench:experiment_edit", args=[obj.public_id])

    @admin.action(description="Start")
    def start(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.start, "started")

    @admin.action(description="Pause: training stops and later continues from its checkpoint")
    def pause(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.pause, "paused")

    @admin.action(description="Resume")
    def resume(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.resume, "resumed")

    @admin.action(description="Cancel for good: results so far stay")
    def cancel(self, request: HttpRequest, queryset: QuerySet[Experiment]) -> None:
        self._apply_to_each(request, queryset, loop.cancel, "cancelled")

    def _apply_to_each(
        self,
        request: HttpRequest,
        experiments: QuerySet[Experiment],
        act: Callable[[Experiment], bool],
        done: str,
    ) -> None:
        names = [experiment.name for experiment in experiments if act(experiment)]
        if names:
            self.message_user(request, f"{', '.join(names)}: {done}.", messages.SUCCESS)
        else:
            self.message_user(request, f"Nothing was {done}: none is in a state for that.", messages.WARNING)


@admin.register(LanguageModel)
class LanguageModelAdmin(FormPageAdmin):
    new_page = "bench:model_new"
    list_display = ["name", "kind", "model", "address", "key"]

    def find_form_page(self, obj: LanguageModel) -> str:
        return reverse("bench:model_edit", args=[obj.pk])

    @admin.display(description="address", ordering="base_url")
    def address(self, model: LanguageModel) -> str:
        return model.base_url

    @admin.display(description="key", boolean=True)
    def key(self, model: LanguageModel) -> bool:
        return bool(model.api_key)

    def has_view_permission(self, request: HttpRequest, obj: LanguageModel | None = None) -> bool:
        """Only who may change it: addresses and keys are theirs."""
        return self.has_change_permission(request, obj)
