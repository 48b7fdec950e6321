"""Does the quick preset suit rewards that a person might write, not only the reference? Six on Ant, together.

python -m benchmarks.variants [--tasks Ant] [--seed 0]      (on other tasks: the reference alone)
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.machine import machine
from simulation import catalog
from trainer import launch
from trainer.records import TrainJob, read_result

EXP_VELOCITY = """def compute_reward(
    root_states: Tensor, up_vec: Tensor, actions: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    velocity_temperature = 4.0
    speed = torch.exp(torch.clamp(root_states[:, 7], -2.0, 8.0) / velocity_temperature)
    upright = 0.2 * torch.exp((up_vec[:, 2] - 1.0) / 0.5)
    effort = -0.01 * torch.sum(actions ** 2, dim=-1)
    return speed + upright + effort, {"speed": speed, "upright": upright, "effort": effort}
"""
PROGRESS_HEIGHT = """def compute_reward(
    potentials: Tensor, prev_potentials: Tensor, root_states: Tensor, actions: Tensor, dof_vel: Tensor
) -> Tuple[Tensor, Dict[str, Tensor]]:
    progress = potentials - prev_potentials
    height = torch.where(root_states[:, 2] > 0.4, 0.5 * torch.ones_like(progress), torch.zeros_like(progress))
    energy = -0.002 * torch.sum(torch.abs(actions * dof_vel), dim=-1)
    return progress + height + energy, {"progress": progress, "height": height, "energy": energy}
"""


def rewards(task: str) -> dict[str, str]:
    """Name -> source of a reward that a person might write."""
    reference = catalog.reference_reward(task)
    if task != "Ant":
        return {"human reference": reference}
    variants = {
        "human reference": reference,
        "dear actions": reference.replace("-0.005 * torch.sum(actions", "-0.01 * torch.sum(actions"),
        "no heading": reference.replace("+ up + heading +", "+ up +").replace('        "heading": heading,\n', ""),
        "progress doubled": reference.replace(
            "total_reward = progress +", "progress = 2.0 * progress\n    total_reward = progress +"
        ),
        "exp of velocity": EXP_VELOCITY,
        "progress, height, energy": PROGRESS_HEIGHT,
    }
    assert len(set(variants.values())) == len(variants), "the reference reward has changed: mend the variants"
    return variants


def train(task: str, seed: int) -> list[str]:
    """A row per reward."""
    named = rewards(task)
    with tempfile.TemporaryDirectory() as folder:
        job = TrainJob(task, tuple(named.values()), seed=seed, film_at=(100,))
        launch.train(Path(folder), job).wait()
        result = read_result(Path(folder))
    assert result is not None
    return [
        f"| {task} | {name} | {c.rts:.2f} | {c.final_score:.2f} | {c.samples:,} | {result.seconds:.0f} |"
        if c.rts is not None and c.final_score is not None
        else f"| {task} | {name} | failed: {c.reason} | | | |"
        for name, c in zip(named, result.candidates, strict=True)
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["Ant"])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = [row for task in arguments.tasks for row in train(task, arguments.seed)]
    print(f"Quick presets, seed {arguments.seed}; scores: the task's metric\n\n{machine()}\n")
    print("| task | reward | RTS | final score | samples | seconds of training |\n|---|---|---:|---:|---:|---:|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
