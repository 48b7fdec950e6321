from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from llm.methods.align import ANSWERS, PICTURES, VIDEOS
from webapp.base.commands import PrefineCommand
from webapp.base.status_line import StatusLine
from webapp.comparisons import alignments, csv_tables
from webapp.comparisons.markdown_tables import format_number
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import MOST_RETRAININGS, derive_retraining_id, save_once
from webapp.experiments import alignment, headless, loop, progress
from webapp.experiments.alignment import NONE, Order
from webapp.experiments.defaults import find_model
from webapp.experiments.models import Experiment
from webapp.experiments.repeating import RETRAINING
from webapp.problems.media import get_medium

LINE_SECONDS = 5.0
"""How often a line is printed where the output is not a terminal."""


class Command(PrefineCommand):
    verb = "align"
    help = (
        "RDA's alignment rate: film episodes of trained policies, and ask a vision model whether the robots "
        "do what their tasks say. The same command goes on where it was stopped; what was rated is not asked again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "what",
            nargs="+",
            metavar="REPORT_OR_EXPERIMENT",
            help="the folder of a comparison's report; or the id of a comparison or an experiment, as in its page's "
            "address. Of a comparison, the policies that its scores are those of; of a search, its winner",
        )
        parser.add_argument(
            "--model", help="a vision model of the bench, by name (default: that of PREFINE_MODEL); none: films alone"
        )
        parser.add_argument("--videos", type=int, default=VIDEOS, help=f"films of each policy ({VIDEOS})")
        parser.add_argument("--answers", type=int, default=ANSWERS, help=f"answers about each film ({ANSWERS})")
        parser.add_argument("--pictures", type=int, default=PICTURES, help=f"pictures of each film ({PICTURES})")

    def handle(self, *args: Any, **options: Any) -> None:
        order, targets = read_order(options), find_targets(options["what"])
        self.last_line, self.status = 0.0, StatusLine(self.stdout)
        headless.end_on_signals()
        failed = []
        try:
            for number, target in enumerate(targets, 1):
                self.place = f"[{number}/{len(targets)}] "
                failed += self.rate_policies(target, order)
        except KeyboardInterrupt:
            self.status.clear()
            self.stderr.write("Stopped. The same command goes on from here.")
            sys.exit(130)
        self.status.clear()
        self.stdout.write(describe(targets))
        if failed:
            raise CommandError("\n".join(failed) + "\nThe same command tries again what has failed.")

    def rate_policies(self, target: Experiment, order: Order) -> list[str]:
        """Film one experiment's policies and have them rated. Returns what went wrong."""
        draft = alignment.draft(target, order)
        if draft is None:
            return [f"{target.name}: it has no trained policy"]
        row = save_once(draft)
        for begin in (loop.start, loop.resume, loop.retry):
            begin(row)
        headless.run_to_end(row, lambda words: self.print_progress(row))
        row.refresh_from_db()
        return [] if row.status == Experiment.Status.FINISHED else [f"{target.name}: {row.error or 'not finished'}"]

    def print_progress(self, row: Experiment) -> None:
        now = time.monotonic()
        if now - self.last_line < (0.5 if self.stdout.isatty() else LINE_SECONDS):
            return
        self.last_line = now
        step = progress.read_progress(row)
        self.status.show(f"{self.place}{row.name}: policy {step.iteration} of {step.n}, {step.phase}")


def read_order(options: dict[str, Any]) -> Order:
    """What is asked for. Raises CommandError where the model or a number will not do."""
    name = options["model"]
    try:
        model = None if name == "none" else find_model(name)
    except ValueError as error:
        raise CommandError(str(error)) from error
    if name != "none" and (model is None or model.is_offline):
        raise CommandError(
            "The offline writer sees no pictures: name a vision model (--model), or none for films alone."
        )
    for field, low, high in (("videos", 1, 20), ("answers", 1, 20), ("pictures", 2, 100)):
        if not low <= options[field] <= high:
            raise CommandError(f"--{field} must be between {low} and {high}")
    return Order(model, options["videos"], options["answers"], options["pictures"])


def find_targets(words: Iterable[str]) -> list[Experiment]:
    """The experiments whose policies are meant, each once. Raises CommandError where there is none."""
    found: dict[int, Experiment] = {}
    for word in words:
        rows = _find_in_folder(Path(word)) if Path(word).is_dir() else _find_by_id(word)
        rows = [row for row in rows if row.status == Experiment.Status.FINISHED and get_medium(row.task).filmed]
        if not rows:
            raise CommandError(f"{word}: no experiment on a robot has finished there")
        found.update({row.pk: row for row in rows})
    return list(found.values())


def _find_in_folder(folder: Path) -> list[Experiment]:
    """The newest retraining that a comparison began of every experiment of a report, else the experiment itself; and
    the references. Retrainings that staff began by hand are no part of a score.
    """
    searches = Experiment.objects.filter(public_id__in=csv_tables.read_ids(folder)).order_by("pk")
    counts = range(1, MOST_RETRAININGS + 1)
    own = {derive_retraining_id(row.public_id, seeds): row.pk for row in searches for seeds in counts}
    again = Experiment.objects.filter(
        retrains__iteration__experiment__in=searches, method=RETRAINING.name, status=Experiment.Status.FINISHED
    )
    newest = {own[row.public_id]: row for row in again.order_by("pk") if row.public_id in own}
    references = Experiment.objects.filter(public_id__in=csv_tables.read_ids(folder, "references.csv"))
    return [*(newest.get(row.pk, row) for row in searches), *references.order_by("pk")]


def _find_by_id(word: str) -> list[Experiment]:
    try:
        number = uuid.UUID(word)
    except ValueError:
        raise CommandError(f"{word}: neither the folder of a report nor an id") from None
    comparison = Comparison.objects.filter(public_id=number).first()
    return alignments.list_targets(comparison.plan) if comparison else list(Experiment.objects.filter(public_id=number))


def describe(targets: Iterable[Experiment]) -> str:
    """A line for each experiment with what was found."""
    rows = list(targets)
    found = alignment.read_alignments([row.public_id for row in rows])
    lines = [f"{'experiment':<50} {'alignment':>9} {'answers':>7} {'people':>7}  by"]
    for row in rows:
        one = found.get(row.public_id, NONE)
        rates = f"{format_number(one.rate):>9} {one.answers:>7} {format_number(one.people):>7}"
        lines.append(f"{row.name[:50]:<50} {rates}  {one.by or '-'}")
    return "\n".join(lines)
