"""The texts of an A/B vote in another language."""

from __future__ import annotations

from webapp.studies.texts.localizing import localize_row, normalize, read_translations
from webapp.studies.texts.texts import Text
from webapp.votes.models import Poll

FIELDS = ("title", "question", "instructions", "consent_text", "contact", "thanks_text")


def localize_poll(poll: Poll, language: str) -> None:
    """Put the vote's texts in this language, for showing; where one is missing, it stays in the vote's own."""
    poll.spoken = read_translations(poll, language)
    localize_row(poll, FIELDS, poll.spoken)


def list_texts(poll: Poll) -> list[Text]:
    """The vote's texts in its own language, each once."""
    names = {normalize(getattr(poll, field)): field.replace("_", " ") for field in FIELDS}
    return [Text(name, source) for source, name in names.items() if source]
