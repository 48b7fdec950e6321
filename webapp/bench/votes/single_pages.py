"""Pages that draft a vote on single films, to rate, or single answers, to grade. Staff only."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from webapp.audit import record
from webapp.base.http import HtmxHttpRequest
from webapp.bench.votes.pair_sources import Source, list_sources
from webapp.comparisons import alignments
from webapp.comparisons.models import Comparison
from webapp.experiments import alignment
from webapp.experiments.models import Experiment
from webapp.problems.media import get_medium
from webapp.votes import single_polls
from webapp.votes.models import Poll
from webapp.votes.pair_generation import find_winners
from webapp.votes.single_polls import Item

MOST_ITEMS = 500
"""Of one vote. More are refused: leaving some out would favour the arms that come first."""
TITLE_OF_FILMS, TITLE_OF_ANSWERS = "Do the robots do what they should?", "How good are these answers?"


@require_POST
def draft_rating(request: HtmxHttpRequest, comparison_id: uuid.UUID) -> HttpResponse:
    """Draft a vote in which people rate, blindly, the films of a comparison's policies that are ready."""
    comparison = get_object_or_404(Comparison, public_id=comparison_id)
    try:
        targets = alignments.list_targets(comparison.plan)
    except ValueError:  # its page says why
        return redirect("comparisons:comparison", comparison_id)
    films = alignment.find_films([row.public_id for row in targets])
    items = [
        Item(row.name, f"{row.name}, film {clip.candidate.key}", clip)
        for row in targets
        for clip in films.get(row.public_id, ())
    ]
    if not items:
        messages.error(request, "No film is ready. Order films first.")
        return redirect("comparisons:alignment", comparison_id)
    if len(items) > MOST_ITEMS:
        words = f"{len(items)} films are ready; a vote takes {MOST_ITEMS}. Order fewer films of each policy."
        messages.error(request, words)
        return redirect("comparisons:alignment", comparison_id)
    poll = single_polls.draft_ratings(TITLE_OF_FILMS, items)
    _tell(request, poll)
    return redirect(poll)


class GradingForm(forms.Form):
    sources = forms.MultipleChoiceField(
        label="Whose answers",
        widget=forms.CheckboxSelectMultiple,
        help_text="Of every finished experiment on a problem the answer that it ended with.",
        error_messages={"required": "Choose at least one."},
    )
    most_points = forms.IntegerField(
        label="Points of a full answer",
        min_value=1,
        max_value=100,
        initial=7,
        help_text="7 for mathematics, as published. More than 10 are typed, and halves can be given.",
    )

    def __init__(self, *args: Any, sources: list[Source], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["sources"].choices = [(one.key, f"{one.group}: {one.label}") for one in sources]  # type: ignore[attr-defined]


@require_http_methods(["GET", "HEAD", "POST"])
def draft_grading(request: HtmxHttpRequest) -> HttpResponse:
    """Draft a vote in which experts grade the answers of methods, blindly."""
    sources = _list_sources_on_problems()
    form = GradingForm(request.POST if request.method == "POST" else None, sources=sources)
    if form.is_bound and form.is_valid():
        chosen = [one for one in sources if one.key in form.cleaned_data["sources"]]
        items = [item for one in chosen for item in _list_answers(one)]
        if len(items) <= MOST_ITEMS:
            poll = single_polls.draft_grades(TITLE_OF_ANSWERS, items, form.cleaned_data["most_points"])
            _tell(request, poll)
            return redirect(poll)
        form.add_error("sources", f"These are {len(items)} answers; a vote takes {MOST_ITEMS}. Choose fewer.")
    context = {"form": form, "sources": sources}
    return render(request, "bench/votes/grading.html", context, status=422 if form.errors else 200)


@require_POST
def take_out(request: HtmxHttpRequest, public_id: uuid.UUID, position: int) -> HttpResponse:
    """Take one film or answer out of a draft."""
    poll = get_object_or_404(Poll, public_id=public_id)
    if not single_polls.take_out(poll, position):
        messages.warning(request, "Nothing was changed. The vote was opened, or it was taken out before.")
    return redirect(poll)


def _tell(request: HtmxHttpRequest, poll: Poll) -> None:
    record(request.user.get_username(), "drafted vote", poll)
    count = poll.pairs.count()
    what = "film" if poll.form == Poll.Form.RATINGS else "answer"
    words = f"Drafted with {count} {what}{'' if count == 1 else 's'}. Set up whom people can write to, then open it."
    messages.success(request, words)


def _list_sources_on_problems() -> list[Source]:
    """The sources whose experiments solve problems."""
    sources = list_sources()
    tasks = dict(
        Experiment.objects.filter(pk__in={key for one in sources for key in one.experiments}).values_list("pk", "task")
    )
    return [one for one in sources if not get_medium(tasks[one.experiments[0]]).filmed]


def _list_answers(source: Source) -> list[Item]:
    """The answers of its finished experiments. Their names may hold a participant's label, which no plan has."""
    rows = Experiment.objects.select_related("winner__iteration__experiment").in_bulk(source.experiments)
    winners = find_winners(rows[key] for key in source.experiments if key in rows)
    return [
        Item(source.name, f"{source.name}, {one.experiment.task}, seed {one.experiment.seed}", one.candidate)
        for one in winners
    ]
