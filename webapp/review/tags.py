"""Reasons for a choice that a page offers as buttons: the study's own, else the task's, else general ones."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_noop

from simulation.catalog import TaskInfo as RobotTask
from webapp.base.text_lines import split_lines
from webapp.problems.lookup import TaskInfo
from webapp.studies.models import Study

BEST = (
    gettext_noop("moves smoothly"),
    gettext_noop("moves fast"),
    gettext_noop("keeps its balance"),
    gettext_noop("goes the right way"),
    gettext_noop("looks natural"),
)
WORST = (
    gettext_noop("falls over"),
    gettext_noop("hardly moves"),
    gettext_noop("shakes"),
    gettext_noop("goes the wrong way"),
    gettext_noop("looks strange"),
)
ANSWERS_BEST = (gettext_noop("right result"), gettext_noop("complete reasoning"), gettext_noop("easy to follow"))
ANSWERS_WORST = (
    gettext_noop("wrong result"),
    gettext_noop("error in the reasoning"),
    gettext_noop("gap in the reasoning"),
    gettext_noop("hard to follow"),
)
KNOWN = (
    *(f"best: {tag}" for tag in (*BEST, *ANSWERS_BEST)),
    *(f"worst: {tag}" for tag in (*WORST, *ANSWERS_WORST)),
)
"""General tags. A form may always contain them: it may be of a page that was opened before an upgrade."""


def find_best(study: Study, info: TaskInfo) -> Sequence[str]:
    return split_lines(study.reasons_best) or _find_task_reasons(info, "reasons_best") or _list_general(info)[0]


def find_worst(study: Study, info: TaskInfo) -> Sequence[str]:
    return split_lines(study.reasons_worst) or _find_task_reasons(info, "reasons_worst") or _list_general(info)[1]


def _find_task_reasons(info: TaskInfo, name: str) -> Sequence[str]:
    return getattr(info, name) if isinstance(info, RobotTask) else ()


def _list_general(info: TaskInfo) -> tuple[Sequence[str], Sequence[str]]:
    return (BEST, WORST) if isinstance(info, RobotTask) else (ANSWERS_BEST, ANSWERS_WORST)


def list_known(study: Study, info: TaskInfo) -> set[str]:
    """The tags that a form may contain."""
    best = {f"best: {words}" for words in find_best(study, info)}
    return best | {f"worst: {words}" for words in find_worst(study, info)} | set(KNOWN)
