"""Problems in the admin: statement, reference, files and cases; import and export of sets."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminFileWidget
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import FileField, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import URLPattern, path, reverse

from webapp.base import zips
from webapp.base.uses import describe_uses
from webapp.bench.admin.bench_admin import BenchAdmin
from webapp.problems import markdown, missing_files, problem_sets
from webapp.problems.files import respond_with_file
from webapp.problems.lines import ExactTextField
from webapp.problems.models import Attachment, Problem, Subtask, TestCase
from webapp.problems.signals import find_open_votes, find_uses


@dataclass(frozen=True)
class FileLink:
    """What the widget of a file shows: its name, and the address for staff who may see problems."""

    name: str
    url: str

    def __str__(self) -> str:
        return self.name


class AttachmentWidget(AdminFileWidget):
    """Links to the view of this admin, because media have no public address."""

    def format_value(self, value: Any) -> Any:
        row = getattr(value, "instance", None)
        return FileLink(str(row), reverse("admin:problems_attachment", args=[row.pk])) if row and row.pk else None


SHOWN_FIELDS = {"file", "name", "caption"}
"""The fields of an attachment that pages show."""


class AttachmentForms(forms.BaseInlineFormSet):
    def clean(self) -> None:
        super().clean()
        changed = [form.instance for form in self.initial_forms if not SHOWN_FIELDS.isdisjoint(form.changed_data)]
        for title in find_open_votes([*changed, *(form.instance for form in self.deleted_forms)]):
            raise ValidationError(f"The open vote “{title}” shows this file: close it before you change or remove it.")


class AttachmentInline(admin.StackedInline):
    model = Attachment
    formset = AttachmentForms
    extra = 0
    fields = [("file", "name", "caption")]
    formfield_overrides = {FileField: {"widget": AttachmentWidget}}


class SubtaskInline(admin.StackedInline):
    model = Subtask
    extra = 0
    fields = [("number", "points")]


CODE = {"class": "prefine-code", "spellcheck": "false"}
"""Attributes of fields that hold what programs are or read."""


class CaseInline(admin.StackedInline):
    model = TestCase
    extra = 0
    formfield_overrides = {ExactTextField: {"widget": forms.Textarea(CODE | {"rows": 10})}}


class SetForm(forms.Form):
    file = forms.FileField(
        help_text=(
            "A .zip with problems.yaml and its files, or the .yaml alone: its files are asked for next. "
            "See docs/problems.md."
        ),
    )


def _read_uploads(uploads: Sequence[UploadedFile]) -> dict[str, bytes]:
    """Files by name; archives are unpacked, and a .yaml counts as the set's own. Raises BadSet."""
    if sum(file.size or 0 for file in uploads) > problem_sets.MOST_BYTES:
        raise problem_sets.BadSet(f"the files have more than {problem_sets.MOST_BYTES >> 20} MB")
    given = dict[str, bytes]()
    for file in uploads:
        name = file.name or ""
        is_set = name.lower().endswith((".zip", ".yaml", ".yml"))
        given |= problem_sets.read_bytes(name, file.read()) if is_set else {name: file.read()}
    return given


class ProblemForm(forms.ModelForm):
    class Meta:
        model = Problem
        fields = "__all__"
        widgets = {
            "header_name": forms.TextInput(CODE),
            "header": forms.Textarea(CODE | {"rows": 8}),
            "grader": forms.Textarea(CODE | {"rows": 12}),
            "checker": forms.Textarea(CODE | {"rows": 12}),
        }


@admin.register(Problem)
class ProblemAdmin(BenchAdmin):
    form = ProblemForm
    list_display = ["title", "name", "subject", "form"]
    list_filter = ["subject", "form"]
    search_fields = ["title", "name", "statement"]
    inlines = [AttachmentInline, SubtaskInline, CaseInline]
    actions = ("export",)
    above_form = "admin/problem_preview.html"
    fieldsets = [
        (None, {"fields": ["name", "title", "subject", "form", "language", "statement"]}),
        ("What is right", {"fields": ["answer", "tolerance", "reference"]}),
        ("Programs", {"fields": ["cpu_seconds", "memory_mb", "header_name", "header", "grader", "checker"]}),
        ("Reviewers", {"fields": ["show_reference", "show_results"]}),
    ]

    def list_tools(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [("Import a set", reverse("admin:problems_upload"))] if self._may_import(request) else []

    def get_readonly_fields(self, request: HttpRequest, obj: Problem | None = None) -> list[str]:
        """The name is fixed: experiments and studies refer to it."""
        return ["name"] if obj else []

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> tuple[Any, Any, set[str], list[Any]]:
        """Refuse where the problem is used: uses are names, not foreign keys that Django would see."""
        rows, counts, refused, protected = super().get_deleted_objects(objs, request)
        used = [words for problem in objs for words in describe_uses(problem, find_uses(problem))]
        return rows, counts, refused, [*protected, *used]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        upload = path("upload/", view(self.upload), name="problems_upload")
        complete = path("upload/<uuid:key>/", view(self.complete), name="problems_complete")
        attachment = path("attachment/<int:number>/", view(self.attachment), name="problems_attachment")
        preview = path("preview/", view(self.preview), name="problems_preview")
        return [upload, complete, preview, attachment, *super().get_urls()]

    def attachment(self, request: HttpRequest, number: int) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return respond_with_file(get_object_or_404(Attachment, pk=number))

    def preview(self, request: HttpRequest) -> HttpResponse:
        """A text as participants' pages render it; nothing is saved."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponse(markdown.render_html(request.POST.get("text", "")))

    def _may_import(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def upload(self, request: HttpRequest) -> HttpResponse:
        if not self._may_import(request):
            return HttpResponse(status=403)
        form = SetForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            file = form.cleaned_data["file"]
            try:
                if file.size > problem_sets.MOST_BYTES:
                    raise problem_sets.BadSet(f"the file has more than {problem_sets.MOST_BYTES >> 20} MB")
                files = problem_sets.read_bytes(file.name, file.read())
                if missing_files.list_missing(files):
                    key = uuid.uuid4()
                    missing_files.keep_set(files, key)
                    return HttpResponseRedirect(reverse("admin:problems_complete", args=[key]))
                return self._import_files(request, files)
            except problem_sets.BadSet as error:
                form.add_error("file", f"Nothing was imported: {error}")
        return self._render(request, "import_problems", {"title": "Import problems", "form": form})

    def complete(self, request: HttpRequest, key: uuid.UUID) -> HttpResponse:
        """Take the files that an uploaded set names and lacks; what was uploaded before is kept."""
        if not self._may_import(request):
            return HttpResponse(status=403)
        context: dict[str, Any] = {"title": "Add the missing files"}
        try:
            files = missing_files.read_set(key)
        except FileNotFoundError:
            messages.error(request, "This set was imported already, or has waited too long. Upload it again.")
            return HttpResponseRedirect(reverse("admin:problems_upload"))
        if request.method == "POST":
            try:
                given = _read_uploads(request.FILES.getlist("files"))
                if problem_sets.SET_FILE in given:
                    try:
                        missing_files.list_missing(given)
                    except problem_sets.BadSet as error:
                        context["error"] = f"The new .yaml is not taken: {error}"
                        del given[problem_sets.SET_FILE]
                files, context["unused"] = missing_files.add_files(files, given)
                missing_files.keep_set(files, key)
                if not missing_files.list_missing(files):
                    done = self._import_files(request, files)
                    missing_files.delete_set(key)
                    return done
            except problem_sets.BadSet as error:
                context["error"] = f"Nothing is imported yet: {error}"
        context["missing"] = missing_files.list_missing(files)
        return self._render(request, "complete_problems", context)

    def _render(self, request: HttpRequest, template: str, context: Mapping[str, Any]) -> HttpResponse:
        given = {**self.admin_site.each_context(request), "opts": self.opts, **context}
        return render(request, f"admin/{template}.html", given)

    def _import_files(self, request: HttpRequest, files: Mapping[str, bytes]) -> HttpResponse:
        """Import the set and go to the list of problems. Raises BadSet."""
        problems = problem_sets.import_set(files)
        messages.success(request, f"Imported: {', '.join(problem.title for problem in problems)}.")
        return HttpResponseRedirect(reverse("admin:problems_problem_changelist"))

    @admin.action(description="Export as an archive")
    def export(self, request: HttpRequest, queryset: QuerySet[Problem]) -> HttpResponse:
        data = zips.pack(problem_sets.export_set(queryset))
        headers = {"Content-Disposition": 'attachment; filename="problems.zip"'}
        return HttpResponse(data, content_type="application/zip", headers=headers)
