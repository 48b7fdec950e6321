"""The builder of questionnaires. Every action is a form of its own, so that it works without a script."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.contrib import messages
from django.db import transaction
from django.db.models import RestrictedError
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from webapp.base.http import HtmxHttpRequest
from webapp.bench.studies.questionnaires.forms import ItemForm, QuestionnaireForm
from webapp.studies.models import Study
from webapp.studies.models.questionnaires import Item, Questionnaire
from webapp.studies.questionnaires import deleting, editing, moments
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.ready_made import READY_MADE, add_ready_made
from webapp.studies.questionnaires.scores import SCORES
from webapp.studies.texts import proposed

STEPS = {"up": -1, "down": 1}
DELETED = "deleted_question"
"""Key of the session: the study, what was deleted there last, and its rows."""
IMPORTED = "The study was imported and is read only."


def change_study(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Let the study's proposed texts follow the change, or say why it is refused, on the page that it came from."""

    @wraps(view)
    def wrapper(request: HtmxHttpRequest, pk: int, **names: Any) -> HttpResponse:
        study = get_object_or_404(Study, pk=pk)
        try:
            if hasattr(study, "origin"):
                raise editing.Fixed(IMPORTED)
            with transaction.atomic():
                before = proposed.note_texts(study)
                response = view(request, study, **names)
                proposed.propose_texts(study, before)  # the time that a person needs may have changed
                return response
        except editing.Fixed as refusal:
            messages.error(request, str(refusal))
        except RestrictedError:
            messages.error(request, "Another question is shown only after an answer to this. Change that one first.")
        number = names.get("number")
        return redirect("bench:questionnaire", pk, number) if number else redirect("bench:questionnaires", pk)

    return wrapper


@require_safe
def index(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    """All questionnaires of a study, by when they are asked."""
    study = get_object_or_404(Study, pk=pk)
    rows = sorted(study.questionnaires.prefetch_related("items"), key=moments.place_questionnaire)
    context = {
        "study": study,
        "rows": [_describe_row(row) for row in rows],
        "ready_made": READY_MADE.values(),
        "deleted": _find_deleted(request, study),
        "equal_columns": editing.find_equal_columns(study),
        "minutes": moments.estimate_minutes(study),
        "read_only": hasattr(study, "origin"),
    }
    return render(request, "bench/questionnaires/index.html", context)


def _describe_row(row: Questionnaire) -> dict[str, Any]:
    return {
        "row": row,
        "when": describe_moment(row),
        "questions": sum(KINDS[item.kind].asks for item in row.items.all()),
        "answers": row.responses.filter(participant__pilot=False).exclude(sent_at=None).count(),
        "faults": list(editing.find_faults(row)),
    }


def describe_moment(row: Questionnaire) -> str:
    """When it is asked, and in which arms, in words."""
    words = str(row.get_placement_display())
    if row.placement == Questionnaire.Placement.ROUNDS:
        every = "every round" if row.every == 1 else f"every {row.every} rounds"
        words = f"After rounds {row.rounds}" if row.rounds else f"After {every}"
    names = row.study.arms.filter(pk__in=row.arms).values_list("name", flat=True)
    return f"{words}, only arm {', '.join(names)}" if row.arms else words


@require_POST
@change_study
def add(request: HtmxHttpRequest, study: Study) -> HttpResponse:
    """A new questionnaire: empty, or a ready-made one."""
    name = request.POST.get("ready_made", "")
    if name:
        if name not in READY_MADE:
            raise Http404("there is no such questionnaire")
        made = add_ready_made(study, name)
        messages.success(request, f"“{made}” is added. Its words are yours to change.")
    else:
        position = editing.find_next_position(study.questionnaires.all())
        made = Questionnaire.objects.create(study=study, title="A few questions", position=position)
    return redirect("bench:questionnaire", study.pk, made.pk)


@csp_update({"frame-src": [SELF]})  # type: ignore[arg-type]
def edit(request: HtmxHttpRequest, pk: int, number: int) -> HttpResponse:
    """One questionnaire: its settings, its items, and how a participant sees it."""
    row = _find(pk, number)
    fixed = row.answered or hasattr(row.study, "origin")
    if request.method == "POST":
        return save_settings(request, pk=pk, number=number)
    return _render_edit(request, row, QuestionnaireForm(instance=row), fixed)


@change_study
def save_settings(request: HtmxHttpRequest, study: Study, number: int) -> HttpResponse:
    row = editing.lock(_find(study.pk, number))
    form = QuestionnaireForm(request.POST, instance=row)
    if not form.is_valid():
        return _render_edit(request, _find(study.pk, number), form, fixed=False)
    form.save()
    messages.success(request, f"“{row}” is saved.")
    return redirect("bench:questionnaire", study.pk, number)


def _render_edit(request: HtmxHttpRequest, row: Questionnaire, form: QuestionnaireForm, fixed: bool) -> HttpResponse:
    items = list(row.items.select_related("shown_when"))
    context = {
        "study": row.study,
        "row": row,
        "deleted": _find_deleted(request, row.study),
        "form": form,
        "fixed": fixed,
        "items": [(item, KINDS[item.kind], describe_condition(item)) for item in items],
        "kinds": KINDS.values(),
        "faults": list(editing.find_faults(row)),
        "score": SCORES[row.score].MEANING if row.score in SCORES else "",
        "preview": reverse("preview_page", args=[row.study_id, f"questionnaire-{row.pk}"])
        + (f"?arm={row.arms[0]}" if row.arms else ""),
    }
    return render(request, "bench/questionnaires/edit.html", context, status=422 if form.errors else 200)


def describe_condition(item: Item) -> str:
    if item.shown_when is None:
        return ""
    words = dict(KINDS[item.shown_when.kind].list_codes(item.shown_when))
    answers = " or ".join(f"“{words.get(code, code)}”" for code in item.shown_codes)
    return f"shown when {item.shown_when.variable} is {answers}"


@require_POST
@change_study
def act(request: HtmxHttpRequest, study: Study, number: int, action: str) -> HttpResponse:
    """Move, duplicate, delete, switch on or off."""
    row = _find(study.pk, number)
    if action in STEPS:
        same = study.questionnaires.filter(placement=row.placement)
        editing.move(row, list(same), STEPS[action])
    elif action == "duplicate":
        copy = editing.duplicate(row)
        messages.success(request, f"“{copy}” is a copy that nobody is asked before you switch it on.")
        return redirect("bench:questionnaire", study.pk, copy.pk)
    elif action in ("on", "off"):
        Questionnaire.objects.filter(pk=row.pk).update(active=action == "on")
    elif action == "delete":
        _remember(request, study, str(row), deleting.delete_questionnaire(row))
    else:
        raise Http404("there is no such action")
    return redirect("bench:questionnaires", study.pk)


def _remember(request: HtmxHttpRequest, study: Study, name: str, rows: str, home: int | None = None) -> None:
    """Offer to undo the deletion, until something else is deleted. `home` is the questionnaire of a deleted item."""
    request.session[DELETED] = {"study": study.pk, "name": name, "rows": rows, "home": home}


def _find_deleted(request: HtmxHttpRequest, study: Study) -> str:
    """The name of what can be brought back; empty if there is nothing."""
    kept = request.session.get(DELETED, {})
    return str(kept["name"]) if kept.get("study") == study.pk else ""


@require_POST
@change_study
def undo_deletion(request: HtmxHttpRequest, study: Study) -> HttpResponse:
    """Bring back the questionnaire or the item that was deleted last."""
    if _find_deleted(request, study):
        kept = request.session[DELETED]
        name = deleting.restore(study, kept["rows"])
        del request.session[DELETED]
        if name:
            messages.success(request, f"“{name}” is back.")
            if home := kept.get("home"):
                return redirect("bench:questionnaire", study.pk, home)
        else:
            messages.error(request, f"“{kept['name']}” belonged to a questionnaire that is gone.")
    return redirect("bench:questionnaires", study.pk)


@csp_update({"frame-src": [SELF]})  # type: ignore[arg-type]
def item(request: HtmxHttpRequest, pk: int, number: int, item_pk: int) -> HttpResponse:
    """One item, or a new one of the kind that the address names."""
    if request.method == "POST":
        return save_item(request, pk=pk, number=number, item_pk=item_pk)
    row = _find(pk, number)
    if row.answered or hasattr(row.study, "origin"):
        return redirect("bench:questionnaire", pk, number)
    return _render_item(request, row, ItemForm(instance=_find_item(row, item_pk, request.GET.get("kind", ""))))


@change_study
def save_item(request: HtmxHttpRequest, study: Study, number: int, item_pk: int) -> HttpResponse:
    row = editing.lock(_find(study.pk, number))
    form = ItemForm(request.POST, instance=_find_item(row, item_pk, request.POST.get("kind", "")))
    if not form.is_valid():
        return _render_item(request, row, form)
    if form.instance.pk is None:
        form.instance.position = editing.find_next_position(row.items.all())
    form.save()
    messages.success(request, "The question is saved.")
    if "another" in request.POST:
        address = reverse("bench:questionnaire_item", args=[study.pk, number, 0])
        return redirect(f"{address}?kind={form.instance.kind}")
    return redirect("bench:questionnaire", study.pk, number)


def _render_item(request: HtmxHttpRequest, row: Questionnaire, form: ItemForm) -> HttpResponse:
    context = {
        "study": row.study,
        "row": row,
        "form": form,
        "item": form.instance,
        "kind": KINDS[form.instance.kind],
        "preview": reverse("preview_item", args=[row.study_id, row.pk]),
    }
    return render(request, "bench/questionnaires/item.html", context, status=422 if form.errors else 200)


@require_POST
@change_study
def act_on_item(request: HtmxHttpRequest, study: Study, number: int, item_pk: int, action: str) -> HttpResponse:
    """Move, duplicate or delete an item."""
    row = editing.lock(_find(study.pk, number))
    found = get_object_or_404(Item, pk=item_pk, questionnaire=row)
    if action in STEPS:
        editing.move(found, list(row.items.all()), STEPS[action])
    elif action == "duplicate":
        found = editing.duplicate_item(found)
    elif action == "delete":
        _remember(request, study, found.variable, deleting.delete_item(found), number)
    else:
        raise Http404("there is no such action")
    return redirect(f"{reverse('bench:questionnaire', args=[study.pk, number])}#item-{item_pk}")


def _find(pk: int, number: int) -> Questionnaire:
    return get_object_or_404(Questionnaire.objects.select_related("study"), pk=number, study=pk)


def _find_item(row: Questionnaire, item_pk: int, kind: str) -> Item:
    if item_pk:
        return get_object_or_404(Item, pk=item_pk, questionnaire=row)
    if kind not in KINDS:
        raise Http404("there is no such kind of question")
    return Item(questionnaire=row, kind=kind)
