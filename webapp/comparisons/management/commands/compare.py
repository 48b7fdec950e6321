from __future__ import annotations

import sys
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from llm import methods
from simulation import catalog
from webapp.base.commands import PrefineCommand
from webapp.base.status_line import StatusLine
from webapp.comparisons import (
    csv_tables,
    estimate,
    experiment_results,
    findings,
    follow_ups,
    foreground,
    pace,
    plan_record,
    planned_queries,
    report,
)
from webapp.comparisons.arms import Arm
from webapp.comparisons.ceiling import Ceiling, compute_ceiling
from webapp.comparisons.command_plan import (
    EXPERIMENTS,
    RETRAINED,
    ROLES,
    has_other_revisions,
    list_on_bench,
    note_end,
    read_comparison,
)
from webapp.comparisons.contrasts import CONTROLS
from webapp.comparisons.experiment_results import Elsewhere
from webapp.comparisons.follow_ups import Step
from webapp.comparisons.foreground import State
from webapp.comparisons.models import Comparison
from webapp.comparisons.plan import Plan
from webapp.comparisons.plan_warnings import list_warnings
from webapp.comparisons.unread import find_unread
from webapp.experiments import headless, judges, progress
from webapp.experiments.models import Experiment
from webapp.experiments.options import OFFLINE
from webapp.problems.lookup import NO_PROBLEMS

LINE_SECONDS = 5.0
"""How often a line is printed where the output is not a terminal."""
STATE_SECONDS = 2.0
"""How often the rows are counted."""


class Command(PrefineCommand):
    verb = "compare"
    help = (
        "Compare methods at equal budget: plan, run, report. Stopped and started again with the same words it goes on "
        "where it was; experiments that an earlier comparison finished are read, not run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        known = ", ".join(methods.OFFERED)
        parser.add_argument("--tasks", nargs="+", required=True, metavar="TASK", help=describe_tasks())
        parser.add_argument(
            "--methods",
            nargs="+",
            required=True,
            metavar="METHOD",
            help=f"{known}; with options as rf_agent:search=bfs,self_verify=false (k=... is candidates a round, "
            "prompts=... an uploaded set), and a name of its own as 'Few at once=icpl:k=3'. The first is what the "
            "others are tested against",
        )
        parser.add_argument(
            "--retrain",
            type=int,
            metavar="SEEDS",
            help=f"seeds with which each winner is trained again (default {RETRAINED}; 0: the TS decides)",
        )
        parser.add_argument(
            "--controls",
            nargs="*",
            choices=CONTROLS,
            metavar="NAME",
            help="what stands beside the first method (default aa; none: nothing): "
            + "; ".join(f"{name}, {words}" for name, words in CONTROLS.items()),
        )
        parser.add_argument(
            "--contrasts",
            nargs="+",
            metavar="CLAIM",
            help="what is tested, each 'A > B', 'A = B' or 'A vs B' (they differ); default: every method against the "
            "first. They are fixed when the comparison begins",
        )
        parser.add_argument("--judge", default=judges.WITHOUT_PEOPLE, help="proxy (default) or model")
        parser.add_argument("--judge-option", action="append", default=[], metavar="NAME=VALUE")
        parser.add_argument(
            "--budget",
            default="candidates=30",
            metavar="candidates=N",
            help="candidates an experiment: policies trained, or answers",
        )
        parser.add_argument(
            "--as-published", action="store_true", help="Eureka and Revolve with 16 candidates a round, as published"
        )
        parser.add_argument("--experiments", type=int, help=f"independent repetitions of each (default {EXPERIMENTS})")
        parser.add_argument("--preset", default="quick", help="training settings: quick (default) or paper")
        parser.add_argument("--iterations", type=int, help="training iterations, in place of the preset's")
        parser.add_argument("--seed", type=int, default=0, help="the first repetition's; the others count on")
        parser.add_argument(
            "--model",
            help=f"a language model of the bench, by name, or {OFFLINE}; default: PREFINE_MODEL, else {OFFLINE}",
        )
        for role in ROLES:
            help_text = f"a language model of the bench, by name: {ROLES[role]}"
            parser.add_argument(f"--{role.replace('_', '-')}", metavar="NAME", help=help_text)
        parser.add_argument(
            "--token-budget", type=int, help="tokens read and written, at most, in each experiment that is not over"
        )
        parser.add_argument("--dollar-budget", type=float, help="US dollars of each, where prices are known")
        parser.add_argument("--label", default="", help="run everything again under this label")
        parser.add_argument(
            "--with",
            dest="elsewhere",
            nargs="+",
            action="extend",
            default=[],
            type=Path,
            metavar="FOLDER",
            help="reports of the same experiments written on other machines, or of a data folder that is gone: what is "
            "finished there is counted here and not run; what is finished here too is taken from here",
        )
        parser.add_argument("--out", type=Path, help="folder of the report (default: comparisons/ in the data folder)")
        parser.add_argument("--plan", action="store_true", help="only say what would be run, and how long it takes")
        parser.add_argument("--estimate", action="store_true", help="only say what it takes: tokens, US dollars, hours")
        parser.add_argument("--report", action="store_true", help="only write the report of what is there")

    def handle(self, *args: Any, **options: Any) -> None:
        row, self.folder = read_comparison(options)
        self.plan = plan = row.plan
        try:
            self.elsewhere = csv_tables.read_reports(plan, options["elsewhere"])
        except ValueError as error:
            raise CommandError(str(error)) from error
        self.last_line, self.status = 0.0, StatusLine(self.stdout)
        self.counted: tuple[float, State] = (0.0, foreground.read_state(plan, self.elsewhere))
        self.stdout.write(describe_plan(plan, self.counted[1], self.elsewhere))
        if has_other_revisions(plan):
            self.stdout.write("Tasks, presets or methods have changed since this began; --label NAME compares today's.")
        if options["estimate"]:
            self.stdout.write("\n".join(estimate.describe(plan, self.elsewhere)))
        if options["plan"] or options["estimate"]:
            return
        if plan.tests_contrasts:
            plan_record.fix(plan, self.folder, timezone.now())
        if not options["report"]:
            row = self.list_on_bench(row)
        failed: list[Experiment] = []
        if not options["report"]:
            headless.end_on_signals()
            try:
                failed = self.run()
            except KeyboardInterrupt:
                self.status.clear()
                self.stderr.write("Stopped. The same command goes on from here.")
                sys.exit(130)
            except OSError as error:  # a full disk; the step is queued again
                raise CommandError(f"{error}\nThe same command goes on from here.") from error
            if row.pk:
                note_end(row, bool(failed))
        self.stdout.write(f"Report: {report.write_report(plan, self.folder, self.elsewhere)}")
        if failed:
            reasons = "\n".join(f"{row.name}: {row.error or row.get_status_display()}" for row in failed)
            raise CommandError(f"{reasons}\nThe same command tries again what has failed.")

    def list_on_bench(self, row: Comparison) -> Comparison:
        """The row on the bench. A comparison that the bench cannot keep runs all the same, without a row."""
        if self.elsewhere:  # a page reads one report: here is one with what is finished in all of those
            report.write_report(self.plan, self.folder, self.elsewhere)
            row.elsewhere = csv_tables.select_rows(csv_tables.read_tables(self.folder), self.elsewhere)
        try:
            return list_on_bench(row, self.plan)
        except ValidationError as error:
            faults = "; ".join(f"{name}: {' '.join(words)}" for name, words in error.message_dict.items())
            self.stderr.write(f"The bench does not list this comparison. {faults}")
            return row

    def run(self) -> list[Experiment]:
        """Run every experiment that is not over; returns those that did not finish."""
        left = []
        for _, experiment in foreground.run_experiments(self.plan, self.print_progress, self.elsewhere):
            self.status.clear()
            self.stdout.write(describe_end(experiment))
            if experiment.status != Experiment.Status.FINISHED:
                left.append(experiment)
            report.write_report(self.plan, self.folder, self.elsewhere)
        return left

    def print_progress(self, step: Step, experiment: Experiment, words: dict[str, Any]) -> None:
        """Print a line of progress, at most every few seconds."""
        now = time.monotonic()
        if now - self.last_line < (0.5 if self.stdout.isatty() else LINE_SECONDS):
            return
        self.last_line = now
        if now - self.counted[0] > STATE_SECONDS:
            self.counted = now, foreground.read_state(self.plan, self.elsewhere)
        if experiment.status != Experiment.Status.RUNNING:
            return
        line = describe_progress(experiment, progress.read_progress(experiment), self.counted[1])
        self.status.show(line)


def describe_tasks() -> str:
    return f"{', '.join(catalog.list_tasks())}; or problems, by name ({NO_PROBLEMS})"


# --- words ----------------------------------------------------------------------------------------------------


def describe_plan(plan: Plan, state: State, elsewhere: Elsewhere = experiment_results.NOWHERE) -> str:
    """The experiments that will be run, and how long they take."""
    lines = [f"{'task':<16} {'method':<40} {'candidates':>12} {'queries':>8} {'experiments':>12} {'finished':>9}"]
    rows = plan.find_experiments()
    for task in plan.tasks:
        for one in plan.arms:
            ids = [plan.public_id(cell) for cell in plan.cells() if (cell.task, cell.arm) == (task, one)]
            over = [i for i in ids if i in elsewhere or (i in rows and rows[i].status in follow_ups.OVER)]
            shape = f"{one.budget}" if one.budget else f"{one.k} x {one.n}"
            lines.append(
                f"{task:<16} {one.label:<40} {shape:>12} {describe_queries(task, one):>8} {len(ids):>12} {len(over):>9}"
            )
    lines += describe_elsewhere(rows, elsewhere)
    paces = pace.measure_seconds_per_candidate(plan, plan.settings)
    known = ", ".join(
        f"{task}{f' ({preset})' if preset != plan.preset else ''} {paces[task, preset]:.1f} s a candidate"
        for task, preset in plan.settings
        if (task, preset) in paces
    )
    left = (
        f"about {format_duration(state.seconds_left)}"
        if state.seconds_left is not None
        else "not known before a first round"
    )
    lines.append(f"{state.budget - state.candidates} of {state.budget} candidates to try; time: {left}.")
    if known:
        lines.append(f"Measured here: {known}.")
    lines.append(describe_ceiling(compute_ceiling(plan, state.searches_left)))
    lines += [f"Warning: {words}" for words in list_warnings(plan)]
    lines += describe_contrasts(plan, elsewhere)
    return "\n".join(lines)


def describe_contrasts(plan: Plan, elsewhere: Elsewhere) -> list[str]:
    """What is tested, and what the plan can see."""
    unread = find_unread(plan)
    marks = {
        one: " (this writer does not read what their prompts differ in)" if one in unread else ""
        for one in plan.contrasts
    }
    lines = [f"Contrast: {one.text}{mark}" for one, mark in marks.items()]
    if not plan.tests_contrasts:
        return lines
    scores = experiment_results.group_scores(plan, experiment_results.read_results(plan, elsewhere))
    references = experiment_results.read_references(plan, elsewhere)
    return [*lines, findings.collect_evidence(plan, scores, references, unread).power_words]


def describe_queries(task: str, arm: Arm) -> str:
    """How many pairwise comparisons an experiment asks for; "-" where that is not known before."""
    queries = planned_queries.count(task, arm)
    return "-" if queries is None else f"{queries}"


def describe_elsewhere(rows: Mapping[uuid.UUID, Experiment], elsewhere: Elsewhere) -> list[str]:
    """The experiments that are read from other reports, and those of them that had begun here."""
    here = {number for number, row in rows.items() if row.status == Experiment.Status.FINISHED}
    folders = Counter(result.folder for number, result in elsewhere.items() if number not in here)
    lines = [f"Finished elsewhere: {count} experiments in {folder}." for folder, count in folders.items()]
    begun = sorted(rows[number].name for number in elsewhere.keys() & rows.keys() - here)
    return lines + [f"Begun here, finished there: {name}. That one counts." for name in begun]


def describe_ceiling(most: Ceiling) -> str:
    """The most that language models may cost."""
    if most.free:
        return "No endpoint is asked: no tokens are paid for."
    tokens = "no limit of tokens" if most.tokens is None else f"at most {most.tokens:,} tokens"
    dollars = "no limit of cost that is known" if most.dollars is None else f"at most ${most.dollars:,.2f}"
    return f"In {most.experiments} experiments: {tokens}, {dollars} (--token-budget, --dollar-budget)."


def describe_end(experiment: Experiment) -> str:
    if experiment.status != Experiment.Status.FINISHED:
        return f"{experiment.name}: {experiment.get_status_display().lower()}"
    winner = experiment.winner
    rts = f", RTS {winner.rts:.3f}" if winner and winner.rts is not None else ""
    return f"{experiment.name}: {winner.key if winner else '-'}{rts}"


def describe_progress(experiment: Experiment, now: progress.Progress, state: State) -> str:
    left = "" if state.seconds_left is None else f", {format_duration(state.seconds_left)} left"
    whole = 100 * state.candidates / state.budget
    place = min(state.finished + 1, state.experiments)
    return (
        f"[{place}/{state.experiments}] {experiment.name}: "
        f"round {now.iteration} {now.phase} {100 * now.fraction:.0f}%; in all {whole:.0f}%{left}"
    )


def format_duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
