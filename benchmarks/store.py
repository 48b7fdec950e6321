"""How long a round waits for the store: `python -m benchmarks.store --store s3://KEY:SECRET@host:port/bucket?tls=0`.

The files of one round of six candidates, with the sizes that Ant's have, go the way that a training, its films and
six open players take, once with the store in the data folder and once with a bucket. Nothing is trained.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

CANDIDATES, SHARDS, ROUNDS = 6, 2, 5
SIZES = {
    "policy": 250_000,
    "checkpoint": 7_500_000,
    "rollout": 100_000,
    "trace": 5_000,
    "clip": 400_000,
    "still": 15_000,
}
FIRST_BYTES = 256 << 10
"""What a player asks for before it shows a film."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True, help="the bucket to compare with")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure()))
        return
    columns = [run(""), run(arguments.store)]
    print("| seconds, the median of five rounds | data folder | bucket |\n|---|---:|---:|")
    for step in columns[0]:
        print(f"| {step} | {columns[0][step]:.3f} | {columns[1][step]:.3f} |")
    print("| in all | " + " | ".join(f"{sum(column.values()):.3f}" for column in columns) + " |")


def run(store: str) -> dict[str, float]:
    """The seconds of each step, in a process and a data folder of its own."""
    with tempfile.TemporaryDirectory() as data:
        environment = os.environ | {"PREFINE_DATA": data, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        environment |= {"PREFINE_STORE_URL": store}
        command = [sys.executable, "-m", "benchmarks.store", "--store", store, "--one"]
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure() -> dict[str, float]:
    import django

    django.setup()
    rounds = [play_round() for _ in range(ROUNDS)]
    return {step: sorted(seen[step] for seen in rounds)[ROUNDS // 2] for step in rounds[0]}


def play_round() -> dict[str, float]:
    from webapp.base.store import store
    from webapp.experiments import run_folder
    from webapp.experiments.models import Experiment, Request
    from webapp.experiments.publisher import Publisher

    request = Request(experiment=Experiment(public_id=uuid.uuid4()), step=1)
    publisher = Publisher(request, lambda: None)
    folder, each = publisher.folder, range(CANDIDATES)
    clips = [f"clips/{uuid.uuid4()}" for _ in each]

    def begin() -> None:
        run_folder.fetch(request, "owner", lambda: None)
        write(folder / "job.json", 20_000)
        publisher.publish_job()

    def early() -> None:
        for percent in (10, 30):
            for number in each:
                write(folder / f"rollouts/{number}-0{percent}.npz", SIZES["rollout"])
            publisher.publish()

    def checkpoints() -> None:
        for shard in range(SHARDS):
            write(folder / f"checkpoints/shard-{shard}-{shard + 1}/checkpoint.pt", SIZES["checkpoint"])
        publisher.publish()

    def end() -> None:
        for number in each:
            write(folder / f"rollouts/{number}-100.npz", SIZES["rollout"])
            write(folder / f"traces/{number}.csv", SIZES["trace"])
            write(folder / f"checkpoints/policies/{number}.pt", SIZES["policy"])
        write(folder / "progress.json", 1_000)
        write(folder / "result.json", 50_000)
        publisher.finish()

    def film() -> None:
        with tempfile.TemporaryDirectory() as place:
            for number in each:
                store.fetch(f"{request.run_key}/rollouts/{number}-100.npz", Path(place, f"{number}.npz"))
                store.publish(f"{clips[number]}.mp4", os.urandom(SIZES["clip"]))
                store.publish(f"{clips[number]}.jpg", os.urandom(SIZES["still"]))

    def play() -> None:
        for clip in clips:
            store.size(f"{clip}.mp4")
            with store.open_range(f"{clip}.mp4", 0, FIRST_BYTES) as file:
                file.read(FIRST_BYTES)

    steps: dict[str, Callable[[], None]] = {
        "a training begins": begin,
        "early clips are ordered, twice": early,
        "a training ends": end,
        "its films are made": film,
        "six players begin": play,
        "one checkpoint of 15 MB (beside the training)": checkpoints,
    }
    return {name: measure_seconds(step) for name, step in steps.items()}


def measure_seconds(step: Callable[[], None]) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def write(path: Path, size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.urandom(size))


if __name__ == "__main__":
    main()
