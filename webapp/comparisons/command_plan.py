"""What `./prefine compare` is asked for, as a comparison, and its row among the comparisons of the bench."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import IntegrityError, transaction

from simulation import names
from webapp.comparisons import csv_tables, plan_record
from webapp.comparisons import plan as plans
from webapp.comparisons.arms import MOST_LARGE_ROUNDS, MOST_ROUNDS, add_published_k, add_usual
from webapp.comparisons.contrasts import add_controls
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.experiments import judges
from webapp.experiments.defaults import find_model
from webapp.problems.media import get_medium

ROLES = {
    "vision": "who looks at clips",
    "describer": "who puts differences into words (default: who writes)",
    "judge_model": "who judges with --judge model (default: who writes)",
}
RETRAINED = 5
"""Seeds with which winners are trained again, by default."""
EXPERIMENTS, EARLIER_EXPERIMENTS = 6, 5
"""Repetitions by default, now and in version 0.1.0."""
KEPT = ("judge", "preset", "iterations", "seed", "label", "token_budget", "dollar_budget")
"""Options that are called as the comparison's fields."""
WORDS = ("tasks", "methods", "candidates", "experiments", "retrain", "contrasts", "most_large_rounds", "judge_options")
"""The other fields in which two equal comparisons agree, with KEPT less the budgets, and the models."""
OVER = (Comparison.Status.FINISHED, Comparison.Status.FAILED)


def read_comparison(options: dict[str, Any]) -> tuple[Comparison, Path]:
    """The comparison of the arguments, not saved, and the folder of its report. Raises CommandError for one that cannot
    be run.

    A comparison that a version without retrainings began goes on as that version planned it, unless they are asked for.
    """
    typed = options["methods"]
    try:
        asks_model = judges.JUDGES[names.find_name("judge", options["judge"], judges.JUDGES)].asks_model
        options["methods"] = add_usual(options["methods"], bool(options["vision"]), asks_model)
        if options["as_published"]:
            options["methods"] = add_published_k(options["methods"])
    except ValueError as error:
        raise CommandError(str(error)) from error
    plain_row = make_comparison(options, options["methods"], 0, [])
    plain = plain_row.plan
    folder = find_folder(options, plain)
    if all(options[name] is None for name in ("retrain", "controls", "contrasts")):
        if not options["as_published"] and (earlier := find_earlier({**options, "methods": typed}, plain)):
            return earlier, find_folder(options, earlier.plan)
        if plan_record.is_of_an_earlier_prefine(folder):
            return plain_row, folder
    filmed = all(get_medium(task).filmed for task in plain.tasks)
    controls = options["controls"] if options["controls"] is not None else ["aa"] if filmed else []
    retrain = RETRAINED if options["retrain"] is None else options["retrain"]
    methods, contrasts = add_controls(options["methods"], options["contrasts"] or [], controls, plain.arms)
    row = make_comparison(options, methods, retrain if filmed else 0, contrasts)
    row.revisions = find_begun_revisions(row, options["report"])
    return row, find_folder(options, row.plan)


def find_earlier(options: dict[str, Any], now: Plan) -> Comparison | None:
    """What version 0.1.0 made of these arguments, where it began that; `now` is what they mean today."""
    experiments = EARLIER_EXPERIMENTS if options["experiments"] is None else options["experiments"]
    try:
        row = make_comparison({**options, "experiments": experiments}, options["methods"], 0, [], MOST_ROUNDS, {})
    except CommandError:
        return None
    plan = row.plan
    folder = find_folder(options, plan)
    if not plan_record.is_of_an_earlier_prefine(folder):
        return None
    if options["out"]:  # a folder whose name does not say which plan began there
        held = csv_tables.read_ids(folder)
        return row if held <= {*plan.public_ids} and not held <= {*now.public_ids} else None
    return row


def find_begun_revisions(row: Comparison, reported: bool) -> dict[str, int | str]:
    """Those of the newest comparison of the same words, else the row's own: what an earlier version began goes on with
    the same experiments, and a report, which trains nothing, is of what is there. One that has ended is made again.
    """
    names = (*WORDS, *ROLES, "model", *(name for name in KEPT if not name.endswith("budget")))
    ended = [Comparison.Status.CANCELLED, *([] if reported else [Comparison.Status.FINISHED])]
    same = Comparison.objects.filter(**{name: getattr(row, name) for name in names}).exclude(status__in=ended)
    begun = same.order_by("-created_at").first()
    return dict(begun.revisions if begun else row.revisions)


def has_other_revisions(plan: Plan) -> bool:
    """Whether experiments of the same words would be others today."""
    return replace(plan, revisions=plans.list_revisions()).all_ids != plan.all_ids


def find_folder(options: dict[str, Any], plan: Plan) -> Path:
    return options["out"] or Path(settings.DATA_DIR) / "comparisons" / plan.name


def make_comparison(
    options: dict[str, Any],
    methods: list[str],
    retrain: int,
    contrasts: list[str],
    most_large_rounds: int = MOST_LARGE_ROUNDS,
    revisions: Mapping[str, int | str] | None = None,
) -> Comparison:
    """Not saved. Raises CommandError for words that describe none, or none that can be run."""
    try:
        row = Comparison(
            tasks=options["tasks"],
            methods=methods,
            retrain=retrain,
            contrasts=contrasts,
            candidates=parse_budget(options["budget"]),
            experiments=EXPERIMENTS if options["experiments"] is None else options["experiments"],
            most_large_rounds=most_large_rounds,
            revisions=plans.list_revisions() if revisions is None else revisions,
            judge_options=options["judge_option"],
            model=find_model(options["model"]),
            **{role: find_model(options[role]) for role in ROLES if options[role]},
            **{name: options[name] for name in KEPT},
        )
        plan = row.plan
    except ValueError as error:
        raise CommandError(str(error)) from error
    if problems := plan.problems():
        raise CommandError("\n".join(problems))
    row.tasks, row.judge, row.preset = list(plan.tasks), plan.judge, plan.preset  # typed in any case
    row.name = f"{plan.labels} on {', '.join(plan.tasks)}"[:120]
    return row


def parse_budget(text: str) -> int:
    """N of "candidates=N"."""
    name, _, value = text.partition("=")
    if name.strip() != "candidates" or not value.strip().isdecimal() or int(value) < 1:
        raise ValueError(f"--budget {text}: write it as candidates=N")
    return int(value)


def list_on_bench(row: Comparison, plan: Plan) -> Comparison:
    """The row of this comparison among those of the bench: one that is there already, or this one, saved.

    A row that a command made says from now on that the command runs it, wherever it ended, with which budgets, and with
    which reports of elsewhere; one that is running, paused or cancelled on the bench stays as it is. Raises
    ValidationError where a field cannot be saved.
    """
    if known := _find_on_bench(plan):
        waiting = (*OVER, Comparison.Status.PLANNED)
        Comparison.objects.filter(pk=known.pk, by_command=True, status__in=waiting).update(
            status=Comparison.Status.PLANNED,
            token_budget=row.token_budget,
            dollar_budget=row.dollar_budget,
            elsewhere=row.elsewhere or known.elsewhere,
        )
        return known
    row.by_command = True
    row.clean_fields()
    words = [*map(str, plan.all_ids), *(contrast.text for contrast in plan.contrasts)]
    row.public_id = uuid.uuid5(uuid.NAMESPACE_OID, "\n".join(words))
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        sooner = Comparison.objects.filter(public_id=row.public_id).first()  # another command with the same words
        if sooner is None:
            raise
        return sooner
    return row


def _find_on_bench(plan: Plan) -> Comparison | None:
    for known in Comparison.objects.all():
        with suppress(ValueError):
            if (known.plan.all_ids, known.plan.contrasts) == (plan.all_ids, plan.contrasts):
                return known
    return None


def note_end(row: Comparison, failed: bool) -> None:
    """The command came to the end of a comparison that nobody started or cancelled on the bench."""
    status = Comparison.Status.FAILED if failed else Comparison.Status.FINISHED
    Comparison.objects.filter(pk=row.pk, by_command=True, status=Comparison.Status.PLANNED).update(status=status)
