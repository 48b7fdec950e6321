"""End-to-end training speed on Ant, ours beside its peers: `python -m benchmarks.training [--seconds 8] [--rounds 3]`.

Same task, reward and hyperparameters (the quick preset). The first table gives every contender one candidate and one
core; the second gives all cores to the trainer as it is used, six candidates in lockstep, and to SB3. They
run in processes of their own, in turns, and the median of the rounds counts. A sample is one control step of one world,
simulated, rewarded and learned from. Samples per second of processor time do not suffer from other work on the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.lockstep import K, speed
from benchmarks.machine import machine
from simulation import catalog

TASK = "Ant"
PRESET = catalog.preset(TASK, "quick")
SAMPLES = PRESET.worlds * PRESET.horizon
GYMNASIUM = "sb3_gymnasium"
LOCKSTEP = f"Prefine, K={K} in lockstep"
CONTENDERS = {
    "ours": "Prefine, K=1",
    "ours_float32": "Prefine, K=1, float32",
    "rsl_rl": "rsl_rl PPO on our physics",
    "rsl_rl_mixed": "rsl_rl PPO on our physics, its mixed precision",
    "sb3": "Stable-Baselines3 PPO on our physics",
    "sb3_gymnasium": "Stable-Baselines3 PPO on gymnasium's Ant-v5",
}


def ours(mixed: bool = True) -> Iterator[None]:
    """The trainer's own loop; one iteration per step of the generator."""
    import torch

    from simulation.environment import Environment
    from simulation.rewards.contract import compile_reward
    from trainer.collect import Collector
    from trainer.lockstep import mixed_precision
    from trainer.networks import NetworkShape
    from trainer.ppo import PPO

    info = catalog.task(TASK)
    env = Environment(TASK, worlds=PRESET.worlds)
    collector = Collector(env, [compile_reward(catalog.reference_reward(TASK), TASK)])
    shape = NetworkShape(info.num_obs, info.num_actions, PRESET.hidden, PRESET.activation)
    ppo = PPO(shape, PRESET, 1, seed=0, mixed_precision=mixed and mixed_precision())
    generator = torch.Generator().manual_seed(0)
    while True:
        noise = torch.randn(PRESET.horizon, PRESET.worlds, info.num_actions, generator=generator)
        ppo.update(collector.collect(ppo, noise).experience, generator)
        yield


def ours_float32() -> Iterator[None]:
    """Without bfloat16."""
    return ours(mixed=False)


def rsl_rl(mixed: bool = False) -> Iterator[None]:
    """The library's runner, one iteration at a time."""
    from rsl_rl.runners import OnPolicyRunner

    from benchmarks.adapters import RslWorlds

    model = {
        "class_name": "rsl_rl.models:MLPModel",
        "hidden_dims": list(PRESET.hidden),
        "activation": "swish",
        "obs_normalization": True,
    }
    distribution = {"class_name": "GaussianDistribution", "init_std": PRESET.initial_std, "std_type": "log"}
    algorithm = {
        "class_name": "PPO",
        "num_learning_epochs": PRESET.epochs,
        "num_mini_batches": PRESET.minibatches,
        "clip_param": PRESET.clip,
        "gamma": PRESET.gamma,
        "lam": PRESET.gae_lambda,
        "entropy_coef": PRESET.entropy_weight,
        "learning_rate": PRESET.learning_rate,
        "desired_kl": PRESET.kl_target,
        "use_mixed_precision": mixed,
    }
    config = {
        "num_steps_per_env": PRESET.horizon,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": model | {"distribution_cfg": distribution},
        "critic": model,
        "algorithm": algorithm,
    }
    with contextlib.redirect_stdout(io.StringIO()):
        runner = OnPolicyRunner(RslWorlds(TASK, PRESET.worlds, PRESET.reward_scale), config)
    while True:
        with contextlib.redirect_stdout(io.StringIO()):
            runner.learn(1)
        yield


def rsl_rl_mixed() -> Iterator[None]:
    """With the library's own automatic mixed precision."""
    return rsl_rl(mixed=True)


def sb3() -> Iterator[None]:
    """The library over our batched worlds."""
    from benchmarks.adapters import Sb3Worlds

    return _sb3(Sb3Worlds(TASK, PRESET.worlds, PRESET.reward_scale))


def sb3_gymnasium() -> Iterator[None]:
    """The library over gymnasium's own worlds."""
    from stable_baselines3.common.env_util import make_vec_env

    return _sb3(make_vec_env("Ant-v5", n_envs=PRESET.worlds))


def _sb3(worlds: Any) -> Iterator[None]:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    networks = {
        "net_arch": list(PRESET.hidden),
        "activation_fn": torch.nn.SiLU,
        "log_std_init": float(torch.tensor(PRESET.initial_std).log()),
    }
    learner = PPO(
        "MlpPolicy",
        VecNormalize(worlds, norm_reward=False),
        n_steps=PRESET.horizon,
        batch_size=SAMPLES // PRESET.minibatches,
        n_epochs=PRESET.epochs,
        learning_rate=PRESET.learning_rate,
        gamma=PRESET.gamma,
        gae_lambda=PRESET.gae_lambda,
        clip_range=PRESET.clip,
        ent_coef=PRESET.entropy_weight,
        policy_kwargs=networks,
        device="cpu",
    )
    learner.learn(SAMPLES)
    while True:
        learner.learn(SAMPLES, reset_num_timesteps=False)
        yield


def measure(contender: Callable[[], Iterator[None]], seconds: float) -> dict[str, float]:
    """Samples per second of wall clock and of processor time, after two iterations of warming up."""
    iterations = contender()
    for _ in range(2):
        next(iterations)
    wall, processor, samples = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds:
        next(iterations)
        samples += SAMPLES
    return {"wall": samples / (time.perf_counter() - wall), "processor": samples / (time.process_time() - processor)}


def in_a_process(name: str, seconds: float, cores: set[int]) -> dict[str, float]:
    """Measure one contender in a process of its own, with a thread of torch per core."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.training", "--only", name, "--seconds", str(seconds)],
        env=os.environ | {"OMP_NUM_THREADS": str(len(cores)), "OMP_WAIT_POLICY": "PASSIVE"},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0, help="per contender and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        print(json.dumps(measure(globals()[options.only], options.seconds)))
        return
    cores = os.sched_getaffinity(0)
    single: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    whole: dict[str, list[float]] = {LOCKSTEP: [], CONTENDERS[GYMNASIUM]: []}
    for _ in range(options.rounds):
        for name in CONTENDERS:
            single[name].append(in_a_process(name, options.seconds, {min(cores)}))
        whole[LOCKSTEP].append(speed(1, K, 0, options.seconds))
        whole[CONTENDERS[GYMNASIUM]].append(in_a_process(GYMNASIUM, options.seconds, cores)["wall"])
    print(f"{machine('stable-baselines3', 'rsl-rl-lib', 'gymnasium')}; {PRESET.worlds} worlds a candidate")
    print("\n| one core each | samples/s | samples/s of processor time | ours is faster by |")
    print("|---|---|---|---|")
    best = statistics.median(r["processor"] for r in single["ours"])
    for name, title in CONTENDERS.items():
        wall, processor = (statistics.median(r[kind] for r in single[name]) for kind in ("wall", "processor"))
        print(f"| {title} | {wall:,.0f} | {processor:,.0f} | {best / processor:.1f} |")
    print(f"\n| all {len(cores)} cores | samples/s | ours is faster by |\n|---|---|---|")
    best = statistics.median(whole[LOCKSTEP])
    for title, rates in whole.items():
        print(f"| {title} | {statistics.median(rates):,.0f} | {best / statistics.median(rates):.1f} |")


if __name__ == "__main__":
    main()
