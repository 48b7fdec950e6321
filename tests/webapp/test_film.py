"""Film jobs whose processes die. The filming itself is played by a small program; tests/simulation has the real one."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.webapp.fake_workers import create_experiment, do_work, find_job
from tests.webapp.servers import wait_for
from trainer import launch
from webapp.base import claims
from webapp.base.store import store
from webapp.experiments import jobs, loop, run_folder
from webapp.experiments.execute import film, run_job, train
from webapp.experiments.kinds.train import order_clips as film_chosen
from webapp.experiments.models import Candidate, Clip, Experiment, Job, Request

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

FILMING = """
import json, os, pathlib, signal, sys
deadly, pairs = sys.argv[1], sys.argv[2:]
for rollout, clip in zip(pairs[::2], pairs[1::2]):
    if pathlib.Path(rollout).stem in deadly.split(","):
        os.kill(os.getpid(), signal.SIGKILL)
    for ending in (".mp4", ".jpg"):
        pathlib.Path(clip).with_suffix(ending).write_text(rollout)
    print(json.dumps({"clip": clip, "ok": True, "error": "", "seconds": 0}), flush=True)
"""


def trained(**values: object) -> Experiment:
    """An experiment whose first round is trained and waits for its clips."""
    row = create_experiment(n=1, **values)
    loop.start(row)
    do_work(row, until="Train")
    request = row.requests.get(kind="Train")
    run_folder.get_folder(request).mkdir(parents=True)
    Candidate.objects.update(status=Candidate.Status.TRAINED)
    jobs.order_clips(row, request, train.find_candidates(request), train.FINAL)
    return row


@pytest.fixture
def deadly_film(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], list[int]]:
    """Have the films of these rollouts kill their process; one list an entry, the last for all that follow."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)

    def plan(passes: list[str]) -> list[int]:
        crews: list[int] = []

        def film(pairs: Iterable[tuple[Path, Path]]) -> subprocess.Popen[str]:
            names = [str(path) for pair in pairs for path in pair]
            kills = passes[min(len(crews), len(passes) - 1)]
            crews.append(len(names) // 2)
            return subprocess.Popen(
                [sys.executable, "-c", FILMING, kills, *names],
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )

        monkeypatch.setattr(launch, "film", film)
        return crews

    return plan


def statuses() -> list[str]:
    return list(Clip.objects.order_by("candidate__index").values_list("status", flat=True))


def test_a_process_killed_twice_costs_no_clip(deadly_film: Callable[[list[str]], list[int]]) -> None:
    crews = deadly_film(["0-100", "2-100", ""])
    row = trained(k=3, judge="human")
    run_job(find_job(row, "film").pk)
    assert statuses() == ["ready"] * 3 and crews == [3, 3, 3]
    assert all(store.size(clip.video) for clip in Clip.objects.all())
    assert row.requests.get(kind="Train").status == Request.Status.DONE


def test_a_clip_that_kills_its_process_again_and_again_costs_only_itself(
    deadly_film: Callable[[list[str]], list[int]],
) -> None:
    deadly_film(["1-100"])
    row = trained(k=4, judge="human")
    run_job(find_job(row, "film").pk)
    assert statuses() == ["ready", "failed", "ready", "ready"]
    assert "ended before it came to this clip" in Clip.objects.get(status="failed").error
    assert row.requests.get(kind="Train").status == Request.Status.DONE


@pytest.mark.parametrize("transfer", ["fetch", "publish"])
def test_a_slow_store_costs_no_lease(
    deadly_film: Callable[[list[str]], list[int]], monkeypatch: pytest.MonkeyPatch, transfer: str
) -> None:
    deadly_film([""])
    row = trained(k=2, judge="human")
    job, really, slow = Job.objects.filter(pk=find_job(row, "film").pk), getattr(store, transfer), list[str]()

    def transfer_slowly(key: str, path: Path) -> None:
        begun = job.get().heartbeat
        wait_for(lambda: job.get().heartbeat != begun, "the lease to be renewed meanwhile")
        slow.append(key)
        really(key, path)

    monkeypatch.setattr(claims, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(store, transfer, transfer_slowly)
    run_job(job.get().pk)
    assert len(slow) >= 2 and statuses() == ["ready"] * 2


def keys(row: Experiment) -> list[str]:
    return sorted(clip.candidate.key for clip in Clip.objects.filter(candidate__iteration__experiment=row))


def test_where_nobody_looks_the_best_and_the_worst_of_a_round_are_filmed() -> None:
    row = create_experiment(k=4, n=2, judge="proxy")
    loop.start(row)
    do_work(row)
    assert row.status == Experiment.Status.FINISHED and row.winner.key == "2-4"
    assert keys(row) == ["1-1", "1-4", "2-1", "2-4"]
    assert [job.percent for job in row.jobs.filter(kind="film")] == [100, 100]


def test_a_candidate_that_is_chosen_later_is_filmed_too(deadly_film: Callable[[list[str]], list[int]]) -> None:
    deadly_film([""])
    row = create_experiment(k=4, n=2, judge="proxy")
    loop.start(row)
    do_work(row)
    for request in row.requests.filter(kind="Train"):
        run_folder.get_folder(request).mkdir(parents=True)
    for one in row.jobs.filter(kind="film"):
        run_job(one.pk)
    assert set(statuses()) == {"ready"}
    film_chosen(row, [Candidate.objects.get(iteration__number=1, index=2)])
    run_job(find_job(row, "film", status="queued").pk)
    assert keys(row) == ["1-1", "1-2", "1-4", "2-1", "2-4"] and set(statuses()) == {"ready"}


def test_waiting_clips_do_not_keep_an_experiment_from_going_on() -> None:
    row = create_experiment(k=2, n=2, judge="proxy")
    loop.start(row)
    do_work(row, until="Describe")
    Experiment.objects.update(status="running")
    assert row.jobs.filter(kind="film", status="queued").exists()
    row.jobs.exclude(kind="film").update(status="done")
    assert row in loop.find_idle()


@pytest.mark.parametrize(("own", "given"), [(0, film.EARLY_NICENESS), (19, 19)])
def test_early_films_run_low_and_are_never_raised(monkeypatch, own, given):
    """Without privileges a process started at 19 may not go back to 15; every early film failed then."""
    set_to = []
    process = subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True)
    monkeypatch.setattr(launch, "film", lambda orders: process)
    monkeypatch.setattr(os, "getpriority", lambda which, who: own)
    monkeypatch.setattr(os, "setpriority", lambda which, who, niceness: set_to.append(niceness))
    film.start_process([], queue.Queue(), niced=True)
    process.wait()
    assert set_to == [given]
