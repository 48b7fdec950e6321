"""All settings of a study in one form. Its page on the bench opens and closes it, and invites participants."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from webapp.audit import record
from webapp.bench.admin.bench_admin import BenchAdmin, OwnPageAdmin, render_state
from webapp.bench.admin.loop_rows import ReadOnlyAdmin
from webapp.bench.studies.forms import ASSIGNMENT_FIELDS, ArmForm, ArmFormSet, AssignmentForm, StudyForm
from webapp.studies import copying
from webapp.studies.consent import write_consent
from webapp.studies.models import Arm, Assignment, CompletionCode, Outcome, Participant, Question, Study
from webapp.studies.texts import proposed

FIXED_QUESTIONS = "While the study is open, everybody answers the same questions. Close it to change them."


class AdminArmFormSet(ArmFormSet):
    def add_fields(self, form: Any, index: int | None) -> None:
        super().add_fields(form, index)
        if index is None:
            form.fields["name"].initial = ""  # bench/admin.js names an arm that is added


class ArmInline(admin.StackedInline):
    model = Arm
    form = ArmForm
    formset = AdminArmFormSet
    extra = 0
    min_num = 1
    fieldsets = [
        (None, {"fields": [("name", "position"), "task", "method", ("k", "n"), "preset"]}),
        (None, {"fields": ["training_start", "shared_experience", "model"]}),
        ("People", {"fields": [("panel", "quota"), "overlap"]}),
        ("Other language models", {"classes": ["collapse"], "fields": ["describer", "vision"]}),
        ("Options and prompts", {"classes": ["collapse"], "fields": ["options", "prompt_set"]}),
        ("Budget of language models", {"classes": ["collapse"], "fields": [("token_budget", "dollar_budget")]}),
    ]

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return super().get_formset(request, obj, validate_min=True, **kwargs)


class QuestionInline(admin.StackedInline):
    model = Question
    extra = 0
    verbose_name_plural = "comprehension check"
    fields = ["text", ("answers", "correct"), "explanation", "position"]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "position":
            kwargs["help_text"] = "Questions are asked by it, the lowest first."
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Study | None = None) -> Any:
        note = {"description": FIXED_QUESTIONS} if _is_open(obj) else {}
        return [(None, {"fields": self.fields, **note})]

    def has_add_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return not _is_open(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return not _is_open(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return not _is_open(obj) and super().has_delete_permission(request, obj)


def _is_open(study: Study | None) -> bool:
    return study is not None and study.status == Study.Status.OPEN


class CompletionCodeInline(admin.StackedInline):
    model = CompletionCode
    extra = 0
    max_num = len(Outcome.choices)
    fields = [("outcome", "code", "url")]


@admin.register(Study)
class StudyAdmin(OwnPageAdmin):
    form = StudyForm
    fieldsets = [
        (None, {"fields": ["title", "contact", "description"]}),
        (
            "What people read",
            {
                "classes": ["collapse"],
                "fields": [
                    "consent_text",
                    "consent_version",
                    "instructions",
                    "reasons_best",
                    "reasons_worst",
                    "debriefing",
                    "thanks_text",
                ],
            },
        ),
        ("Before the first round", {"classes": ["collapse"], "fields": ["practice", "most_attempts"]}),
        (
            "Ethics and data",
            {"classes": ["collapse"], "fields": [("ethics_protocol", "ethics_expires_on"), "retention_days"]},
        ),
        (
            "Who may come",
            {
                "classes": ["collapse"],
                "fields": [
                    *["quota", "opens_at", "closes_at", "recruiting", "demonstration"],
                    *["parameter_person", "parameter_study", "parameter_session", "parameter_required"],
                ],
            },
        ),
        (
            "Arms and sequence",
            {"classes": ["collapse"], "fields": ["assignment", "experiments_each", "interleaved", "seed"]},
        ),
        ("Notices", {"classes": ["collapse"], "fields": ["notify_email", "notify_push"]}),
    ]
    inlines = [ArmInline, QuestionInline, CompletionCodeInline]
    list_display = ["title", "state", "people", "created_at"]
    list_filter = ["status", "arms__task"]
    search_fields = ["title"]
    actions = ["copy_studies"]
    above_form = "admin/study_page.html"
    new_page = "bench:study_new"
    added = "is saved as a draft: no link works before you open it."

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        """Participants are erased on the page of the study's data, so that it is recorded."""
        return super().has_delete_permission(request, obj) and not (obj and obj.participants.exists())

    @admin.display(description="status", ordering="status")
    def state(self, study: Study) -> SafeString:
        return render_state("running" if study.status == Study.Status.OPEN else "paused", study.status.capitalize())

    @admin.display(description="participants (finished)")
    def people(self, study: Any) -> str:
        return f"{study.people} ({study.done})"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Study]:
        return Study.objects.count_people()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        defaults = {"consent_text": write_consent(Study())}
        return {**defaults, **super().get_changeform_initial_data(request)}

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> tuple[str, ...]:
        """The assignment plan is fixed once somebody has consented."""
        return ASSIGNMENT_FIELDS if obj is not None and obj.has_begun else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        form.texts_before = proposed.note_texts(Study.objects.get(pk=obj.pk) if change else Study())
        super().save_model(request, obj, form, change)
        if obj.status == Study.Status.OPEN:
            obj.publish_consent()

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        proposed.propose_texts(form.instance, form.texts_before)

    def find_page(self, obj: Study) -> str:
        return reverse("bench:study", args=[obj.pk])

    @admin.action(description="Copy: the same plan and texts, nobody in it", permissions=["add"])
    def copy_studies(self, request: HttpRequest, queryset: QuerySet[Study]) -> None:
        for study in queryset:
            copy = copying.copy_study(study)
            record(request.user, "copied study", copy, of=study.title)
            self.message_user(request, f"“{copy}” is a draft. Its completion codes are yours to add.", messages.SUCCESS)


class AssignmentInline(admin.StackedInline):
    """Places in arms that staff choose; fixed once the person has consented."""

    model = Assignment
    form = AssignmentForm
    extra = 0
    fields = [("position", "arm")]
    verbose_name_plural = "arms, in order"

    def has_add_permission(self, request: HttpRequest, obj: Participant | None = None) -> bool:
        return _open_to_change(obj) and super().has_add_permission(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Participant | None = None) -> bool:
        return _open_to_change(obj) and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Participant | None = None) -> bool:
        return _open_to_change(obj) and super().has_delete_permission(request, obj)

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The arms of the person's own study."""
        match = request.resolver_match
        if db_field.name == "arm" and match and "object_id" in match.kwargs:
            kwargs["queryset"] = Arm.objects.filter(study__participants=match.kwargs["object_id"])
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


def _open_to_change(participant: Participant | None) -> bool:
    return participant is not None and participant.consented_at is None and not participant.outcome


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin):
    list_display = ["label", "study", "pilot", "source", "outcome", "consented_at", "finished_at", "withdrawn_at"]
    list_filter = ["pilot", "outcome", "source", "study"]
    list_select_related = ["study"]
    search_fields = ["label", "study__title"]
    exclude = ["token"]
    readonly_fields = ["study", "source", "outcome"]
    inlines = [AssignmentInline]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Label and places can be changed until the person has consented or left."""
        return _open_to_change(obj) and BenchAdmin.has_change_permission(self, request, obj)
