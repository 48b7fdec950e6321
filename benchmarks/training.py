"""End-to-end training speed beside other libraries: `python -m benchmarks.training [--tasks Ant] [--seconds 8]
[--rounds 3]`.

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
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from benchmarks.lockstep import K, speed
from benchmarks.machine import machine
from benchmarks.peers import LIKE
from simulation import catalog
from simulation.catalog import Preset

GYMNASIUM = "sb3_gymnasium"
LOCKSTEP = f"Prefine, K={K} in lockstep"
CONTENDERS = {
    "ours": "Prefine, K=1",
    "ours_float32": "Prefine, K=1, float32",
    "rsl_rl": "rsl_rl PPO on our physics",
    "rsl_rl_mixed": "rsl_rl PPO on our physics, its mixed precision",
    "skrl": "skrl PPO on our physics",
    "skrl_mixed": "skrl PPO on our physics, its mixed precision",
    "sb3": "Stable-Baselines3 PPO on our physics",
    "sb3_gymnasium": "Stable-Baselines3 PPO on gymnasium's own environment",
}
NEEDS = {
    "rsl_rl": ("rsl_rl",),
    "rsl_rl_mixed": ("rsl_rl",),
    "skrl": ("skrl", "stable_baselines3"),  # their adapters share a module
    "skrl_mixed": ("skrl", "stable_baselines3"),
    "sb3": ("stable_baselines3",),
    "sb3_gymnasium": ("stable_baselines3", "gymnasium"),
}


def find_quick(task: str) -> Preset:
    """The task's quick preset, which is one of PPO."""
    preset = catalog.get_preset(task, "quick")
    assert isinstance(preset, Preset)
    return preset


def ours(task: str, mixed: bool = True) -> Iterator[None]:
    """The trainer's own loop; one iteration per step of the generator."""
    from simulation.environment import Environment
    from simulation.noise import SharedNoise
    from simulation.rewards.contract import compile_reward
    from trainer.collect import Collector
    from trainer.learner import has_mixed_precision
    from trainer.networks import NetworkShape
    from trainer.ppo import PPO
    from trainer.scoring import Scorer

    info, preset = catalog.get_task(task), find_quick(task)
    env = Environment(task, worlds=preset.worlds)
    collector = Collector(env, [Scorer(compile_reward(catalog.read_reference_reward(task), task))])
    shape = NetworkShape(info.num_obs, info.num_actions, preset.hidden, preset.activation)
    ppo = PPO(shape, preset, [0], mixed_precision=mixed and has_mixed_precision())
    shared = SharedNoise([0])
    while True:
        noise = shared.normal(preset.horizon, preset.worlds, info.num_actions)
        ppo.update(collector.collect(ppo, noise).experience, shared)
        yield


def ours_float32(task: str) -> Iterator[None]:
    """The trainer's PPO without bfloat16."""
    return ours(task, mixed=False)


def rsl_rl(task: str, mixed: bool = False) -> Iterator[None]:
    """The library's runner, one iteration at a time."""
    from rsl_rl.runners import OnPolicyRunner

    from benchmarks.rsl_worlds import RslWorlds

    preset = find_quick(task)
    model = {
        "class_name": "rsl_rl.models:MLPModel",
        "hidden_dims": list(preset.hidden),
        "activation": {"silu": "swish"}.get(preset.activation, preset.activation),
        "obs_normalization": True,
    }
    distribution = {"class_name": "GaussianDistribution", "init_std": preset.initial_std, "std_type": "log"}
    algorithm = {
        "class_name": "PPO",
        "num_learning_epochs": preset.epochs,
        "num_mini_batches": preset.minibatches,
        "clip_param": preset.clip,
        "gamma": preset.gamma,
        "lam": preset.gae_lambda,
        "entropy_coef": preset.entropy_weight,
        "learning_rate": preset.learning_rate,
        "desired_kl": preset.kl_target,
        "use_mixed_precision": mixed,
    }
    config = {
        "num_steps_per_env": preset.horizon,
        "save_interval": 10**9,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": model | {"distribution_cfg": distribution},
        "critic": model,
        "algorithm": algorithm,
    }
    with contextlib.redirect_stdout(io.StringIO()):
        runner = OnPolicyRunner(RslWorlds(task, preset.worlds, preset.reward_scale), config)
    while True:
        with contextlib.redirect_stdout(io.StringIO()):
            runner.learn(1)
        yield


def rsl_rl_mixed(task: str) -> Iterator[None]:
    """The library rsl_rl with its own automatic mixed precision."""
    return rsl_rl(task, mixed=True)


def skrl(task: str, mixed: bool = False) -> Iterator[None]:
    """The library's step trainer."""
    from benchmarks.skrl_worlds import train

    return train(task, mixed)


def skrl_mixed(task: str) -> Iterator[None]:
    """The library skrl with its own automatic mixed precision."""
    return skrl(task, mixed=True)


def sb3(task: str) -> Iterator[None]:
    """The library over our batched worlds."""
    from benchmarks.adapters import Sb3Worlds

    preset = find_quick(task)
    return _sb3(Sb3Worlds(task, preset.worlds, preset.reward_scale), preset)


def sb3_gymnasium(task: str) -> Iterator[None]:
    """The library over gymnasium's own worlds."""
    from stable_baselines3.common.env_util import make_vec_env

    preset = find_quick(task)
    return _sb3(make_vec_env(LIKE[task], n_envs=preset.worlds), preset)


def _sb3(worlds: Any, preset: Preset) -> Iterator[None]:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import VecNormalize

    samples = preset.worlds * preset.horizon
    networks = {
        "net_arch": list(preset.hidden),
        "activation_fn": {"silu": torch.nn.SiLU, "elu": torch.nn.ELU}[preset.activation],
        "log_std_init": float(torch.tensor(preset.initial_std).log()),
    }
    learner = PPO(
        "MlpPolicy",
        VecNormalize(worlds, norm_reward=False),
        n_steps=preset.horizon,
        batch_size=samples // preset.minibatches,
        n_epochs=preset.epochs,
        learning_rate=preset.learning_rate,
        gamma=preset.gamma,
        gae_lambda=preset.gae_lambda,
        clip_range=preset.clip,
        ent_coef=preset.entropy_weight,
        policy_kwargs=networks,
        device="cpu",
    )
    learner.learn(samples)
    while True:
        learner.learn(samples, reset_num_timesteps=False)
        yield


def measure(iterations: Iterator[None], samples: int, seconds: float, warm_up: int = 2) -> dict[str, float]:
    """Samples per second of wall clock and of processor time, where an iteration has `samples`, after warming up."""
    for _ in range(warm_up):
        next(iterations)
    wall, processor, done = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds:
        next(iterations)
        done += samples
    return {"wall": done / (time.perf_counter() - wall), "processor": done / (time.process_time() - processor)}


def in_a_process(
    name: str, task: str, seconds: float, cores: set[int], program: str = "training", **environment: str
) -> dict[str, float]:
    """Measure one contender in a process of its own, with a thread of torch per core."""
    command = [sys.executable, "-W", "ignore", "-m", f"benchmarks.{program}"]
    done = subprocess.run(
        [*command, "--only", name, "--seconds", str(seconds), "--tasks", task],
        env=os.environ | {"OMP_NUM_THREADS": str(len(cores)), "OMP_WAIT_POLICY": "PASSIVE"} | environment,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print both tables of every task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training", description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=["Ant"], choices=list(catalog.list_tasks()))
    parser.add_argument("--seconds", type=float, default=8.0, help="per contender and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        task = options.tasks[0]
        samples = catalog.get_preset(task, "quick").states
        print(json.dumps(measure(globals()[options.only](task), samples, options.seconds)))
        return
    print(machine("stable-baselines3", "rsl-rl-lib", "skrl", "gymnasium"))
    for task in options.tasks:
        tables(task, options.rounds, options.seconds)


def contenders(task: str) -> tuple[dict[str, str], list[str]]:
    """Those that are installed and have such a task, and sentences about the others."""
    present, sentences = {}, []
    for name, title in CONTENDERS.items():
        missing = [library for library in NEEDS.get(name, ()) if find_spec(library) is None]
        if missing:
            sentences.append(f"{title}: {', '.join(missing)} is not installed.")
        elif name == GYMNASIUM and task not in LIKE:
            sentences.append(f"{title}: gymnasium has no task like {task}.")
        else:
            present[name] = f"{title} ({LIKE[task]})" if name == GYMNASIUM else title
    return present, sentences


def tables(task: str, rounds: int, seconds: float) -> None:
    """Measure all contenders in turns and print one task's tables."""
    cores = os.sched_getaffinity(0)
    present, sentences = contenders(task)
    single: dict[str, list[dict[str, float]]] = {name: [] for name in present}
    whole: dict[str, list[float]] = {title: [] for title in (LOCKSTEP, present.get(GYMNASIUM)) if title}
    for _ in range(rounds):
        for name in present:
            single[name].append(in_a_process(name, task, seconds, {min(cores)}))
        whole[LOCKSTEP].append(speed(task, 1, K, 0, seconds))
        if GYMNASIUM in present:
            whole[present[GYMNASIUM]].append(in_a_process(GYMNASIUM, task, seconds, cores)["wall"])
    print(f"\n{task}, {catalog.get_preset(task, 'quick').worlds} worlds a candidate. {' '.join(sentences)}")
    print("\n| one core each | samples/s | samples/s of processor time | ours is faster by |")
    print("|---|---:|---:|---:|")
    best = statistics.median(r["processor"] for r in single["ours"])
    for name, title in present.items():
        wall, processor = (statistics.median(r[kind] for r in single[name]) for kind in ("wall", "processor"))
        print(f"| {title} | {wall:,.0f} | {processor:,.0f} | {best / processor:.1f} |")
    print(f"\n| all {len(cores)} cores | samples/s | ours is faster by |\n|---|---:|---:|")
    best = statistics.median(whole[LOCKSTEP])
    for title, rates in whole.items():
        rate = statistics.median(rates)
        faster = f"{best / rate:.1f}" if rate else "-"  # within the given seconds no iteration ended
        print(f"| {title} | {rate:,.0f} | {faster} |", flush=True)


if __name__ == "__main__":
    main()
