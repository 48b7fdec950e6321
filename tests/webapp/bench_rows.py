"""Experiments as the bench shows them: played through the real loop, with traces, clips, answers and costs."""

from __future__ import annotations

from dataclasses import asdict

from django.contrib.auth.models import User
from django.utils import timezone

from tests.webapp import fake_workers
from tests.webapp.rows import write_clip
from trainer.preferences.session_figures import Session
from webapp.base.store import store
from webapp.experiments import loop, workers
from webapp.experiments.models import Candidate, Clip, Experiment, ModelCall, Run, Worker

KEY = "sk-very-secret-0123456789"
FAILURE = "it produced NaN <b>in 3 worlds</b>"


def create_staff() -> User:
    """An experimenter. Without a password: hashing one takes longer than most tests."""
    return User.objects.create(username="ada", is_staff=True, is_superuser=True)


def create_finished_experiment(
    k: int = 3, n: int = 2, failed: tuple[int, ...] = (), clips: bool = True, **values: object
) -> Experiment:
    """A finished experiment, judged by the proxy."""
    row = fake_workers.create_experiment(k=k, n=n, **values)
    loop.start(row)
    fake_workers.do_work(row, failed)
    add_worker_results(row, clips)
    return row


POINTS = ((0.5, 12.0), (-0.25, 34.0), (0.25, 20.0), (0.0, 15.0))
SESSIONS = (
    Session(1, 2048, 9, 1, 2, 7, 12, 0.96, None, None, None),
    Session(
        2, 4096, 42, 0, 0, 49, 3, 1.0, 0.75, 0.5, 0.125, points=POINTS, metrics=(1.0, None, 2.0, 4.0), held_out=0.875
    ),
)


def create_learned_experiment(**values: object) -> Experiment:
    """A finished experiment whose policy held two sessions, with the files of its training."""
    row = create_finished_experiment(k=1, n=1, clips=False, **{"method": "prefppo", **values})
    Candidate.objects.filter(iteration__experiment=row).update(source="", sessions=[asdict(one) for one in SESSIONS])
    request = row.requests.get()
    store.publish(f"{request.run_key}/checkpoints/policies/0.pt", b"a policy")
    store.publish(f"{request.run_key}/preferences/0.csv", b"session\n1\n2\n")
    row.refresh_from_db()
    return row


def create_training_experiment(k: int = 3) -> Experiment:
    """An experiment whose second round trains, on a worker that is at 40%."""
    row = fake_workers.create_experiment(k=k, n=3, name="half way")
    loop.start(row)
    fake_workers.do_work(row, until="Train")
    first = fake_workers.find_open_requests(row)[0]
    fake_workers.finish_request(row, first)
    fake_workers.do_work(row, until="Train")
    add_worker_results(row)
    candidates = [{"index": i, "status": "training", "reason": "", "fraction": 0.4} for i in range(k)]
    progress = {"phase": "training", "fraction": 0.4, "seconds_left": 95.0, "candidates": candidates}
    running = {"status": "running", "owner": "host:17:abc", "progress": progress, "estimates": [[0, 125.0, 0]]}
    row.jobs.filter(kind="train", status="queued").update(**running)
    return row


def add_worker_results(row: Experiment, clips: bool = True) -> None:
    """Add the rows and files that workers write beside results."""
    for candidate in Candidate.objects.filter(iteration__experiment=row).exclude(status="written"):
        if candidate.status == Candidate.Status.FAILED:
            candidate.reason = FAILURE
        values = [candidate.index * (i + 1) / 10 for i in range(10)]
        entry = {"samples": values, "max": max(values), "mean": sum(values) / 10, "min": min(values)}
        candidate.trace = {"total": entry, "upright": entry, "episode_length": entry}
        candidate.metric_trace = {**entry, "all": [float(i) for i in range(50)]}
        candidate.save()
        if clips and candidate.status == Candidate.Status.TRAINED:
            clip, _ = Clip.objects.update_or_create(candidate=candidate, percent=100, defaults={"status": "ready"})
            write_clip(clip, 60 * candidate.index)
    row.jobs.filter(kind="film").update(status="done")
    for request in row.requests.filter(kind="Write"):
        for i, written in enumerate(request.result or []):
            text = f"Here it is.\n\n```python\n{written['source']}\n```\n"
            ModelCall.objects.create(request=request, request_hash=f"{i}", seed=i, **make_call(text))
    for request in row.requests.filter(kind="Train", status="done"):
        Run.objects.create(request=request, seconds=61.5, samples=1_000_000, nan_worlds=2)


def make_call(text: str) -> dict[str, object]:
    messages = [{"role": "system", "content": "You write rewards."}, {"role": "user", "content": "Balance the pole."}]
    data = {"text": text, "finish_reason": "stop", "request": {"messages": messages}}
    return {
        "model": "writer-1",
        "data": data,
        "prompt_tokens": 1000,
        "completion_tokens": 200,
        "latency": 1.5,
        "cost": 0.0125,
    }


def create_workers(training: Experiment) -> None:
    """One that finishes this training and then stops, an idle one, one of an earlier version, one that ended."""
    busy = workers.register("train@gpu-node-1", "train", "cuda:0 NVIDIA H100")
    training.jobs.filter(status="running").update(owner=f"{busy.owner.rpartition(':')[0]}:other")
    workers.drain(busy, True)
    for name, kind, values in (
        ("film@lab", "film", {}),
        ("llm@old", "llm", {"version": "0.0.9", "protocol": 0}),
        ("train@slurm-1234", "train", {"stopped_at": timezone.now()}),
    ):
        row = workers.register(name, kind, "")
        Worker.objects.filter(pk=row.pk).update(**values)
    Worker.objects.exclude(pk=busy.pk).update(owner="far/4026531836:17:abc")
