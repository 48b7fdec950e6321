"""The page of uploaded prompts: a list, an upload, downloads, removal."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from llm import prompts
from webapp.base import zips
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.data.views import require_right
from webapp.experiments import prompt_sets
from webapp.experiments.models import PromptSet
from webapp.experiments.models.prompt_sets import NAME_HELP

REMOVE = "experiments.delete_promptset"


class UploadForm(forms.Form):
    name = forms.CharField(
        max_length=40,
        help_text=NAME_HELP,
        error_messages={"required": "Give the set a name, by which experiments choose it."},
    )

    def __init__(self, files: list[UploadedFile], *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.given = files
        self.texts: dict[str, str] = {}
        self.reasons: list[str] = []

    def clean(self) -> None:
        """Read the files, and keep every reason against them."""
        if not self.given:
            self.reasons = ["no file was chosen: choose a zip, or texts"]
        elif sum(file.size or 0 for file in self.given) > prompt_sets.MOST_BYTES:
            self.reasons = [f"the files are larger than {prompt_sets.MOST_BYTES >> 20} MB together"]
        else:
            try:
                self.texts = prompt_sets.read_files([(file.name or "", file.read()) for file in self.given])
            except prompt_sets.BadPrompts as error:
                self.reasons = error.reasons
        if self.reasons:
            self.add_error(None, "")


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    return _show(request, UploadForm([]))


@require_POST
@require_right(prompt_sets.UPLOAD)
def upload(request: HtmxHttpRequest) -> HttpResponse:
    form = UploadForm(request.FILES.getlist("files"), request.POST)
    if not form.is_valid():
        return _show(request, form, 400)
    try:
        row = prompt_sets.add_set(form.cleaned_data["name"], form.texts, request.user)
    except ValueError as error:
        form.add_error("name", str(error))
        return _show(request, form, 400)
    messages.success(request, f"{row} is there. It replaces {len(row.texts)} of {len(prompts.list_names())} prompts.")
    return redirect("archive:prompts")


def _show(request: HtmxHttpRequest, form: UploadForm, status: int = 200) -> HttpResponse:
    rows = list(PromptSet.objects.all())
    uses = prompt_sets.list_uses(rows)
    context = {
        "rows": [(row, uses[row.pk]) for row in rows],
        "form": form,
        "folder": prompts.read_own(),
        "digest": prompts.hash_texts(prompts.read_own()),
        "count": len(prompts.list_names()),
        "may_upload": request.user.has_perm(prompt_sets.UPLOAD),
        "may_remove": request.user.has_perm(REMOVE),
    }
    return render(request, "bench/data/prompts.html", context, status=status)


@require_safe
def download_own(request: HtmxHttpRequest) -> HttpResponse:
    """Prefine's own prompts, to begin from."""
    return _respond_with_zip(prompts.read_published(), "prefine-prompts.zip")


@require_safe
def download(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(PromptSet, pk=pk)
    return _respond_with_zip(row.texts, f"prompts-{row.digest}.zip")


def _respond_with_zip(texts: dict[str, str], name: str) -> HttpResponse:
    files = {f"{prompt}{prompt_sets.ENDING}": text.encode() for prompt, text in texts.items()}
    return respond_with_download(zips.pack(files), "application/zip", name)


@require_POST
@require_right(REMOVE)
def remove(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(PromptSet, pk=pk)
    try:
        prompt_sets.remove_set(row, request.user)
    except ValueError as error:
        messages.error(request, f"It stays: {error}")
    else:
        messages.success(request, f"{row.name} is removed.")
    return redirect("archive:prompts")
