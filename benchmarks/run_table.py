"""How long the table of experiments takes with many: `python -m benchmarks.run_table [--experiments 500 5000]`.

Finished experiments of five rounds with six candidates each, a call to a model for every candidate, a fifth of them
tagged; rows of a SQLite database of its own. Each figure is the median of five requests of a signed-in person, through
Django without a server: processor time, and the number of queries.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from benchmarks.machine import machine

ROUNDS, K = 5, 6
TIMES = 5
PAGES = {
    "as it opens": "",
    "sorted by cost": "?sort=-cost",
    "grouped by method": "?group=method&sort=-final",
    "every column": "?col=" + "&col=".join(
        ["status", "task", "method", "judge", "round", "final", "score", "best", "k", "rounds", "seed", "preset"]
        + ["model", "study", "arm", "comparison", "calls", "tokens", "cost", "time", "tags", "owner", "created"]
    ),
    "a search": "?q=walk+17",
}  # fmt: skip


def fill(first: int, last: int) -> None:
    """Add experiments up to this number."""
    from django.utils import timezone

    from webapp.experiments.models import Candidate, Event, Experiment, Iteration, ModelCall, Request, Run, Tag

    now = timezone.now()
    rows = [
        Experiment(
            name=f"walk {i}",
            task=("Ant", "Humanoid", "Cartpole")[i % 3],
            method=("icpl", "open_loop", "eureka", "revolve")[i % 4],
            judge="proxy",
            k=K,
            n=ROUNDS,
            seed=i // 12,
            status=Experiment.Status.FINISHED,
            started_at=now - timedelta(hours=1),
            finished_at=now,
        )
        for i in range(first, last)
    ]
    rows = Experiment.objects.bulk_create(rows, batch_size=500)
    Tag.objects.bulk_create([Tag(experiment=row, name="baseline") for row in rows[::5]], batch_size=500)
    rounds = [Iteration(experiment=row, number=number) for row in rows for number in range(1, ROUNDS + 1)]
    rounds = Iteration.objects.bulk_create(rounds, batch_size=500)
    written = [
        Candidate(
            iteration=one, index=index, source="pass", status="trained", rts=index + one.number, final_score=index
        )
        for one in rounds
        for index in range(1, K + 1)
    ]
    written = Candidate.objects.bulk_create(written, batch_size=500)
    winners = {candidate.iteration.experiment_id: candidate for candidate in written}
    for row in rows:
        row.winner = winners[row.pk]
    Experiment.objects.bulk_update(rows, ["winner"], batch_size=300)
    asked = [
        Request(experiment=one.experiment, step=2 * one.number, kind=kind, fingerprint="", payload={}, slot=slot)
        for one in rounds
        for slot, kind in enumerate(("Write", "Train"))
    ]
    asked = Request.objects.bulk_create(asked, batch_size=500)
    calls = [
        ModelCall(request=request, model="writer", request_hash=str(seed), seed=seed, data={}, cost=0.01)
        for request in asked
        if request.slot == 0
        for seed in range(K)
    ]
    ModelCall.objects.bulk_create(calls, batch_size=500)
    Run.objects.bulk_create(
        [Run(request=one, seconds=60.0, samples=10**6) for one in asked if one.slot], batch_size=500
    )
    Event.objects.bulk_create(
        [Event(experiment=row, kind=kind) for row in rows for kind in ("started", "finished")], batch_size=500
    )


def measure(get: Callable[[str], Any], address: str) -> tuple[float, int]:
    """Median seconds of processor time, and queries, of a request."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    get(address)
    seconds = []
    for _ in range(TIMES):
        before = time.process_time()
        assert get(address).status_code == 200
        seconds.append(time.process_time() - before)
    with CaptureQueriesContext(connection) as captured:
        get(address)
    return statistics.median(seconds), len(captured)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run_table", description=__doc__.splitlines()[0])
    parser.add_argument("--experiments", type=int, nargs="+", default=[500, 5000])
    options = parser.parse_args()
    print(f"{machine('django')}; processor seconds (queries)\n")
    print("| experiments | " + " | ".join(PAGES) + " | CSV of all |\n|---:|" + "---:|" * (len(PAGES) + 1), flush=True)
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"PREFINE_DATA": data, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        os.environ.pop("PREFINE_DATABASE_URL", None)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        from django.contrib.auth.models import User
        from django.test import Client
        from django.test.utils import setup_test_environment
        from django.urls import reverse

        setup_test_environment()
        client = Client()
        client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
        there = 0
        for count in sorted(options.experiments):
            fill(there, count)
            there = count
            measured = [measure(client.get, reverse("bench:index") + query) for query in PAGES.values()]
            measured.append(measure(client.get, reverse("bench:runs_csv") + PAGES["every column"]))
            cells = " | ".join(f"{seconds:.2f} ({queries})" for seconds, queries in measured)
            print(f"| {count:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
