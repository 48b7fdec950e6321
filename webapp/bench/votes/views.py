"""The pages of votes: progress while a vote is open, results once it is unblinded. Staff only."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from webapp.base import paper_table
from webapp.base.http import HtmxHttpRequest, get_site_address, respond_with_download
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.form_saving import save_form
from webapp.bench.votes.forms import PairFormSet, PollForm, propose_poll
from webapp.problems.files import respond_with_file
from webapp.votes import (
    figures,
    lifecycle,
    pair_names,
    poll_enrolment,
    poll_results,
    pooling,
    problem_pairs,
    single_results,
)
from webapp.votes.models import Evaluator, Pair, Poll

MOST_AT_ONCE = 500
TABLE_TYPES = {
    "csv": ("text/csv; charset=utf-8", paper_table.to_csv),
    "tex": ("application/x-tex", paper_table.to_latex),
}
SEALED = "Results, votes and sides are sealed until this vote is closed."
STILL_BLINDED = "Nobody has looked at the results yet. Unblind the vote on its page first: who did, and when, is noted."


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    rows = [(poll, lifecycle.count_complete(poll)) for poll in Poll.objects.all()]
    return render(request, "bench/votes/index.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("votes.add_poll", raise_exception=True)
def new(request: HtmxHttpRequest) -> HttpResponse:
    """Saves a draft with its first pairs. No link works before somebody opens it on its own page."""
    texts, first = propose_poll(request.GET)
    return _show_form(request, Poll(), "is saved as a draft: no link works before you open it.", texts, first)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("votes.change_poll", raise_exception=True)
def setup(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    return _show_form(request, get_object_or_404(Poll, public_id=public_id), "is saved.")


def _show_form(
    request: HtmxHttpRequest, row: Poll, saved: str, texts: dict[str, Any] | None = None, first: Any = None
) -> HttpResponse:
    title, sent = row.title, request.POST if request.method == "POST" else None
    form, pairs = PollForm(sent, instance=row, initial=texts), None
    if row.status == Poll.Status.DRAFT and not row.is_single:
        pairs = PairFormSet(sent, instance=row, initial=None if sent else first)
        pairs.extra = 0 if row.pk and row.pairs.exists() else 1
    if form.is_valid() and (pairs is None or pairs.is_valid()):
        save_form(request, form, [pairs] if pairs else [])
        messages.success(request, f"{row} {saved}")
        return redirect(row)
    may_delete = request.user.has_perm("votes.delete_poll") and row.status == Poll.Status.DRAFT
    context = {"form": form, "pairs": pairs, "poll": row, "title": title, "may_delete": may_delete}
    context["kind"] = request.GET.get("kind", "")
    return render(request, "bench/votes/edit.html", context, status=422 if sent else 200)


@require_safe
def poll(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    lifecycle.close_full_polls()
    row = get_object_or_404(Poll, public_id=public_id)
    if request.htmx and row.status == Poll.Status.CLOSED:
        return HttpResponse(headers={"HX-Refresh": "true"})  # the page of an open vote asks again and again
    people = Evaluator.objects.filter(poll=row).order_by("pk")
    progress = {
        "poll": row,
        "done": lifecycle.count_complete(row),
        "begun": people.filter(consented_at__isnull=False, finished_at=None, withdrawn_at=None).count(),
        "withdrawn": people.filter(withdrawn_at__isnull=False).count(),
    }
    if request.htmx:
        return render(request, "bench/votes/_progress.html", progress)
    pairs = list(row.pairs.all())
    names = pair_names.name_pairs(pairs)
    context = {
        **progress,
        "people": people,
        "items": pairs,
        "site": get_site_address(request),
        "most_at_once": MOST_AT_ONCE,
        "read": [(p, names[p.pk], list(enumerate(problem_pairs.find_files(p), 1))) for p in pairs if p.answers],
        "plan": row.plan or (lifecycle.write_plan(row) if pairs else ""),
        "problems": lifecycle.find_problems(row) if row.status == Poll.Status.DRAFT else [],
    }
    if row.status != Poll.Status.CLOSED and not row.is_single:
        context |= _build_power_context(row, len(pairs))
    elif row.unblinded_at and row.is_single:
        context["single"] = single_results.compute_results(row)
    elif row.unblinded_at:
        context |= _build_results_context(row)
    return render(request, "bench/votes/poll.html", context)


def _build_results_context(poll: Poll) -> dict[str, object]:
    found = poll_results.compute_results(poll)
    plots = {
        chart.slug: draw_figure(chart, f"{poll.get_absolute_url()}{chart.slug}")
        for chart in figures.build_charts(found)
    }
    table = figures.build_table(found, 1 - poll.alpha)
    return {"results": found, "level": 100 * (1 - poll.alpha), "table": table, "method": pooling.METHOD, **plots}


def _build_power_context(poll: Poll, pairs: int) -> dict[str, object]:
    table = figures.compute_power_table(poll, pairs)
    address = f"{poll.get_absolute_url()}power"
    return {
        "power": table,
        "rates": figures.RATES,
        "power_alpha": f"{figures.compute_first_alpha(poll, pairs):.2g}",
        "power_shared": figures.compute_first_alpha(poll, pairs) != poll.alpha,
        "power_figure": draw_figure(figures.make_power_chart(table), address, 480, 220),
    }


@require_safe
def file(request: HtmxHttpRequest, public_id: uuid.UUID, position: int, number: int) -> HttpResponse:
    """A file that evaluators saw beside the answers of a pair, by its number."""
    pair = get_object_or_404(Pair, poll__public_id=public_id, position=position)
    row = dict(enumerate(problem_pairs.find_files(pair), 1)).get(number)
    if row is None:
        raise Http404("There is no such file.")
    return respond_with_file(row)


@require_safe
def figure(request: HtmxHttpRequest, public_id: uuid.UUID, slug: str, ending: str) -> HttpResponse:
    row = get_object_or_404(Poll, public_id=public_id)
    if slug == "power" and not row.is_single:
        chart = figures.make_power_chart(figures.compute_power_table(row, row.pairs.count()))
        return respond_with_charts([chart], ending, f"{row.title}-{slug}")
    if row.status != Poll.Status.CLOSED:
        return HttpResponse(SEALED, status=403, content_type="text/plain; charset=utf-8")
    if row.unblinded_at is None:
        return HttpResponse(STILL_BLINDED, status=403, content_type="text/plain; charset=utf-8")
    if slug == "votes" and ending == "csv":
        return respond_with_download(poll_results.write_csv(row), "text/csv; charset=utf-8", f"{row.title}-{slug}.csv")
    if row.is_single:
        raise Http404("There is no such figure.")
    found = poll_results.compute_results(row)
    if slug == "results":
        return _respond_with_table(row, found, ending)
    plots = {chart.slug: [chart] for chart in figures.build_charts(found)}
    if slug not in plots:
        raise Http404("There is no such figure.")
    return respond_with_charts(plots[slug], ending, f"{row.title}-{slug}")


def _respond_with_table(poll: Poll, found: poll_results.Results, ending: str) -> HttpResponse:
    if ending not in TABLE_TYPES:
        raise Http404("A table is a csv or tex file.")
    content_type, write = TABLE_TYPES[ending]
    return respond_with_download(
        write(figures.build_table(found, 1 - poll.alpha)), content_type, f"{poll.title}-results.{ending}"
    )


class InviteForm(forms.Form):
    count = forms.IntegerField(min_value=1, max_value=MOST_AT_ONCE)


@require_POST
def invite(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Poll, public_id=public_id)
    form = InviteForm(request.POST)
    if row.status == Poll.Status.CLOSED:
        messages.error(request, "This vote is closed: nobody else can vote.")
    elif not form.is_valid():
        messages.error(request, f"Add between 1 and {MOST_AT_ONCE} evaluators at a time.")
    else:
        people = poll_enrolment.invite_evaluators(row, form.cleaned_data["count"])
        messages.success(request, f"Added {people[0].label} to {people[-1].label}. Their links are below.")
    return redirect(row)


@require_POST
def open_poll(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Poll, public_id=public_id)
    found = lifecycle.open_poll(row)
    for words in found:
        messages.error(request, words)
    if not found:
        messages.success(request, "Open. The plan and the pairs are fixed from now on, and the links work.")
    return redirect(row)


@require_POST
def close_poll(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = get_object_or_404(Poll, public_id=public_id)
    if request.POST.get("sure") != "yes":
        messages.error(request, "Tick the box to close it early: it cannot be opened again.")
    elif lifecycle.close_poll(row, request.user.get_username()):
        messages.success(request, "Closed. Its results can be unblinded below.")
    else:
        messages.warning(request, "Nothing was changed. It was not open.")
    return redirect(row)


@require_POST
def unblind(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show the results from now on. Only this button unblinds them, never a look at the page."""
    row = get_object_or_404(Poll, public_id=public_id)
    if row.status != Poll.Status.CLOSED:
        messages.error(request, SEALED)
    else:
        lifecycle.unblind_poll(row, request.user.get_username())
    return redirect(row)
