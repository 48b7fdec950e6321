"""The page of a study, and what its answers say, from rows that a study leaves."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from llm.offline import MODEL
from tests.webapp import bench_rows, problem_rows, rows
from webapp.bench.studies import overview, reliability
from webapp.experiments.models import Experiment, Iteration, Job, ModelCall, Request, Run
from webapp.review import ballot
from webapp.review.models import Screening, Vote
from webapp.review.screenings import find_screening
from webapp.studies import assigning
from webapp.studies.models import Assignment, Outcome, Participant

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff_client(client):
    client.force_login(bench_rows.create_staff())
    return client


def vote(person, number=1, best="A", worst="F", seconds=20):
    """A locked choice of these letters."""
    rows.create_round(person, number)
    request = rows.open_judgement(person, number)
    screening = find_screening(request, person)
    cast = ballot.cast_vote(person, screening.token, ballot.Choice(best, worst, client={"decide_ms": 1000 * seconds}))
    assert cast.vote, cast.message
    Iteration.objects.filter(experiment=person.experiment, number=number).update(best=cast.vote.best_id)
    request.status = "done"
    request.save()
    return cast.vote


def kinds(study):
    return {place.participant.label: place.kind for place in overview.build_overview(study).places}


def test_who_is_where():
    study = rows.study()
    people = {label: rows.participant(study, label=label) for label in ("chooses", "waits", "failed", "left", "reads")}
    rows.participant(study, consented=False, label="invited")
    rows.create_round(people["chooses"])
    rows.open_judgement(people["chooses"])
    rows.create_round(people["waits"])
    rows.open_training(people["waits"])
    Experiment.objects.filter(pk=people["failed"].experiment.pk).update(status="failed", error="The disk is full.")
    Participant.objects.filter(label="left").update(outcome=Outcome.WITHDRAWN, withdrawn_at=timezone.now())
    Participant.objects.filter(label="reads").update(instructed_at=None)
    done = rows.participant(study, label="done")
    Participant.objects.filter(pk=done.pk).update(finished_at=timezone.now(), outcome=Outcome.FINISHED)
    assert kinds(study) == {
        "chooses": "choosing",
        "waits": "practising",
        "failed": "failed",
        "left": "out",
        "reads": "reading",
        "invited": "invited",
        "done": "finished",
    }
    found = overview.build_overview(study)
    assert ("choosing", "to choose", 1) in found.counts
    assert [place.words for place in found.failed] == ["The disk is full."]
    assert not Screening.objects.exists()  # looking at the page draws nothing for anybody


def test_the_notice_of_people_who_are_stopped_comes_and_goes_with_the_live_part(staff_client):
    person = rows.participant(rows.study())
    experiment, address = person.experiment, f"/bench/studies/{person.study.pk}/"
    shown, told = (
        '<div class="section" id="failed-people"',
        '<div class="section" id="failed-people" hx-swap-oob="true">',
    )
    notice = '<p class="notice error">1 person is stopped by a failure.'
    page = staff_client.get(address).content.decode()
    assert page.count(shown) == 1 and told not in page
    for status, failed in (("failed", True), (experiment.status, False)):
        Experiment.objects.filter(pk=experiment.pk).update(status=status)
        part = staff_client.get(address, headers={"HX-Request": "true"}).content.decode()
        assert part.count(told) == 1 and (f"{told}{notice}" in part) == failed
        assert 'role="alert"' not in part, "it would be announced at every refresh"


def test_a_member_of_a_panel_who_has_chosen_waits_for_the_others():
    study = rows.study(panel=2)
    first = rows.participant(study, label="P01")
    second = Participant.objects.create(
        study=study, label="P02", consented_at=timezone.now(), instructed_at=timezone.now()
    )
    Assignment.objects.create(participant=second, arm=study.arms.get(), experiment=first.experiment)
    rows.create_round(first)
    request = rows.open_judgement(first)
    ballot.cast_vote(first, find_screening(request, first).token, ballot.Choice("A", "B"))
    assert kinds(study) == {"P01": "chosen", "P02": "choosing"}


def test_what_is_used_and_still_to_come():
    study = rows.study(n=3)
    person = rows.participant(study)
    rows.create_round(person)
    request = rows.open_training(person)
    request.status = "done"
    request.save()
    Run.objects.create(request=request, seconds=50, samples=1000)
    ModelCall.objects.create(request=request, request_hash="1", seed=1, **bench_rows.make_call("text"))
    started = timezone.now() - timedelta(seconds=100)
    for kind, seconds in (("write", 10), ("train", 50)):
        ended = started + timedelta(seconds=seconds)
        Job.objects.create(
            experiment=person.experiment, kind=kind, status="done", started_at=started, finished_at=ended
        )
    found = overview.build_overview(study)
    usage, remaining = found.usage, found.remaining
    assert (usage.train_seconds, usage.samples, usage.calls, usage.tokens) == (50, 1000, 1, 1200)
    assert usage.cost == pytest.approx(0.0125)
    assert (remaining.rounds, remaining.round_seconds, remaining.seconds) == (2, 60, 120)


@pytest.mark.slow
def test_the_offline_writer_is_counted_apart(staff_client):
    study = rows.study()
    person = rows.participant(study)
    request = rows.open_training(person)
    for number, model in enumerate(("writer-1", MODEL, MODEL)):
        call = {**bench_rows.make_call("text"), "model": model}
        ModelCall.objects.create(request=request, request_hash=f"{number}", seed=1, **call)
    usage = overview.build_overview(study).usage
    assert (usage.calls, usage.model_calls, usage.offline_calls) == (3, 1, 2)
    for address in (f"/bench/studies/{study.pk}/", f"/bench/{person.experiment.public_id}/"):
        text = staff_client.get(address).content.decode()
        assert "<dt>Answers of language models</dt><dd>1</dd>" in text
        assert "<dt>Answers of the offline writer <small>(not a language model)</small></dt><dd>2</dd>" in text


def test_rounds_of_answers_to_a_problem_are_still_to_come_until_they_are_tested():
    problem_rows.sum_problem()
    person = rows.participant(rows.study(task="sum", method="scaling_3d", n=3))
    for iteration, status in ((1, "done"), (2, "open")):
        Request.objects.create(
            experiment=person.experiment,
            step=2 * iteration,
            kind="Run",
            fingerprint=str(iteration),
            payload={"iteration": iteration, "candidates": []},
            status=status,
        )
    assert overview.build_overview(person.study).remaining.rounds == 2


def test_answers_by_hand():
    study = rows.study()
    for label, seconds in (("P01", 10), ("P02", 30)):
        person = rows.participant(study, label=label)
        vote(person, 1, "A", "F", seconds)
        vote(person, 2, "A", "B", seconds + 5)
    Vote.objects.filter(screening__participant__label="P02", request__payload__iteration=2).update(cannot_tell=True)
    found = reliability.read_answers(study)
    assert (found.votes, found.undecided) == (4, 1)
    assert found.best_places.counts == (3, 0, 0, 0, 0, 0)
    assert found.worst_places.counts == (0, 1, 0, 0, 0, 2)
    assert found.times.median == 15
    assert found.by_round == {1: [10, 30], 2: [15]}
    assert found.agreement is None  # each judged an experiment of their own
    lines = found.scores[study.arms.get()]
    assert set(lines) == {"P01", "P02"} and len(lines["P01"]) == 2


def test_somebody_who_has_an_arm_twice_has_two_lines():
    study = rows.study(experiments_each=2)
    person = rows.participant(study, label="P01")
    vote(person, 1, "A", "F", 10)
    rows.finish_experiment(person)
    again = Assignment(participant=person, arm=study.arms.get(), position=2)
    again.experiment = assigning.create_experiment(again)
    again.save()
    Experiment.objects.filter(pk=again.experiment.pk).update(status="running")
    vote(person, 1, "A", "F", 10)
    lines = reliability.read_answers(study).scores[study.arms.get()]
    assert {name: len(line) for name, line in lines.items()} == {"P01": 1, "P01, 2": 1}


@pytest.mark.slow
def test_more_people_under_way_cost_no_more_queries(django_assert_num_queries):
    study = rows.study()

    def under_way(label):
        """Somebody who chooses, and somebody whose robots practise."""
        for state, what in (("chooses", rows.open_judgement), ("waits", rows.open_training)):
            person = rows.participant(study, label=f"{label} {state}")
            Iteration.objects.create(experiment=person.experiment, number=1)
            request = what(person)
            Job.objects.create(experiment=person.experiment, kind="train", status="queued", request=request)

    under_way("P1")
    with CaptureQueriesContext(connection) as few:
        overview.build_overview(study)
    for number in range(2, 12):
        under_way(f"P{number}")
    with django_assert_num_queries(len(few)):
        found = overview.build_overview(study)
    assert found.counts == [("practising", "robots practise", 11), ("choosing", "to choose", 11)]


def test_people_who_are_nowhere_yet_cost_no_query_each(django_assert_max_num_queries):
    study = rows.study()
    for number in range(30):
        rows.participant(study, consented=False, label=f"P{number:02}")
    with django_assert_max_num_queries(20):
        assert len(overview.build_overview(study).places) == 30


@pytest.mark.slow
def test_one_vote_gives_no_test_and_no_quartiles(staff_client):
    study = rows.study()
    vote(rows.participant(study), seconds=20)
    table = reliability.build_summary_table(study, reliability.read_answers(study)).rows
    assert ("seconds to the answer, median", 20.0, "too few for quartiles") in table
    assert [value for name, value, _ in table if name.startswith("place of")] == ["too few", "too few"]
    for ending in ("svg", "pdf"):
        assert (
            staff_client.get(f"/bench/studies/{study.pk}/seconds.{ending}").status_code == 200
        )  # without a box to draw


def test_members_of_a_panel_agree():
    study = rows.study(panel=2)
    first = rows.participant(study, label="P01")
    second = Participant.objects.create(
        study=study, label="P02", consented_at=timezone.now(), instructed_at=timezone.now()
    )
    Assignment.objects.create(participant=second, arm=study.arms.get(), experiment=first.experiment)
    rows.create_round(first)
    request = rows.open_judgement(first)
    one = find_screening(request, first)
    other = find_screening(request, second)
    letters = dict(zip(other.order, "ABCDEF", strict=True))
    ballot.cast_vote(first, one.token, ballot.Choice("A", "B"))
    ballot.cast_vote(second, other.token, ballot.Choice(letters[one.order[0]], letters[one.order[1]]))
    assert reliability.read_answers(study).agreement.alpha == pytest.approx(1.0)


@pytest.mark.slow
def test_the_page_and_its_files(staff_client):
    study = rows.study(title="Ants & <b>people</b>")
    person = rows.participant(study)
    vote(person)
    page = staff_client.get(f"/bench/studies/{study.pk}/").content.decode()
    assert "Ants &amp; &lt;b&gt;people" in page and "<b>people" not in page
    assert "P07" in page and "seconds to the answer, median" in page
    assert str(rows.SEED) not in page
    for name, ending, start in (
        ("people", "csv", b"participant,arm,state"),
        ("people", "tex", rb"\begin{table}"),
        ("answers", "csv", b"what,value"),
        ("checks", "tex", rb"\begin{table}"),
        ("places", "svg", b"<svg"),
        ("seconds", "csv", b"chart,series"),
        ("seconds", "pdf", b"%PDF"),
        (f"scores-{study.arms.get().pk}", "svg", b"<svg"),
    ):
        response = staff_client.get(f"/bench/studies/{study.pk}/{name}.{ending}")
        assert response.status_code == 200, (name, ending)
        assert response.content.startswith(start), (name, ending)
    assert staff_client.get(f"/bench/studies/{study.pk}/places.exe").status_code == 404
    assert staff_client.get(f"/bench/studies/{study.pk}/nothing.svg").status_code == 404
    part = staff_client.get(f"/bench/studies/{study.pk}/", headers={"HX-Request": "true"}).content.decode()
    assert "Who is where" in part and "<html" not in part
    assert "Ants &amp;" in staff_client.get("/bench/studies/").content.decode()


def test_a_study_without_people_says_what_to_do(staff_client):
    study = rows.study()
    page = staff_client.get(f"/bench/studies/{study.pk}/").content.decode()
    assert "Nobody is invited yet" in page and "Answers appear here from the first choice on" in page


@pytest.mark.slow
def test_the_same_answers_give_the_same_file(staff_client):
    study = rows.study()
    vote(rows.participant(study))
    address = f"/bench/studies/{study.pk}/places.svg"
    assert staff_client.get(address).content == staff_client.get(address).content
