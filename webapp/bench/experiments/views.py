"""The pages of experiments, candidates, tasks and clips. Staff only."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from simulation import catalog
from trainer.records import FINAL
from webapp import audit
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.experiments import event_log, page_sections, winner_zip
from webapp.bench.experiments.candidate_details import read_details
from webapp.bench.experiments.code_diff import highlight
from webapp.bench.experiments.forms import ExperimentForm, propose_settings
from webapp.bench.experiments.overview import PEOPLE_LOOKUP, build_overview
from webapp.bench.experiments.preference_learning import describe_plan, list_asked_pairs
from webapp.bench.form_saving import save_form
from webapp.experiments import events, loop, repeating, upgrades
from webapp.experiments.models import Clip, Event, Experiment
from webapp.experiments.pair_sessions import asks_outside
from webapp.problems.lookup import find_still
from webapp.review import panels
from webapp.review.media import respond_with_clip

ACTIONS: dict[str, tuple[Callable[[Experiment], bool], str, str]] = {
    "start": (loop.start, "Started.", "It was started before."),
    "pause": (loop.pause, "Paused. Work in progress stops at its checkpoint.", "It is not running."),
    "resume": (loop.resume, "Resumed.", "It is not paused."),
    "cancel": (loop.cancel, "Cancelled. What was made so far stays.", "It has ended already."),
    "retry": (loop.retry, "Going on from the step that failed.", "Nothing has failed."),
    "end": (
        upgrades.end_early,
        "No more rounds: the winner is chosen among those that are there.",
        "Nothing has been trained, or it has not stopped because its method changed.",
    ),
    "follow": (
        upgrades.follow_current_flow,
        "Going on under today's flow, with the answers that fit into it.",
        "Today's Prefine has no such method, or it has not stopped because its method changed.",
    ),
    "close": (panels.close_round, "Decided with the choices that were there.", "Nobody has chosen yet."),
}


@require_safe
def tasks(request: HtmxHttpRequest) -> HttpResponse:
    groups = [
        (kind, [(catalog.get_task(name), find_still(catalog.get_task(name))) for name in names])
        for kind, names in catalog.group_tasks().items()
    ]
    count = sum(len(tasks) for _, tasks in groups)
    return render(request, "bench/experiments/tasks.html", {"groups": groups, "count": count})


def find_newest_film(task: str) -> Clip | None:
    """The film of the winner of the task's experiment that finished last, among those that are not archived."""
    won = Experiment.objects.filter(winner=OuterRef("candidate"), status=Experiment.Status.FINISHED, archived_at=None)
    films = Clip.objects.filter(percent=FINAL, status=Clip.Status.READY, candidate__iteration__experiment__task=task)
    films = films.annotate(won_at=Subquery(won.values("finished_at")[:1])).exclude(won_at=None)
    return films.select_related("candidate__iteration__experiment").order_by("-won_at").first()


@require_safe
def task(request: HtmxHttpRequest, name: str) -> HttpResponse:
    if name not in catalog.list_tasks():
        raise Http404(f"There is no task {name!r}.")
    info = catalog.get_task(name)
    context = {
        "task": info,
        "still": find_still(info),
        "film": find_newest_film(name),
        "observations": highlight(catalog.read_observation_source(name)),
        "reference": highlight(catalog.read_reference_reward(name)),
    }
    return render(request, "bench/experiments/task.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("experiments.add_experiment", raise_exception=True)
def new(request: HtmxHttpRequest) -> HttpResponse:
    """Saves a draft. Nothing runs before somebody starts it on its own page."""
    row = Experiment(owner=request.user.get_username())
    return _show_form(request, row, "is saved. Nothing runs before you start it.", propose_settings(request.GET))


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("experiments.change_experiment", raise_exception=True)
def edit(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    return _show_form(request, _get_experiment(public_id), "is saved.")


def _show_form(
    request: HtmxHttpRequest, row: Experiment, saved: str, proposed: dict[str, Any] | None = None
) -> HttpResponse:
    name, sent = row.name, request.POST if request.method == "POST" else None
    form = ExperimentForm(sent, instance=row, initial=proposed)
    if form.is_valid():
        save_form(request, form)
        messages.success(request, f"{row} {saved}")
        return redirect("bench:experiment", row.public_id)
    may_delete = request.user.has_perm("experiments.delete_experiment") and not row.live
    context = {"form": form, "experiment": row, "name": name, "may_delete": may_delete}
    return render(request, "bench/experiments/edit.html", context, status=422 if form.errors else 200)


@require_safe
def experiment(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = _get_experiment(public_id)
    overview = build_overview(row)
    context = {
        "overview": overview,
        "experiment": row,
        "sections": page_sections.render_sections(overview),
        "log": _build_log(request, row).render(),
        "kinds": event_log.list_event_kinds(row),
        "after": events.get_last_id(row),
    }
    return render(request, "bench/experiments/experiment.html", context)


@require_safe
def live(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """The sections that differ from those that the browser has."""
    row = _get_experiment(public_id)
    have = set(request.GET.getlist("have"))
    return HttpResponse(page_sections.render_changed_sections(build_overview(row), _filter_events(request, row), have))


@require_safe
def candidate(request: HtmxHttpRequest, public_id: uuid.UUID, key: str) -> HttpResponse:
    """A candidate's details, as a panel of the experiment's page or as a page of their own."""
    details = read_details(_get_experiment(public_id), key)
    context = {
        "details": details,
        "experiment": details.experiment,
        "metric": draw_figure(details.metric_chart, f"{details.url}metric", 480, 190),
        "components": [
            draw_figure(chart, f"{details.url}{chart.slug}", 280, 170, titled=True)
            for chart in details.component_charts
        ],
    }
    return render(
        request, "bench/experiments/_details.html" if request.htmx else "bench/experiments/candidate.html", context
    )


@require_safe
def asked_pairs(request: HtmxHttpRequest, public_id: uuid.UUID, number: int) -> HttpResponse:
    """The filmed pairs of one session, and what was answered: a page, or a part of the experiment's."""
    row = _get_experiment(public_id)
    asked = list_asked_pairs(row, number)
    if not asked:
        raise Http404(f"Session {number} of {row.name} has no filmed pairs.")
    context = {"experiment": row, "number": number, "pairs": asked, "plan": describe_plan(row)}
    films = [film for pair in asked for _, film, _ in pair.sides]
    context["taught"] = not asks_outside(row)
    context["waits"] = row.status != Experiment.Status.CANCELLED and any(
        one.status == one.Status.PENDING for one in films
    )
    return render(request, f"bench/experiments/{'_asked_pairs' if request.htmx else 'pairs'}.html", context)


@require_safe
def rounds_figure(request: HtmxHttpRequest, public_id: uuid.UUID, ending: str) -> HttpResponse:
    row = _get_experiment(public_id)
    return respond_with_charts([build_overview(row).chart], ending, f"{row.task}-{row.method}-rounds")


@require_safe
def candidate_figure(request: HtmxHttpRequest, public_id: uuid.UUID, key: str, slug: str, ending: str) -> HttpResponse:
    """One chart of a candidate, or all of its components as small multiples."""
    row = _get_experiment(public_id)
    details = read_details(row, key)
    figures = {chart.slug: [chart] for chart in (details.metric_chart, *details.component_charts)}
    figures["components"] = details.component_charts
    if details.learning:
        figures |= {chart.slug: [chart] for chart in details.learning.all_charts}
    if slug not in figures:
        raise Http404(f"Candidate {key} has no chart {slug!r}.")
    return respond_with_charts(figures[slug], ending, f"{row.task}-{row.method}-{key}-{slug}")


@require_safe
def download_winner(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    row = _get_experiment(public_id)
    try:
        content = winner_zip.write_zip(row)
    except FileNotFoundError as error:
        raise Http404(str(error)) from error
    return respond_with_download(content, "application/zip", f"{winner_zip.get_stem(row)}.zip")


@require_POST
def act(request: HtmxHttpRequest, public_id: uuid.UUID, action: str) -> HttpResponse:
    if action not in ACTIONS:
        raise Http404(f"There is no action {action!r}.")
    row = _get_experiment(public_id)
    perform, done, refused = ACTIONS[action]
    try:
        changed = perform(row)
    except Experiment.DoesNotExist:
        messages.warning(request, "Nothing was changed. Somebody has just deleted this experiment.")
        return redirect("bench:index")
    if changed:
        messages.success(request, done)
    else:
        messages.warning(request, f"Nothing was changed. {refused}")
    return redirect("bench:experiment", public_id)


@require_POST
def repeat(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Start the same settings with the next free seed, and go to that experiment's page."""
    row = _get_experiment(public_id)
    try:
        with transaction.atomic():
            new = repeating.start_next_seed(row, request.user.get_username())
            audit.record(request.user, "repeated experiment", new, seed=new.seed, settings_of=str(public_id))
    except ValueError as error:
        messages.warning(request, f"Nothing was started. {error}")
        return redirect("bench:experiment", public_id)
    messages.success(request, f"Started with seed {new.seed}.")
    return redirect("bench:experiment", new.public_id)


@require_POST
def retrain(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Train the winner's reward again with other seeds, and go to that experiment's page."""
    row, count = _get_experiment(public_id), request.POST.get("count", "")
    preset = request.POST.get("preset", "")
    try:
        with transaction.atomic():
            new = repeating.start_retraining(
                row, request.user.get_username(), preset, int(count) if count.isdecimal() else 0
            )
            audit.record(request.user, "retrained winner", new, seeds=new.k, preset=preset, winner_of=str(public_id))
    except ValueError as error:
        messages.warning(request, f"Nothing was started. {error}")
        return redirect("bench:experiment", public_id)
    messages.success(request, f"Its reward is trained again with {new.k} seed{'s' if new.k > 1 else ''}.")
    return redirect("bench:experiment", new.public_id)


@require_POST
def learn_on(request: HtmxHttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Have the winner's policy learn on from answers about pairs, and go to that experiment's page."""
    row, queries = _get_experiment(public_id), request.POST.get("queries", "")
    method = request.POST.get("method", "")
    try:
        with transaction.atomic():
            count = int(queries) if queries.isdecimal() else 0
            new = repeating.start_learning_on(row, request.user.get_username(), method, count)
            audit.record(request.user, "learned on", new, method=method, queries=count, winner_of=str(public_id))
    except ValueError as error:
        messages.warning(request, f"Nothing was started. {error}")
        return redirect("bench:experiment", public_id)
    messages.success(request, f"The winner’s policy learns on from {count:,} answers.")
    return redirect("bench:experiment", new.public_id)


@require_POST
def refilm(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    clip = get_object_or_404(Clip.objects.select_related("candidate__iteration__experiment"), pk=pk)
    if loop.refilm(clip):
        messages.success(request, f"Candidate {clip.candidate.key} at {clip.percent}% is being filmed again.")
    else:
        messages.warning(request, "Nothing was changed. That clip did not fail.")
    return redirect("bench:experiment", clip.candidate.iteration.experiment.public_id)


@require_safe
def clip(request: HtmxHttpRequest, name: uuid.UUID) -> HttpResponseBase:
    return _respond_with_media(request, name, "mp4", "video/mp4")


@require_safe
def poster(request: HtmxHttpRequest, name: uuid.UUID) -> HttpResponseBase:
    return _respond_with_media(request, name, "jpg", "image/jpeg")


def _respond_with_media(request: HtmxHttpRequest, name: uuid.UUID, ending: str, content_type: str) -> HttpResponseBase:
    """A clip's file for staff; participants use tickets (webapp.review.media)."""
    return respond_with_clip(request, f"clips/{name}.{ending}", content_type, str(name))


def _get_experiment(public_id: uuid.UUID) -> Experiment:
    rows = Experiment.objects.select_related("model", "prompt_set", "winner__iteration").prefetch_related(PEOPLE_LOOKUP)
    return get_object_or_404(rows, public_id=public_id)


def _filter_events(request: HtmxHttpRequest, row: Experiment) -> list[Event]:
    return event_log.list_events(row, request.GET.get("q", "").strip(), request.GET.get("kind", ""))


def _build_log(request: HtmxHttpRequest, row: Experiment) -> page_sections.Section:
    return page_sections.build_log_section(_filter_events(request, row))
