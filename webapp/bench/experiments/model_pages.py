"""The page of a language model, new or saved: its form, and a test of its connection."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from llm.backend import Reply
from llm.errors import ModelError
from webapp.base.http import HtmxHttpRequest
from webapp.bench.form_fields import SectionedForm
from webapp.bench.form_saving import save_form
from webapp.endpoints.denied import require_allowed
from webapp.experiments.models import LanguageModel

TEST_SECONDS = 45
KEY_NOT_KEPT = (
    "The key that you typed is not saved, and this page never holds it: type it again. To save without a key, switch "
    "on “Forget the stored key”."
)


class LanguageModelForm(SectionedForm, forms.ModelForm):
    api_key = forms.CharField(
        label="API key",
        required=False,
        max_length=300,
        widget=forms.PasswordInput({"autocomplete": "off", "hx-preserve": "true"}),
        help_text="Kept on this server and never shown again. Leave empty to keep what is stored.",
    )
    forget_key = forms.BooleanField(label="Forget the stored key", required=False)
    section_names = {
        "": ("name", "kind", "base_url", "model", "api_key", "key_typed", "forget_key"),
        "More: prices, requests at once, patience, context": (
            *("price_input", "price_output", "price_date", "concurrency", "timeout", "context_tokens"),
        ),
    }
    key_typed = forms.BooleanField(required=False, widget=forms.HiddenInput)
    """A key was typed into this form, which was refused. The key itself is in no page."""

    class Meta:
        model = LanguageModel
        fields = [
            *["name", "kind", "base_url", "model", "api_key", "price_input", "price_output", "price_date"],
            *["concurrency", "timeout", "context_tokens"],
        ]
        labels = {"base_url": "Address", "price_input": "Input price", "price_output": "Output price"}
        widgets = {"price_date": forms.DateInput({"type": "date"}, "%Y-%m-%d")}

    def __init__(self, *args: Any, key_stays: bool = False, **kwargs: Any) -> None:
        """An endpoint needs an address and a model name; the offline writer needs neither. `key_stays`: a key that was
        typed is still in the browser's field if the form is refused.
        """
        super().__init__(*args, **kwargs)
        self.key_stays = key_stays
        for name in ("base_url", "model"):
            self.fields[name].required = self["kind"].value() == LanguageModel.Kind.OPENAI
        if not self.instance.api_key:
            self.fields["forget_key"].widget = forms.HiddenInput()
            self.fields["api_key"].help_text = "Kept on this server and never shown again."

    def full_clean(self) -> None:
        """Have a typed key typed again if the form is refused: no page holds it, and saving would lose it."""
        typed, lost = bool(self.data.get("api_key")), self.data.get("key_typed") == "1"
        self.initial["key_typed"] = lost  # it is no change of the model
        super().full_clean()
        if self.key_stays and typed:
            return
        if not self.data.get("forget_key") and ((typed and self.errors) or (lost and not typed)):
            self.add_error("api_key", KEY_NOT_KEPT)
            self.fields["forget_key"].widget = forms.CheckboxInput()
            self.data = {name: self.data[name] for name in self.data} | {"key_typed": "1"}

    def clean_concurrency(self) -> int:
        return int(self.cleaned_data["concurrency"] or LanguageModel._meta.get_field("concurrency").default)

    def clean_timeout(self) -> int:
        return int(self.cleaned_data["timeout"] or LanguageModel._meta.get_field("timeout").default)

    def clean_api_key(self) -> str:
        """An empty field keeps the key that is stored: the form cannot show it."""
        return str(self.cleaned_data["api_key"] or self.instance.api_key)

    def clean_forget_key(self) -> bool:
        if self.cleaned_data["forget_key"]:
            self.cleaned_data["api_key"] = ""
        return bool(self.cleaned_data["forget_key"])


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("experiments.add_languagemodel", raise_exception=True)
def new_model(request: HtmxHttpRequest) -> HttpResponse:
    return _show_form(request, LanguageModel(kind=LanguageModel.Kind.OPENAI))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("experiments.change_languagemodel", raise_exception=True)
def edit_model(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    return _show_form(request, get_object_or_404(LanguageModel, pk=pk))


def _show_form(request: HtmxHttpRequest, row: LanguageModel) -> HttpResponse:
    added, name = row.pk is None, str(row)
    form = LanguageModelForm(request.POST or None, instance=row, key_stays=bool(request.htmx))
    if form.is_bound and form.is_valid():
        save_form(request, form)
        return _answer_saved(request, row, added)
    context = {"form": form, "model": row, "name": name, "popup": "_popup" in request.GET}
    return render(request, "bench/experiments/model.html", context, status=422 if form.errors else 200)


def _answer_saved(request: HtmxHttpRequest, row: LanguageModel, added: bool) -> HttpResponse:
    """Stay at the model's page; a window beside another form hands the model over to that form and closes."""
    if "_popup" in request.GET:
        chosen = {"value": str(row.pk), "obj": str(row)}
        told = chosen if added else {**chosen, "action": "change", "new_value": str(row.pk)}
        return render(request, "admin/popup_response.html", {"popup_response_data": json.dumps(told)})
    messages.success(request, f"{row} is saved." if row.is_offline else f"{row} is saved. Test its connection here.")
    address = reverse("bench:model_edit", args=[row.pk])
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


@require_POST
def test_model(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """Ask the endpoint one short question. An endpoint that does not end is left alone after TEST_SECONDS."""
    model = get_object_or_404(LanguageModel, pk=pk)
    context: dict[str, Any] = {"model": model}
    asking = ThreadPoolExecutor(1, "model test")
    try:
        context["reply"] = asking.submit(ask_briefly, model).result(TEST_SECONDS)
    except ModelError as error:
        context["error"] = str(error)
    except TimeoutError:
        context["error"] = (
            f"No whole answer came within {TEST_SECONDS} s. Check the address, and whether the server is overloaded. "
            "Experiments wait longer: as long as the model's patience says."
        )
    finally:
        asking.shutdown(wait=False)
    return render(request, "bench/experiments/_test_result.html", context)


def ask_briefly(model: LanguageModel) -> Reply:
    """One short answer of this endpoint, long enough to measure its speed, without retries. Raises ModelError."""
    from llm.client import OpenAIBackend  # here, because importing its library is slow

    require_allowed(model.base_url)
    backend = OpenAIBackend(model.base_url, model.key, model.model, timeout=TEST_SECONDS - 5, max_retries=0)
    return backend.complete(
        [{"role": "user", "content": "Describe in two sentences a robot that learns to walk."}], 1, 0
    )[0]
