"""Studies: set up, invite, open and close. Participants are added by number; their links are copied from the study."""

from __future__ import annotations

import os
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin, StackedInline, TabularInline
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import display

from webapp.audit import record
from webapp.experiments.admin import LoopForm, ReadOnlyAdmin
from webapp.experiments.defaults import environment_model
from webapp.studies import copying, opening
from webapp.studies.models import Arm, CompletionCode, Participant, Question, Study

MOST_AT_ONCE = 200
FIXED = ("task", "method", "k", "n", "preset", "panel", "model", "options", "describer", "vision")
"""Of an arm that somebody is in: people of one arm must do the same."""
CONSENT = """\
Purpose. We study how people's choices can teach a simulated robot a movement.

What you do. You watch short videos of a simulated robot and pick the best and the worst, for a few rounds of about \
two minutes each. Between the rounds the robots practise; you can close the page and come back with your link.

Risks and benefits. There are no known risks beyond those of looking at a screen.

Your data. We keep your choices, the reasons that you type and how long you took, under a pseudonym. We store no name \
and no address. The data is kept for ten years and may be published in this form. Your choices and reasons are \
given to the language model that writes for the robots, which may be another company's: write nothing about yourself.

Voluntary. You may stop at any moment without giving a reason. "Leave the study" on every page withdraws you; what you \
gave until then is deleted when you ask for it.
"""


class StudyForm(forms.ModelForm):
    class Meta:
        model = Study
        fields = [
            *["title", "contact", "description", "consent_text", "consent_version", "instructions", "practice"],
            *["most_attempts", "debriefing", "thanks_text", "ethics_protocol", "ethics_expires_on", "retention_days"],
            *["opens_at", "closes_at", "quota", "recruiting", "demonstration"],
            *["parameter_person", "parameter_study", "parameter_session"],
            *["experiments_each", "assignment", "seed", "notify_email", "notify_push"],
        ]


class ArmForm(LoopForm):
    class Meta(LoopForm.Meta):
        model = Arm
        fields = [
            *["name", "position", "task", "method", "k", "n", "preset", "panel", "quota", "model", "options"],
            *["describer", "vision", "token_budget", "dollar_budget"],
        ]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            self.fields["model"].initial = environment_model()
        elif self.instance.started:
            for name in FIXED:
                self.fields[name].disabled = True


class ArmInline(StackedInline):
    model = Arm
    form = ArmForm
    extra = 0
    min_num = 1


class QuestionInline(TabularInline):
    model = Question
    extra = 0
    fields = ["position", "text", "answers", "correct", "explanation"]


class CompletionCodeInline(TabularInline):
    model = CompletionCode
    extra = 0
    fields = ["outcome", "code", "url"]


@admin.register(Study)
class StudyAdmin(ModelAdmin):
    form = StudyForm
    fieldsets = [
        (None, {"fields": ["title", "contact", "description"]}),
        ("What participants read", {"fields": ["consent_text", "consent_version", "instructions", "practice"]}),
        ("At the end", {"fields": ["debriefing", "thanks_text"]}),
        ("Ethics and data", {"fields": [("ethics_protocol", "ethics_expires_on"), "retention_days"]}),
        ("Who may come", {"fields": [("opens_at", "closes_at"), "quota", "recruiting", "demonstration"]}),
        ("How people are spread over the arms", {"fields": ["experiments_each", "assignment", "seed"]}),
        (
            "Recruitment site",
            {"classes": ["collapse"], "fields": ["parameter_person", "parameter_study", "parameter_session"]},
        ),
        ("Notices and check", {"fields": ["notify_email", "notify_push", "most_attempts"]}),
    ]
    inlines = [ArmInline, QuestionInline, CompletionCodeInline]
    list_display = ["title", "state", "people", "created_at"]
    list_filter = ["status", "arms__task"]
    search_fields = ["title"]
    actions = ["open_links", "close_links", "copy_studies"]
    change_form_outer_before_template = "admin/study_people.html"  # type: ignore[assignment]

    @display(description="status", label={"draft": "info", "open": "success", "closed": "default"})
    def state(self, study: Study) -> tuple[str, str]:
        return study.status, study.get_status_display().partition(":")[0]

    @display(description="participants (finished)")
    def people(self, study: Any) -> str:
        return f"{study.people} ({study.done})"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        finished = Count("participants", filter=Q(participants__finished_at__isnull=False))
        return Study.objects.annotate(people=Count("participants"), done=finished)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        defaults = {"consent_text": CONSENT}
        return {**defaults, **super().get_changeform_initial_data(request)}

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> list[str]:
        """How people are spread stands once somebody consented."""
        if obj is None or not obj.participants.filter(consented_at__isnull=False).exists():
            return []
        return ["experiments_each", "assignment", "seed"]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        study = self.get_object(request, object_id)
        people = study.participants.order_by("label") if study else []
        kwargs["extra_context"] = {
            "people": people,
            "most_at_once": MOST_AT_ONCE,
            "site": site_address(request),
            **(kwargs.get("extra_context") or {}),
        }
        return super().change_view(request, object_id, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("<int:pk>/invite/", view(require_POST(self.invite)), name="study_invite"),
            path("<int:pk>/status/", view(require_POST(self.set_status)), name="study_status"),
            *super().get_urls(),
        ]

    def invite(self, request: HttpRequest, pk: int) -> HttpResponse:
        study = get_object_or_404(Study, pk=pk)
        form = InviteForm(request.POST)
        if not form.is_valid():
            self.message_user(request, str(form.errors["count"][0]), messages.ERROR)
        else:
            labels = invite(study, form.cleaned_data["count"])
            self.message_user(request, f"Added {', '.join(labels)}. Their links are below.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:studies_study_change", args=[pk]))

    def set_status(self, request: HttpRequest, pk: int) -> HttpResponse:
        form = StatusForm(request.POST)
        if form.is_valid():
            self._set(request, Study.objects.filter(pk=pk), form.cleaned_data["status"])
        return HttpResponseRedirect(reverse("admin:studies_study_change", args=[pk]))

    @admin.action(description="Open: personal links work")
    def open_links(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        self._set(request, queryset, Study.Status.OPEN)

    @admin.action(description="Close: personal links say that the study is over")
    def close_links(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        self._set(request, queryset, Study.Status.CLOSED)

    @admin.action(description="Copy: the same plan and texts, nobody in it", permissions=["add"])
    def copy_studies(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        for study in queryset:
            made = copying.copy(study)
            record(request.user, "copied study", made, of=study.title)
            self.message_user(request, f"“{made}” is a draft. Its completion codes are yours to add.", messages.SUCCESS)

    def _set(self, request: HttpRequest, studies: QuerySet[Study], status: str) -> None:
        """Open, with what stands against it said, or close."""
        for study in studies:
            found = opening.open_study(study) if status == Study.Status.OPEN else opening.close_study(study)
            for words in found:
                self.message_user(request, f"{study} was not opened. {words}", messages.ERROR)
            if not found:
                self.message_user(request, f"{study}: links are {status}.", messages.SUCCESS)


def site_address(request: HttpRequest) -> str:
    """Where participants reach this site: PREFINE_URL, or the address that the experimenter came by."""
    address = settings.SITE_URL if "PREFINE_URL" in os.environ else request.build_absolute_uri("/")
    return address.rstrip("/")


class InviteForm(forms.Form):
    count = forms.IntegerField(
        min_value=1,
        max_value=MOST_AT_ONCE,
        error_messages={
            "required": "Say how many participants to add.",
            "invalid": "The number of participants must be a whole number.",
            "min_value": "Add at least one participant.",
            "max_value": f"Add at most {MOST_AT_ONCE} participants at a time.",
        },
    )


class StatusForm(forms.Form):
    status = forms.ChoiceField(choices=[(Study.Status.OPEN, "open"), (Study.Status.CLOSED, "closed")])


@transaction.atomic
def invite(study: Study, count: int) -> list[str]:
    """Add participants P01, P02 ... after the highest such label, and return their labels."""
    Study.objects.select_for_update().get(pk=study.pk)  # two presses of the button do not draw the same labels
    labels = Participant.objects.filter(study=study, label__regex=r"^P\d+$")
    last = max((int(label[1:]) for label in labels.values_list("label", flat=True)), default=0)
    people = [Participant(study=study, label=f"P{number:02d}") for number in range(last + 1, last + 1 + count)]
    return [person.label for person in Participant.objects.bulk_create(people)]


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin):
    list_display = ["label", "study", "consented_at", "finished_at", "withdrawn_at"]
    list_filter = [("study", RelatedDropdownFilter)]
    list_select_related = ["study"]
    search_fields = ["label"]
    exclude = ["token"]
