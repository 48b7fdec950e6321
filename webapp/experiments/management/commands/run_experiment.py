from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from llm import methods
from simulation import catalog, names
from webapp.base.commands import PrefineCommand
from webapp.base.status_line import StatusLine
from webapp.experiments import headless, judges, loop, progress, prompt_sets
from webapp.experiments.candidates import describe_answers
from webapp.experiments.defaults import find_model
from webapp.experiments.models import Experiment
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.options import OFFLINE, describe_options, parse_options
from webapp.experiments.pair_sessions import warn_of_teacher
from webapp.experiments.seeds import find_next_seed
from webapp.problems import lookup
from webapp.problems.media import get_medium

ROLES = ("describer", "judge_model", "vision")
TASK = "Ant"
LINE_SECONDS = 5.0
"""How often a line is printed if the output is no terminal."""


class Command(PrefineCommand):
    verb = "run"
    help = "Run a whole experiment here, judged by the hidden metric: write, train, judge, again, to the winner."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--task", help=f"one of: {', '.join(catalog.list_tasks())} (default: {TASK})")
        parser.add_argument(
            "--problem", metavar="NAME", help="a reasoning problem to solve, in place of a robot's task"
        )
        parser.add_argument(
            "--method", default="icpl", help="one of: " + ", ".join(methods.OFFERED) + " (default: icpl)"
        )
        parser.add_argument(
            "--judge", default=judges.WITHOUT_PEOPLE, help="proxy or model; a person judges in a study, in the browser"
        )
        parser.add_argument("--k", type=int, help="candidates per round (default: the method's, mostly 6)")
        parser.add_argument("--n", type=int, help="rounds (default: the method's, mostly 5)")
        for name, owner in (("--option", "the method"), ("--judge-option", "the judge")):
            parser.add_argument(
                name, action="append", default=[], metavar="NAME=VALUE", help=f"an option of {owner}; see below"
            )
        parser.add_argument("--preset", default="quick", help="training settings: " + ", ".join(catalog.PRESETS))
        starts, able = ", ".join(TrainingStart.values), ", ".join(catalog.list_upright_tasks())
        parser.add_argument(
            "--start",
            default=TrainingStart.RANDOM,
            help=f"what each round trains from: {starts} (upright, a policy that stays up: {able})",
        )
        parser.add_argument(
            "--shared-experience",
            action="store_true",
            help="each policy of a round learns from what all of them did, under its own reward (SAC only)",
        )
        parser.add_argument("--seed", type=int, help="default: one more than the highest of an equal experiment, or 0")
        parser.add_argument(
            "--model",
            help=f"a language model of the bench, by name, or {OFFLINE}; default: PREFINE_MODEL, else {OFFLINE}",
        )
        for role in ("describer", "judge-model", "vision"):
            parser.add_argument(f"--{role}", help="a language model of the admin for this role, by name")
        parser.add_argument("--prompts", metavar="NAME", help="a set of prompts that was uploaded on the Data page")
        parser.add_argument("--token-budget", type=int, help="tokens read and written, at most")
        parser.add_argument("--dollar-budget", type=float, help="US dollars, where prices are known")
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = describe_options().replace("%", "%%")
        parser.add_argument("--iterations", type=int, help="training iterations, in place of the preset's")
        parser.add_argument("--name", default="")
        parser.add_argument("--resume", metavar="ID", help="go on with this experiment")

    def handle(self, *args: Any, **options: Any) -> None:
        if not (options["task"] or options["problem"] or options["resume"]):
            self.stdout.write(f"No --task is named: {TASK}.")
        options["task"] = options["task"] or TASK
        experiment = resume_experiment(options["resume"]) if options["resume"] else create_experiment(options)
        self.last_line, self.rounds_shown, self.status = 0.0, 0, StatusLine(self.stdout)
        self.experiment = experiment
        self.stdout.write(f"{experiment.name}  (experiment {experiment.public_id}, seed {experiment.seed})")
        if words := warn_of_teacher(experiment.task, experiment.method, experiment.options):
            self.stdout.write(f"Warning: {words}")
        headless.end_on_signals()
        try:
            headless.run_to_end(experiment, self.report)
        except KeyboardInterrupt:
            self.stdout.write("")
            self.stderr.write(
                f"Stopped. Go on with: ./prefine run --resume {experiment.public_id}\n"
                "(a site that is up on the same data takes it over; pause or cancel it on the bench)"
            )
            sys.exit(130)
        except OSError as error:  # a full disk; the step is queued again
            raise CommandError(f"{error}\nGo on with: ./prefine run --resume {experiment.public_id}") from error
        finally:  # after unexpected exceptions, say how to continue
            if not isinstance(sys.exception(), KeyboardInterrupt | SystemExit | CommandError | None):
                self.stderr.write(
                    f"Every finished step is kept. Go on with: ./prefine run --resume {experiment.public_id}"
                )
        self.finish()

    def report(self, reported: dict[str, Any]) -> None:
        """Print a line of progress, and a row of the table for each finished round."""
        self.show_rounds()
        now = time.monotonic()
        if not self.stdout.isatty() and now - self.last_line < LINE_SECONDS:
            return
        self.last_line = now
        if self.experiment.status != Experiment.Status.RUNNING:
            return
        line = format_status(progress.read_progress(self.experiment), reported)
        self.status.show(line)

    def show_rounds(self) -> None:
        over = headless.list_finished_rounds(self.experiment)
        for row in over[self.rounds_shown :]:
            if not self.rounds_shown:
                self.status.clear()
                self.stdout.write(f"{'round':>5} {'trained':>8} {'best':>6} {'best RTS':>9} {'mean RTS':>9}")
            self.status.clear()
            scores = [f"{x:9.3f}" if x is not None else f"{'-':>9}" for x in (row.best_rts, row.mean_rts)]
            self.stdout.write(f"{row.number:>5} {row.trained:>8} {row.best:>6} {' '.join(scores)}")
            self.rounds_shown += 1

    def finish(self) -> None:
        """Print the winner and save the record; raise CommandError without a winner."""
        experiment = self.experiment
        self.show_rounds()
        self.status.clear()
        record = headless.save_record(experiment)
        again = f"./prefine run --resume {experiment.public_id}"
        if experiment.status == Experiment.Status.FAILED:
            raise CommandError(f"{experiment.error}\nTry the failed step again with: {again}")
        if experiment.paused:
            raise CommandError(f"The experiment was paused. Go on with: {again}")
        if experiment.winner is None:
            raise CommandError(f"The experiment is {experiment.get_status_display().lower()}.")
        rts = "" if experiment.winner.rts is None else f", RTS {experiment.winner.rts:.3f}"
        learned = experiment.winner.source or describe_answers(experiment.winner)
        self.stdout.write(f"Winner: {experiment.winner.key}{rts}\n\n{learned}\n\nRecord: {record}")


def create_experiment(options: dict[str, Any]) -> Experiment:
    """Create and start an experiment. Raises CommandError for invalid settings."""
    try:
        options |= find_names(options)
        if options["judge"] in judges.ASKING_PEOPLE:
            raise ValueError("A person judges in the browser: set up a study on the bench and open its link.")
        method = methods.get_method(options["method"])
        iterations = limit_iterations(options)
        experiment = Experiment(
            name=options["name"] or f"{method.title} on {options['task']}",
            seed=options["seed"] or 0,
            model=find_model(options["model"]),
            overrides={} if options["iterations"] is None else {"iterations": options["iterations"]},
            **{role: find_model(options[role]) for role in ROLES if options[role]},
            k=method.k if options["k"] is None else options["k"],
            n=method.propose_rounds(options["task"]) if options["n"] is None else options["n"],
            training_start=options["start"],
            shared_experience=options["shared_experience"],
            prompt_set=prompt_sets.find_set(options["prompts"]) if options["prompts"] else None,
            token_budget=options["token_budget"],
            dollar_budget=options["dollar_budget"],
            options=parse_options(options["option"]),
            judge_options=parse_options(options["judge_option"]),
            **{name: options[name] for name in ("task", "method", "judge", "preset")},
        )
        experiment.full_clean()
    except ValidationError as error:
        problems = (f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
        raise CommandError("\n".join(problems)) from error
    except ValueError as error:
        raise CommandError(str(error)) from error
    if experiment.overrides and not 1 <= experiment.overrides["iterations"] <= iterations:
        raise CommandError(f"--iterations must be between 1 and {iterations}")
    if options["seed"] is None:
        experiment.seed = find_next_seed(experiment)
    if not options["name"]:
        experiment.name += f", seed {experiment.seed}"
    experiment.save()
    loop.start(experiment)
    return experiment


def find_names(options: dict[str, Any]) -> dict[str, str]:
    """What the arguments name, as it is known. Raises ValueError."""
    task = lookup.find_name(options["problem"] or options["task"])
    method = names.find_name("method", options["method"], methods.OFFERED)
    preset = names.find_name("preset", options["preset"], catalog.PRESETS)
    if get_medium(task).filmed:
        preset = catalog.match_preset(task, preset, methods.OFFERED[method].algorithm)
    return {
        "task": task,
        "method": method,
        "judge": names.find_name("judge", options["judge"], judges.JUDGES),
        "preset": preset,
        "start": names.find_name("start", options["start"], TrainingStart.values),
    }


def limit_iterations(options: dict[str, Any]) -> int:
    """The most training iterations that may be set; 0 if nothing is trained. Raises ValueError."""
    if not get_medium(lookup.find_task(options["task"]).name).filmed:
        return 0
    return 10 * catalog.get_preset(options["task"], options["preset"]).iterations


def resume_experiment(public_id: str) -> Experiment:
    """Start, resume or retry an experiment. Raises CommandError if that is impossible."""
    try:
        experiment = Experiment.objects.get(public_id=public_id)
    except (Experiment.DoesNotExist, ValidationError) as error:
        raise CommandError(f"there is no experiment {public_id}") from error
    if experiment.judge_info.asks_people:
        raise CommandError("A person judges this experiment, in the browser.")
    if experiment.status in (Experiment.Status.CANCELLED, Experiment.Status.FINISHED):
        raise CommandError(f"The experiment is {experiment.get_status_display().lower()}.")
    for go_on in (loop.start, loop.resume, loop.retry):
        go_on(experiment)
    return experiment


def format_status(state: progress.Progress, reported: dict[str, Any]) -> str:
    until = "to ask" if state.phase == "asking" else "in this round"
    left = "" if state.seconds_left is None else f"  {state.seconds_left:.0f} s left {until}"
    speed = reported.get("samples_per_second")
    pace = f"  {speed:,.0f} samples/s" if speed else ""
    return f"round {state.iteration}/{state.n}  {state.phase:<8} {100 * state.fraction:3.0f}%{left}{pace}"
