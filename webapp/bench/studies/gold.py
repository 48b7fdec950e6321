"""Gold sets: pairs whose right answer an experimenter knows, chosen by their stills."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Prefetch, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from trainer.records import FINAL
from webapp.audit import record
from webapp.base.http import HtmxHttpRequest
from webapp.bench.form_fields import set_rows
from webapp.experiments.models import Candidate, Clip
from webapp.review.models import GoldSet
from webapp.review.trials import find_showable
from webapp.studies.models import Study

MOST_CANDIDATES = 500
"""Candidates of the latest rounds; nobody reads a longer list."""
MOST_STILLS = 60


class CandidateChoice(forms.ModelChoiceField):
    def label_from_instance(self, candidate: Any) -> str:
        experiment = candidate.iteration.experiment
        return f"{experiment.task}, {experiment.name}: round {candidate.iteration.number}, {candidate.key}"


class GoldSetForm(forms.ModelForm):
    best = CandidateChoice(queryset=Candidate.objects.none(), help_text="Anybody should find this one better.")
    worst = CandidateChoice(queryset=Candidate.objects.none(), help_text="Anybody should find this one worse.")

    class Meta:
        model = GoldSet
        fields = ["study", "best", "worst", "whole_round"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("best", "worst"):
            set_rows(self, name, list_latest_candidates())

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        study, best, worst = (self.cleaned_data.get(name) for name in ("study", "best", "worst"))
        if study and best and worst:
            tasks = {best.iteration.experiment.task, worst.iteration.experiment.task}
            if len(tasks) > 1 or not study.arms.filter(task__in=tasks).exists():
                raise forms.ValidationError("Both must be of one task, and an arm of the study must be about it.")
        return data


def list_latest_candidates() -> QuerySet[Candidate]:
    """Candidates with a video or an answer that can be shown, of the latest rounds."""
    latest = find_showable().order_by("-iteration__pk", "index")[:MOST_CANDIDATES]
    chosen = Candidate.objects.filter(pk__in=list(latest.values_list("pk", flat=True)))
    return chosen.select_related("iteration__experiment").order_by("-iteration__pk", "index")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def gold(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Choose a pair by its stills, or remove one."""
    study = get_object_or_404(Study, pk=pk)
    form, changed = edit_gold(request, study, GoldSetForm, study.gold_sets, "gold set")
    if changed:
        return redirect("bench:study_gold", pk)
    context = {
        "study": study,
        "form": form,
        "sets": study.gold_sets.select_related("best__iteration__experiment", "worst__iteration__experiment"),
        "candidates": _list_stills(study),
    }
    return render(request, "bench/studies/wizard/gold.html", context)


def edit_gold(
    request: HtmxHttpRequest, study: Study, form_class: type[forms.ModelForm], rows: Any, name: str
) -> tuple[forms.ModelForm, bool]:
    """The form, and whether a row was added or removed as the posted fields say."""
    if request.method != "POST":
        return form_class(None), False
    if "remove" in request.POST:
        rows.filter(pk=read_number(request.POST["remove"])).delete()
        record(request.user, f"removed {name}", study)
        return form_class(None), True
    form = form_class({**request.POST.dict(), "study": study.pk})
    if not form.is_valid():
        return form, False
    form.save()
    record(request.user, f"added {name}", study)
    messages.success(request, f"The {name} is added.")
    return form, True


def read_number(text: str) -> int:
    """The key of a row that a form names; 0, which no row has, if it is none."""
    return int(text) if text.isdecimal() and len(text) < 10 else 0


def _list_stills(study: Study) -> list[Candidate]:
    """The latest candidates for the tasks of this study, each with its final clip."""
    tasks = study.arms.values("task")
    films = Prefetch("clips", Clip.objects.filter(percent=FINAL, status=Clip.Status.READY), to_attr="final_clips")
    rows = find_showable().filter(iteration__experiment__task__in=tasks).select_related("iteration__experiment")
    return list(rows.prefetch_related(films).order_by("-iteration__pk", "index")[:MOST_STILLS])
