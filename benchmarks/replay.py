"""How long an experiment of many saved requests takes to replay: `python -m benchmarks.replay [--requests 1000 10000]`.

3D scaling on Humanoid, K=6, one experiment with as many turns as it takes: a prompt with two programs, six programs
with their traces and films in numbers, a pick; rows of a database of its own, read and replayed as the site does before
every step (webapp.experiments.loop). Its prompts hold the last pair of programs alone (the method's option): with the
traces of all earlier turns they would grow from turn to turn. Processor time; where nothing else runs, it is the time
that passes.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from typing import Any

from benchmarks.machine import machine
from llm import extract, records
from llm.messages import first_prompt
from llm.methods import METHODS
from llm.offline import OfflineWriter
from simulation import catalog

METHOD, TASK, K, SEED = "scaling_3d", "Humanoid", 6, 0
OPTIONS = {"feedback": "programs"}
PER_TURN = 3
PROGRAMS = 60
Row = tuple[str, str, Any, Any]
"""Kind, fingerprint, payload, result."""


def problem() -> records.Problem:
    """The texts that prompts are made of."""
    info = catalog.get_task(TASK)
    return records.Problem(TASK, info.description, catalog.read_observation_source(TASK), info.inputs)


def programs() -> Iterator[str]:
    """The offline writer's programs, repeated without end."""
    replies = OfflineWriter().complete(first_prompt(problem()), PROGRAMS, SEED)
    return cycle([source for reply in replies if (source := extract.find_source(reply.text))])


def answer(request: Any, sources: Iterator[str]) -> Any:
    """Results of requests: programs in turn; outcomes as long as real ones, with random numbers; a pick."""
    from tests.llm.experiment import train

    match request:
        case records.Write():
            written = enumerate(islice(sources, request.count), 1)
            return tuple(records.Candidate(f"{request.iteration}-{i}", source, request.parent) for i, source in written)
        case records.Train():
            return train(request)
    best, worst = (outcome.candidate.id for outcome in request.outcomes[:2])
    return records.Pick(best, worst, "It walks.")


def rows(count: int) -> Iterator[Row]:
    """The first requests of the method with their results, as its rows hold them."""
    sources = programs()
    steps: Any = METHODS[METHOD].function(problem(), random.Random(SEED), K, turns(count), **OPTIONS)
    request = next(steps)
    for _ in range(count):
        kind = type(request).__name__
        result = json.loads(json.dumps(records.result_to_json(kind, answer(request, sources))))
        yield kind, records.fingerprint_request(request, OPTIONS), records.make_payload(request), result
        request = steps.send(records.result_from_json(kind, result))


def turns(count: int) -> int:
    """The number of turns: one more than the saved requests fill."""
    return count // PER_TURN + 1


def measure_row(count: int) -> str:
    """A line of the table, from a new experiment with this many saved requests."""
    from webapp.experiments import loop, revisions
    from webapp.experiments.models import Experiment, Request

    count -= count % PER_TURN  # whole turns: the next request is a writing
    setting = {"task": TASK, "method": METHOD, "judge": "human", "k": K, "n": turns(count), "seed": SEED}
    experiment = Experiment.objects.create(status=Experiment.Status.RUNNING, options=OPTIONS, **setting)
    letters = 0
    made = []
    for step, (kind, fingerprint, payload, result) in enumerate(rows(count)):
        letters += len(json.dumps(payload)) + len(json.dumps(result))
        shared = {"experiment": experiment, "step": step, "status": Request.Status.DONE}
        made.append(Request(kind=kind, fingerprint=fingerprint, payload=payload, result=result, **shared))
    Request.objects.bulk_create(made, batch_size=500)
    made.clear()
    read, saved = time_work(partial(revisions.read_answers, experiment))
    assert len(saved) == count
    whole, _ = time_work(partial(loop.advance, experiment))
    experiment.refresh_from_db()
    assert not experiment.error and experiment.requests.filter(status=Request.Status.OPEN).count() == 1
    return f"| {count} | {letters / 1e6:.0f} | {read:.2f} | {whole:.2f} |"


def time_work(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and the result."""
    before = time.process_time()
    gave = work()
    return time.process_time() - before, gave


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, nargs="+", default=[1000, 10000])
    options = parser.parse_args()
    print(f"{machine('django')}; {METHODS[METHOD].title} on {TASK}, K={K}; processor seconds\n")
    print("| saved requests | MB saved | rows read, s | whole step, s |\n|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"PREFINE_DATA": data, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        os.environ.pop("PREFINE_DATABASE_URL", None)
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        for count in options.requests:
            print(measure_row(count), flush=True)


if __name__ == "__main__":
    main()
