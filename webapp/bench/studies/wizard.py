"""The wizard that sets up a study: what to compare, who comes, what they read, when it ends, check and open.

Every step is a page with one form, and saves the draft. A study that is open or closed is edited on the same pages.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.forms import BaseForm, BaseFormSet, ModelForm
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from webapp.audit import record
from webapp.audit.request_scope import leave_unrecorded
from webapp.base.http import HtmxHttpRequest, get_site_address
from webapp.bench.studies import wizard_autosave, wizard_check
from webapp.bench.studies.start_forms import CopyForm, StartComparisonForm, StartForm
from webapp.bench.studies.translation_pages import list_progress
from webapp.bench.studies.wizard_forms import (
    NEEDED,
    Arms,
    Codes,
    EndForm,
    NotesForm,
    PeopleForm,
    Questions,
    SpokenForm,
    TextsForm,
    TrialsForm,
)
from webapp.review.models import TrialPlan
from webapp.studies import (
    consent,
    copying,
    duration,
    opening,
    preflight,
    prolific,
    proposals,
    recruitment,
    sample_size,
    starts,
)
from webapp.studies.models import Study
from webapp.studies.texts import proposed
from webapp.studies.texts.registry import list_texts

Forms = dict[str, "BaseForm | BaseFormSet[Any]"]
STEPS = {
    "compare": "What to compare",
    "people": "Who comes",
    "texts": "What they read",
    "end": "When it ends",
    "check": "Check and open",
}
"""Step -> its title, in order. The last one holds no form."""
BESIDE = {
    "gold": "bench:study_gold",
    "gold_pairs": "bench:study_gold_pairs",
    "questionnaires": "bench:questionnaires",
    "translate": "bench:study_texts",
}
"""Pages beside the steps, with their addresses; that of translations ends with a language."""
STARTS: dict[str, type[StartForm | CopyForm]] = {"compare": StartComparisonForm, "one": StartForm, "copy": CopyForm}


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def new(request: HtmxHttpRequest) -> HttpResponse:
    """Choose what the study begins with. The draft is made at once."""
    chosen = request.POST.get("start", "")
    forms = {name: cls(request.POST if name == chosen else None, prefix=name) for name, cls in STARTS.items()}
    form = forms.get(chosen)
    if form and form.is_valid():
        study = _start(form)
        record(request.user, "set up study", study)
        messages.success(request, "The draft is saved. No link works before you open it.")
        return redirect("bench:study_step", study.pk, next(iter(STEPS)))
    return render(request, "bench/studies/new.html", {"forms": forms, "studies": Study.objects.exists()})


def _start(form: StartForm | CopyForm) -> Study:
    if isinstance(form, CopyForm):
        return copying.copy_study(form.cleaned_data["study"])
    return starts.start_study(form.cleaned_data["task"], form.methods, form.cleaned_data["model"])


@require_safe
def setup(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    return redirect("bench:study_step", pk, next(iter(STEPS)))


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
def step(request: HtmxHttpRequest, pk: int, name: str) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    if name not in STEPS:
        raise Http404(f"There is no step {name}.")
    if hasattr(study, "origin"):
        messages.error(request, "It was imported and is read only. Copy it to run it again.")
        return redirect("bench:study", pk)
    if name == "check":
        return render(request, "bench/studies/wizard/check.html", _make_context(request, study, name))
    if request.POST.get("do") == "autosave":
        return _save_draft(request, study, name)
    forms = _build_forms(study, name, request.POST if request.method == "POST" else None)
    if request.method == "POST":
        before = proposed.note_texts(Study.objects.get(pk=pk))
        if all([form.is_valid() for form in forms.values()]):
            _save(study, forms)
            following = _act(request, study, name)
            _update_texts(study, before)
            record(request.user, "changed study", study, step=STEPS[name])
            page, _, part = following.partition(":")
            if page in BESIDE:
                return redirect(BESIDE[page], pk, *filter(None, [part]))
            return redirect("bench:study_step", pk, following)
        study = get_object_or_404(Study, pk=pk)  # without the values that were refused
    return render(request, f"bench/studies/wizard/{name}.html", _make_context(request, study, name, forms))


def _save_draft(request: HtmxHttpRequest, study: Study, name: str) -> HttpResponse:
    """Save what was typed into a draft so far. Participants read an open study: it changes by its buttons alone."""
    if study.status != Study.Status.DRAFT:
        raise PermissionDenied
    forms = _build_forms(study, name, wizard_autosave.keep_rows(request.POST))
    before = proposed.note_texts(Study.objects.get(pk=study.pk))
    if not all([form.is_valid() for form in forms.values()]):
        leave_unrecorded("tried to save a draft")
        return wizard_autosave.answer_refused(forms)
    _save(study, forms)
    _update_texts(study, before)
    wizard_autosave.record_autosave(request, study, STEPS[name])
    fresh = get_object_or_404(Study, pk=study.pk)
    context = _make_context(request, fresh, name, _build_forms(fresh, name, None))
    page = render_to_string(f"bench/studies/wizard/{name}.html", context, request)
    return wizard_autosave.answer_saved(forms, page)


def _build_forms(study: Study, name: str, data: Any) -> Forms:
    if name == "compare":
        return {"arms": Arms(data, instance=study, prefix="arms"), "notes": NotesForm(data, instance=study)}
    if name == "people":
        return {"people": PeopleForm(data, instance=study), "codes": Codes(data, instance=study, prefix="codes")}
    if name == "end":
        return {"end": EndForm(data, instance=study)}
    plan = TrialPlan.objects.filter(study=study).first() or TrialPlan(study=study)
    forms: Forms = {
        "texts": TextsForm(data, instance=study),
        "spoken": SpokenForm(data, instance=study),
        "trials": TrialsForm(data, instance=plan),
    }
    if study.status != Study.Status.OPEN:  # everybody answers the same questions
        forms["questions"] = Questions(data, instance=study, prefix="questions")
    return forms


def _save(study: Study, forms: Forms) -> None:
    for form in forms.values():
        if hasattr(form, "save_fields"):
            form.save_fields()
        elif not isinstance(form, TrialsForm) or form.instance.pk or any(form.cleaned_data.values()):
            assert isinstance(form, (ModelForm, BaseFormSet))
            form.save()  # type: ignore[union-attr]
    study.refresh_from_db()


def _update_texts(study: Study, before: proposed.Before) -> None:
    """Texts that nobody has changed follow the facts and languages; an open study keeps every consent that it shows."""
    proposed.propose_texts(study, before)
    if study.status == Study.Status.OPEN:
        study.publish_consent()


def _act(request: HttpRequest, study: Study, name: str) -> str:
    """Do what the pressed button says beside saving. Returns the step to show, or a page of BESIDE."""
    do, _, argument = request.POST.get("do", "next").partition(":")
    if do == "translate" and argument in study.offered_languages[1:]:
        return f"{do}:{argument}"
    if do in BESIDE and do != "translate":
        return do
    if do == "go" and argument in STEPS:
        return argument
    if do == "next":
        names = list(STEPS)
        return names[names.index(name) + 1]
    if do == "add_arm":
        starts.add_arm(study)
    elif do == "codes":
        proposals.propose_codes(study, "prolific" if argument == "prolific" else "other")
    elif do == "questions" and study.status != Study.Status.OPEN:
        proposals.propose_questions(study)
    elif do == "question" and study.status != Study.Status.OPEN:
        proposals.add_question(study)
    elif do == "consent":
        consent.write_again(study)
    messages.success(request, f"“{study}” is saved.")
    return name


def _make_context(request: HttpRequest, study: Study, name: str, forms: Forms | None = None) -> dict[str, Any]:
    names = list(STEPS)
    place = names.index(name)
    context: dict[str, Any] = {
        "study": study,
        "step": name,
        "steps": list(STEPS.items()),
        "missing_of": count_missing(study),
        "number": place + 1,
        "before": names[place - 1] if place else "",
        "needed": NEEDED,
        "refused": any(_has_errors(form) for form in (forms or {}).values()),
        **(forms or {}),
    }
    if name == "compare":
        context |= {
            "differences": preflight.describe_differences(study),
            "equal_arms": preflight.describe_equal_arms(study),
        }
    if name == "people":
        context |= {
            "site": get_site_address(request),
            "link_parameters": recruitment.make_link_parameters(study),
            "code_types": prolific.list_code_types(study),
            "asks_pairs": any(arm.asks_pairs for arm in study.arms.all()),
            "attention": duration.estimate_attention(study, wizard_check.measure_judging()),
            "enough": sample_size.describe_sample_size(study),
        }
    if name == "texts":
        context["mixes_pairs"] = len({arm.asks_pairs for arm in study.arms.all()}) > 1
        context["gold_sets"] = study.gold_sets.select_related("best__iteration__experiment", "worst__iteration")
        context["follows_facts"] = study.consent_text == consent.write_consent(study)
        context["consent_readers"] = _describe_readers(study)
        texts = list_texts(study)
        others = [code for code, _ in settings.LANGUAGES if code != study.language]
        context |= {"progress": list_progress(study, texts, others), "all_texts": len(texts)}
    if name == "check":
        context |= wizard_check.make_context(request, study)
    return context


def count_missing(study: Study) -> dict[str, int]:
    """Step -> how many things it lacks before the study can open; empty where the study is open."""
    if study.status == Study.Status.OPEN:
        return {}
    parts = {part: len(texts) for part, texts in opening.find_problems_by_part(study).items()}
    return parts | {"check": sum(parts.values())}


def _describe_readers(study: Study) -> str:
    """Who has read the consent text, or may have; empty while nobody can have."""
    if not study.consent_texts.exists():
        return ""
    agreed = study.participants.filter(consented_at__isnull=False, consent_version=study.consent_version).count()
    words = f"{agreed} {'person has' if agreed == 1 else 'people have'} agreed to" if agreed else "people may have read"
    return f"The study is {study.status}, and {words} this text"


def _has_errors(form: BaseForm | BaseFormSet[Any]) -> bool:
    return form.is_bound and not form.is_valid()
