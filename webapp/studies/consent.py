"""A consent text that is written from the facts of a study, and follows them until an experimenter changes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import ceil

from django.utils.translation import gettext, ngettext, override

from webapp.studies import duration
from webapp.studies.models import Arm, Study
from webapp.studies.sentences import join_sentences


def write_consent(study: Study) -> str:
    """The text for the study as it is now, in its own language. Facts that are not known yet are left out."""
    return write_consents(study, [study.language])[study.language]


def write_consents(study: Study, languages: Iterable[str]) -> dict[str, str]:
    """The consent text in each of these languages."""
    arms = list(study.arms.all()) if study.pk else []
    minutes = duration.estimate_attention(study) if arms else None
    texts = {}
    for language in languages:
        with override(language):
            texts[language] = _write(study, arms, minutes)
    return texts


def follow_facts(study: Study, before: str) -> bool:
    """Write the text again if it still is `before`, what the facts made of it, and nobody can have read it.

    Returns whether it has changed; the caller saves the study.
    """
    if study.consent_text.replace("\r\n", "\n") != before or study.consent_texts.exists():
        return False
    study.consent_text = write_consent(study)
    return study.consent_text != before


def write_again(study: Study) -> None:
    """Replace the text by what the facts make of it now."""
    study.consent_text = write_consent(study)
    if is_other_text(study, study.consent_version, study.consent_text):
        study.consent_version = raise_version(study.consent_version)
    study.save(update_fields=["consent_text", "consent_version"])


def is_other_text(study: Study, version: str, text: str) -> bool:
    """Whether people may have read another text under this version."""
    read = study.consent_texts.filter(version=version, language=study.language)
    return read.exclude(text=text).exists()


def raise_version(version: str) -> str:
    """2 after 1, 1.3 after 1.2, "final 2" after "final"."""
    last = re.search(r"\d+$", version)
    if last is None:
        return f"{version[:17]} 2"
    return f"{version[: last.start()]}{int(last[0]) + 1}"


def _write(study: Study, arms: list[Arm], minutes: float | None) -> str:
    robots = all(arm.medium.filmed for arm in arms)
    contact, protocol = study.contact.strip(), study.ethics_protocol.strip()
    paragraphs = [
        gettext("Purpose. We study how people's choices can teach a simulated robot what is wanted.")
        if robots
        else gettext("Purpose. We study how people's choices can teach a computer program what is wanted."),
        join_sentences([gettext("What you do."), *_describe_task(arms), _describe_time(minutes)]),
        gettext("Risks and benefits. There are no known risks beyond those of looking at a screen."),
        join_sentences(_describe_data(study.retention_days, robots, any(arm.writes for arm in arms) or not arms)),
        gettext(
            'Voluntary. You may stop at any moment without giving a reason. "%(leave)s" on every page withdraws you; '
            "what you gave until then is deleted when you ask for it."
        )
        % {"leave": gettext("Leave the study")},
        gettext("Contact. %(contact)s") % {"contact": contact} if contact else "",
        gettext("Ethics. This study is covered by protocol %(protocol)s.") % {"protocol": protocol} if protocol else "",
    ]
    return "\n\n".join(filter(None, paragraphs))


def _describe_pairs(arms: list[Arm]) -> list[str]:
    """Where every arm asks about pairs of segments."""
    most = max(duration.count_pairs_each(arm) for arm in arms)
    return [
        gettext("You watch short videos of a simulated robot, two at a time, and say which one does it better.")
        + " "
        + ngettext("There is about %(count)s pair.", "There are about %(count)s pairs.", most) % {"count": most},
        gettext("Between the sets the robot practises; you can close the page and come back with your link."),
    ]


def _describe_task(arms: list[Arm]) -> list[str]:
    if arms and all(arm.asks_pairs for arm in arms):
        return _describe_pairs(arms)
    rounds = sorted({arm.rounds for arm in arms}) or [5]
    films = not arms or any(arm.medium.filmed for arm in arms)
    if rounds == [1]:
        if films:
            return [
                gettext("You watch short videos of a simulated robot and pick the best and the worst, in one round.")
            ]
        return [gettext("You read answers to a question and pick the best and the worst, in one round.")]
    words = {"rounds": str(rounds[0])}
    if len(rounds) > 1:
        words["rounds"] = gettext("%(fewest)s to %(most)s") % {"fewest": rounds[0], "most": rounds[-1]}
    if films:
        return [
            gettext(
                "You watch short videos of a simulated robot and pick the best and the worst, for %(rounds)s rounds."
            )
            % words,
            gettext(
                "Between the rounds the robots practise; you can close the page and come back with your link.",
            ),
        ]
    return [
        gettext("You read answers to a question and pick the best and the worst, for %(rounds)s rounds.") % words,
        gettext(
            "Between the rounds the next answers are written; you can close the page and come back with your link."
        ),
    ]


def _describe_time(minutes: float | None) -> str:
    if not minutes:
        return ""
    return gettext("It takes about %(minutes)s minutes of your attention.") % {"minutes": ceil(minutes / 5) * 5}


def _describe_data(days: int | None, robots: bool, written: bool) -> list[str]:
    """`written`: whether a language model writes, which is given what people say."""
    described = [
        gettext(
            "Your data. We keep your choices, the reasons that you type and how long you took, under a pseudonym. We "
            "store no name and no address."
        ),
        gettext("The data is kept %(kept)s and may be published in this form.") % {"kept": describe_retention(days)},
        gettext(
            "Your choices and reasons are given to the language model that writes for the robots, which may be another "
            "company's: write nothing about yourself."
        )
        if robots
        else gettext(
            "Your choices and reasons are given to the language model that writes for the programs, which may be "
            "another company's: write nothing about yourself."
        ),
    ]
    return described if written else described[:-1]


def describe_retention(days: int | None) -> str:
    """For how long data is kept after a study closes: "for 10 years"."""
    if days is None:
        return gettext("for good")
    if days % 365 == 0 and days:
        years = days // 365
        if years == 1:
            return gettext("for one year")
        return gettext("for %(years)s years") % {"years": years}
    return ngettext("for %(days)s day", "for %(days)s days", days) % {"days": days}
