"""Every text that experimenters write for participants. A new kind of row joins with one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.db.models import Model

from webapp.studies.models import Study
from webapp.studies.models.questionnaires import ITEM_FIELDS, QUESTIONNAIRE_FIELDS, Item
from webapp.studies.texts.localizing import QUESTION_FIELDS, STUDY_FIELDS, normalize
from webapp.studies.texts.texts import Text


@dataclass(frozen=True)
class Source:
    title: str
    find_rows: Callable[[Study], Iterable[Model]]
    fields: tuple[str, ...]


SOURCES = (
    Source("Study", lambda study: [study], (*STUDY_FIELDS, "reasons_best", "reasons_worst")),
    Source("Question of the check", lambda study: study.questions.all(), QUESTION_FIELDS),
    Source("Questionnaire", lambda study: study.questionnaires.all(), QUESTIONNAIRE_FIELDS),
    Source("Item", lambda study: Item.objects.filter(questionnaire__study=study), ITEM_FIELDS),
)


def list_texts(study: Study) -> list[Text]:
    """The study's texts in its own language, each once."""
    found: dict[str, Text] = {}
    for kind in SOURCES:
        for number, row in enumerate(kind.find_rows(study), 1):
            for field in kind.fields:
                source = normalize(getattr(row, field))
                if source:
                    name = str(row._meta.get_field(field).verbose_name)  # type: ignore[union-attr]
                    title = kind.title if isinstance(row, Study) else f"{kind.title} {number}"
                    found.setdefault(source, Text(f"{title}: {name}", source, stays=field == "contact"))
    return list(found.values())
