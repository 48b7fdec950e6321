"""`./prefine evaluate`: find the policies, evaluate and film them, report."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from simulation import catalog
from trainer.checkpoint import load_policy
from trainer.commands.train import EXIT_CANCELLED, PLAIN_SECONDS, format_duration
from trainer.estimates import Estimate
from trainer.evaluation import FILMS, SEEDS, Evaluation, evaluate, film
from trainer.records import read_result

POLICIES = ("checkpoints", "policies")
"""Where a run's folder has its policies."""
QUIET_SECONDS = 2.0
"""Progress is shown after this long."""


def list_policies(path: Path, candidate: int | None) -> list[Path]:
    """The policies of `path`: a policy itself, or all or one of those in a run's folder.

    Raises ValueError, saying what to give instead, where there is none.
    """
    if path.is_file():
        if candidate is not None:
            raise ValueError(f"{path} is one file: --candidate chooses a policy of a run folder")
        return [path]
    if not path.exists():
        raise ValueError(f"there is no {path}")
    folder = path / "checkpoints" / "policies" if (path / "job.json").exists() else path
    found = {int(file.stem): file for file in folder.glob("*.pt") if file.stem.isdigit()}
    if not found:
        raise ValueError(_describe_nothing(path))
    if candidate is not None and candidate not in found:
        known = ", ".join(map(str, sorted(found)))
        raise ValueError(f"{path} has no policy of candidate {candidate}; it has those of: {known}")
    chosen = sorted(found) if candidate is None else [candidate]
    return [found[index] for index in chosen]


def _describe_nothing(path: Path) -> str:
    if (path / "job.json").exists():
        try:
            result = read_result(path)
        except (ValueError, TypeError, KeyError):
            return f"{path} holds a run whose result.json is damaged, and no policy"
        if result is None:
            return f"the run in {path} has not ended: its policies are written at the end"
        reasons = [result.error, *(f"candidate {c.index}: {c.reason}" for c in result.candidates if not c.ok)]
        return f"the run in {path} left no policy ({'; '.join(reason for reason in reasons if reason)})"
    runs = sorted(str(job.parent) for job in path.glob("*/job.json"))
    if runs:
        return f"{path} holds several runs; give one of them: {', '.join(runs)}"
    return f"{path} holds no trained policy: give a folder that ./prefine train wrote, or a policy (.pt) in one"


def check_run(checkpoint: Path) -> None:
    """Raise ValueError where a policy in a run's folder is not for the task of that run."""
    job = checkpoint.absolute().parents[2] / "job.json" if checkpoint.absolute().parts[-3:-1] == POLICIES else None
    if job is not None and job.exists():
        try:
            task = json.loads(job.read_text())["task"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{job} is damaged: this is no folder of a run any more") from None
        load_policy(checkpoint, task)


def choose_folder(path: Path) -> Path:
    """Where films go: evaluation/ in the run's folder, or beside a single policy."""
    if path.is_dir():
        return path / "evaluation"
    return path.absolute().parents[2 if path.absolute().parts[-3:-1] == POLICIES else 0] / "evaluation"


class ProgressPrinter:
    """Prints the share that is done and the time left on stderr, once something has taken QUIET_SECONDS."""

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self.began = time.monotonic()
        self._next = self.began + QUIET_SECONDS
        self._terminal = sys.stderr.isatty()

    def __call__(self, fraction: float) -> None:
        """`fraction` of all is done, at least: episodes may end early, and the first film waits for its process."""
        now = time.monotonic()
        if now < self._next or not 0 < fraction < 1:
            return
        left = (now - self.began) * (1 - fraction) / fraction
        line = f"{self.doing}: {fraction:4.0%}, at most {format_duration(left)} left"
        self._next = now + (0.5 if self._terminal else PLAIN_SECONDS)
        print(
            f"\r\033[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def say(self, line: str) -> None:
        """A line of its own, on stderr."""
        print(f"\r\033[K{line}" if self._terminal else line, file=sys.stderr, flush=True)


def format_report(evaluation: Evaluation) -> str:
    """One policy's evaluation in words."""
    seeds, info = len(evaluation.seeds), catalog.get_task(evaluation.task)
    lines = [
        f"{evaluation.task}, {evaluation.checkpoint}: {evaluation.episodes} episodes of {seeds} "
        f"{'seed' if seeds == 1 else 'seeds'}, no exploration"
    ]
    if evaluation.metric is None:
        lines.append(
            f"  {evaluation.task} has no metric: people decide by looking (--film best median worst: by length)"
        )
    elif evaluation.score is None:
        lines.append(f"  score           none: no step counted ({evaluation.metric})")
    else:
        lines.append(f"  score           {_format_estimate(evaluation.score, 'episodes')}  ({evaluation.metric})")
        if evaluation.score_over_seeds is not None and seeds > 1:
            lines.append(f"  over the seeds  {_format_estimate(evaluation.score_over_seeds, 'seeds')}")
    length = evaluation.episode_length
    lines.append(f"  episode length  {_format_estimate(length, 'episodes')}  (steps, at most {info.episode_steps - 1})")
    failed = f", {evaluation.diverged} by diverging physics" if evaluation.diverged else ""
    lines.append(f"  terminated      {evaluation.terminated:.0%} of the episodes{failed}")
    for shown in evaluation.films:
        score = "" if shown.score is None else f", score {shown.score:.4g}"
        what = f"seed {shown.seed}, episode {shown.number}: {shown.steps} steps{score}"
        lines.append(f"  {shown.which:<15} {f'not filmed: {shown.error}' if shown.error else shown.clip}  ({what})")
    return "\n".join(lines)


def _format_estimate(values: Estimate, of: str) -> str:
    if values.error is None or values.low is None or values.high is None:
        return f"{values.mean:.4g}" + (f", the same in all {values.count} {of}" if values.count > 1 else "")
    return (
        f"{values.mean:.4g} +- {values.error:.2g} (standard error; 95%: {values.low:.4g} to {values.high:.4g}), "
        f"standard deviation {values.std:.3g} of {values.count} {of}"
    )


def _parse_options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./prefine evaluate", description="Run a trained policy over fixed seeds, report its score, film episodes."
    )
    parser.add_argument("path", type=Path, metavar="CHECKPOINT_OR_RUN", help="a policy (.pt), or a run's folder")
    parser.add_argument("--candidate", type=int, metavar="I", help="only this policy of the run, counted from 0")
    parser.add_argument("--episodes", type=_parse_positive, default=20, metavar="N", help="of each seed (20)")
    parser.add_argument("--seeds", type=_parse_seed, nargs="+", default=list(SEEDS), metavar="S", help="(0 1 2 3 4)")
    parser.add_argument("--film", nargs="+", default=[], type=str.lower, choices=FILMS, help="episodes to film")
    parser.add_argument("--out", type=Path, help="folder for the films; evaluation/ in the run's folder by default")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args(arguments)


def _parse_positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of at least 1")
    return number


def _parse_seed(text: str) -> int:
    if not 0 <= (number := int(text)) < 1 << 31:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 to {(1 << 31) - 1}")
    return number


def main(arguments: list[str] | None = None) -> int:
    """Evaluate, film, report; exit status 0, 1 when the input is wrong or a film failed, 130 on Ctrl-C."""
    options = _parse_options(arguments)
    seeds, films = list(dict.fromkeys(options.seeds)), list(dict.fromkeys(options.film))
    folder = options.out or choose_folder(options.path)
    evaluations = []
    try:
        for checkpoint in list_policies(options.path, options.candidate):
            check_run(checkpoint)
            progress = ProgressPrinter("Evaluating")
            evaluation, each = evaluate(checkpoint, seeds, options.episodes, progress)
            if films:
                progress.say(f"Filming {len(films)} {'episode' if len(films) == 1 else 'episodes'} of {checkpoint}")
                made = film(evaluation, each, films, options.episodes, folder, ProgressPrinter("Filming"))
                evaluation = replace(evaluation, films=made)
            evaluations.append(evaluation)
            if not options.json:
                print(format_report(evaluation), flush=True)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped.", file=sys.stderr)
        return EXIT_CANCELLED
    if options.json:
        print(json.dumps([asdict(evaluation) for evaluation in evaluations], indent=2))
    return 1 if any(shown.error for evaluation in evaluations for shown in evaluation.films) else 0


if __name__ == "__main__":
    raise SystemExit(main())
