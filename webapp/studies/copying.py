"""Copying a study: the same plan and texts, without participants."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from webapp.studies.models import Arm, Study, new_token
from webapp.studies.questionnaires.editing import copy_questionnaires

TITLE = Study._meta.get_field("title").max_length or 120


@transaction.atomic
def copy_study(study: Study) -> Study:
    """A draft with the same texts, arms, questions, questionnaires, extra sets, gold sets and gold pairs.

    The copy has no participants, its open link is off, and it has no completion codes, which belong to one study.
    """
    copy = Study.objects.get(pk=study.pk)
    copy.pk, copy._state.adding = None, True
    copy.title = f"Copy of {study.title}"[:TITLE]
    copy.status, copy.open_link = Study.Status.DRAFT, new_token()
    copy.recruiting = copy.demonstration = False
    copy.opens_at = copy.closes_at = copy.closed_at = copy.deleted_at = None
    copy.save()
    plans = [study.trial_plan] if hasattr(study, "trial_plan") else []
    rows: list[Any] = [
        *study.arms.all(),
        *study.translations.all(),
        *study.questions.all(),
        *study.gold_sets.all(),
        *study.gold_pairs.all(),
        *plans,
    ]
    arms: dict[int, int] = {}
    for row in rows:
        before = row.pk
        row.pk, row._state.adding, row.study = None, True, copy
        row.save()
        if isinstance(row, Arm):
            arms[before] = row.pk
    copy_questionnaires(study, copy, arms)
    return copy
