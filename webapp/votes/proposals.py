"""Prefine's own words for an A/B vote: proposed in each of its languages, until an experimenter changes them."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, override

from webapp.problems.media import answers, films
from webapp.problems.medium import Medium, StrOrPromise
from webapp.studies.models.languages import hash_source
from webapp.studies.texts.localizing import localize_row, normalize, read_translations
from webapp.votes.languages import FIELDS, list_texts
from webapp.votes.models import Poll, PollTranslation


@dataclass(frozen=True)
class Before:
    """A vote's languages and texts before a change."""

    language: str
    offered: set[tuple[str, str]]
    """Each further language with each text."""


def write_texts(medium: Medium, single: bool = False) -> dict[str, str]:
    """Field -> what is proposed for a new vote on films or on answers, in the active language. `single`: where one at a
    time is rated or graded.
    """
    instructions = medium.single_instructions if single else medium.pair_instructions
    purpose = medium.single_purpose if single else medium.pair_purpose
    return {"instructions": str(instructions), "consent_text": _write_consent(purpose)}


def note_texts(poll: Poll) -> Before:
    """Call it before a change, with the vote as it is in the database; then `propose_texts`."""
    return Before(poll.language, _list_offered(poll))


def propose_texts(poll: Poll, before: Before) -> None:
    """Put Prefine's own words into the vote's languages. What an experimenter wrote, or emptied, stays so."""
    if poll.language != before.language and poll.status == Poll.Status.DRAFT:
        words = map_words(before.language, poll.language)
        changed = [name for name in FIELDS if normalize(getattr(poll, name)) in words]
        localize_row(poll, changed, words)
        poll.save(update_fields=changed)
    rows = []
    for language, source in _list_offered(poll) - before.offered:
        words = map_words(poll.language, language)
        if source in words and source not in read_translations(poll, language):
            values = {"source": source, "source_hash": hash_source(source), "text": words[source]}
            rows.append(PollTranslation(poll=poll, language=language, **values))
    PollTranslation.objects.bulk_create(rows, ignore_conflicts=True)


def map_words(own: str, other: str) -> dict[str, str]:
    """Each text that Prefine proposes: in one language -> in the other."""
    sources, words = (_list_words(language) for language in (own, other))
    return dict(zip(sources, words, strict=True))


def _list_words(language: str) -> list[str]:
    with override(language):
        kinds = [(medium, single) for medium in (films.MEDIUM, answers.MEDIUM) for single in (False, True)]
        return [text for medium, single in kinds for text in write_texts(medium, single).values()]


def _list_offered(poll: Poll) -> set[tuple[str, str]]:
    return {(code, text.source) for text in list_texts(poll) for code in poll.offered_languages[1:]}


def _write_consent(purpose: tuple[StrOrPromise, ...]) -> str:
    paragraphs = [
        *map(str, purpose),
        gettext("Risks and benefits. There are no known risks beyond those of looking at a screen."),
        gettext(
            "Your data. We keep your answers and how long you took, under a pseudonym. We store no name and no "
            "address. If a recruitment site sent you, we keep its number for you apart from that, to pay you by. The "
            "data is kept for ten years and may be published without that number."
        ),
        gettext(
            'Voluntary. You may stop at any moment without giving a reason. "%(leave)s" on every page takes you out, '
            "and deletes your answers as long as the study is open."
        )
        % {"leave": gettext("Leave the study")},
    ]
    return "\n\n".join(paragraphs)
