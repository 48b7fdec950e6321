"""The pages of many experiments: the table, and several beside each other. Staff only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from webapp import audit
from webapp.base.http import HtmxHttpRequest, respond_with_download
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.experiments import run_table, selected_runs
from webapp.bench.experiments.run_columns import ALL, SHOWN
from webapp.bench.experiments.run_filters import RunFilterForm, shorten_address
from webapp.experiments import experiment_tags, queues
from webapp.experiments.models import Experiment

FORM_ID, COLUMNS_ID, TABLE_ID = "run-filter", "run-columns", "experiments"
"""Elements of the page that ask for it again by htmx."""
REMEMBERED_SECONDS = 365 * 24 * 3600
"""So long a browser keeps the columns that a person chose."""
Rows = QuerySet[Experiment]


@require_safe
def index(request: HtmxHttpRequest) -> HttpResponse:
    """The table of experiments. Its state is in the address, but for the columns that one sees where it names none."""
    chosen = request.htmx.trigger == COLUMNS_ID
    usual = _list_known(request.GET.getlist("col")) if chosen else _read_columns(request)
    short = shorten_address(request.GET, usual)
    if not request.htmx and short != request.GET:
        return redirect(f"{request.path}?{short.urlencode()}" if short else request.path)
    table = _build_table(request, usual)
    page = table.paginate(request.GET.get("page"))
    here = f"{request.path}?{short.urlencode()}" if short else request.path
    context = {
        "form": table.form,
        "table": table,
        "page": page,
        "rows": table.read_rows(page, run_table.find_running_jobs(list(page))),
        "groups": table.groups[: run_table.MOST_GROUPS],
        "any": bool(page.paginator.count) or Experiment.objects.exists(),
        "refresh": bool(request.htmx) and request.htmx.trigger == TABLE_ID,
        "queues": queues.read_queues(),
        "previous": table.link(page=str(page.number - 1)),
        "next": table.link(page=str(page.number + 1)),
        "archived": table.link(archived="yes"),
        "here": here,
    }
    response = render(request, "bench/runs/index.html", context)
    if request.htmx.trigger in (FORM_ID, COLUMNS_ID):
        response["HX-Push-Url"] = here
    if chosen:
        response.set_cookie(
            _name_cookie(request),
            ".".join(usual),
            REMEMBERED_SECONDS,
            path=request.path,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return response


def _name_cookie(request: HttpRequest) -> str:
    """Each account has its own, where several people use one browser."""
    return f"columns-{request.user.pk}"


def _read_columns(request: HttpRequest) -> Sequence[str]:
    """The columns that this person chose last."""
    return _list_known(request.COOKIES.get(_name_cookie(request), "").split("."))


def _list_known(names: Sequence[str]) -> Sequence[str]:
    """Those of these columns that there are, in the table's order; the usual ones without any."""
    return [column.name for column in ALL if column.name in names] or SHOWN


@require_safe
def download(request: HtmxHttpRequest) -> HttpResponse:
    table = _build_table(request, _read_columns(request))
    return respond_with_download(table.write_csv(), "text/csv; charset=utf-8", "experiments.csv")


def _build_table(request: HtmxHttpRequest, usual: Sequence[str]) -> run_table.RunTable:
    assert isinstance(request.user, User)
    return run_table.RunTable(request.GET, RunFilterForm(request.GET, request.user, usual), usual)


@require_safe
def show_selected(request: HtmxHttpRequest) -> HttpResponse:
    """The chosen experiments beside each other: curves, films, and what can be done with them."""
    asked = selected_runs.parse_ids(request.GET.getlist("run"))
    chosen = selected_runs.read_selected(asked)
    query = f"?{request.GET.urlencode()}"
    context = {
        "selected": chosen,
        "left_out": max(0, len(set(asked)) - selected_runs.MOST),
        "most": selected_runs.MOST,
        "figures": [
            draw_figure(chart, reverse("bench:selected") + chart.slug, titled=True, query=query)
            for chart in selected_runs.draw_charts(chosen)
        ],
        "films": [one for one in chosen if one.clip],
        "listed": any(one.experiment.archived_at is None and not one.experiment.live for one in chosen),
        "archived": any(one.experiment.archived_at for one in chosen),
        "here": request.get_full_path(),
    }
    return render(request, "bench/runs/selected.html", context)


@require_safe
def curves(request: HtmxHttpRequest, slug: str, ending: str) -> HttpResponse:
    chosen = selected_runs.read_selected(selected_runs.parse_ids(request.GET.getlist("run")))
    charts = selected_runs.draw_charts(chosen)
    shown = [chart for chart in charts if chart.slug == slug]
    if not shown:
        raise Http404(f"These experiments have no chart {slug!r}.")
    return respond_with_charts(shown, ending, slug)


def _add_tag(rows: Rows, name: str) -> SafeString:
    count = experiment_tags.add_tag(rows, name)
    if not count:
        return format_html("They have the tag “{}” already.", name)
    return format_html("“{}” is on {} more {}.", name, count, _count_word(count))


def _remove_tag(rows: Rows, name: str) -> SafeString:
    count = experiment_tags.remove_tag(rows, name)
    if not count:
        return format_html("None of them has the tag “{}”.", name)
    return format_html("“{}” is off {} {}.", name, count, _count_word(count))


def _archive(rows: Rows, name: str) -> SafeString:
    chosen = ",".join(
        str(row.public_id) for row in rows.filter(archived_at=None).exclude(status__in=experiment_tags.LIVE)
    )
    running = rows.filter(archived_at=None, status__in=experiment_tags.LIVE).count()
    count = experiment_tags.archive(rows)
    undo = format_html(
        '<button class="link" form="act" name="run" value="{}" formaction="{}">Undo</button>',
        chosen,
        reverse("bench:change_selected", args=["unarchive"]),
    )
    text = f"{count} {_count_word(count)} archived: hidden here, and kept whole." if count else "Nothing was archived."
    if running:
        text += f" {running} {_count_word(running)} not: archive what runs once it has ended."
    return format_html("{} {}", text, undo if count else "")


def _unarchive(rows: Rows, name: str) -> SafeString:
    count = experiment_tags.unarchive(rows)
    return format_html("{} {} listed again.", count, _count_word(count))


def _count_word(count: int) -> str:
    return "experiment" if count == 1 else "experiments"


ACTIONS: dict[str, tuple[Callable[[Rows, str], SafeString], str]] = {
    "tag": (_add_tag, "tagged experiments"),
    "untag": (_remove_tag, "untagged experiments"),
    "archive": (_archive, "archived experiments"),
    "unarchive": (_unarchive, "unarchived experiments"),
}
"""By name: what it does with the rows and a tag, giving words for the page; and what the audit log calls it."""


@require_POST
def change_selected(request: HtmxHttpRequest, action: str) -> HttpResponse:
    """Tag or archive the chosen experiments. `run` holds their public ids, `tag` the tag, `next` where to go then."""
    if action not in ACTIONS:
        raise Http404(f"There is no action {action!r}.")
    perform, recorded = ACTIONS[action]
    rows = Experiment.objects.filter(public_id__in=selected_runs.parse_ids(request.POST.getlist("run")))
    detail: dict[str, Any] = {}
    try:
        if "tag" in action:
            detail["tag"] = experiment_tags.clean_tag(request.POST.get("tag", ""))
        chosen = [str(public_id) for public_id in rows.values_list("public_id", flat=True)]
        if not chosen:
            raise ValueError("Choose experiments first.")
        with transaction.atomic():
            said = perform(rows, detail.get("tag", ""))
            target = rows.first() if len(chosen) == 1 else None
            audit.record(request.user, recorded, target, experiments=chosen, **detail)
    except ValueError as error:
        messages.error(request, f"Nothing was changed. {error}")
    else:
        messages.success(request, said)
    return redirect(_get_next(request))


def _get_next(request: HtmxHttpRequest) -> str:
    """The page of this site that the form names; else the table."""
    address = request.POST.get("next", "")
    allowed = url_has_allowed_host_and_scheme(address, {request.get_host()}, request.is_secure())
    return address if allowed and address else reverse("bench:index")
