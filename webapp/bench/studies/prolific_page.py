"""Prolific's list of submissions beside a study's participants. For staff who may see the key table."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from webapp.audit import record
from webapp.base.http import HtmxHttpRequest
from webapp.bench.data.views import KEY, require_right
from webapp.studies import prolific
from webapp.studies.models import Study

MOST_BYTES = 5 * 2**20


class SubmissionsForm(forms.Form):
    text = forms.CharField(required=False, widget=forms.Textarea, max_length=MOST_BYTES)
    file = forms.FileField(required=False)

    def clean(self) -> dict[str, object]:
        values = super().clean() or {}
        text = values.get("text") or ""
        if upload := values.get("file"):
            if upload.size > MOST_BYTES:
                raise forms.ValidationError("That file is larger than 5 MB: it is not Prolific's list.")
            try:
                text = upload.read().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise forms.ValidationError("That file is no text. Choose the CSV file of Prolific.") from error
        try:
            values["submissions"] = prolific.read_submissions(text)
        except prolific.ListRefused as error:
            self.add_error("text", str(error))
        return values


@require_http_methods(["GET", "POST"])
@require_right(KEY)
def page(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    if request.POST.get("do") == "end":
        return _end(request, study)
    form = SubmissionsForm(request.POST or None, request.FILES or None)
    context = {"study": study, "form": form}
    if request.method == "POST" and form.is_valid():
        submissions = form.cleaned_data["submissions"]
        record(request.user, "compared with the recruitment site", study)
        context |= {
            "compared": prolific.compare_submissions(study, submissions),
            "unlisted": prolific.list_unlisted(study, submissions),
        }
    response = render(request, "bench/studies/prolific.html", context)
    response["Cache-Control"] = "no-store"
    return response


def _end(request: HtmxHttpRequest, study: Study) -> HttpResponse:
    keep = request.POST.get("data") != "withdraw"
    ended = prolific.end_returned(study, request.POST.getlist("people"), keep)
    if ended:
        labels = ", ".join(person.label for person in ended)
        record(request.user, "ended parts that were returned", study, people=labels, answers="kept" if keep else "left")
        messages.success(request, f"Their part has ended, and their places are free: {labels}.")
    else:
        messages.info(request, "Nobody was chosen who still takes part.")
    return redirect("bench:study_prolific", study.pk)
