"""The page that makes pairs of a vote from two arms: a choice, a preview of what it makes, one click. Staff only."""

from __future__ import annotations

import uuid
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from webapp.base.http import HtmxHttpRequest
from webapp.bench.form_fields import set_choices
from webapp.bench.votes.pair_sources import Source, list_sources
from webapp.experiments.models import Experiment
from webapp.votes import pair_generation
from webapp.votes.models import Pair, Poll
from webapp.votes.pair_generation import Proposal, Winner

LONGEST_ARM = Pair._meta.get_field("first_arm").max_length


class PairsForm(forms.Form):
    first = forms.ChoiceField(label="First arm", help_text="A study's arm, a comparison's variant, or a method.")
    second = forms.ChoiceField(label="Second arm")
    first_arm = forms.CharField(
        label="Name of the first",
        required=False,
        max_length=LONGEST_ARM,
        help_text="In plan and results. Empty: its own.",
    )
    second_arm = forms.CharField(label="Name of the second", required=False, max_length=LONGEST_ARM)
    rule = forms.ChoiceField(label="Which pairs", choices=list(pair_generation.RULES.items()), initial="matched")
    number = forms.IntegerField(
        label="How many, where drawn", min_value=1, max_value=pair_generation.MOST_PAIRS, initial=5, required=False
    )
    seed = forms.IntegerField(
        label="Seed of the draw",
        min_value=0,
        max_value=2**31 - 1,
        initial=0,
        required=False,
        help_text="The same seed draws the same pairs.",
    )
    equal = forms.BooleanField(
        label="Make pairs of equal policies too",
        required=False,
        help_text="They are left out otherwise, because nobody could prefer one.",
    )

    def __init__(self, *args: Any, sources: list[Source], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sources = {one.key: one for one in sources}
        groups = groupby(sources, key=lambda one: one.group)
        choices = [(group, [(one.key, one.label) for one in members]) for group, members in groups]
        for name in ("first", "second"):
            set_choices(self, name, [("", "Choose one"), *choices])

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.errors:
            return data
        if data["first"] == data["second"]:
            self.add_error("second", "Choose another one than the first.")
            return data
        for side in ("first", "second"):
            data[f"{side}_arm"] = data[f"{side}_arm"] or self.sources[data[side]].name[:LONGEST_ARM]
        if data["first_arm"] == data["second_arm"]:
            self.add_error("second_arm", f"Both are called “{data['first_arm']}”: give one another name.")
        if data["rule"] == "random" and not data["number"]:
            self.add_error("number", "Say how many are to be drawn.")
        return data


@require_http_methods(["GET", "HEAD", "POST"])
def make_pairs(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """GET shows what a choice makes; POST of the same choice makes it."""
    poll = get_object_or_404(Poll, public_id=public_id)
    if poll.status != Poll.Status.DRAFT:
        messages.error(request, "This vote was opened: its pairs are fixed.")
        return redirect(poll)
    sent = request.POST if request.method == "POST" else request.GET
    form = PairsForm(sent if "rule" in sent else None, sources=list_sources())
    proposals = _propose(poll, form) if form.is_bound and form.is_valid() else []
    made = [one for one in proposals if not one.reason or form.cleaned_data["equal"]]
    if request.method == "POST" and made:
        count = pair_generation.add_pairs(poll, made)
        messages.success(request, f"Made {count} pair{'' if count == 1 else 's'}.")
        return redirect(poll)
    context = {"poll": poll, "form": form, "made": made, "left_out": [one for one in proposals if one not in made]}
    status = 422 if request.method == "POST" else 200
    return render(request, "bench/votes/pairs.html", context, status=status)


def _propose(poll: Poll, form: PairsForm) -> list[Proposal]:
    data = form.cleaned_data
    sides = [_read_winners(form.sources[data[side]]) for side in ("first", "second")]
    arms = (data["first_arm"], data["second_arm"])
    numbers = (data["number"] or 0, data["seed"] or 0)
    return pair_generation.propose_pairs(poll, (sides[0], sides[1]), arms, data["rule"], *numbers)


def _read_winners(source: Source) -> list[Winner]:
    rows = Experiment.objects.select_related("winner__iteration__experiment").in_bulk(source.experiments)
    return pair_generation.find_winners(rows[key] for key in source.experiments if key in rows)
