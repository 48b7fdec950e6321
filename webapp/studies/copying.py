"""Copying a study: the same plan and texts, without participants."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from webapp.studies.models import Study, new_token

TITLE = Study._meta.get_field("title").max_length or 120


@transaction.atomic
def copy_study(study: Study) -> Study:
    """A draft with the same texts, arms, questions, extra sets and gold sets.

    The copy has no participants, its open link is off, and it has no completion codes, which belong to one study.
    """
    made = Study.objects.get(pk=study.pk)
    made.pk, made._state.adding = None, True
    made.title = f"Copy of {study.title}"[:TITLE]
    made.status, made.open_link = Study.Status.DRAFT, new_token()
    made.recruiting = made.demonstration = False
    made.opens_at = made.closes_at = made.closed_at = made.deleted_at = None
    made.save()
    plans = [study.trial_plan] if hasattr(study, "trial_plan") else []
    rows: list[Any] = [*study.arms.all(), *study.questions.all(), *study.gold_sets.all(), *plans]
    for row in rows:
        row.pk, row._state.adding, row.study = None, True, made
        row.save()
    return made
