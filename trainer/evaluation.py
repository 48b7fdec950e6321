"""Evaluation of a trained policy without exploration, over fixed seeds: score, error, films.

A policy is tensors, read without running anything; no reward function is needed, and none is run. Episodes are whole:
one per world, from its reset to its end, so that short ones are not counted more often than long ones.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from simulation import catalog
from simulation.environment import Environment, Step
from simulation.rollout import write_rollout
from trainer import launch
from trainer.checkpoint import Policy, load_policy
from trainer.estimates import Estimate, estimate_mean, estimate_ratio, estimate_share

FIRST_SEED = 3_000_000_019
"""Seed 0 of an evaluation: far from the seeds of training, so that no reset is one that the policy was trained on."""
FILMS = ("best", "median", "worst")
SEEDS = (0, 1, 2, 3, 4)
"""Among which the episodes of an evaluation are divided, unless it names others."""
SHARE = "share of episodes"
"""The beginning of a metric's text where an episode succeeds or fails."""


@dataclass(frozen=True)
class Episode:
    """One episode from its reset to its end."""

    seed: int
    number: int
    """Its world among those of the seed."""
    steps: int
    terminated: bool
    """Whether it ended by termination, not at its last step."""
    diverged: bool
    metric_sum: float
    metric_count: int
    """Steps whose metric counts."""

    @property
    def score(self) -> float | None:
        """The hidden metric, averaged over the steps where it counts; None where it never does."""
        return self.metric_sum / self.metric_count if self.metric_count else None


@dataclass(frozen=True)
class Film:
    """A filmed episode."""

    which: str
    """best, median or worst."""
    seed: int
    number: int
    score: float | None
    steps: int
    clip: str
    error: str = ""


@dataclass(frozen=True)
class Evaluation:
    """Figures of one policy's episodes."""

    checkpoint: str
    task: str
    metric: str | None
    """What the score measures; None where the task has no metric, and scores are None."""
    seeds: tuple[int, ...]
    episodes: int
    """All together."""
    score: Estimate | None
    """Of the episodes. Its mean is over all steps that count, as in training."""
    score_over_seeds: Estimate | None
    """The estimate from the seeds' scores."""
    episode_length: Estimate
    """Control steps."""
    terminated: float
    """Share of the episodes."""
    diverged: int
    """Episodes whose physics failed; they are among the terminated ones."""
    films: tuple[Film, ...] = ()


def make_episode_worlds(policy: Policy, episodes: int, seed: int) -> Environment:
    """One world for each episode of a seed, as they begin."""
    return Environment(policy.task, worlds=episodes, seed=FIRST_SEED + seed, threads=len(os.sched_getaffinity(0)))


def run_steps(policy: Policy, env: Environment) -> Iterator[tuple[Step, torch.Tensor]]:
    """Step without end with mean actions; yields each step and the worlds (n,) bool that ended and were reset in it."""
    while True:
        step = env.step(policy(env.obs_buf))
        done = step.terminated | step.truncated
        env.reset(done)
        yield step, done


def run_episodes(policy: Policy, seed: int, episodes: int, tell: Callable[[float], None]) -> list[Episode]:
    """Run this many whole episodes of the seed; `tell` is called with the share of the longest episode that is done."""
    env = make_episode_worlds(policy, episodes, seed)
    running = torch.ones(episodes, dtype=torch.bool)
    terminated, diverged = torch.zeros(2, episodes, dtype=torch.bool)
    steps, counts = torch.zeros(2, episodes, dtype=torch.int64)
    sums = torch.zeros(episodes, dtype=torch.float64)
    for taken, (step, done) in enumerate(run_steps(policy, env), start=1):
        counted = step.metric_counts & running
        sums += step.metric.double() * counted
        counts += counted
        steps += running
        terminated |= step.terminated & running
        diverged |= step.diverged & running
        running &= ~done
        tell(taken / env.info.episode_steps if running.any() else 1.0)
        if not running.any():
            break
    columns = (steps, terminated, diverged, sums, counts)
    return [Episode(seed, number, *row) for number, row in enumerate(zip(*(c.tolist() for c in columns), strict=True))]


def evaluate(
    checkpoint: Path, seeds: Sequence[int], episodes: int, tell: Callable[[float], None] = lambda fraction: None
) -> tuple[Evaluation, list[Episode]]:
    """Run `episodes` episodes of every seed with the policy's mean actions; return their figures, and each of them.

    Raises ValueError, saying what is wrong, where `checkpoint` is no policy that can be run here.
    """
    policy = load_policy(checkpoint)
    torch.set_num_threads(1)
    every_episode: list[Episode] = []
    for index, seed in enumerate(seeds):

        def report_part(fraction: float, before: int = index) -> None:
            tell((before + fraction) / len(seeds))

        every_episode += run_episodes(policy, seed, episodes, report_part)
    metric = catalog.get_task(policy.task).metric
    shares = metric is not None and metric.startswith(SHARE)
    scores = (
        (None, None)
        if metric is None
        else (_estimate_score(every_episode, shares), estimate_over_seeds(every_episode, seeds, shares))
    )
    return (
        Evaluation(
            str(checkpoint),
            policy.task,
            metric,
            tuple(seeds),
            len(every_episode),
            *scores,
            episode_length=estimate_mean([episode.steps for episode in every_episode]),
            terminated=statistics.fmean(episode.terminated for episode in every_episode),
            diverged=sum(episode.diverged for episode in every_episode),
        ),
        every_episode,
    )


def _estimate_score(episodes: Sequence[Episode], shares: bool = False) -> Estimate | None:
    counted = [(episode.metric_sum, episode.metric_count) for episode in episodes if episode.metric_count]
    if shares and counted:
        return estimate_share([total / count for total, count in counted])
    return estimate_ratio(*zip(*counted, strict=True)) if counted else None


def estimate_over_seeds(episodes: Sequence[Episode], seeds: Sequence[int], shares: bool) -> Estimate | None:
    """Of the seeds' scores. Where these are shares, the interval ends where a share does."""
    each = [_estimate_score([episode for episode in episodes if episode.seed == seed]) for seed in seeds]
    known = [score.mean for score in each if score is not None]
    found = estimate_mean(known) if known else None
    if found is None or not shares or found.low is None or found.high is None:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def evaluate_policy(checkpoint: Path, episodes: int) -> dict[str, Any]:
    """What is kept of the evaluation of a training's final policy, as plain values. Its episodes are divided among
    SEEDS, as ./prefine evaluate does by default; `score` is None where the task has no metric or no step counted.
    """
    seeds = SEEDS[: min(len(SEEDS), episodes)]
    found, _ = evaluate(checkpoint, seeds, -(-episodes // len(seeds)))
    return {
        "episodes": found.episodes,
        "score": found.score.mean if found.score else None,
        "error": found.score.error if found.score else None,
        "steps": found.episode_length.mean,
        "terminated": found.terminated,
    }


def choose_episode(episodes: Sequence[Episode], which: str) -> Episode:
    """The best, median or worst episode: by its score, by its length where it has none."""
    metric = any(episode.score is not None for episode in episodes)
    known = [episode for episode in episodes if episode.score is not None] if metric else episodes
    ranked = sorted(known, key=lambda e: (e.score if e.score is not None else e.steps, -e.seed, -e.number))
    return ranked[{"worst": 0, "median": len(ranked) // 2, "best": -1}[which]]


def record_episode(policy: Policy, episode: Episode, episodes: int, path: Path) -> None:
    """Run the episode's seed again and write what its world does for the task's clip length, from the episode's start;
    where it ends before, the next one follows. `episodes`: how many the seed had.
    """
    env = make_episode_worlds(policy, episodes, episode.seed)
    frames = round(env.info.clip_seconds / env.info.control_dt)
    steps = run_steps(policy, env)
    poses, shown, restart = [], [], [True]
    for _ in range(frames):
        poses.append(env.qpos(episode.number))
        shown.append(env.mocap(episode.number))
        restart.append(bool(next(steps)[1][episode.number]))
    began = np.array(restart[:frames])
    write_rollout(path, policy.task, np.stack(poses), env.info.control_dt, began, np.stack(shown))


def film(
    evaluation: Evaluation,
    each: Sequence[Episode],
    which: Sequence[str],
    episodes: int,
    folder: Path,
    tell: Callable[[float], None] = lambda fraction: None,
) -> tuple[Film, ...]:
    """Film these of the policy's episodes into `folder`, as <checkpoint>-<which>.mp4 with a poster beside it. `tell` is
    called with the share of the films that are made.
    """
    policy, films = load_policy(Path(evaluation.checkpoint)), []
    with tempfile.TemporaryDirectory(prefix="prefine-evaluate-") as scratch:
        pairs = []
        for name in which:
            episode = choose_episode(each, name)
            rollout = Path(scratch, f"{name}.npz")
            record_episode(policy, episode, episodes, rollout)
            pairs.append((rollout, folder / f"{Path(evaluation.checkpoint).stem}-{name}.mp4"))
            films.append(Film(name, episode.seed, episode.number, episode.score, episode.steps, str(pairs[-1][1])))
        with launch.film(pairs) as process:
            try:
                lines = []
                for line in process.stdout or ():
                    lines.append(json.loads(line))
                    tell(len(lines) / len(pairs))
            except KeyboardInterrupt:
                launch.stop(process)
                raise
    missing = [f"filming ended with status {process.returncode}"] * (len(films) - len(lines))
    errors = [line["error"] for line in lines] + missing
    return tuple(Film(**{**asdict(film), "error": error}) for film, error in zip(films, errors, strict=True))
