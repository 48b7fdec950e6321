"""Sets up votes. The poll's own page opens them and shows results; no list here has votes or sides."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import F, Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from llm.methods import LOOKING_ON
from webapp.bench.admin.bench_admin import OwnPageAdmin, render_state
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.problems import media
from webapp.votes import problem_pairs, proposals
from webapp.votes.models import Pair, Poll

ANSWER_PREFIX = "answer-"
"""The prefix of an answer's key in the choices; a clip's key has none."""


def list_winners() -> list[tuple[str, Any]]:
    """The winners of finished experiments: final clips of robots and answers to problems."""
    clips = [(str(clip.pk), _describe_winner(clip.candidate)) for clip in list_winning_clips()]
    read = [(f"{ANSWER_PREFIX}{row.pk}", _describe_winner(row)) for row in problem_pairs.find_winners()]
    groups = [("Robots", clips), ("Answers to problems", read)]
    return [("", "---------"), *((name, found) for name, found in groups if found)]


def _describe_winner(candidate: Candidate) -> str:
    experiment = candidate.iteration.experiment
    return f"{experiment.name} ({experiment.get_method_display()}, {experiment.task}, seed {experiment.seed})"


def list_winning_clips() -> QuerySet[Clip]:
    final = Clip.objects.filter(percent=100, candidate__iteration__experiment__winner=F("candidate"))
    final = final.exclude(candidate__iteration__experiment__method__in=LOOKING_ON)
    return final.select_related("candidate__iteration__experiment").order_by("-candidate__iteration__experiment")


def find_winner_choice(public_id: str) -> str:
    """The choice that stands for the winner of this experiment; empty if there is none."""
    try:
        row = Experiment.objects.get(public_id=public_id)
    except (Experiment.DoesNotExist, ValidationError):
        return ""
    if row.winner_id is None:
        return ""
    if clip := list_winning_clips().filter(candidate=row.winner_id).first():
        return str(clip.pk)
    answer = problem_pairs.find_winners().filter(pk=row.winner_id).first()
    return f"{ANSWER_PREFIX}{answer.pk}" if answer else ""


class PairForm(forms.ModelForm):
    first = forms.ChoiceField(
        choices=list_winners,
        help_text="What a finished experiment ended with: its winner's final clip, or its answer to a problem.",
    )
    second = forms.ChoiceField(choices=list_winners, help_text="Of the same task.")

    class Meta:
        model = Pair
        fields = ["purpose", "first", "first_arm", "second", "second_arm", "name"]
        help_texts = {
            "first_arm": "What it stands for in the results, for example ICPL. Empty: its method.",
            "second_arm": "Pairs that name the same arm are compared together.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first", "second"):
            answer, clip = getattr(self.instance, f"{name}_answer_id"), getattr(self.instance, f"{name}_id")
            if answer or clip:
                self.initial[name] = f"{ANSWER_PREFIX}{answer}" if answer else str(clip)

    def clean(self) -> dict[str, Any]:
        """Put each choice into the row's field for clips or for answers."""
        data: dict[str, Any] = super().clean() or {}
        for name in {"first", "second"} & set(data):
            is_read, number = data[name].startswith(ANSWER_PREFIX), data[name].removeprefix(ANSWER_PREFIX)
            clip = None if is_read else list_winning_clips().get(pk=number)
            answer = problem_pairs.find_winners().get(pk=number) if is_read else None
            data[name] = clip
            setattr(self.instance, f"{name}_answer", answer)
            candidate = answer or (clip.candidate if clip else None)
            if candidate and not data.get(f"{name}_arm"):
                data[f"{name}_arm"] = candidate.iteration.experiment.get_method_display()[:60]
        return data


class PairInline(admin.StackedInline):
    """Stacked, because in a row long names of winners leave no room for the second arm."""

    model = Pair
    form = PairForm
    fields = ["purpose", "first", "first_arm", "second", "second_arm", "name"]

    def get_extra(self, request: HttpRequest, obj: Poll | None = None, **kwargs: Any) -> int:
        return 0 if obj and obj.pairs.exists() else 1

    def _draft(self, poll: Poll | None) -> bool:
        return poll is None or poll.status == Poll.Status.DRAFT

    def has_add_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_add_permission(request, obj) and self._draft(obj)

    def has_change_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_change_permission(request, obj) and self._draft(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        return super().has_delete_permission(request, obj) and self._draft(obj)


@admin.register(Poll)
class PollAdmin(OwnPageAdmin):
    fieldsets = [
        (None, {"fields": ["title", "contact"]}),
        ("What evaluators do", {"fields": ["question", "instructions", ("allow_tie", "ask_strength"), "repeats"]}),
        (
            "Analysis plan",
            {
                "fields": ["evaluators_wanted", ("alpha", "correction"), "checks_to_pass", "hypothesis"],
                "description": "Fixed when the vote opens, and shown with the results. The test is the two-sided "
                "exact binomial test.",
            },
        ),
        ("Consent and thanks", {"fields": ["consent_text", "consent_version", "thanks_text"]}),
        ("Recruitment", {"fields": ["recruiting", ("completion_code", "completion_url")]}),
    ]
    inlines = [PairInline]
    list_display = ["title", "state", "evaluators_wanted", "created_at", "page"]
    list_filter = ["status"]
    search_fields = ["title"]
    above_form = "admin/vote_live.html"
    added = "is saved as a draft: no link works before you open it."

    @admin.display(description="status", ordering="status")
    def state(self, poll: Poll) -> SafeString:
        return render_state("running" if poll.status == Poll.Status.OPEN else "paused", poll.status.capitalize())

    @admin.display(description="page")
    def page(self, poll: Poll) -> SafeString:
        return format_html('<a href="{}">Open</a>', poll.get_absolute_url())

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        medium = media.answers.MEDIUM if request.GET.get("kind") == "answers" else media.films.MEDIUM
        return {**proposals.write_texts(medium), **super().get_changeform_initial_data(request)}

    def get_formset_kwargs(self, request: HttpRequest, obj: Model, inline: Any, prefix: str) -> dict[str, Any]:
        """The first pair of a new vote, where an experiment's page names two experiments (`first`, `second`)."""
        kwargs: dict[str, Any] = super().get_formset_kwargs(request, obj, inline, prefix)
        if request.method == "GET" and obj.pk is None and inline.model is Pair:
            pair = {name: find_winner_choice(request.GET.get(name, "")) for name in ("first", "second")}
            if any(pair.values()):
                kwargs["initial"] = [pair]
        return kwargs

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        """Where one film or answer at a time is rated, nothing that is about pairs."""
        if not isinstance(obj, Poll) or not obj.is_single:
            return super().get_fieldsets(request, obj)
        head, _, _, *rest = self.fieldsets
        graded = ["most_points"] if obj.form == Poll.Form.GRADES else []
        asked = {"fields": ["question", "instructions", *graded]}
        plan = {"fields": ["evaluators_wanted", "hypothesis"], "description": "Fixed when the vote opens."}
        return [head, ("What evaluators do", asked), ("Analysis plan", plan), *rest]

    def get_inlines(self, request: HttpRequest, obj: Poll | None) -> Any:
        return [] if obj and obj.is_single else self.inlines

    def get_readonly_fields(self, request: HttpRequest, obj: Poll | None = None) -> list[str]:
        """Fixed once the poll is open: everybody must be asked the same, under the same plan."""
        if obj is None or obj.status == Poll.Status.DRAFT:
            return []
        fixed = ["title", "question", "instructions", "allow_tie", "ask_strength", "evaluators_wanted", "alpha"]
        fixed += ["repeats", "checks_to_pass", "most_points"]
        return [*fixed, "correction", "hypothesis", "consent_text", "consent_version"]

    def has_delete_permission(self, request: HttpRequest, obj: Poll | None = None) -> bool:
        draft = obj is None or obj.status == Poll.Status.DRAFT
        return super().has_delete_permission(request, obj) and draft

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Poll]) -> None:
        queryset.filter(status=Poll.Status.DRAFT).delete()

    def find_page(self, obj: Poll) -> str:
        return obj.get_absolute_url()
