"""The page on which films of a comparison's policies are ordered and rated: do the robots do what their tasks say?"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from llm.methods.align import ANSWERS, PICTURES, VIDEOS
from webapp.base.http import HtmxHttpRequest
from webapp.comparisons import alignments
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import save_once
from webapp.experiments import alignment, loop
from webapp.experiments.alignment import NONE, Alignment, Order
from webapp.experiments.models import Experiment, LanguageModel


class OrderForm(forms.Form):
    model = forms.ModelChoiceField(
        LanguageModel.objects.exclude(kind=LanguageModel.Kind.OFFLINE).order_by("name"),
        label="Vision model",
        required=False,
        empty_label="None: films alone, for people to rate",
        help_text="It must be able to see pictures. Its answers cost what it charges; the number is below.",
    )
    videos = forms.IntegerField(label="Films of each policy", min_value=1, max_value=20, initial=VIDEOS)
    answers = forms.IntegerField(label="Answers about each film", min_value=1, max_value=20, initial=ANSWERS)
    pictures = forms.IntegerField(label="Pictures of each film", min_value=2, max_value=100, initial=PICTURES)


@dataclass(frozen=True)
class TargetRow:
    """An experiment whose policies can be rated."""

    experiment: Experiment
    policies: int
    alignment: Alignment
    order: Experiment | None
    """The newest order of its films."""
    films: int
    """Films that are ready."""


@require_http_methods(["GET", "HEAD", "POST"])
def show_alignment(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """GET shows what there is; POST orders films and ratings of every policy."""
    comparison = get_object_or_404(Comparison, public_id=public_id)
    try:
        targets = alignments.list_targets(comparison.plan)
    except ValueError as error:
        return render(request, "bench/comparisons/unreadable.html", {"comparison": comparison, "error": str(error)})
    form = OrderForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        begun = order_films(targets, Order(**form.cleaned_data))
        words = f"Ordered for {begun} experiment{'' if begun == 1 else 's'}. This page shows how far they are."
        messages.success(request, words)
        return redirect("comparisons:alignment", public_id)
    rows = list_rows(targets)
    context: dict[str, Any] = {"comparison": comparison, "form": form, "rows": rows}
    context |= {
        "policies": sum(row.policies for row in rows),
        "films": sum(row.films for row in rows),
        "busy": any(row.order and row.order.live for row in rows),
    }
    return render(request, "bench/comparisons/alignment.html", context, status=422 if form.errors else 200)


def order_films(targets: Iterable[Experiment], order: Order) -> int:
    """Begin, or go on with, the films and ratings of these experiments' policies. Returns how many that are."""
    drafts = [draft for target in targets if (draft := alignment.draft(target, order))]
    for draft in drafts:
        row = save_once(draft)
        for begin in (loop.start, loop.resume, loop.retry):
            begin(row)
    return len(drafts)


def list_rows(targets: Iterable[Experiment]) -> list[TargetRow]:
    known = list(targets)
    ids = [row.public_id for row in known]
    found, orders = alignment.read_alignments(ids), alignment.find_orders(ids)
    policies, films = alignment.count_policies(known), alignment.count_films(ids)
    return [
        TargetRow(
            row,
            policies[row.public_id],
            found.get(row.public_id, NONE),
            orders.get(row.public_id),
            films.get(row.public_id, 0),
        )
        for row in known
    ]
