"""The scores and ratings of a study's questionnaires: which there are, and each person's at each moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from webapp.studies.models import Participant, Study
from webapp.studies.models.questionnaires import Answer, Item, Questionnaire, Response
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.moments import place_questionnaire
from webapp.studies.questionnaires.scores import SCORES, Score


@dataclass(frozen=True)
class ScoredQuestionnaire:
    questionnaire: Questionnaire
    score: Score
    items: tuple[Item, ...]
    column: str
    """Its column in tables: that of the score, with a number behind it from the second one of the study on."""

    @property
    def name(self) -> str:
        """The name of the measure, as the analysis scripts of an export make it from the codebook."""
        return f"{self.score.MEANING.partition(',')[0]} ({self.column}): {self.questionnaire.title}"

    @property
    def range(self) -> tuple[float, float]:
        return self.score.find_range(self.items)

    def compute(self, values: Mapping[int, Any]) -> float | None:
        """The score of stored values by item."""
        return self.score.compute(self.items, values)


@dataclass(frozen=True)
class Rating:
    """A scale, or a row of a grid, that is asked between rounds in a questionnaire without a score."""

    questionnaire: Questionnaire
    item: Item
    place: int
    """Among the item's columns."""
    column: str
    name: str
    codes: str
    """What its steps mean."""

    @property
    def range(self) -> tuple[float, float]:
        return 1, self.item.steps

    def compute(self, values: Mapping[int, Any]) -> float | None:
        """The step as it was given: a row that says the opposite is not turned round."""
        cell = KINDS[self.item.kind].list_cells(self.item, values.get(self.item.pk))[self.place]
        return None if cell is None else float(cell)


Measured = ScoredQuestionnaire | Rating


@dataclass(frozen=True)
class GivenScore:
    """A score or rating of one person at one moment."""

    participant: int
    experiment: int | None
    """None for a questionnaire that is asked once in the study."""
    round: int
    column: str
    value: float


def list_scored(study: Study) -> list[ScoredQuestionnaire]:
    """The questionnaires with a score, in the order in which they are asked."""
    rows = study.questionnaires.filter(score__in=SCORES).prefetch_related("items")
    counts: defaultdict[str, int] = defaultdict(int)
    found = []
    for row in sorted(rows, key=place_questionnaire):
        score = SCORES[row.score]
        counts[row.score] += 1
        column = score.COLUMN if counts[row.score] == 1 else f"{score.COLUMN}_{counts[row.score]}"
        found.append(ScoredQuestionnaire(row, score, tuple(row.items.all()), column))
    return found


def list_ratings(study: Study) -> list[Rating]:
    """The scales and rows that are asked between rounds, where they make no score."""
    between = study.questionnaires.filter(placement=Questionnaire.Placement.ROUNDS).exclude(score__in=SCORES)
    found = []
    for row in sorted(between.prefetch_related("items"), key=place_questionnaire):
        for item in row.items.all():
            kind = KINDS[item.kind]
            if kind.list_points(item, None):
                found += [
                    Rating(row, item, place, column.name, " ".join(column.question.split()), column.codes)
                    for place, column in enumerate(kind.list_columns(item))
                ]
    return found


def read_scores(measured: Iterable[Measured], people: Iterable[Participant]) -> list[GivenScore]:
    """Every score and rating that these people gave, in the order in which they sent their answers."""
    by_questionnaire: defaultdict[int, list[Measured]] = defaultdict(list)
    for one in measured:
        by_questionnaire[one.questionnaire.pk].append(one)
    if not by_questionnaire:
        return []
    sent = Response.objects.filter(questionnaire__in=by_questionnaire, participant__in=people).exclude(sent_at=None)
    values: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    for response, item, value in Answer.objects.filter(response__in=sent).values_list("response", "item", "value"):
        values[response][item] = value
    found = []
    for row in sent.order_by("sent_at", "pk"):
        for one in by_questionnaire[row.questionnaire_id]:
            value = one.compute(values[row.pk])
            if value is not None:
                found.append(GivenScore(row.participant_id, row.experiment_id, row.round, one.column, value))
    return found
