"""Does the quick preset suit rewards that a person might write, not only the reference? Six of a task, together.

    python -m benchmarks.variants [--tasks Ant Humanoid] [--seed 0] [--stays-up]

On other tasks the reference is trained alone. With --stays-up, all start from the task's policy that stays up.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.candidate import EPISODE_LENGTH
from trainer.records import WARM, TrainJob, read_result

EXP_VELOCITY = """def compute_reward(
    root_states: Tensor, up_vec: Tensor, actions: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    velocity_temperature = 4.0
    speed = torch.exp(torch.clamp(root_states[:, 7], -2.0, 8.0) / velocity_temperature)
    upright = UPRIGHT * torch.exp((up_vec[:, 2] - 1.0) / 0.5)
    effort = -0.01 * torch.sum(actions ** 2, dim=-1)
    return speed + upright + effort, {"speed": speed, "upright": upright, "effort": effort}
"""
PROGRESS_HEIGHT = """def compute_reward(
    potentials: Tensor, prev_potentials: Tensor, root_states: Tensor, actions: Tensor, dof_vel: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    progress = potentials - prev_potentials
    height = torch.where(root_states[:, 2] > HEIGHT, STANDING * torch.ones_like(progress), torch.zeros_like(progress))
    energy = -0.002 * torch.sum(torch.abs(actions * dof_vel), dim=-1)
    return progress + height + energy, {"progress": progress, "height": height, "energy": energy}
"""
NUMBERS = {
    "Ant": {"UPRIGHT": "0.2", "HEIGHT": "0.4", "STANDING": "0.5", "COST": "0.005"},
    "Humanoid": {"UPRIGHT": "1.0", "HEIGHT": "1.0", "STANDING": "2.0", "COST": "0.01"},
}
"""A human's body falls more easily, so its rewards give more for standing."""


def list_rewards(task: str) -> dict[str, str]:
    """Name -> source of a reward that a person might write."""
    reference = catalog.read_reference_reward(task)
    if task not in NUMBERS:
        return {"human reference": reference}
    cost = float(NUMBERS[task]["COST"])
    variants = {
        "human reference": reference,
        "dear actions": reference.replace(f"-{cost} * torch.sum(actions", f"-{2 * cost} * torch.sum(actions"),
        "no heading": reference.replace("+ up + heading +", "+ up +").replace('        "heading": heading,\n', ""),
        "progress doubled": reference.replace(
            "total_reward = progress +", "progress = 2.0 * progress\n    total_reward = progress +"
        ),
        "exp of velocity": EXP_VELOCITY,
        "progress, height, energy": PROGRESS_HEIGHT,
    }
    for name, number in NUMBERS[task].items():
        variants = {title: source.replace(name, number) for title, source in variants.items()}
    assert len(set(variants.values())) == len(variants), "the reference reward has changed: mend the variants"
    return variants


def train(task: str, seed: int, stays_up: bool) -> list[str]:
    """A row per reward."""
    named = list_rewards(task)
    with tempfile.TemporaryDirectory() as folder:
        job = TrainJob(task, tuple(named.values()), seed=seed, film_at=(100,), warm=stays_up)
        if stays_up:
            start = catalog.find_upright_policy(task, job.preset)
            assert start, f"{task} has no policy that stays up"
            shutil.copy(start, Path(folder, WARM))
        launch.train(Path(folder), job).wait()
        result = read_result(Path(folder))
    assert result is not None
    return [
        f"| {task} | {name} | {c.rts:.2f} | {c.final_score:.2f} | {c.trace[EPISODE_LENGTH]['samples'][-1]:.0f} "
        f"| {c.samples:,} | {result.seconds:.0f} |"
        if c.rts is not None and c.final_score is not None
        else f"| {task} | {name} | failed: {c.reason} | | | | |"
        for name, c in zip(named, result.candidates, strict=True)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["Ant"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stays-up", action="store_true", help="start from the task's policy that stays up")
    arguments = parser.parse_args()
    rows = [row for task in arguments.tasks for row in train(task, arguments.seed, arguments.stays_up)]
    start = "a policy that stays up" if arguments.stays_up else "random weights"
    print(f"Quick presets, seed {arguments.seed}, from {start}; scores: the task's metric\n\n{machine()}\n")
    print("| task | reward | RTS | final score | steps of an episode at the end | samples | seconds of training |")
    print("|---|---|---:|---:|---:|---:|---:|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
