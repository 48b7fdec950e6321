"""Studies, the people in them, their questionnaires, and what experimenters wrote in other languages."""

from webapp.studies.models.languages import Speaker, Spoken, StudyTranslation
from webapp.studies.models.questionnaires import Answer, Item, Questionnaire, Response
from webapp.studies.models.studies import (
    Arm,
    Assignment,
    CompletionCode,
    ConsentText,
    Outcome,
    Participant,
    ParticipantQuerySet,
    Question,
    Recruit,
    Study,
    StudyQuerySet,
    check_reasons,
    find_current,
    new_token,
)

__all__ = [
    "Answer",
    "Arm",
    "Assignment",
    "CompletionCode",
    "ConsentText",
    "Item",
    "Outcome",
    "Participant",
    "ParticipantQuerySet",
    "Question",
    "Questionnaire",
    "Recruit",
    "Response",
    "Speaker",
    "Spoken",
    "Study",
    "StudyQuerySet",
    "StudyTranslation",
    "check_reasons",
    "find_current",
    "new_token",
]
