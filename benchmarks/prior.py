"""What answers add to a search's winner: its policy trains on with its program, with a model of answers, or with both.

    python -m benchmarks.prior [--seeds 0 1 2] [--queries 49 150] [--data DIR] [--save FILE]
    python -m benchmarks.prior --read docs/comparisons/prior.csv

The search is a short one of ICPL on Cartpole by the offline writer, so that there is something left to learn. Each
training is as long as one of its own and learns as `./prefine learn --prior` has it: PrefPPO, segments of 50 steps, a
teacher without errors that compares the metric. A finished search and trainings in DIR are read, not run again.
Intervals are Student's t over seeds (95%), not corrected for how many there are.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import learning
from benchmarks.compared import spread, subtract
from benchmarks.kept import add_options, read_records, write_records
from benchmarks.machine import machine
from trainer import launch
from trainer.preferences.algorithms import Preferences
from trainer.preferences.session_figures import read_sessions
from trainer.records import WARM, TrainJob, read_result

SEARCH: dict[str, Any] = {"task": "Cartpole", "k": 3, "n": 2, "iterations": 10}
EPISODES = 20
"""Whole episodes with mean actions, over which each final policy is evaluated."""
WINNER, RANDOM = "the winner's policy", "random weights"
PROGRAM, BOTH, MODEL = "its program alone", "program and model", "model alone (PrefPPO)"


@dataclass(frozen=True)
class Run:
    """One training."""

    start: str
    reward: str
    queries: int | None
    seed: int
    answers: int | None
    """Given of the queries: without enough segments that tell something, a session asks for nothing."""
    rts: float
    final: float
    """The mean of EPISODES."""

    @property
    def arm(self) -> tuple[str, str, int | None]:
        """What trainings with other seeds have in common."""
        return self.start, self.reward, self.queries


def find_winner(data: Path) -> tuple[str, Path]:
    """The program and the policy that the search ended with. Searches, unless that was done before."""
    arguments = argparse.Namespace(**SEARCH, data=data)
    learning.run("icpl", 0, arguments)
    folder = learning.folder_of("icpl", 0, arguments)
    path = Path(json.loads((folder / "done.json").read_text())["record"])
    record = json.loads(path.read_text())
    for request in record["requests"]:
        for position, outcome in enumerate(request["result"] if request["kind"] == "Train" else ()):
            if outcome["candidate"]["id"] == record["winner"]:
                run = folder / "runs" / f"{path.stem}-{request['step']}"
                return outcome["candidate"]["source"], run / "checkpoints" / "policies" / f"{position}.pt"
    raise RuntimeError(f"{path} has no winner that was trained")


def train(data: Path, start: str, winner: tuple[str, Path], options: argparse.Namespace) -> Iterator[Run]:
    """All arms of one start, in one job."""
    arms: list[tuple[str, int | None]] = [(PROGRAM, None)]
    arms += [(reward, queries) for reward in (BOTH, MODEL)[start == RANDOM :] for queries in options.queries]
    cases = [(reward, queries, seed) for reward, queries in arms for seed in options.seeds]
    job = TrainJob(
        SEARCH["task"],
        (winner[0],) * len(cases),
        overrides={"iterations": SEARCH["iterations"]},
        film_at=(),
        warm=start == WINNER,
        seeds=tuple(seed for *_, seed in cases),
        preferences=tuple(
            None if queries is None else Preferences(budget=queries, truth="metric", prior=reward == BOTH)
            for reward, queries, _ in cases
        ),
        episodes=EPISODES,
    )
    folder = data / "-".join([start.split()[-1], *map(str, [*options.queries, "seeds", *options.seeds])])
    if read_result(folder) is None:
        folder.mkdir(parents=True, exist_ok=True)
        if job.warm:
            shutil.copyfile(winner[1], folder / WARM)
        launch.train(folder, job, die_with_parent=True).wait()
    result = read_result(folder)
    assert result is not None and not result.error, result
    for (reward, queries, seed), one in zip(cases, result.candidates, strict=True):
        assert one.ok and one.rts is not None, one.reason
        sessions = read_sessions(folder, one.index)
        answers = None if queries is None else max((session.labels for session in sessions), default=0)
        yield Run(start, reward, queries, seed, answers, round(one.rts, 2), round(float(one.evaluation["score"]), 2))


def render(runs: Sequence[Run]) -> str:
    """A row for each arm, then what its two parts add to the final policy."""
    arms = {arm: [run for run in runs if run.arm == arm] for arm in dict.fromkeys(run.arm for run in runs)}
    finals = {arm: {run.seed: run.final for run in equal} for arm, equal in arms.items()}
    lines = [
        f"| trains on | reward | Q wanted | answers | RTS | final policy ({EPISODES} episodes) |",
        "|---|---|---:|---|---:|---:|",
    ]
    for (start, reward, queries), equal in arms.items():
        answers = ", ".join(f"{run.answers}" for run in equal) if queries else ""
        figures = (spread([run.rts for run in equal]), spread([run.final for run in equal]))
        lines.append(f"| {start} | {reward} | {queries or ''} | {answers} | {' | '.join(figures)} |")
    return "\n".join([*lines, "", *describe_differences(finals)])


def describe_differences(finals: Mapping[tuple[str, str, int | None], dict[int, float]]) -> Iterator[str]:
    """How far program and model together end above either alone, seed by seed."""
    for queries in [queries for start, reward, queries in finals if (start, reward) == (WINNER, BOTH)]:
        both = finals[WINNER, BOTH, queries]
        program, model = (subtract(both, finals[WINNER, *other]) for other in ((PROGRAM, None), (MODEL, queries)))
        yield f"Q={queries}: both end above the program alone by {program}, above the model alone by {model}."


def main() -> None:
    """Search and train what is missing, or read what was kept, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.prior", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--queries", nargs="+", type=int, default=[49, 150], metavar="Q")
    parser.add_argument("--data", type=Path, help="keep search and trainings here, and go on with those it has")
    add_options(parser)
    options = parser.parse_args()
    if options.read:
        print(render(read_records(options.read, Run)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        data = options.data or Path(scratch)
        winner = find_winner(data)
        runs = [run for start in (WINNER, RANDOM) for run in train(data, start, winner, options)]
    print(f"{machine()}\n\n{render(runs)}")
    write_records(options.save, runs)


if __name__ == "__main__":
    main()
