"""Gold pairs: segments of which an experimenter knows which one is better, chosen by their stills."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.base.http import HtmxHttpRequest
from webapp.bench.studies.gold import edit_gold
from webapp.experiments.models import Clip, PairSession, Segment
from webapp.experiments.pair_sessions import asks_outside, read_seconds
from webapp.review.gold_pairs import looks_alike
from webapp.review.models import GoldPair
from webapp.studies.models import Study

MOST_SESSIONS, MOST_OF_SESSION = 12, 6
"""Of the latest sessions, and of each one: enough to see policies early and late in their training."""


class GoldPairForm(forms.ModelForm):
    class Meta:
        model = GoldPair
        fields = ["study", "better", "worse"]

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        study, better, worse = (self.cleaned_data.get(name) for name in ("study", "better", "worse"))
        if study and better and worse:
            one, other = (segment.session.request.experiment for segment in (better, worse))
            if not looks_alike(one, other) or (one.task, read_seconds(one)) not in list_looks(study):
                raise forms.ValidationError(
                    "Both must be of one task and equally long, and an arm of the study must ask about such ones."
                )
        return data


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def gold_pairs(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Choose two segments by their stills, or remove a pair."""
    study = get_object_or_404(Study, pk=pk)
    form, changed = edit_gold(request, study, GoldPairForm, study.gold_pairs, "gold pair")
    if changed:
        return redirect("bench:study_gold_pairs", pk)
    of = "session__request__experiment"
    chosen = study.gold_pairs.select_related(f"better__{of}", f"worse__{of}").order_by("pk")
    context = {"study": study, "form": form, "pairs": chosen, "segments": list_segments(study)}
    return render(request, "bench/studies/wizard/gold_pairs.html", context)


def list_looks(study: Study) -> set[tuple[str, float]]:
    """Task and length of the segments that people of the study compare."""
    return {(arm.task, read_seconds(arm)) for arm in study.arms.all() if arm.asks_pairs}


def list_segments(study: Study) -> list[Segment]:
    """Some filmed segments of each of the latest sessions that look like those of the study."""
    looks = list_looks(study)
    sessions = PairSession.objects.filter(request__experiment__task__in=[task for task, _ in looks])
    found: list[Segment] = []
    fitting = 0
    for session in sessions.select_related("request__experiment").order_by("-pk")[: 20 * MOST_SESSIONS]:
        experiment = session.request.experiment
        if (
            asks_outside(experiment)
            and (experiment.task, read_seconds(experiment)) in looks
            and fitting < MOST_SESSIONS
        ):
            ready = session.segments.filter(status=Clip.Status.READY)
            found += ready.select_related("session__request__experiment")[:MOST_OF_SESSION]
            fitting += 1
    return found
