"""Do both reward models learn the same from the same labels? B-Pref's and ours, on HalfCheetah's segments.

    PREFINE_TASKS=FOLDER PYTHONPATH=PREFINE python -m benchmarks.peers.bpref.reward_models CHECKOUT [--seeds N] [...]

Run it in Prefine's folder with the interpreter of README.md's environment. Segments of 50 steps come from random
actions about a mean that each episode draws; a teacher without errors compares their summed rewards. Both models take
the first session's labels in batches of 128, at most 50 passes, and stop above 97%. Judged on pairs that neither saw.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peers.bpref.run_theirs import stand_in
from simulation.environment import Environment
from trainer.estimates import estimate_mean
from trainer.preferences.labels import Labels
from trainer.preferences.reward_model import RewardModel

STEPS, EPISODES = 50, 256
UNSEEN = 1000
"""Pairs that the models are judged on."""
MOST_EPOCHS, ENOUGH = 50, 0.97


@dataclass(frozen=True)
class Fit:
    """What one model learned."""

    right: float
    """Share of the unseen pairs that its members' mean gets right."""
    correlation: float
    """The correlation of learned and true sums of segments."""
    epochs: int
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


def judge(learn: Callable[..., Any], seed: int, count: int) -> Fit:
    """Have a model learn from `count` labels."""
    inputs, returns = record_segments(seed)
    pairs = np.random.default_rng(seed).integers(0, EPISODES // 2, (count, 2))
    labels = (returns[pairs[:, 0]] < returns[pairs[:, 1]]).astype(np.int64).reshape(-1, 1)
    began = time.process_time()
    predict, epochs = learn(seed, inputs[pairs[:, 0]], inputs[pairs[:, 1]], labels)
    seconds = time.process_time() - began
    unseen = np.random.default_rng([seed, 1]).integers(EPISODES // 2, EPISODES, (UNSEEN, 2))
    unseen = unseen[unseen[:, 0] != unseen[:, 1]]
    found = predict(inputs)
    right = (found[unseen[:, 0]] < found[unseen[:, 1]]) == (returns[unseen[:, 0]] < returns[unseen[:, 1]])
    later = slice(EPISODES // 2, None)
    return Fit(float(right.mean()), float(np.corrcoef(found[later], returns[later])[0, 1]), epochs, seconds)


def interval(values: list[float]) -> str:
    """Mean and 95% interval."""
    found = estimate_mean(values)
    return f"{found.mean:.3f}" if found.low is None else f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"


def main() -> None:
    """Print a row for each number of labels and program, and their differences, seed by seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="of B-Pref")
    parser.add_argument("--labels", type=int, nargs="+", default=[15, 50, 150, 500])
    parser.add_argument("--seeds", type=int, default=10, help="how many (%(default)s)")
    options = parser.parse_args()
    sys.path.insert(0, str(options.checkout.resolve()))
    torch.set_num_threads(1)
    stand_in()
    importlib.import_module("reward_model").device = "cpu"
    print("| labels | model | right on unseen pairs | correlation | passes | processor s |")
    print("|---:|---|---:|---:|---:|---:|")
    for count in options.labels:
        rows = {
            name: [judge(learn, seed, count) for seed in range(options.seeds)]
            for name, learn in (("ours", learn_ours), ("theirs", learn_theirs))
        }
        for name, found in rows.items():
            cells = [interval([getattr(one, what) for one in found]) for what in ("right", "correlation")]
            passes, seconds = (np.mean([getattr(one, what) for one in found]) for what in ("epochs", "seconds"))
            print(f"| {count} | {name} | {cells[0]} | {cells[1]} | {passes:.1f} | {seconds:.2f} |", flush=True)
        pairs = list(zip(rows["ours"], rows["theirs"], strict=True))
        cells = [interval([getattr(a, what) - getattr(b, what) for a, b in pairs]) for what in ("right", "correlation")]
        print(f"| {count} | ours less theirs | {cells[0]} | {cells[1]} | | |", flush=True)


if __name__ == "__main__":
    main()
