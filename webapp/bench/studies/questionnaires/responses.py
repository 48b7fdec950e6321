"""What people answered: who has answered what, and a bar for each answer. Pilots are left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_safe

from webapp.base.charts import Chart, Series
from webapp.base.http import HtmxHttpRequest
from webapp.bench.chart_html import draw_figure, respond_with_charts
from webapp.bench.studies.questionnaires.views import describe_moment
from webapp.studies.models import Participant, Study
from webapp.studies.models.questionnaires import Answer, Item, Questionnaire, Response
from webapp.studies.questionnaires.kind import Distribution
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.scores import SCORES

LONGEST_LABEL = 28


@dataclass(frozen=True)
class Summary:
    questionnaire: Questionnaire
    when: str
    people: int
    responses: int
    figures: list[SafeString]
    texts: list[tuple[Item, list[str]]]
    """What people typed, by item."""
    scores: list[float]

    @property
    def mean_score(self) -> float | None:
        return sum(self.scores) / len(self.scores) if self.scores else None


def find_responses(study: Study) -> Any:
    mine = Response.objects.filter(questionnaire__study=study, participant__pilot=False)
    return mine.exclude(sent_at=None).select_related("participant", "questionnaire")


@require_safe
def show(request: HtmxHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    questionnaires = list(study.questionnaires.prefetch_related("items"))
    context = {
        "study": study,
        "summaries": [_summarize(row) for row in questionnaires],
        "people": _list_people(study, questionnaires),
    }
    return render(request, "bench/questionnaires/answers.html", context)


def _summarize(row: Questionnaire) -> Summary:
    responses = list(find_responses(row.study).filter(questionnaire=row))
    values = _read_values(row)
    items = list(row.items.all())
    figures = [
        draw_figure(chart, f"{reverse('bench:questionnaire_results', args=[row.study_id])}{chart.slug}", 440, 220, True)
        for item in items
        for chart in _draw_item(item, values[item.pk])
    ]
    typed = [(item, KINDS[item.kind].list_texts(item, values[item.pk])) for item in items]
    return Summary(
        questionnaire=row,
        when=describe_moment(row),
        people=len({one.participant_id for one in responses}),
        responses=len(responses),
        figures=figures,
        texts=[(item, texts) for item, texts in typed if texts],
        scores=_compute_scores(row, items, responses),
    )


def _read_values(row: Questionnaire) -> defaultdict[int, list[Any]]:
    """Item -> what people answered."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    answers = Answer.objects.filter(response__in=find_responses(row.study).filter(questionnaire=row))
    for item, value in answers.values_list("item", "value"):
        found[item].append(value)
    return found


def _compute_scores(row: Questionnaire, items: list[Item], responses: list[Response]) -> list[float]:
    if row.score not in SCORES:
        return []
    by_response: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    for response, item, value in Answer.objects.filter(response__in=responses).values_list("response", "item", "value"):
        by_response[response][item] = value
    scores = [SCORES[row.score].compute(items, values) for values in by_response.values()]
    return [score for score in scores if score is not None]


def _draw_item(item: Item, values: list[Any]) -> list[Chart]:
    return [_draw(one) for one in KINDS[item.kind].count(item, values)] if values else []


def _draw(one: Distribution) -> Chart:
    places = tuple(float(place) for place in range(len(one.labels)))
    labels = tuple(label if len(label) <= LONGEST_LABEL else f"{label[: LONGEST_LABEL - 1]}…" for label in one.labels)
    return Chart(
        slug=one.name,
        title=" ".join(one.title.split()),
        x_label=one.scale,
        y_label="answers",
        series=(Series("answers", places, tuple(float(count) for count in one.counts), look="bars"),),
        whole_y=True,
        categories=labels,
        covers=(0.0, 1.0),
        sideways=not one.scale,
    )


def _list_people(study: Study, questionnaires: list[Questionnaire]) -> list[tuple[Participant, list[tuple[str, int]]]]:
    """Participants who have begun, with how often each has answered each questionnaire."""
    counts = Counter(find_responses(study).values_list("participant", "questionnaire"))
    people = study.participants.exclude_pilots().exclude(consented_at=None).filter(deleted_at=None).order_by("label")
    titles = Counter(row.title for row in questionnaires)
    named = [
        (row.pk, row.title if titles[row.title] == 1 else f"{row.title}, {describe_moment(row)}")
        for row in questionnaires
    ]
    return [(person, [(name, counts[person.pk, pk]) for pk, name in named]) for person in people]


@require_safe
def figure(request: HtmxHttpRequest, pk: int, slug: str, ending: str) -> HttpResponse:
    study = get_object_or_404(Study, pk=pk)
    for item in Item.objects.filter(questionnaire__study=study).select_related("questionnaire"):
        if slug.startswith(item.variable):
            values = _read_values(item.questionnaire)[item.pk]
            shown = [chart for chart in _draw_item(item, values) if chart.slug == slug]
            if shown:
                return respond_with_charts(shown, ending, f"{study.title}-{slug}")
    raise Http404(f"{study} has no {slug}.{ending}.")
