"""Prolific's side of a study: its names for completion codes, time per person, and its list of submissions."""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from webapp.studies import enrolment
from webapp.studies.models import CompletionCode, Outcome, Participant, Recruit, Study

UNPAID_THERE = ("RETURNED", "TIMED-OUT")
ENDED_THERE = (*UNPAID_THERE, "REJECTED", "SCREENED-OUT")
"""Submissions that have ended there without an answer: Prolific gives the place to somebody else."""
PAID_THERE = ("APPROVED", "AWAITING-REVIEW", "PARTIALLY-APPROVED")
STATUSES = (*ENDED_THERE, *PAID_THERE, "ACTIVE", "RESERVED", "PROCESSING")
"""The states of a submission in Prolific's documentation (docs.prolific.com, "Submission object")."""
ID_COLUMNS = ("participant id", "participant_id", "prolific_pid", "prolific pid")
CODE_COLUMNS = ("completion code", "entered_code", "entered code", "completion_code")


@dataclass(frozen=True)
class CodeType:
    """How to register the code of an outcome at Prolific."""

    label: str
    """The label of Prolific's form."""
    name: str
    """The code type of Prolific's API (docs.prolific.com, "Create a draft study")."""
    action: str
    """What Prolific should do with a submission that has this code, in the words of its actions."""


CODE_TYPES = {
    Outcome.FINISHED: CodeType("Completed", "COMPLETED", "Automatically approve, or manually review"),
    Outcome.NOT_ELIGIBLE: CodeType("No consent", "NO_CONSENT", "Request a return"),
    Outcome.WITHDRAWN: CodeType("Other: left the study", "OTHER", "Manually review; pay for the time that was spent"),
    Outcome.FAILED: CodeType(
        "Other: failed the comprehension check",
        "OTHER",
        "Request a return; or pay a fixed amount, where your workspace has screen-outs (type FIXED_SCREENOUT)",
    ),
    Outcome.STOPPED: CodeType("Other: the study failed", "OTHER", "Manually review, and pay"),
}
"""A failed attention check ends no participant's part: results are in the export, so no code stands for them."""


@dataclass(frozen=True)
class ShownCodeType:
    code: CompletionCode
    type: CodeType


@dataclass(frozen=True)
class Pay:
    """What is needed to set the reward."""

    people: int
    """People who finished."""
    minutes: float | None
    """Median from agreeing to the end, waiting included; None before anybody finished."""
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Submission:
    external_id: str
    status: str
    """As Prolific writes it, with hyphens; empty if only an id was given."""
    code: str = ""


class ListRefused(ValueError):
    """The pasted list cannot be read; the text says why."""


@dataclass(frozen=True)
class ComparedPerson:
    """A submission beside the participant here."""

    submission: Submission
    participant: Participant | None
    here: str
    finding: str
    """What does not fit; empty if all is well."""
    ends: bool
    """Whether the person takes part here although the submission has ended there."""


def measure_minutes(participant: Participant) -> float | None:
    """Minutes from agreeing to the end, with all waiting; None for those who did not finish."""
    if not (participant.consented_at and participant.finished_at):
        return None
    return (participant.finished_at - participant.consented_at).total_seconds() / 60


def read_pay(study: Study) -> Pay:
    finished = study.participants.exclude_pilots().filter(finished_at__isnull=False, consented_at__isnull=False)
    minutes = sorted(found for person in finished if (found := measure_minutes(person)) is not None)
    if not minutes:
        return Pay(0, None, None, None)
    return Pay(len(minutes), statistics.median(minutes), minutes[0], minutes[-1])


def list_code_types(study: Study) -> list[ShownCodeType]:
    return [ShownCodeType(row, CODE_TYPES[Outcome(row.outcome)]) for row in study.codes.all()]


def read_submissions(text: str) -> list[Submission]:
    """The submissions of Prolific's exported CSV, or of a list of ids that have returned, one a line.

    Raises ListRefused.
    """
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if not lines:
        raise ListRefused("Nothing was pasted. Paste Prolific's exported list, or one id a line.")
    header = [name.strip().lower() for name in next(csv.reader(lines[:1], delimiter=_find_delimiter(lines[0])))]
    column = next((name for name in ID_COLUMNS if name in header), "")
    if not column:
        return [_read_id(line) for line in lines]
    if "status" not in header:
        raise ListRefused("This list has no column Status. Download it again from the submissions page of Prolific.")
    rows = csv.DictReader(io.StringIO("\n".join(lines)), header, delimiter=_find_delimiter(lines[0]), restval="")
    next(rows)
    code = next((name for name in CODE_COLUMNS if name in header), "")
    return [
        _read_row(number, row[column], row["status"], row[code] if code else "") for number, row in enumerate(rows, 2)
    ]


def _find_delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _read_id(line: str) -> Submission:
    given = line.strip().strip(",;")
    if not given.replace("-", "").replace("_", "").isalnum():
        raise ListRefused(
            f"“{given[:60]}” is no id. Paste Prolific's whole list with its first line, or one id a line."
        )
    return Submission(given, "RETURNED")


def _read_row(number: int, external_id: str, status: str, code: str) -> Submission:
    name = "-".join(status.upper().replace("_", " ").replace("-", " ").split())
    if name not in STATUSES:
        raise ListRefused(f"Line {number}: the status “{status[:40]}” is none of Prolific's that Prefine knows.")
    return Submission(external_id.strip(), name, code.strip())


def compare_submissions(study: Study, submissions: Iterable[Submission]) -> list[ComparedPerson]:
    """Each submission beside the participant with its id; what needs a decision comes first."""
    recruits = Recruit.objects.filter(study=study, participant__pilot=False).select_related("participant")
    people = {row.external_id: row.participant for row in recruits}
    codes = dict(study.codes.values_list("code", "outcome"))
    found = [_compare(one, people.get(one.external_id), codes) for one in submissions]
    return sorted(found, key=lambda row: (not row.ends, not row.finding))


def _compare(submission: Submission, person: Participant | None, codes: dict[str, str]) -> ComparedPerson:
    if person is None:
        finding = "Paid there, but nobody with this id agreed here." if submission.status in PAID_THERE else ""
        return ComparedPerson(submission, None, "not here", finding, ends=False)
    here = person.get_outcome_display().lower() if person.outcome else "takes part"
    ends = submission.status in ENDED_THERE and not person.outcome and person.withdrawn_at is None
    return ComparedPerson(submission, person, here, _find_disagreement(submission, person, codes), ends)


def _find_disagreement(submission: Submission, person: Participant, codes: dict[str, str]) -> str:
    if submission.status in PAID_THERE and not person.outcome:
        return "Handed in there, unfinished here."
    if submission.status in UNPAID_THERE and person.outcome == Outcome.FINISHED:
        return "Ended there, finished here: perhaps the code was not handed in. Consider paying them."
    expected = codes.get(submission.code)
    if submission.code and expected is None and submission.status in PAID_THERE:
        return f"The code {submission.code} is none of this study."
    if expected and person.outcome and expected != person.outcome:
        return f"The code is that of another end: {Outcome(expected).label.lower()}."
    return ""


def list_unlisted(study: Study, submissions: Iterable[Submission]) -> list[Participant]:
    """People who take part here by an id that the list does not have."""
    listed = {one.external_id for one in submissions}
    recruits = Recruit.objects.filter(study=study, participant__pilot=False, participant__outcome="")
    return [row.participant for row in recruits.select_related("participant") if row.external_id not in listed]


def end_returned(study: Study, external_ids: Sequence[str], keep: bool) -> list[Participant]:
    """End the part of people whose submissions have ended there; their places are free again.

    keep: their answers so far stay in the results, marked as stopped. Otherwise they count as having left the study.
    """
    recruits = Recruit.objects.filter(study=study, external_id__in=external_ids, participant__pilot=False)
    ended = []
    for row in recruits.select_related("participant"):
        if row.participant.outcome or row.participant.withdrawn_at:
            continue
        if keep:
            enrolment.end_at_recruitment_site(row.participant)
        else:
            enrolment.withdraw(row.participant)
        ended.append(row.participant)
    return ended
