"""Pairs that a simulated teacher has answered: a few are filmed behind all other work, and staff see them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, rows
from tests.webapp.dashboard_pages import html
from tests.webapp.fake_workers import create_experiment, do_work, find_job, find_open_requests
from trainer.preferences import exchange
from webapp.base.store import store
from webapp.bench.studies.gold_pairs import list_segments
from webapp.experiments import execute, headless, jobs, leases, loop, pair_sessions
from webapp.experiments.models import Candidate, Clip, Experiment, Job, PairSession, Request, Segment, SegmentPair

pytestmark = pytest.mark.django_db
ASKED = exchange.Queries(1, 3, ((0, 1), (1, 2), (2, 0)), "", ("first", "skip", "equal"))


def start_training(folder: Path, **values: Any) -> tuple[Experiment, Request]:
    """An experiment whose policy trains; its teacher has answered a session, whose files are in the folder."""
    row = create_experiment(method="prefppo", k=1, n=1, **values)
    loop.start(row)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    exchange.write_queries(folder, 0, ASKED)
    return row, request


def save(row: Experiment, request: Request, folder: Path) -> None:
    for queries in pair_sessions.find_unsaved(request, folder):
        pair_sessions.save_answered(row, request, queries)


def test_pairs_are_saved_once_with_the_answers_and_are_asked_of_nobody(tmp_path: Path) -> None:
    row, request = start_training(tmp_path)
    exchange.write_queries(tmp_path, 0, exchange.Queries(2, 2, ((0, 1),), "of people"))
    save(row, request, tmp_path)
    save(row, request, tmp_path)
    session = PairSession.objects.get()
    assert (session.number, session.status, session.opened_at) == (1, PairSession.Status.ANSWERED, None)
    pairs = SegmentPair.objects.values_list("first__number", "second__number", "answer")
    assert list(pairs) == [(0, 1, "first"), (1, 2, "skip"), (2, 0, "equal")]
    assert row.jobs.get(kind=Job.Kind.ASKED).percent == 1 and not row.jobs.filter(kind=Job.Kind.PAIRS).exists()
    pair_sessions.write_answers(request, tmp_path)
    assert not (tmp_path / "answers").exists(), "a training waits for no such file"
    assert pair_sessions.find_open_session(row) is None
    study = rows.study(task="Cartpole", method="prefppo", k=1, n=1)
    Segment.objects.update(status=Clip.Status.READY)
    assert list_segments(study) == [], "no participant sees them, not as gold pairs either"


def test_their_films_give_way_to_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row, request = start_training(tmp_path)
    save(row, request, tmp_path)
    film = jobs.add(bench_rows.create_finished_experiment(clips=False), Job.Kind.FILM, None, 100)
    asked = row.jobs.get(kind=Job.Kind.ASKED).pk
    assert leases.claim(asked) is None
    Job.objects.filter(pk=film.pk).update(status="running")
    assert leases.claim(asked) is not None
    exchange.write_queries(tmp_path, 0, replace(ASKED, session=2))
    save(row, request, tmp_path)
    other = row.jobs.get(kind=Job.Kind.ASKED, percent=2)
    assert leases.claim(other.pk) is None, "one at a time"
    Job.objects.filter(pk=asked).update(status="done")
    rung: list[int] = []
    monkeypatch.setattr(jobs, "ring", lambda job: rung.append(job.pk))
    jobs.ring_next(other.info)
    assert rung == [other.pk] and leases.claim(other.pk) is not None


def test_those_that_wait_keep_no_other_job_from_being_called_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, request = start_training(tmp_path)
    row.jobs.all().delete()
    for number in range(1, jobs.RINGS_PER_TICK + 2):
        jobs.add(row, Job.Kind.ASKED, request, number)
    film = jobs.add(row, Job.Kind.FILM, request, 100)
    Job.objects.update(rings=0, rung_at=None)
    rung: list[int] = []
    monkeypatch.setattr(jobs, "ring", lambda job: rung.append(job.pk))
    jobs.ring_again()
    assert rung == [film.pk, row.jobs.get(percent=1).pk]


def test_films_that_fail_stop_no_experiment_and_hide_no_work(tmp_path: Path) -> None:
    row, request = start_training(tmp_path)
    save(row, request, tmp_path)
    Job.objects.filter(experiment=row).exclude(kind="asked").update(status="done")
    assert row in loop.find_idle(), "nothing waits for the films"
    for _attempt in range(settings.ATTEMPTS):
        lease = leases.claim(find_job(row, "asked").pk)
        assert lease is not None
        leases.count_strike(lease.job, "the film process ended")
    assert find_job(row, "asked").status == "failed"
    assert set(Segment.objects.values_list("status", "error")) == {("failed", "the film process ended")}
    row.refresh_from_db()
    assert (row.status, row.error) == (Experiment.Status.RUNNING, "")


def test_a_training_that_begins_again_forgets_them(tmp_path: Path) -> None:
    row, request = start_training(tmp_path)
    save(row, request, tmp_path)
    opened = PairSession.objects.create(request=request, number=9, status="answered", opened_at=row.created_at)
    pair_sessions.forget_answered(request)
    assert list(PairSession.objects.all()) == [opened] and not row.jobs.filter(kind=Job.Kind.ASKED).exists()
    save(row, request, tmp_path)
    assert PairSession.objects.count() == 2


@pytest.mark.slow
def test_staff_see_them_under_their_session(tmp_path: Path, staff: Client) -> None:
    row, request = start_training(tmp_path)
    save(row, request, tmp_path)
    Candidate.objects.update(sessions=[{**vars(one)} for one in bench_rows.SESSIONS])
    first, *_ = segments = list(Segment.objects.all())
    Segment.objects.exclude(pk=first.pk).update(status=Clip.Status.READY)
    address = reverse("bench:asked_pairs", args=[row.public_id, 1])
    page = html(staff.get(reverse("bench:experiment", args=[row.public_id])))
    assert f'hx-get="{address}"' in page and "Films of session 1" in page and "Films of session 2" not in page
    assert page.count('id="asked-1" hx-preserve') == 1 and f"{first.name}" not in page, "loaded when it is opened"
    part = html(staff.get(address, headers={"HX-Request": "true"}))
    assert "<html" not in part and "<html" in html(staff.get(address))
    words = ["Pair 1: the first is better", "Pair 2: skipped", "Pair 3: equally good"]
    assert re.findall(r"Pair \d: [a-z ]+", part) == words
    assert part.count("preferred</span>") == 1 and part.count("To be filmed") == 2, "the first segment, in two pairs"
    assert part.count('preload="none"') == 4 and "autoplay" not in part
    for segment in segments[1:]:
        assert reverse("bench:clip", args=[segment.name]) in part
    assert 'hx-trigger="every 10s"' in part, "until all are filmed"
    Experiment.objects.update(status=Experiment.Status.CANCELLED)
    part = html(staff.get(address, headers={"HX-Request": "true"}))
    assert "hx-trigger" not in part and part.count("Not filmed") == 2 and part.count("data-together") == 3
    Segment.objects.filter(pk=first.pk).update(status=Clip.Status.FAILED)
    part = html(staff.get(address, headers={"HX-Request": "true"}))
    assert "hx-trigger" not in part and part.count("Could not be filmed") == 2


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("short_trainings")
def test_a_real_training_has_its_first_pairs_filmed_after_it() -> None:
    row = create_experiment(
        method="prefppo", k=1, n=1, overrides={"iterations": 12, "worlds": 16}, options={"segment": 20, "queries": 4}
    )
    loop.start(row)
    headless.run_to_end(row, lambda said: None)
    row.refresh_from_db()
    assert (row.error, row.status) == ("", Experiment.Status.FINISHED)
    waiting = row.jobs.filter(kind=Job.Kind.ASKED, status=Job.Status.QUEUED).order_by("pk")
    assert waiting.count() == 4, "left to workers"
    for job in list(waiting):
        assert execute.run_job(job.pk)
    assert {one.status for one in Segment.objects.all()} == {Clip.Status.READY}
    assert all(store.size(one.video) and store.size(one.poster) for one in Segment.objects.all())
    assert {one.answer for one in SegmentPair.objects.all()} <= {"first", "second", "equal"}
    row.delete()
    assert not [name for name in store.names("clips")]
