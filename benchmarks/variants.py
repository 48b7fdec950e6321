"""Does the quick preset suit rewards that a person might write, not only the reference? Six of a task, together.

    python -m benchmarks.variants [--tasks Ant Humanoid] [--seeds 0 1 2] [--stays-up] [--save FILE]
    python -m benchmarks.variants --read docs/comparisons/variants.csv

On other tasks the reference is trained alone. With --stays-up, all start from the task's policy that stays up. --save
writes a line for each training and goes on with those that the file holds. Intervals are Student's t over seeds (95%),
not corrected for how many there are.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compared import spread, subtract
from benchmarks.kept import add_options, read_records, write_records
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
RANDOM, STAYS_UP = "random weights", "a policy that stays up"


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


@dataclass(frozen=True)
class Run:
    """One training."""

    task: str
    start: str
    seed: int
    reward: str
    rts: float | None
    """The highest metric of an interval; None where it was not kept."""
    final: float
    """The metric of the last interval."""
    steps: float
    """Of an episode, in the last tenth."""
    samples: int
    seconds: float
    """Of the six, which train together."""


def train(task: str, start: str, seed: int) -> list[Run]:
    """Train the rewards of a task together."""
    named = list_rewards(task)
    with tempfile.TemporaryDirectory() as folder:
        job = TrainJob(task, tuple(named.values()), seed=seed, film_at=(), warm=start == STAYS_UP)
        if job.warm:
            policy = catalog.find_upright_policy(task, job.preset)
            assert policy, f"{task} has no policy that stays up"
            shutil.copy(policy, Path(folder, WARM))
        launch.train(Path(folder), job).wait()
        result = read_result(Path(folder))
    assert result is not None and not result.error, result
    runs = []
    for name, one in zip(named, result.candidates, strict=True):
        if one.rts is None or one.final_score is None:
            print(f"{task}, {name}, seed {seed} failed: {one.reason}", flush=True)
            continue
        steps = one.trace[EPISODE_LENGTH]["samples"][-1]
        figures = (round(one.rts, 4), round(one.final_score, 4), round(steps, 2), one.samples, round(result.seconds, 1))
        runs.append(Run(task, start, seed, name, *figures))
    return runs


def render(runs: Sequence[Run]) -> str:
    """A table for each task and start."""
    groups = dict.fromkeys((run.task, run.start) for run in runs)
    return "\n\n".join(render_group([run for run in runs if (run.task, run.start) == group]) for group in groups)


def render_group(runs: Sequence[Run]) -> str:
    """What each reward reached, and how far its final score lies above the reference's."""
    by_reward = {
        name: [run for run in runs if run.reward == name] for name in dict.fromkeys(run.reward for run in runs)
    }
    first = {run.seed: run.final for run in next(iter(by_reward.values()))}
    seconds = {run.seed: run.seconds for run in runs}
    lines = [
        f"### {runs[0].task}, from {runs[0].start}: {catalog.get_task(runs[0].task).metric}",
        "",
        f"{runs[0].samples:,} samples each; seconds of training, all together: {join(seconds.values(), '.0f')}",
        "",
        "| reward | RTS | final score | mean | less the first | steps of an episode, last tenth |",
        "|---|---|---|---|---|---|",
    ]
    for name, equal in by_reward.items():
        rts, finals, steps = ([getattr(run, figure) for run in equal] for figure in ("rts", "final", "steps"))
        gap = "" if name == runs[0].reward else subtract({run.seed: run.final for run in equal}, first)
        cells = [name, join(rts, ".2f"), join(finals, ".2f"), spread(finals), gap, join(steps, ".0f")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def join(values: Iterable[float | None], form: str) -> str:
    """Values by seed in one cell."""
    return ", ".join(format(value, form) for value in values if value is not None) or "-"


def main() -> None:
    """Train what is missing, or read what was kept, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.variants", description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["Ant"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--stays-up", action="store_true", help="start from the task's policy that stays up")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Run)))
        return
    print(f"Quick presets\n\n{machine()}\n", flush=True)
    runs = read_records(options.save, Run)
    known = {(run.task, run.start, run.seed) for run in runs}
    start = STAYS_UP if options.stays_up else RANDOM
    for task, seed in itertools.product(options.tasks, options.seeds):
        if (task, start, seed) not in known:
            runs += train(task, start, seed)
        write_records(options.save, runs)
    print(render(runs))


if __name__ == "__main__":
    main()
