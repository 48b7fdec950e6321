"""A consent text that is written from the facts of a study, and follows them until an experimenter changes it."""

from __future__ import annotations

from math import ceil

from webapp.problems.medium import Medium
from webapp.studies import duration
from webapp.studies.models import Arm, Study

TEXT = """\
Purpose. We study how people's choices can teach {subject} what is wanted.

What you do. {task} {time}

Risks and benefits. There are no known risks beyond those of looking at a screen.

Your data. We keep your choices, the reasons that you type and how long you took, under a pseudonym. We store no name \
and no address. The data is kept {kept} and may be published in this form. Your choices and reasons are given to the \
language model that writes for the {subjects}, which may be another company's: write nothing about yourself.

Voluntary. You may stop at any moment without giving a reason. "Leave the study" on every page withdraws you; what you \
gave until then is deleted when you ask for it.
"""
CONTACT = """
Contact. {contact}
"""
ETHICS = """
Ethics. This study is covered by protocol {protocol}.
"""


def write_consent(study: Study) -> str:
    """The text for the study as it is now. Facts that are not known yet are left out."""
    arms = list(study.arms.all()) if study.pk else []
    media = {arm.medium.name: arm.medium for arm in arms}
    robots = all(medium.filmed for medium in media.values())
    text = TEXT.format(
        subject="a simulated robot" if robots else "a computer program",
        subjects="robots" if robots else "programs",
        task=_describe_task(arms, media),
        time=_describe_time(study),
        kept=_describe_retention(study.retention_days),
    )
    text += CONTACT.format(contact=study.contact.strip()) if study.contact.strip() else ""
    text += ETHICS.format(protocol=study.ethics_protocol.strip()) if study.ethics_protocol.strip() else ""
    return text.strip()  # as a form's field keeps it


def follow_facts(study: Study, before: str) -> bool:
    """Write the text again if it still is `before`, what the facts made of it, and nobody can have read it.

    Returns whether it has changed; the caller saves the study.
    """
    if study.consent_text.replace("\r\n", "\n") != before or study.consent_texts.exists():
        return False
    study.consent_text = write_consent(study)
    return study.consent_text != before


def _describe_task(arms: list[Arm], media: dict[str, Medium]) -> str:
    rounds = sorted({arm.rounds for arm in arms}) or [5]
    several = rounds[-1] > 1 or len(rounds) > 1
    number = f"{rounds[0]}" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]}"
    turns = f"for {number} rounds" if several else "in one round"
    if not media or any(medium.filmed for medium in media.values()):
        watch, meanwhile = "watch short videos of a simulated robot", "the robots practise"
    else:
        watch, meanwhile = "read answers to a question", "the next answers are written"
    told = f" Between the rounds {meanwhile}; you can close the page and come back with your link." if several else ""
    return f"You {watch} and pick the best and the worst, {turns}.{told}"


def _describe_time(study: Study) -> str:
    minutes = duration.estimate_attention(study) if study.pk and study.arms.exists() else None
    return f"It takes about {ceil(minutes / 5) * 5} minutes of your attention." if minutes else ""


def _describe_retention(days: int | None) -> str:
    if days is None:
        return "for good"
    if days % 365 == 0 and days:
        years = days // 365
        return "for one year" if years == 1 else f"for {years} years"
    return f"for {days} days"
