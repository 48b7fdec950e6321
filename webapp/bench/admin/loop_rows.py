"""Read-only lists of a loop's rows."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse

from webapp.bench.admin.bench_admin import BenchAdmin
from webapp.experiments.models import Candidate, Clip, Event, Experiment, Iteration, Job, ModelCall, Request, Run


class ReadOnlyAdmin(BenchAdmin):
    """Rows that the loop writes; the admin shows them, the newest first."""

    ordering = ["-pk"]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """The page without the history of a person's changes: nobody changes these rows."""
        kwargs["extra_context"] = {**(kwargs.get("extra_context") or {}), "no_history": True}
        return super().change_view(request, object_id, *args, **kwargs)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Iteration)
class IterationAdmin(ReadOnlyAdmin):
    list_display = ["experiment", "number", "best", "worst", "finished_at"]
    list_select_related = ["experiment", "best__iteration", "worst__iteration"]


@admin.register(Candidate)
class CandidateAdmin(ReadOnlyAdmin):
    list_display = ["key", "experiment", "status", "return_to_score", "reason"]
    list_filter = ["status", "iteration__experiment"]
    list_select_related = ["iteration__experiment"]
    search_fields = ["iteration__experiment__name", "source", "reason"]
    exclude = ["trace", "metric_trace"]  # the bench draws them

    def experiment(self, candidate: Candidate) -> Experiment:
        return candidate.iteration.experiment

    @admin.display(description="RTS", ordering="rts")
    def return_to_score(self, candidate: Candidate) -> float | None:
        return candidate.rts


@admin.register(Request)
class RequestAdmin(ReadOnlyAdmin):
    list_display = ["experiment", "step", "slot", "kind", "status", "created_at", "finished_at"]
    list_filter = ["kind", "status", "experiment"]
    list_select_related = ["experiment"]
    search_fields = ["experiment__name", "fingerprint", "error"]


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ["__str__", "experiment", "status", "owner", "attempt", "heartbeat", "error"]
    list_filter = ["kind", "status", "experiment"]
    list_select_related = ["experiment"]
    search_fields = ["experiment__name", "owner", "error"]


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    list_display = ["request", "experiment", "seconds", "samples", "broken_worlds", "created_at"]
    list_select_related = ["request__experiment"]

    def experiment(self, run: Run) -> Experiment:
        return run.request.experiment

    @admin.display(description="worlds with NaN")
    def broken_worlds(self, run: Run) -> int:
        return run.nan_worlds


@admin.register(Clip)
class ClipAdmin(ReadOnlyAdmin):
    list_display = ["candidate", "experiment", "percent", "status", "error", "created_at"]
    list_filter = ["status", "percent"]
    list_select_related = ["candidate__iteration__experiment"]

    def experiment(self, clip: Clip) -> Experiment:
        return clip.candidate.iteration.experiment


@admin.register(ModelCall)
class ModelCallAdmin(ReadOnlyAdmin):
    list_display = [
        *["request", "experiment", "model", "prompt_tokens", "completion_tokens", "latency", "cost", "created_at"]
    ]
    list_filter = ["model"]
    list_select_related = ["request__experiment"]

    def experiment(self, call: ModelCall) -> Experiment:
        return call.request.experiment


@admin.register(Event)
class EventAdmin(ReadOnlyAdmin):
    list_display = ["created_at", "experiment", "kind", "public", "text"]
    list_filter = ["kind", "public", "experiment"]
    list_select_related = ["experiment"]
    search_fields = ["experiment__name", "text"]
