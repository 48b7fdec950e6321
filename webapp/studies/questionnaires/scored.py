"""The scores of a study's questionnaires: which there are, and each person's at each moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from webapp.studies.models import Participant, Study
from webapp.studies.questionnaires.models import Answer, Item, Questionnaire, Response
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


@dataclass(frozen=True)
class GivenScore:
    """The score of one person at one moment."""

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


def read_scores(scored: Iterable[ScoredQuestionnaire], people: Iterable[Participant]) -> list[GivenScore]:
    """Every score that these people gave, in the order in which they sent their answers."""
    by_questionnaire = {one.questionnaire.pk: one for one in scored}
    if not by_questionnaire:
        return []
    sent = Response.objects.filter(questionnaire__in=by_questionnaire, participant__in=people).exclude(sent_at=None)
    values: defaultdict[int, dict[int, Any]] = defaultdict(dict)
    for response, item, value in Answer.objects.filter(response__in=sent).values_list("response", "item", "value"):
        values[response][item] = value
    found = []
    for row in sent.order_by("sent_at", "pk"):
        one = by_questionnaire[row.questionnaire_id]
        value = one.score.compute(one.items, values[row.pk])
        if value is not None:
            found.append(GivenScore(row.participant_id, row.experiment_id, row.round, one.column, value))
    return found
