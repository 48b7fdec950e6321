"""Figures for monitoring, at /metrics for those who have PREFINE_METRICS_KEY.

Most are read from the database when they are asked for; request times and open pages are those of this process.
"""

from __future__ import annotations

import hmac
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from celery import current_app
from django.conf import settings
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Now
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from kombu.exceptions import ChannelError, OperationalError
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client import Counter as CounterMetric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from webapp import health
from webapp.base import scratch
from webapp.base.database import CONNECTION_ERRORS, read_now
from webapp.base.request_log import answered
from webapp.experiments import workers
from webapp.experiments.job_kinds import JOB_KINDS, QUEUES
from webapp.experiments.models import Experiment, Job, ModelCall, Request, Worker
from webapp.live.tail import tail
from webapp.review.models import Vote
from webapp.votes.models import Vote as PairVote

registry = CollectorRegistry()
ProcessCollector(registry=registry)
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
REQUEST_SECONDS = Histogram(
    "prefine_request_seconds", "Seconds to answer a request", ["view", "method"], buckets=BUCKETS, registry=registry
)
RESPONSES = CounterMetric("prefine_responses", "Responses by status", ["view", "status"], registry=registry)
OPEN_PAGES = Gauge("prefine_open_pages", "Pages with an open websocket to this process", registry=registry)
OPEN_PAGES.set_function(lambda: sum(map(len, tail.queues.values())))
SETTLED = timedelta(minutes=1)
"""Older rows are complete: no transaction that began before them is still open."""


@receiver(answered)
def count_request(view: str, method: str, status: int, seconds: float, **details: Any) -> None:
    REQUEST_SECONDS.labels(view, method).observe(seconds)
    RESPONSES.labels(view, str(status)).inc()


def gauge(name: str, text: str, labels: list[str], values: Iterable[tuple[list[str], float]]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"prefine_{name}", text, labels=labels)
    for given, value in values:
        family.add_metric(given, value)
    return family


def make_counter(
    name: str, text: str, labels: list[str], values: Iterable[tuple[list[str], float]]
) -> CounterMetricFamily:
    family = CounterMetricFamily(f"prefine_{name}", text, labels=labels)
    for given, value in values:
        family.add_metric(given, value)
    return family


def measure_parts() -> Iterator[Metric]:
    failing = health.read_state()
    parts = [([name], float(name not in failing)) for name in health.CHECKS]
    yield gauge("part_works", "1 if this part of the site answers", ["part"], parts)


def measure_jobs() -> Iterator[Metric]:
    now = read_now()
    rows = Job.objects.order_by().values_list("kind", "status")
    counts: Counter[tuple[str, str]] = Counter()
    oldest: dict[tuple[str, str], datetime] = {}
    silent: dict[str, datetime] = {}
    active = Q(status__in=(Job.Status.QUEUED, Job.Status.RUNNING))
    for kind, status, count, created, heartbeat in rows.annotate(
        count=Count("pk"), oldest=Min("created_at", filter=active), silent=Min("heartbeat", filter=active)
    ):
        key = (JOB_KINDS[kind].queue, status)
        counts[key] += count
        if created:
            oldest[key] = min(created, oldest.get(key, created))
        if heartbeat and status == Job.Status.RUNNING:
            silent[key[0]] = min(heartbeat, silent.get(key[0], heartbeat))
    yield gauge("jobs", "Jobs", ["queue", "status"], ((list(key), n) for key, n in counts.items()))
    ages = ((list(key), (now - since).total_seconds()) for key, since in oldest.items())
    yield gauge("oldest_job_seconds", "Age of the oldest job that is not done", ["queue", "status"], ages)
    leases = (([queue], counts[queue, Job.Status.RUNNING]) for queue in QUEUES)
    yield gauge("leases", "Jobs that a worker holds", ["queue"], leases)
    silences = (([queue], (now - since).total_seconds()) for queue, since in silent.items())
    yield gauge("lease_silence_seconds", "Longest time since a lease was renewed", ["queue"], silences)


def measure_messages() -> Iterator[Metric]:
    waiting = []
    with current_app.connection_for_write() as broker:
        channel: Any = broker.channel()
        for queue in QUEUES:
            try:
                waiting.append(([queue], channel.queue_declare(queue, passive=True).message_count))
            except ChannelError:  # Redis forgets a queue that is empty
                waiting.append(([queue], 0))
    yield gauge("broker_messages", "Messages that no worker has taken", ["queue"], waiting)


def measure_people() -> Iterator[Metric]:
    statuses = Experiment.objects.order_by().values_list("status").annotate(Count("pk"))
    yield gauge("experiments", "Experiments", ["status"], (([status], n) for status, n in statuses))
    waiting = Request.objects.filter(status=Request.Status.OPEN, experiment__status=Experiment.Status.WAITING)
    waits = waiting.aggregate(count=Count("pk"), since=Min("created_at"))
    count, since = waits["count"], waits["since"]
    yield gauge("rounds_waiting", "Rounds that wait for a person", [], [([], count)])
    age = (read_now() - since).total_seconds() if since else 0.0
    yield gauge("rounds_waiting_oldest_seconds", "How long the oldest of them waits", [], [([], age)])
    votes = [(["round"], Vote.objects.filter(undone_at=None).count()), (["pair"], PairVote.objects.count())]
    yield make_counter("votes", "Votes that stand", ["kind"], votes)


def measure_workers() -> Iterator[Metric]:
    counts: Counter[tuple[str, str, str]] = Counter()
    for worker in Worker.objects.filter(stopped_at=None):
        state = "silent" if not workers.is_alive(worker) else "finishing" if worker.draining else "working"
        counts[worker.kind, state, worker.version] += 1
    yield gauge("workers", "Workers", ["kind", "state", "version"], ((list(key), n) for key, n in counts.items()))


def measure_disks() -> Iterator[Metric]:
    folders = {"data": settings.DATA_DIR, "scratch": scratch.get_folder()}
    usages = {name: shutil.disk_usage(folder) for name, folder in folders.items() if folder.is_dir()}
    free = (([name], usage.free) for name, usage in usages.items())
    yield gauge("disk_free_bytes", "Free space", ["folder"], free)
    yield gauge("disk_bytes", "Size of the disk", ["folder"], (([name], usage.total) for name, usage in usages.items()))


class CallSums:
    """Tokens and dollars by model. Rows are read once, as each holds a long text; new ones are added to the sums."""

    def __init__(self) -> None:
        self.sums: dict[str, tuple[int, int, int, float]] = {}
        self.read_to = 0

    def read(self) -> dict[str, tuple[int, int, int, float]]:
        new = ModelCall.objects.filter(pk__gt=self.read_to)
        end = new.filter(created_at__lt=Now() - SETTLED).aggregate(Max("pk"))["pk__max"]
        if end is not None:
            self.sums = self._add(new.filter(pk__lte=end))
            self.read_to = end
        return self._add(ModelCall.objects.filter(pk__gt=self.read_to))

    def _add(self, rows: QuerySet[ModelCall]) -> dict[str, tuple[int, int, int, float]]:
        sums = dict(self.sums)
        parts = (Count("pk"), Sum("prompt_tokens", default=0), Sum("completion_tokens", default=0))
        for model, *figures in rows.order_by().values_list("model").annotate(*parts, Sum("cost", default=0.0)):
            before = sums.get(model, (0, 0, 0, 0.0))
            sums[model] = tuple(a + b for a, b in zip(before, figures, strict=True))
        return sums


calls = CallSums()


def measure_models() -> Iterator[Metric]:
    sums = calls.read()
    answers = (([model], row[0]) for model, row in sums.items())
    yield make_counter("model_answers", "Answers of language models", ["model"], answers)
    tokens = (([model, kind], row[i]) for model, row in sums.items() for i, kind in ((1, "read"), (2, "written")))
    yield make_counter("model_tokens", "Their tokens", ["model", "kind"], tokens)
    dollars = (([model], row[3]) for model, row in sums.items())
    yield make_counter("model_dollars", "What they cost, where the price is known", ["model"], dollars)


MEASURES = (
    measure_parts,
    measure_jobs,
    measure_messages,
    measure_people,
    measure_workers,
    measure_disks,
    measure_models,
)


class SiteCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        began = time.perf_counter()
        failed = []
        for measure in MEASURES:
            try:
                yield from list(measure())
            except (*CONNECTION_ERRORS, OperationalError, OSError):  # what is away is missing; the rest is told
                failed.append(([measure.__name__.removeprefix("measure_")], 1.0))
        yield gauge("unmeasured", "1 for figures that could not be read", ["figures"], failed)
        yield gauge("scrape_seconds", "What reading these figures took", [], [([], time.perf_counter() - began)])

    def describe(self) -> list[Metric]:
        return []  # else the registry would read the database when it is made


registry.register(SiteCollector())


def show_metrics(request: HttpRequest) -> HttpResponse:
    key = settings.METRICS_KEY
    if not key:
        return HttpResponse("Set PREFINE_METRICS_KEY to offer metrics.\n", status=404, content_type="text/plain")
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {key}".encode()):
        refused = HttpResponse("The key is missing or wrong.\n", status=401, content_type="text/plain")
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    return HttpResponse(generate_latest(registry), content_type="text/plain; version=0.0.4; charset=utf-8")
