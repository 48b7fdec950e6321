"""The languages of an A/B vote, and the texts of a study or a vote in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from webapp.audit import record
from webapp.studies import consent
from webapp.studies.models import Study
from webapp.studies.models.languages import hash_source
from webapp.studies.texts import proposed
from webapp.studies.texts.localizing import normalize, read_translations
from webapp.studies.texts.registry import list_texts
from webapp.studies.texts.texts import Text, count_translated
from webapp.votes import languages as poll_texts
from webapp.votes import proposals
from webapp.votes.models import Poll

NAMES = dict(settings.LANGUAGES)


class LanguagesForm(forms.Form):
    language = forms.ChoiceField(choices=settings.LANGUAGES, label="Your texts are written in")
    other_languages = forms.MultipleChoiceField(
        choices=settings.LANGUAGES, required=False, widget=forms.CheckboxSelectMultiple, label="Also offer"
    )


@require_http_methods(["GET", "HEAD", "POST"])
def study_texts(request: HttpRequest, pk: int, code: str) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    back = f"{reverse('bench:study_step', args=[pk, 'texts'])}#languages"
    return _show_texts(request, study, list_texts(study), code, back, "What they read")


@require_http_methods(["GET", "HEAD", "POST"])
def poll_languages(request: HttpRequest, public_id: Any) -> HttpResponse:
    poll = get_object_or_404(Poll, public_id=public_id)
    return _show_languages(request, poll, poll_texts.list_texts(poll))


@require_http_methods(["GET", "HEAD", "POST"])
def poll_texts_page(request: HttpRequest, public_id: Any, code: str) -> HttpResponse:
    poll = get_object_or_404(Poll, public_id=public_id)
    back = reverse("votes:poll_languages", args=[public_id])
    return _show_texts(request, poll, poll_texts.list_texts(poll), code, back, "Languages")


def list_progress(owner: Study | Poll, texts: Sequence[Text], codes: Sequence[str]) -> list[tuple[str, str, int]]:
    """(code, name, how many of these texts are written) of each of these languages."""
    return [(code, NAMES[code], count_translated(texts, read_translations(owner, code))) for code in codes]


def _show_languages(request: HttpRequest, owner: Poll, texts: Sequence[Text]) -> HttpResponse:
    """Which languages are offered, with how much of each is written."""
    kept = {"language": owner.language, "other_languages": owner.other_languages}
    form = LanguagesForm(request.POST if request.method == "POST" else None, initial=kept)
    if request.method == "POST" and form.is_valid():
        own = form.cleaned_data["language"]
        others = [code for code in form.cleaned_data["other_languages"] if code != own]
        _choose_languages(owner, own, others)
        record(request.user, "chose languages", owner, languages=[own, *others])
        messages.success(request, "The languages are saved.")
        return redirect(request.path)
    back = reverse("votes:poll", args=[owner.public_id])
    progress = list_progress(owner, texts, owner.offered_languages[1:])
    context = {"owner": owner, "form": form, "progress": progress, "all": len(texts), "back": back}
    return render(request, "bench/studies/languages.html", context)


@transaction.atomic
def _choose_languages(poll: Poll, own: str, others: list[str]) -> None:
    before = proposals.note_texts(poll)
    poll.language, poll.other_languages = own, others
    poll.save(update_fields=["language", "other_languages"])
    proposals.propose_texts(poll, before)


def _show_texts(
    request: HttpRequest, owner: Study | Poll, texts: Sequence[Text], code: str, back: str, back_title: str
) -> HttpResponse:
    """The texts beside their translations into one language."""
    if code not in NAMES or code == owner.language:
        raise Http404
    if request.method == "POST":
        _save_texts(owner, code, texts, request)
        record(request.user, "translated texts", owner, language=code)
        messages.success(request, f"Saved: {count_translated(texts, read_translations(owner, code))} of {len(texts)}.")
        return redirect(back if request.POST.get("then") == "back" else request.path)
    words = read_translations(owner, code)
    proposals = _list_proposals(owner, code)
    rows = [{"text": text, "words": words.get(text.source, ""), "key": hash_source(text.source)} for text in texts]
    context = {
        "owner": owner,
        "is_vote": isinstance(owner, Poll),
        "code": code,
        "name": NAMES[code],
        "own": [row for row in rows if row["words"] not in proposals],
        "proposed": [row for row in rows if row["words"] in proposals],
        "done": count_translated(texts, words),
        "all": len(texts),
        "back": back,
        "back_title": back_title,
    }
    return render(request, "bench/studies/texts.html", context)


def _list_proposals(owner: Study | Poll, code: str) -> set[str]:
    """Prefine's own words in this language: nobody here has written them."""
    if isinstance(owner, Poll):
        return set(proposals.map_words(owner.language, code).values())
    words = proposed.map_words(owner, owner.language, code)
    return {*words.values(), *consent.write_consents(owner, [code]).values()}


@transaction.atomic
def _save_texts(owner: Study | Poll, code: str, texts: Sequence[Text], request: HttpRequest) -> None:
    """Save what the form holds; a text whose wording has changed since the page was opened is not in it."""
    for text in texts:
        key = hash_source(text.source)
        if key not in request.POST:
            continue
        said = normalize(request.POST[key]).replace("\0", "")
        mine: Any = owner.translations
        if said:
            mine.update_or_create(language=code, source_hash=key, defaults={"source": text.source, "text": said})
        else:
            mine.filter(language=code, source_hash=key).delete()
