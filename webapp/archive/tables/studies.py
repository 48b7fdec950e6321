"""What becomes of studies and the people in them (webapp.studies)."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from webapp.archive.rules import LABEL, TOKEN, Omitted, Table, keep, keep_link, keep_moment, leave_out
from webapp.archive.tables.experiments import SETTINGS


def turn_off(value: Any) -> bool:
    """An imported study takes nobody in and sends no messages."""
    return False


def close_at_import(closed_at: Any) -> Any:
    """A study that was open counts as closed from its import on."""
    return closed_at or timezone.now()


PERSONAL = "Says something about a person that no analysis needs."
TABLES = (
    Table(
        "studies.Study",
        "studies",
        "The study: one row.",
        root="study",
        path="",
        columns={
            "title": keep("Title, as participants read it."),
            "description": keep("For experimenters; no participant reads it."),
            "status": keep("draft, open or closed.", arrives=lambda status: "closed"),
            "demonstration": keep("Whether anybody could start it from the home page.", arrives=turn_off),
            "opens_at": keep_moment("From when on people might consent."),
            "closes_at": keep_moment("From when on nobody new might."),
            "closed_at": keep_moment(
                "When it was closed: the retention period counts from here.", arrives=close_at_import
            ),
            "deleted_at": keep_moment("When the people's data was deleted at the end of that period."),
            "ethics_protocol": keep("Number of the ethics protocol."),
            "ethics_expires_on": keep("The last day on which people might consent.", "date"),
            "retention_days": keep("How long the people's data is kept after closing; empty: for good.", "days"),
            "consent_text": keep("What participants agree to now; what each agreed to is in consent_texts."),
            "consent_version": keep("Version of that text."),
            "contact": leave_out("Names a person."),
            "instructions": keep("Shown before the first round."),
            "practice": keep("Whether there was a practice trial."),
            "most_attempts": keep("Attempts at the comprehension check."),
            "reasons_best": keep("Reasons for the best that people could tap, one a line; empty: those of the task."),
            "reasons_worst": keep("The same for the worst."),
            "debriefing": keep("Shown at the end."),
            "thanks_text": keep("Shown at the end."),
            "quota": keep("How many might consent; empty: no limit."),
            "experiments_each": keep("Experiments of each person."),
            "interleaved": keep("Whether people began their next experiment while a policy trained."),
            "assignment": keep("How people were spread over the arms."),
            "seed": keep("Assignment is drawn from it, and the experiments' seeds count from here."),
            "open_link": TOKEN,
            "recruiting": keep("Whether one open link was there for everybody.", arrives=turn_off),
            "parameter_person": keep("Name of the recruitment site's parameter for a person."),
            "parameter_study": keep("Name of its parameter for a study."),
            "parameter_session": keep("Name of its parameter for a session."),
            "parameter_required": keep("Whether the open link admitted only people with an id of a recruitment site."),
            "notify_email": keep("Whether people could be told by e-mail.", arrives=turn_off),
            "notify_push": keep("Whether people could be told by their browser.", arrives=turn_off),
            "language": keep("The language of its texts."),
            "other_languages": keep("Other languages in which its pages were offered."),
            "created_at": keep_moment("When the study was set up."),
        },
    ),
    Table(
        "studies.Arm",
        "arms",
        "The plans that the study compares: what experiments were started with.",
        root="study",
        path="study",
        columns=SETTINGS
        | {
            "study": keep_link(),
            "name": keep("Name; no participant reads it."),
            "position": keep("Place in lists."),
            "quota": keep("How many people it takes; empty: no limit."),
            "panel": keep("People who judge one experiment together."),
            "overlap": keep("How many of them answer each pair of segments."),
        },
    ),
    Table(
        "studies.ConsentText",
        "consent_texts",
        "Every consent text that somebody could have read.",
        root="study",
        path="study",
        columns={
            "study": keep_link(),
            "version": keep("Version."),
            "language": keep("The language that it was read in."),
            "text": keep("The text."),
            "hash": keep("SHA-256 of version and text; a participant's consent names it."),
            "created_at": keep_moment("From when on it was shown."),
        },
    ),
    Table(
        "studies.StudyTranslation",
        "study_translations",
        "What participants read, in other languages.",
        root="study",
        path="study",
        columns={
            "study": keep_link(),
            "language": keep("Its language."),
            "source": keep("The text in the study's own language."),
            "source_hash": keep("SHA-256 of that."),
            "text": keep("The translation."),
            "changed_at": keep_moment("When it was written."),
        },
    ),
    Table(
        "studies.Question",
        "questions",
        "The comprehension check.",
        root="study",
        path="study",
        columns={
            "study": keep_link(),
            "position": keep("Place in the check."),
            "text": keep("The question."),
            "answers": keep("The answers, one a line."),
            "correct": keep("The number of the correct one, from 1."),
            "explanation": keep("Shown after a wrong answer."),
            "asked_of": keep("Who is asked: empty: everybody; rounds or pairs: who is in an arm of these."),
        },
    ),
    Table(
        "studies.Participant",
        "participants",
        "People who were invited, with their consents.",
        root="study",
        path="study",
        columns={
            "study": keep_link(),
            "token": TOKEN,
            "label": LABEL,
            "source": keep("How they came: personal link, open link or recruitment site."),
            "pilot": keep("Whether they only tried the study out; such people are left out unless asked for."),
            "timezone": leave_out(PERSONAL),
            "consented_at": keep_moment("When they agreed to take part; empty: never."),
            "consent_version": keep("Version of the text they agreed to."),
            "consent_hash": keep("Its hash, as in consent_texts."),
            "consent_language": keep("The language in which they read it."),
            "language": keep("The language of their pages."),
            "instructed_at": keep_moment("When they had read the instructions."),
            "practised_at": keep_moment("When they had practised."),
            "understood_at": keep_moment("When they had passed the comprehension check."),
            "attempts": keep("How often they tried that."),
            "outcome": keep("finished, withdrawn, not_eligible or failed; empty: on the way, or never came."),
            "withdrawn_at": keep_moment("When they left."),
            "finished_at": keep_moment("When they reached the end."),
            "debriefed_at": keep_moment("When they were shown the debriefing."),
            "deleted_at": keep_moment("When what they gave was deleted: the times of this row are days then."),
            "created_at": keep_moment("When the link was made."),
        },
    ),
)
PLACES = (
    Table(
        "studies.Assignment",
        "assignments",
        "Places of people in arms: the experiments that each judges, in order.",
        root="study",
        path="participant__study",
        person="participant",
        columns={
            "participant": keep_link(),
            "arm": keep_link(),
            "experiment": keep_link("Empty until it was the person's turn."),
            "position": keep("The person's first, second ... experiment."),
            "attended_at": keep_moment(
                "When the person last turned to it from another; only where they went on meanwhile."
            ),
            "created_at": keep_moment("When the place was given."),
        },
    ),
)
OMITTED = (
    Omitted("studies.Recruit", "The key table: which recruitment id is which pseudonym.", person="participant"),
    Omitted("studies.CompletionCode", "Worth money at a recruitment site."),
)
