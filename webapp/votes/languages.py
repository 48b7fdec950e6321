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
    fields = {normalize(getattr(poll, field)): field for field in FIELDS}
    texts = (Text(field.replace("_", " "), source, stays=field == "contact") for source, field in fields.items())
    return [text for text in texts if text.source]
