"""An idle site looks at nothing: what tells that something happened, and what still comes in its time."""

import asyncio
import os
import signal
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from kombu import Connection, Exchange, Queue

from tests.webapp import fake_workers, rows
from webapp import reaper, web_server
from webapp.base import folder_broker
from webapp.base.database import CommitCounter, PollSchedule, read_now
from webapp.experiments.models import Experiment, Job
from webapp.notices import notifier
from webapp.notices.models import Notice
from webapp.review.models import Vote

sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="elsewhere nothing is known, and all is looked at")


@sqlite
@pytest.mark.django_db(transaction=True)
def test_every_commit_is_noticed_and_nothing_else():
    commits = CommitCounter()
    seen = [commits.read()]
    assert commits.read() == seen[0] is not None
    experiment = fake_workers.create_experiment()
    seen.append(commits.read())
    Experiment.objects.filter(pk=experiment.pk).update(name="Another")
    seen.append(commits.read())
    assert len(set(seen)) == 3
    Experiment.objects.filter(pk=experiment.pk + 1).update(name="Nothing")
    assert list(Experiment.objects.all()) and commits.read() == seen[-1]


@sqlite
@pytest.mark.django_db(transaction=True)
def test_a_watch_is_due_after_a_commit_and_when_its_time_comes():
    watch = PollSchedule()
    assert watch.is_due()
    assert watch.is_due(), "a look that failed is to be done again"
    watch.rest(1000)
    assert not watch.is_due()
    fake_workers.create_experiment()
    assert watch.is_due()
    watch.rest(0)
    assert watch.is_due()


@sqlite
@pytest.mark.django_db(transaction=True)
def test_what_is_written_during_a_look_is_looked_at():
    watch = PollSchedule()
    assert watch.is_due()
    fake_workers.create_experiment()
    watch.rest(1000)
    assert watch.is_due()


def test_where_commits_cannot_be_counted_all_is_looked_at(monkeypatch):
    watch = PollSchedule()
    monkeypatch.setattr(CommitCounter, "read", lambda self: None)
    watch.rest(1000)
    assert watch.is_due()
    patient = PollSchedule(blind_seconds=500)
    assert patient.is_due() and patient.is_due(), "a look that failed is to be done again"
    patient.rest(1000)
    assert not patient.is_due()
    patient.rest(0)
    assert patient.is_due(), "something waits for its time"


@pytest.mark.django_db
def test_the_reaper_keeps_ticking_while_something_waits_for_its_time():
    assert reaper.count_seconds_to_next() == reaper.IDLE_SECONDS
    person = rows.participant()
    rows.create_round(person)
    request = rows.open_judgement(person)
    assert reaper.count_seconds_to_next() == reaper.IDLE_SECONDS, "a person who thinks keeps nothing busy"
    job = Job.objects.create(experiment=person.experiment, kind=Job.Kind.ADVANCE)
    assert reaper.count_seconds_to_next() == reaper.TICK_SECONDS
    Job.objects.filter(pk=job.pk).update(status=Job.Status.RUNNING)
    assert reaper.count_seconds_to_next() == reaper.TICK_SECONDS
    Job.objects.filter(pk=job.pk).update(status=Job.Status.DONE)
    assert reaper.count_seconds_to_next() == reaper.IDLE_SECONDS
    best, worst = person.experiment.iterations.get().candidates.all()[:2]
    screening = person.screenings.create(request=request, seed=1, order=[best.pk, worst.pk])
    vote = Vote.objects.create(request=request, screening=screening, best=best, worst=worst)
    assert reaper.count_seconds_to_next() == reaper.TICK_SECONDS
    Vote.objects.filter(pk=vote.pk).update(locked_at=vote.created_at)
    assert reaper.count_seconds_to_next() == reaper.IDLE_SECONDS


@pytest.mark.django_db
def test_the_notifier_wakes_when_a_notice_is_due():
    assert notifier.compute_wait_seconds() == notifier.IDLE_SECONDS
    person = rows.participant()
    rows.create_round(person)
    notice = Notice(participant=person, request=rows.open_judgement(person), channel=Notice.Channel.EMAIL)
    notice.due_at = read_now() + timedelta(seconds=30)  # the database's clock, which may be behind this process's
    notice.save()
    assert 0 < notifier.compute_wait_seconds() <= 30
    Notice.objects.update(dropped="left the study")
    assert notifier.compute_wait_seconds() == notifier.IDLE_SECONDS


def test_a_signal_ends_the_web_server_at_once(monkeypatch):
    """It wakes once a second for the date of answers, and here not even then."""
    monkeypatch.setattr(web_server, "WAKE_SECONDS", 1000)
    server = web_server.Server(web_server.build_config("127.0.0.1", 0))

    async def serve():
        asyncio.get_running_loop().call_later(0.1, server.handle_exit, signal.SIGTERM, None)
        await asyncio.wait_for(server.main_loop(), 60)

    asyncio.run(serve())
    assert server.server_state.default_headers[0][0] == b"date"


@pytest.fixture
def broker(tmp_path, monkeypatch):
    """A connection to a folder of messages, a queue of its own, and what was listed."""
    options = {"data_folder_in": str(tmp_path), "data_folder_out": str(tmp_path), "polling_interval": 0.01}
    options["control_folder"] = str(tmp_path / "control")
    (tmp_path / "control").mkdir()
    listed = []
    really = os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or really(path))
    transport = "webapp.base.folder_broker:Transport"
    with Connection("filesystem://", transport=transport, transport_options=options) as made:
        name = tmp_path.name  # Kombu remembers an exchange's queues for the process
        yield made, Queue(name, Exchange(name), routing_key=name), listed


def nothing_comes(broker, seconds=0.2):
    with pytest.raises(TimeoutError):
        broker[0].drain_events(timeout=seconds)


def publish(broker, *bodies):
    connection, queue, _ = broker
    with connection.Producer() as producer:
        for body in bodies:
            producer.publish(body, exchange=queue.exchange, routing_key=queue.name)


@pytest.mark.slow
@pytest.mark.parametrize("inotify", [True, False])
def test_every_message_is_taken(broker, monkeypatch, inotify):
    """Also where the kernel tells of no changes; then the folder is polled."""
    connection, queue, _ = broker
    if inotify:
        monkeypatch.setattr(folder_broker, "LIST_SECONDS", 1000)
    else:
        monkeypatch.setattr(folder_broker, "watch_folder", lambda folder: -1)
    taken = []
    with connection.Consumer(queue, callbacks=[lambda body, message: (taken.append(body), message.ack())]):
        publish(broker, 1)
        connection.drain_events(timeout=10)
        nothing_comes(broker)
        late = threading.Timer(0.2, publish, [broker, 2, 3])
        late.start()
        for _ in range(2):
            connection.drain_events(timeout=30)
        late.join()
        nothing_comes(broker)
    assert sorted(taken) == [1, 2, 3]


def test_a_folder_lacks_no_host(broker, caplog):
    """Kombu wrote a warning about it to every console from which a message was sent."""
    assert broker[0].clone().info()["hostname"] is None and not caplog.records


@pytest.mark.slow
def test_an_idle_worker_lists_nothing(broker, monkeypatch):
    connection, queue, listed = broker
    monkeypatch.setattr(folder_broker, "LIST_SECONDS", 1000)
    with connection.Consumer(queue, no_ack=True, callbacks=[lambda body, message: None]):
        nothing_comes(broker)
        listed.clear()
        nothing_comes(broker)
        late = threading.Timer(0.2, publish, [broker, 1])
        late.start()
        broker[0].drain_events(timeout=30)
        late.join()
    assert len(listed) == 1, "nothing is listed before a message is there"


@pytest.mark.slow
def test_a_message_is_taken_by_one_and_when_it_is_whole(broker):
    connection, queue, _ = broker
    other = connection.clone()
    taken = []

    def consumer(of):
        return of.Consumer(queue, callbacks=[lambda body, message: (taken.append(body), message.ack())])

    with consumer(connection), consumer(other):
        publish(broker, 1)
        (file,) = Path(connection.transport_options["data_folder_in"]).glob("*.msg")
        whole = file.read_text()
        file.write_text(whole[: len(whole) // 2])
        nothing_comes(broker)
        file.write_text(whole)
        connection.drain_events(timeout=10)
        nothing_comes([other])
    other.release()
    assert taken == [1]
