"""The open link of a study: people from a recruitment site or a poster, and the completion codes they leave with.

Only `Recruit` holds a recruitment id: no personal link, page or log contains it.
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
    """What the parameters of an open link say about the person who followed it."""

    external_id: str = ""
    """The recruitment site's id; empty if the link has none, and then the browser is remembered instead."""
    session: str = ""
    """The site's secret id of this person's visit; empty if the link has none."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """missing or bad; empty if there is none."""
    parameter: str = ""
    """The name of the parameter with the problem."""


def read_arrival(study: Study, query: QueryDict) -> Arrival:
    """Read the parameters that this study names; others are ignored."""
    others = (study.parameter_study, study.parameter_session)
    arrival = read_parameters(query, study.parameter_person, study.parameter_session, others)
    if study.parameter_required and not (arrival.external_id or arrival.problem):
        return Arrival(problem="missing", parameter=study.parameter_person)
    return arrival


def read_parameters(query: QueryDict, person: str, session: str, others: Iterable[str] = ()) -> Arrival:
    """Read the parameters with these names: the person's id, the id of their visit, and others."""
    found = {name: query.getlist(name) for name in (person, *others, session) if name in query}
    for name, values in found.items():
        if len(values) > 1 or not _is_valid(values[0], name == person):
            return Arrival(problem="bad", parameter=name)
    parameters = {name: values[0] for name, values in found.items() if values[0]}
    if parameters and person not in parameters:
        return Arrival(problem="missing", parameter=person)
    return Arrival(parameters.get(person, ""), parameters.get(session, ""), parameters)


def _is_valid(value: str, person: bool) -> bool:
    if person:
        return not value or EXTERNAL_ID.fullmatch(value) is not None
    return len(value) <= LONGEST_PARAMETER and value.isprintable()


def make_link_parameters(study: Study) -> str:
    """What the open link needs at Prolific, which fills its placeholders in; empty at any other site."""
    if (study.parameter_person, study.parameter_required) != ("PROLIFIC_PID", True):
        return ""
    names = (study.parameter_person, study.parameter_study, study.parameter_session)
    filled = zip(names, ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"), strict=True)
    return "?" + "&".join(f"{name}={{{{%{placeholder}%}}}}" for name, placeholder in filled)


def find_recruited(study: Study, external_id: str) -> Participant | None:
    """The participant with this recruitment id; None if it is new."""
    recruit = Recruit.objects.filter(study=study, external_id=external_id).select_related("participant").first()
    return recruit.participant if recruit else None


def derive_tokens(link: str, external_id: str, session: str, browser: str) -> list[str]:
    """The tokens of a person who uses this open link, the same at each visit; a newcomer gets the first.

    They depend on the site's session id or on the browser's secret, because a recruitment id is no secret.
    """
    secrets = [secret for secret in (external_id and session, browser) if secret]
    return [salted_hmac(link, f"{external_id} {secret}", algorithm="sha256").hexdigest() for secret in secrets]


class EnrolmentRefused(Exception):
    """Nobody can get in any more. The text is the reason from opening.find_closed_reason, or "elsewhere" if somebody
    with the same id began in another browser.
    """


def enrol(study: Study, arrival: Arrival, browser: str, language: str = "") -> Participant:
    """The participant who agreed on the page of the open link: a new one, or an existing one who comes back.

    browser: the browser's secret, so that a form that is sent twice makes one participant.
    Raises EnrolmentRefused, and stores nothing, when nobody can get in any more.
    """
    tokens = derive_tokens(study.open_link, arrival.external_id, arrival.session, browser)
    with transaction.atomic():
        study = assigning.lock_study(study.pk)
        before = Participant.objects.filter(study=study, token__in=tokens).first()
        if before:
            return before
        if arrival.external_id and find_recruited(study, arrival.external_id):
            raise EnrolmentRefused("elsewhere")
        source = Participant.Source.RECRUITMENT if arrival.external_id else Participant.Source.OPEN
        label = f"R{enrolment.find_last_number(study, 'R', BY_LINK) + 1:02d}"
        person = enrolment.create_participant(study, source, label, tokens[0])
        if arrival.external_id:
            values = {"external_id": arrival.external_id, "parameters": dict(arrival.parameters)}
            Recruit.objects.create(study=study, participant=person, **values)
        reason = enrolment.accept_consent(person, language)
        if reason:
            raise EnrolmentRefused(reason)
    return person


@dataclass(frozen=True)
class ShownCode:
    """A completion code as a page shows it."""

    code: str
    return_address: str = ""
    """The https address at which the recruitment site takes the code; may be empty."""

    @property
    def submits_code(self) -> bool:
        """Whether opening that address submits the code."""
        return self.code in self.return_address

    @property
    def site(self) -> str:
        return (urlsplit(self.return_address).hostname or "").removeprefix("www.")


def find_own_code(participant: Participant, outcome: str) -> ShownCode | None:
    """The code for this person. Beside an open link, personal links show no code that leads to the site."""
    code = find_code(participant.study, outcome)
    personal = participant.source == Participant.Source.LINK
    if code and personal and participant.study.recruiting and code.return_address:
        return None
    return code


def find_code(study: Study, outcome: str) -> ShownCode | None:
    """The code for somebody whose part ended with this outcome; None before that, or if the study has none."""
    row = CompletionCode.objects.filter(study=study, outcome=outcome).first() if outcome else None
    return ShownCode(row.code, row.url if row.url.startswith("https://") else "") if row else None
