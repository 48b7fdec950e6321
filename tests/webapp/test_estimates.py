"""What pages say about the time left: steady, honest when it was too short, and compared with the truth."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp import fake_workers, rows
from webapp.base.store_interface import DiskFull
from webapp.experiments import courses, durations, estimate_errors, leases, progress, promises, request_results
from webapp.experiments.execute.film import FilmingPace
from webapp.experiments.models import Event, Job, Request
from webapp.experiments.promises import renew_promise
from webapp.studio import words
from webapp.studio.presentations import films

pytestmark = pytest.mark.slow

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def follow(guesses, pause=5.0):
    """The promises that follow from these estimates, made one after another."""
    promise, made = None, []
    for number, guess in enumerate(guesses):
        promise = renew_promise(promise, guess, NOON + timedelta(seconds=pause * number))
        made.append(promise)
    return made


def test_a_promise_does_not_follow_every_guess():
    made = follow([100, 105, 88, 99, 70, 85])
    assert not any(promise.late for promise in made)
    ends = [promise.seconds + 5 * number for number, promise in enumerate(made)]
    assert ends == sorted(ends, reverse=True), "the end that people are told of never moves away"


def test_a_promise_that_cannot_be_kept_is_taken_back_once_and_openly():
    made = follow([60, 55, 200, 195])
    assert [promise.late for promise in made] == [False, False, True, True]
    assert made[2].seconds == 200 and made[3].seconds == pytest.approx(195)


def test_less_than_a_minute_is_said_for_less_than_a_minute():
    """Whatever is guessed: the sentence stands for under 60 seconds, without or with the worker that renews it."""
    for guesses in ([50] * 40, [200, 40, 45, 45, 45, 48, 48, 48, 48, 48, 48, 48], [49.0]):
        said, promise = 0, None
        for second in range(300):
            now = NOON + timedelta(seconds=second)
            if second % 5 == 0 and second // 5 < len(guesses):
                promise = renew_promise(promise, guesses[second // 5], now)
            left = promise.count_left(now)
            late = promise.late or left < -promises.GRACE_SECONDS
            text = words.describe_time_left(max(0.0, left), late)
            said += text in ("less than a minute left", "a few seconds left")
        assert 0 < said < 60 and text == "it takes longer than expected"


@pytest.mark.django_db
def test_a_late_wait_says_near_its_end_how_long_it_takes_unless_that_was_wrong_before():
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    job = fake_workers.find_job(row, "train")

    def say(*guesses):
        """What pages say after these estimates, made 30 seconds after one another."""
        now, promise = timezone.now(), None
        for number, guess in enumerate(guesses, 1 - len(guesses)):
            promise = renew_promise(promise, guess, now + timedelta(seconds=30 * number))
        Job.objects.filter(pk=job.pk).update(status="running", attempt=1, created_at=now, started_at=now, estimates=[])
        job.refresh_from_db()
        Job.objects.filter(pk=job.pk).update(estimates=promises.write_promise(job, promise))
        return words.describe_wait_left(progress.read_progress(row))

    assert say(100, 200) == "it takes longer than expected: about three minutes left"
    assert say(100, 200, 60, 10) == "it takes longer than expected: less than a minute left"
    assert say(45, 40) == "it takes longer than expected"
    assert say(45, 200) == "it takes longer than expected: about three minutes left"


@pytest.mark.django_db
@pytest.mark.parametrize("state", ["no worker takes it", "a model is slow"])
def test_what_has_no_promise_is_not_nearly_done_for_ever(state):
    """A job that no worker takes, and a question to a model that takes longer than any before."""
    kind, values = ("train", {}) if state == "no worker takes it" else ("ask", {"method": "icpl", "n": 3})
    earlier = fake_workers.start_experiment(**values)
    fake_workers.do_work(earlier)
    earlier.jobs.filter(kind=kind).update(started_at=NOON, finished_at=NOON + timedelta(seconds=40))
    row = fake_workers.start_experiment(seed=1, **values)
    fake_workers.do_work(row, until=kind.capitalize())
    job = fake_workers.find_job(row, kind)
    began = {"status": "running", "started_at": timezone.now()} if kind == "ask" else {}
    for waited, late in ((2, False), (60, True)):
        shifted = {name: value - timedelta(seconds=waited) for name, value in began.items() if name == "started_at"}
        created = timezone.now() - timedelta(seconds=waited)
        row.jobs.filter(pk=job.pk).update(**{"created_at": created, **began, **shifted})
        now = progress.read_progress(row)
        said = words.describe_wait_left(now)
        assert now.late == late and ("longer than expected" in said) == late, said
        assert kind == "ask" or "minute" not in said and "seconds" not in said, said


@pytest.mark.django_db
def test_between_two_jobs_pages_say_what_the_round_was_told():
    """Its training was taken back near its end; its films wait for a worker."""
    row = fake_workers.start_experiment(n=1, judge="human")
    fake_workers.do_work(row, until="Train")
    training = fake_workers.find_job(row, "train")
    films = Job.objects.create(experiment=row, request=training.request, kind="film", percent=100)
    for told, said in (
        ([40, 0], "less than a minute left"),
        ([200, 1], "it takes longer than expected: about three minutes left"),
        ([40, 2], "it takes longer than expected"),
    ):
        since = (films.created_at - training.created_at).total_seconds()
        Job.objects.filter(pk=training.pk).update(status="done", estimates=[[since, *told]])
        now = progress.read_progress(row)
        assert (now.phase, words.describe_wait_left(now)) == ("filming", said)


def test_films_say_how_long_they_take_from_the_first_clip_on():
    pace = FilmingPace(6, 1, begun=100.0)
    assert pace.build_progress(6, 104.0)["seconds_left"] is None
    assert pace.build_progress(4, 110.0)["seconds_left"] == pytest.approx(20)
    assert pace.build_progress(4, 113.0)["seconds_left"] == pytest.approx(17)


def test_clips_that_are_filmed_side_by_side_are_half_done_when_another_arrives():
    """Two processes film six clips of 12 s, one of them 6 s behind the other."""
    pace = FilmingPace(6, 2, begun=100.0)
    arrivals = ((5, 112), (4, 118), (3, 124), (2, 130), (1, 136), (1, 139))
    said = [pace.build_progress(left, now)["seconds_left"] for left, now in arrivals]
    assert said[0] is None, "one clip says more of the start of the programs than of the rest"
    assert said[1:] == [pytest.approx(142 - now, abs=7) for _, now in arrivals[1:]]
    assert said[4] > said[5] > 0, "the last clip is waited for"


@pytest.mark.django_db
@pytest.mark.parametrize(("cores", "expected"), [(1, 50), (2, 200 / 3), (8, 100)])
def test_another_k_takes_as_long_as_its_busiest_process(monkeypatch, cores, expected):
    """A training of six took 100 s. Three on two cores: one process has two of them, where it had three."""
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    earlier = fake_workers.start_experiment(k=6, n=1)
    fake_workers.do_work(earlier)
    earlier.jobs.filter(kind="train").update(started_at=NOON, finished_at=NOON + timedelta(seconds=100))
    row = fake_workers.create_experiment(k=3)
    assert durations.measure_step(row, "training", {}) == pytest.approx(expected)


@pytest.mark.django_db
def test_films_that_were_never_measured_wait_for_a_busy_machine(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    row = fake_workers.create_experiment(k=6)
    for load, expected in ((0.5, 10.5), (4.0, 10.5), (16.0, 42)):
        monkeypatch.setattr("os.getloadavg", lambda load=load: (load, load, load))
        assert durations.measure_step(row, "filming", {}) == pytest.approx(expected)


def test_the_course_of_earlier_jobs_tells_when_the_rest_is_done():
    """A training whose first half takes 80 of 100 s, seen at 40%, 50% and 90%."""
    points = []
    for at, fraction in ((10, 0.02), (40, 0.25), (64, 0.4), (65, 0.41), (80, 0.5), (96, 0.9), (98, 1.0), (99, 1.0)):
        points = courses.note_progress(points, at, fraction)
    assert points == [[40, 0.25], [64, 0.4], [80, 0.5], [96, 0.9], [98, 1.0]]
    course = courses.read_course(points, 100.0)
    assert course.find_times(0.0) == (0.0, 0.4) and course.find_times(0.4) == (0.64, 0.8)
    assert course.find_times(0.45) == (pytest.approx(0.72), 0.8) and course.find_times(1.0) == (0.98, 1.0)
    assert courses.find_usual_times([], 0.3) == (0.3, 0.3) and courses.read_course([], 100.0) is None


@pytest.mark.django_db
@pytest.mark.parametrize(("took", "left"), [(20, 80), (70, 30), (160, 35)])
def test_a_training_that_goes_like_the_last_one_is_foretold(took, left):
    """The last one did half of its work in its last fifth. The third case is half as fast, and just after its half."""
    earlier = fake_workers.start_experiment(n=1)
    fake_workers.do_work(earlier)
    usual = {"started_at": NOON, "finished_at": NOON + timedelta(seconds=100)}
    earlier.jobs.filter(kind="film").update(started_at=NOON, finished_at=NOON)
    earlier.jobs.filter(kind="train").update(
        **usual, progress={"course": [[20, 0.1], [70, 0.4], [80, 0.5], [82, 0.54], [100, 1]]}
    )
    row = fake_workers.start_experiment(n=1, k=earlier.k)
    fake_workers.do_work(row, until="Train")
    job = fake_workers.find_job(row, "train")
    row.jobs.filter(pk=job.pk).update(
        status="running",
        started_at=timezone.now() - timedelta(seconds=took),
        progress={"fraction": {20: 0.1, 70: 0.4, 160: 0.5}[took], "seconds_left": 1000.0},
    )
    [[_, promised, _]] = progress.promise_time_left(Job.objects.get(pk=job.pk))
    assert promised == pytest.approx(left, abs=1)


@pytest.mark.django_db
def test_early_films_that_are_given_up_are_not_waited_for(monkeypatch):
    """When its training has ended, a round waits for its last films alone."""
    monkeypatch.setattr(durations, "UNMEASURED_CLIP_SECONDS", 100.0)
    earlier = fake_workers.start_experiment(n=1, judge="human")
    fake_workers.do_work(earlier, until="Judge")
    row = fake_workers.start_experiment(n=1, judge="human")
    fake_workers.do_work(row, until="Train")
    training = fake_workers.find_job(row, "train")
    now = timezone.now()
    for percent in (10, 30):
        values = {"status": "running", "cancel": True, "started_at": now, "progress": {"fraction": 0.3}}
        Job.objects.create(experiment=row, request=training.request, kind="film", percent=percent, **values)
    Job.objects.filter(pk=training.pk).update(status="done", started_at=now, finished_at=now)
    Job.objects.create(experiment=row, request=training.request, kind="film", percent=100)
    expected = progress.LEAST_SLOWDOWN * durations.measure_step(row, "filming", {})
    found = progress.read_progress(row)
    assert found.seconds_left == pytest.approx(expected, abs=1) and not found.in_line


@pytest.mark.django_db
def test_a_worker_notes_the_course_of_its_job():
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    lease = leases.claim(fake_workers.find_job(row, "train").pk)
    with lease:
        for fraction in (0.0, 0.3, 0.31, 0.6):
            lease.progress = {"fraction": fraction}
            lease.renew()
    assert [fraction for _, fraction in Job.objects.get(pk=lease.job.pk).progress["course"]] == [0.3, 0.6]


@pytest.mark.django_db
def test_what_holds_a_round_up_is_said_once_it_lasts_and_stays_between_attempts():
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    job = fake_workers.find_job(row, "train")

    def is_said():
        now = progress.read_progress(row)
        said = "must be put right first" in words.describe_wait_left(now)
        assert said == (films.describe_wait(now, row.k).headline == words.HELD_UP)
        return said

    def wait(seconds, *times):
        """Move these times of the job into the past."""
        before = Job.objects.values(*times).get(pk=job.pk)
        Job.objects.filter(pk=job.pk).update(**{at: before[at] - timedelta(seconds=seconds) for at in times})

    def attempt(seconds=0):
        """What is said while an attempt fails on a full disk, and after it."""
        with leases.claim(job.pk):
            if seconds:
                wait(seconds, "started_at")
            said = is_said()
            raise DiskFull("no space is left")
        return said, is_said()

    assert attempt() == (False, False), "it may be over at once"
    wait(20, "held_up_at")
    assert is_said()
    assert attempt() == (True, True)
    assert attempt(seconds=20) == (False, False), "it went on for a while"
    wait(20, "held_up_at")
    with leases.claim(job.pk) as lease:
        lease.strike("something else")
    assert not is_said()


@pytest.mark.django_db
def test_the_moment_between_two_jobs_of_others_changes_no_words():
    row, other = (fake_workers.start_experiment(n=1, seed=seed) for seed in (0, 1))
    for one in (row, other):
        fake_workers.do_work(one, until="Train")
    mine, theirs = (Job.objects.filter(pk=fake_workers.find_job(one, "train").pk) for one in (row, other))
    now = timezone.now()
    mine.update(status="running", attempt=1, started_at=now, estimates=[[-400, 300, 0]])

    def reason(**values):
        theirs.update(**{"finished_at": None, **values})
        return progress.read_progress(row).late_reason

    earlier = now - timedelta(seconds=60)
    assert reason(status="running", started_at=now) == ""
    assert reason(status="running", started_at=earlier) == "busy"
    assert reason(status="done", started_at=earlier, finished_at=now) == "busy"
    assert reason(status="done", started_at=earlier, finished_at=earlier) == ""


@pytest.mark.django_db
def test_a_worker_stores_what_pages_say_and_the_bench_compares_it_with_the_truth(admin_client):
    earlier = fake_workers.start_experiment(n=1)
    fake_workers.do_work(earlier)
    usual = {"started_at": NOON, "finished_at": NOON + timedelta(seconds=300)}
    earlier.jobs.filter(kind="train").update(**usual)
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    lease = leases.claim(fake_workers.find_job(row, "train").pk)
    with lease:
        lease.renew()
        job = Job.objects.get(pk=lease.job.pk)
        [promise] = promises.read_promises(job)
        assert promise.seconds == pytest.approx(300, abs=5) and not promise.late
        assert progress.read_progress(row).seconds_left == pytest.approx(promise.seconds, abs=5)
        lease.renew()
        assert len(Job.objects.get(pk=job.pk).estimates) == 1, "not at every beat"
        # Later than promised: the page says so, with the reason that is known.
        Job.objects.filter(pk=job.pk).update(estimates=[[-400, 300, 0]], attempt=job.attempt + 1)
        now = progress.read_progress(row)
        assert now.late and now.late_reason == "restarted"
        assert words.describe_wait_left(now) == "it takes longer than expected (a part had to begin again)"
        Job.objects.filter(pk=job.pk).update(estimates=job.estimates, attempt=job.attempt)
    ended = promise.made_at + timedelta(seconds=400)
    Job.objects.filter(pk=job.pk).update(status="done", finished_at=ended)
    Request.objects.filter(pk=job.request_id).update(status="done", finished_at=ended)
    report = estimate_errors.build_report()
    errors = [one.error for one in report.estimates if one.stage == "training" and one.took > 300]
    assert errors == [pytest.approx(abs(promise.seconds - 400) / 400)]
    assert "off by" in admin_client.get(reverse("bench:time_left")).content.decode()
    drawn = admin_client.get(reverse("bench:time_left_figure", args=["svg"]))
    assert drawn.status_code == 200 and drawn["Content-Type"] == "image/svg+xml"
    Event.objects.create(experiment=row, kind="paused")
    assert not estimate_errors.build_report().estimates, "a pause is no mistake of the estimate"


@pytest.mark.django_db
def test_once_a_person_picked_the_next_round_is_being_written():
    """Also in the moment before its first step is opened."""
    row = fake_workers.start_experiment(k=2, n=2, judge="human")
    fake_workers.do_work(row)
    before = progress.read_progress(row)
    assert (before.phase, before.iteration) == ("judging", 1)
    request_results.complete(row.requests.get(kind="Judge"), fake_workers.make_pick("1-1", "1-2"))
    between = progress.read_progress(row)
    assert (between.phase, between.iteration, between.candidates) == ("writing", 2, ())
    assert films.describe_wait(between, row.k).headline == "The next robots are getting ready"
    fake_workers.advance(row)
    opened = progress.read_progress(row)
    assert (opened.phase, opened.iteration) == ("writing", 2)


@pytest.mark.django_db
def test_the_participants_page_names_the_next_round_from_the_pick_on(client):
    person = rows.participant()
    judged = rows.create_round(person)
    judged.best = judged.candidates.first()
    judged.save()
    html = client.get(person.get_absolute_url()).content.decode()
    assert "Round 2 of" in html and "The next robots are getting ready" in html
