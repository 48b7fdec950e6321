"""questionnaires.csv and codebook.csv of an export: what people answered, and what each column means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from webapp.archive.row_reader import Pseudonyms, make_plain
from webapp.archive.study_scope import Scope
from webapp.studies.models import Assignment
from webapp.studies.models.questionnaires import Answer, Item, Response
from webapp.studies.questionnaires.kinds import KINDS
from webapp.studies.questionnaires.moments import place_questionnaire
from webapp.studies.questionnaires.scored import ScoredQuestionnaire, list_scored

FILE, CODEBOOK = "questionnaires", "codebook"
COLUMNS = {
    "participant": ("text", "", "Pseudonym of the participant."),
    "pilot": ("0 or 1", "", "1 if the participant only tried the study out; left out of the export by default."),
    "arm": ("text", "", "Arm of the experiment, or the participant's only arm."),
    "questionnaire": ("text", "", "Title of the questionnaire."),
    "placement": ("text", "", "When it was asked: before, rounds, experiment or after."),
    "experiment": ("whole number", "", "Row of experiments; empty where it is asked once in the study."),
    "round": ("whole number", "", "The round that it followed; empty: none."),
    "seconds": ("number", "s", "From opening the page to sending the answers, by the server's clock."),
}
"""Columns before those of the items, which the codebook explains: (type, unit, meaning)."""
CODEBOOK_COLUMNS = {
    "variable": ("text", "", "Column of questionnaires.csv."),
    "questionnaire": ("text", "", "Title of its questionnaire."),
    "question": ("text", "", "The question, with its row or option."),
    "kind": ("text", "", "Kind of question, or score."),
    "codes": ("text", "", "What the numbers mean, or the bounds of a number; empty for what was typed."),
    "shown_when": ("text", "", "The variable and the codes that show it; empty: always shown."),
    "required": ("0 or 1", "", "Whether it had to be answered."),
    "reversed": ("0 or 1", "", "Whether the score turns the number round; questionnaires.csv has it as given."),
}
TABLES = {FILE: COLUMNS, CODEBOOK: CODEBOOK_COLUMNS}


class QuestionnaireTables:
    """A row for each person and moment, and a column for each variable."""

    def __init__(self, scope: Scope, names: Pseudonyms) -> None:
        self.scope, self.names = scope, names

    @cached_property
    def items(self) -> list[Item]:
        rows = Item.objects.filter(questionnaire__study=self.scope.study).select_related("questionnaire", "shown_when")
        return sorted(rows, key=lambda item: (*place_questionnaire(item.questionnaire), item.position, item.pk))

    @cached_property
    def scored(self) -> list[ScoredQuestionnaire]:
        return list_scored(self.scope.study)

    def list_header(self) -> list[str]:
        variables = [column.name for item in self.items for column in KINDS[item.kind].list_columns(item)]
        return [*COLUMNS, *variables, *(one.column for one in self.scored)]

    def list_rows(self) -> Iterator[list[Any]]:
        """By participant and time."""
        sent = Response.objects.filter(participant__in=self.scope.participants).exclude(sent_at=None)
        numbers = {pk: number for number, pk in enumerate(self.scope.experiments, 1)}
        values: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        for response, item, value in Answer.objects.filter(response__in=sent).values_list("response", "item", "value"):
            values[response][item] = value
        for row in sent.select_related("questionnaire", "participant").order_by("participant", "sent_at", "pk"):
            given = values[row.pk]
            own = [item for item in self.items if item.questionnaire_id == row.questionnaire_id]
            cells = [cell for item in self.items for cell in KINDS[item.kind].list_cells(item, given.get(item.pk))]
            scores = [
                one.score.compute(own, given) if row.questionnaire_id == one.questionnaire.pk else None
                for one in self.scored
            ]
            yield [
                self.names.replace_label(row.participant.label),
                row.participant.pilot,
                self._arms.get((row.participant_id, row.experiment_id), ""),
                row.questionnaire.title,
                row.questionnaire.placement,
                numbers.get(row.experiment_id or 0),
                row.round or None,
                row.seconds,
                *map(make_plain, cells),
                *scores,
            ]

    @cached_property
    def _arms(self) -> dict[tuple[int, int | None], str]:
        """(participant, experiment) -> arm; without an experiment the arm of people who have one alone."""
        found: dict[tuple[int, int | None], str] = {}
        single: defaultdict[int, set[str]] = defaultdict(set)
        places = Assignment.objects.filter(participant__in=self.scope.participants)
        for person, experiment, arm in places.values_list("participant", "experiment", "arm__name"):
            found[person, experiment] = arm
            single[person].add(arm)
        return found | {(person, None): arms.pop() for person, arms in single.items() if len(arms) == 1}

    def list_codebook(self) -> Iterator[list[Any]]:
        for item in self.items:
            for column in KINDS[item.kind].list_columns(item):
                yield [
                    column.name,
                    item.questionnaire.title,
                    " ".join(column.question.split()),
                    KINDS[item.kind].title,
                    column.codes,
                    _describe_condition(item),
                    item.required,
                    column.reversed,
                ]
        for one in self.scored:
            yield [one.column, one.questionnaire.title, one.score.MEANING, "Score", "", "", None, None]


def _describe_condition(item: Item) -> str:
    if item.shown_when is None:
        return ""
    return f"{item.shown_when.variable} is {' or '.join(map(str, item.shown_codes))}"
