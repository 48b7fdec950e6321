"""Do both reward models learn the same from the same labels? B-Pref's and ours, on HalfCheetah's segments.

    PREFINE_TASKS=FOLDER python -m benchmarks.peers.bpref.reward_models --checkout BPREF --save FILE [--seeds N] [...]
    python -m benchmarks.peers.bpref.reward_models --read docs/comparisons/bpref-reward-models.csv

Learning runs in Prefine's folder with the interpreter of README.md's environment, reading with Prefine's own. Segments
of 50 steps come from random actions about a mean that each episode draws; a teacher without errors compares their
summed rewards. Both models take the first session's labels in batches of 128, at most 50 passes, and stop above 97%.
Judged on pairs that neither saw. Differences are by seed, intervals Student's t (95%).
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.kept import add_options, read_records, write_records
from simulation.environment import Environment
from trainer.preferences.labels import Labels
from trainer.preferences.reward_model import RewardModel

STEPS, EPISODES = 50, 256
UNSEEN = 1000
"""Pairs that the models are judged on."""
MOST_EPOCHS, ENOUGH = 50, 0.97


@dataclass(frozen=True)
class Fit:
    """What one model learned."""

    labels: int
    model: str
    """Ours or theirs."""
    seed: int
    right: float
    """Share of the unseen pairs that its members' mean gets right."""
    correlation: float
    """The correlation of learned and true sums of segments."""
    passes: int
    seconds: float
    """Processor seconds."""


def record_segments(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs (EPISODES, STEPS, 23) and summed rewards (EPISODES,)."""
    env = Environment("HalfCheetah", EPISODES, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    about = 2 * torch.rand(EPISODES, 6, generator=generator) - 1
    inputs, rewards = [], torch.zeros(EPISODES)
    for _ in range(STEPS):
        actions = (about + 0.5 * torch.randn(EPISODES, 6, generator=generator)).clamp(-1, 1)
        inputs.append(torch.cat((env.obs_buf, actions), dim=1))
        rewards += env.step(actions).metric
    return torch.stack(inputs, dim=1).numpy(), rewards.numpy()


def learn_ours(seed: int, first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> Any:
    """Ours after learning: what predicts returns (S,) of segments, and its passes."""
    model = RewardModel(first.shape[-1], [seed])
    inputs = torch.from_numpy(np.stack((first, second), axis=1))
    targets = torch.nn.functional.one_hot(torch.from_numpy(labels.ravel()), 2).float()
    (fit,) = model.fit([0], [Labels(inputs, torch.ones(inputs.shape[:3], dtype=torch.bool), targets)], MOST_EPOCHS)

    def predict(segments: np.ndarray) -> np.ndarray:
        valid = torch.ones(segments.shape[:2], dtype=torch.bool)
        return model.member_returns(0, torch.from_numpy(segments), valid).mean(0).numpy()

    return predict, fit.epochs


def learn_theirs(seed: int, first: np.ndarray, second: np.ndarray, labels: np.ndarray) -> Any:
    """Theirs after learning, as their training script does it."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    model = importlib.import_module("reward_model").RewardModel(17, 6, size_segment=STEPS, capacity=2000)
    model.put_queries(first, second, labels)
    epoch = 0
    for _ in range(MOST_EPOCHS):
        epoch += 1
        if np.mean(model.train_reward()) > ENOUGH:
            break
    return lambda segments: model.r_hat_batch(segments).sum((1, 2)), epoch


LEARN: dict[str, Callable[..., Any]] = {"ours": learn_ours, "theirs": learn_theirs}


def judge(model: str, seed: int, count: int) -> Fit:
    """Have a model learn from `count` labels."""
    inputs, returns = record_segments(seed)
    pairs = np.random.default_rng(seed).integers(0, EPISODES // 2, (count, 2))
    labels = (returns[pairs[:, 0]] < returns[pairs[:, 1]]).astype(np.int64).reshape(-1, 1)
    began = time.process_time()
    predict, passes = LEARN[model](seed, inputs[pairs[:, 0]], inputs[pairs[:, 1]], labels)
    seconds = time.process_time() - began
    unseen = np.random.default_rng([seed, 1]).integers(EPISODES // 2, EPISODES, (UNSEEN, 2))
    unseen = unseen[unseen[:, 0] != unseen[:, 1]]
    found = predict(inputs)
    right = (found[unseen[:, 0]] < found[unseen[:, 1]]) == (returns[unseen[:, 0]] < returns[unseen[:, 1]])
    later = slice(EPISODES // 2, None)
    correlation = float(np.corrcoef(found[later], returns[later])[0, 1])
    return Fit(count, model, seed, round(float(right.mean()), 4), round(correlation, 4), passes, round(seconds, 2))


def render(fits: Sequence[Fit]) -> str:
    """A row for each number of labels and program, and their differences, seed by seed."""
    from benchmarks.compared import spread, subtract  # needs SciPy, which the other environment is without

    lines = ["| labels | model | right on unseen pairs | correlation | passes | processor s |"]
    lines.append("|---:|---|---:|---:|---:|---:|")
    for count in dict.fromkeys(fit.labels for fit in fits):
        by_model = {name: {fit.seed: fit for fit in fits if (fit.labels, fit.model) == (count, name)} for name in LEARN}
        figures = {
            name: [{seed: getattr(fit, what) for seed, fit in own.items()} for what in ("right", "correlation")]
            for name, own in by_model.items()
        }
        for name, own in by_model.items():
            passes, seconds = (np.mean([getattr(fit, what) for fit in own.values()]) for what in ("passes", "seconds"))
            right, correlation = (spread([*values.values()]) for values in figures[name])
            lines.append(f"| {count} | {name} | {right} | {correlation} | {passes:.1f} | {seconds:.1f} |")
        right, correlation = (subtract(a, b) for a, b in zip(figures["ours"], figures["theirs"], strict=True))
        lines.append(f"| {count} | ours less theirs | {right} | {correlation} | | |")
    return "\n".join(lines)


def main() -> None:
    """Have both learn, or read what was kept and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkout", type=Path, help="of B-Pref")
    parser.add_argument("--labels", type=int, nargs="+", default=[15, 50, 150, 500])
    parser.add_argument("--seeds", type=int, default=10, help="how many (%(default)s)")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Fit)))
        return
    if not options.checkout or not options.save:
        parser.error("give --checkout and --save, or --read")
    from benchmarks.peers.bpref.run_theirs import stand_in  # needs gymnasium, which Prefine is without

    sys.path.insert(0, str(options.checkout.resolve()))
    torch.set_num_threads(1)
    stand_in()
    importlib.import_module("reward_model").device = "cpu"
    fits = []
    for count, name, seed in itertools.product(options.labels, LEARN, range(options.seeds)):
        fits.append(judge(name, seed, count))
        print(fits[-1], flush=True)
        write_records(options.save, fits)


if __name__ == "__main__":
    main()
