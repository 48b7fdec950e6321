"""The open link of a study: who comes from a recruitment site or by a link on a poster, and what they leave with.

A recruitment id is kept in `Recruit` alone, apart from the rest: no personal address, page or log holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.db import transaction
from django.http import QueryDict
from django.utils.crypto import salted_hmac

from webapp.studies import assigning, enrolment
from webapp.studies.models import CompletionCode, Participant, Recruit, Study

EXTERNAL_ID = re.compile(r"[A-Za-z0-9_.-]{1,100}")
LONGEST_PARAMETER = 200
BY_LINK = (Participant.Source.OPEN, Participant.Source.RECRUITMENT)


@dataclass(frozen=True)
class Arrival:
    """What an open link said of the person who followed it."""

    external_id: str = ""
    """Empty where the link says nothing: then the browser is remembered instead."""
    session: str = ""
    """The site's name for this visit of this person, which nobody else knows; empty where the link says none."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """missing or bad; empty where there is none."""
    wanted: str = ""
    """The name of the parameter that the problem is with."""


def arrival(study: Study, given: QueryDict) -> Arrival:
    """Read the parameters that this study names; others are left alone."""
    others = (study.parameter_study, study.parameter_session)
    came = read(given, study.parameter_person, study.parameter_session, others)
    if study.parameter_required and not (came.external_id or came.problem):
        return Arrival(problem="missing", wanted=study.parameter_person)
    return came


def read(given: QueryDict, person: str, session: str, others: Iterable[str] = ()) -> Arrival:
    """What the parameters of these names say: the person's, that of their visit, and more that come with them."""
    found = {name: given.getlist(name) for name in (person, *others, session) if name in given}
    for name, values in found.items():
        if len(values) > 1 or not _sound(values[0], name == person):
            return Arrival(problem="bad", wanted=name)
    said = {name: values[0] for name, values in found.items() if values[0]}
    if said and person not in said:
        return Arrival(problem="missing", wanted=person)
    return Arrival(said.get(person, ""), said.get(session, ""), said)


def _sound(value: str, person: bool) -> bool:
    if person:
        return not value or EXTERNAL_ID.fullmatch(value) is not None
    return len(value) <= LONGEST_PARAMETER and value.isprintable()


def known(study: Study, external_id: str) -> Participant | None:
    """Whom a recruitment id came to be when it was first seen."""
    recruit = Recruit.objects.filter(study=study, external_id=external_id).select_related("participant").first()
    return recruit.participant if recruit else None


def tokens_of(link: str, external_id: str, session: str, browser: str) -> list[str]:
    """The personal links of a person who comes by this open link: the first for a newcomer, the same at each visit.

    An id is no secret: who comes back is known by the site's session, or by the browser that they came with.
    """
    secrets = [secret for secret in (external_id and session, browser) if secret]
    return [salted_hmac(link, f"{external_id} {secret}", algorithm="sha256").hexdigest() for secret in secrets]


class TurnedAway(Exception):
    """Between reading and agreeing there came to be no room; says why, as opening.turned_away. Or elsewhere: the id
    is somebody's who began in another browser.
    """


def enrol(study: Study, came: Arrival, browser: str) -> Participant:
    """The participant who agreed on the page of the open link: a new one, or the one that they are already.

    browser: a secret of the one that they came with, the same when a form is sent twice: it makes one person then.
    Raises TurnedAway, and leaves nothing behind, where nobody can get in any more.
    """
    tokens = tokens_of(study.open_link, came.external_id, came.session, browser)
    with transaction.atomic():
        study = assigning.lock(study.pk)
        before = Participant.objects.filter(study=study, token__in=tokens).first()
        if before:
            return before
        if came.external_id and known(study, came.external_id):
            raise TurnedAway("elsewhere")
        source = Participant.Source.RECRUITMENT if came.external_id else Participant.Source.OPEN
        label = f"R{enrolment.last_label(study, 'R', BY_LINK) + 1:02d}"
        person = enrolment.visitor(study, source, label, tokens[0])
        if came.external_id:
            given = {"external_id": came.external_id, "parameters": dict(came.parameters)}
            Recruit.objects.create(study=study, participant=person, **given)
        reason = enrolment.consent(person)
        if reason:
            raise TurnedAway(reason)
    return person


@dataclass(frozen=True)
class Code:
    """A completion code, as a page shows it."""

    code: str
    way_back: str = ""
    """Where the recruitment site takes it: an https address, or empty."""

    @property
    def handed_in(self) -> bool:
        """Whether opening that address is all there is to do."""
        return self.code in self.way_back

    @property
    def site(self) -> str:
        return (urlsplit(self.way_back).hostname or "").removeprefix("www.")


def code_for(study: Study, outcome: str) -> Code | None:
    """The code for somebody whose part ended with this outcome; None before that, or where the study has none."""
    row = CompletionCode.objects.filter(study=study, outcome=outcome).first() if outcome else None
    return Code(row.code, row.url if row.url.startswith("https://") else "") if row else None
