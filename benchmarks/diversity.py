"""Do a round's first candidates differ more with ICPL's option `diverse`, as programs and in their films?

    python -m benchmarks.diversity [--task Cartpole] [--seeds 0 1 2] [--k 6] [--iterations I] [--code-only]

Written by the offline writer, trained with the quick preset; distances as in llm/diversity.py, from 0 to 1.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from llm import diversity, writer
from llm.methods.icpl import icpl
from llm.offline import OfflineWriter
from llm.records import Candidate, Outcome, Problem, Write
from simulation import catalog
from simulation.rollout_statistics import compute_state_statistics
from trainer import launch
from trainer.records import TrainJob, read_result


@dataclass(frozen=True)
class Round:
    """A first round: mean distances of its pairs, and its RTS; None where it was not trained."""

    code: float
    behaviour: float | None = None
    best: float | None = None
    mean: float | None = None


def first_candidates(task: str, k: int, seed: int, diverse: bool) -> tuple[Candidate, ...]:
    """The candidates of the method's first round, before training."""
    info = catalog.get_task(task)
    problem = Problem(info.name, info.description, catalog.read_observation_source(task), info.inputs)
    steps: Any = icpl(problem, random.Random(seed), k, 1, diverse=diverse)
    request = next(steps)
    while isinstance(request, Write):
        written = writer.write(OfflineWriter(), request, problem, lambda sources: launch.check(task, sources))
        assert not written.error, written.error
        request = steps.send(written.candidates)
    candidates: tuple[Candidate, ...] = request.candidates
    return candidates


def train_candidates(task: str, candidates: Sequence[Candidate], seed: int, overrides: dict[str, Any]) -> list[Outcome]:
    """Each candidate with the outcome of its training and film."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        sources = tuple(c.source for c in candidates)
        process = launch.train(folder, TrainJob(task, sources, seed=seed, overrides=overrides, film_at=(100,)))
        process.wait()
        result = read_result(folder)
        assert result is not None and not result.error, result
        found = []
        for index, (candidate, gave) in enumerate(zip(candidates, result.candidates, strict=True)):
            film = folder / "rollouts" / f"{index}-100.npz"
            states = compute_state_statistics(film) if gave.ok else {}
            found.append(Outcome(candidate, gave.ok, gave.reason, rts=gave.rts, states=states))
    return found


def measure_round(arguments: argparse.Namespace, seed: int, diverse: bool) -> Round:
    """One first round."""
    candidates = first_candidates(arguments.task, arguments.k, seed, diverse)
    code = diversity.measure_code_distance([Outcome(c, True) for c in candidates])
    assert code is not None
    if arguments.code_only:
        return Round(code)
    overrides = {"iterations": arguments.iterations} if arguments.iterations else {}
    found = train_candidates(arguments.task, candidates, seed, overrides)
    scores = [o.rts for o in found if o.rts is not None]
    return Round(code, diversity.measure_behaviour_distance(found), max(scores), statistics.mean(scores))


def main() -> None:
    """Print a row per seed and way of writing, and their means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.diversity", description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="Cartpole")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--k", type=int, default=6)
    parser.add_argument("--iterations", type=int, help="training iterations, in place of the quick preset's")
    parser.add_argument("--code-only", action="store_true", help="train nothing")
    arguments = parser.parse_args()
    print(f"{arguments.task}: how unlike the first {arguments.k} candidates are\n\n{machine()}\n")
    print("| written | seed | programs | films | best RTS | mean RTS |\n|---|---|---|---|---|---|")
    for diverse, name in ((False, "at once"), (True, "one after another")):
        rounds = [measure_round(arguments, seed, diverse) for seed in arguments.seeds]
        for seed, found in zip(arguments.seeds, rounds, strict=True):
            print(row(name, str(seed), [found.code, found.behaviour, found.best, found.mean]), flush=True)
        columns = zip(*((r.code, r.behaviour, r.best, r.mean) for r in rounds), strict=True)
        print(row(f"**{name}**", "mean", [mean(column) for column in columns]), flush=True)


def mean(values: Sequence[float | None]) -> float | None:
    """The mean; None where something was not measured."""
    known = [v for v in values if v is not None]
    return statistics.mean(known) if len(known) == len(values) else None


def row(name: str, seed: str, values: Sequence[float | None]) -> str:
    """A line of the table."""
    cells = " | ".join("-" if v is None else f"{v:.4g}" if i > 1 else f"{v:.2f}" for i, v in enumerate(values))
    return f"| {name} | {seed} | {cells} |"


if __name__ == "__main__":
    main()
