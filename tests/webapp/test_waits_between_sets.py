"""What people read while a policy trains between two sets of pairs: how far it is, and how long it still takes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from tests.webapp import rows
from trainer.records import Progress
from webapp.experiments import progress
from webapp.experiments.execute.train import describe_slice
from webapp.experiments.models import Experiment, Job, PairSession
from webapp.studies import duration
from webapp.studies.models import Participant
from webapp.studio.presentations import films

PLAN = {"task": "Cartpole", "method": "prefppo", "k": 1, "n": 1}


def answer_sessions(waits: list[tuple[float, float]], answer: str = "first", pairs: int = 7) -> Participant:
    """A person who has answered a session after each of these waits (seconds of training, of filming), the last one
    just now; each answered at once.
    """
    person = rows.participant(rows.study(**PLAN))
    now = timezone.now() - timedelta(seconds=sum(map(sum, waits)))
    for number, (trained, filmed) in enumerate(waits, 1):
        made = rows.open_pairs(person, pairs=pairs, session=number)
        made.pairs.update(answer=answer)
        created, now = now + timedelta(seconds=trained), now + timedelta(seconds=trained + filmed)
        PairSession.objects.filter(pk=made.pk).update(
            created_at=created, opened_at=now, answered_at=now, status=PairSession.Status.ANSWERED
        )
    Experiment.objects.update(status=Experiment.Status.RUNNING)
    return person


def train(attempt: int, seconds: float = 0.0, **values: object) -> None:
    began = timezone.now() - timedelta(seconds=seconds)
    Job.objects.filter(kind="train").update(status="running", started_at=began, attempt=attempt, **values)


def read(person: Participant) -> progress.Progress:
    assert person.experiment is not None
    return progress.read_progress(Experiment.objects.get(pk=person.experiment.pk))


class TestHowFarASliceIs:
    def test_until_the_process_says_something_nothing_of_it_is_done(self) -> None:
        left_over = Progress("waiting", fraction=0.1, waits_at=0.1)
        nothing = {"fraction": 0.0, "seconds_left": None, "whole": 0.1}
        assert describe_slice(left_over, None) == nothing
        assert describe_slice(Progress("training", fraction=0.1, waits_at=0.1), 0.1) == nothing

    def test_it_goes_from_where_it_began_to_where_it_stops(self) -> None:
        half = describe_slice(Progress("training", fraction=0.15, seconds_left=85.0, waits_at=0.2), 0.1)
        assert half["fraction"] == pytest.approx(0.5) and half["seconds_left"] == pytest.approx(5.0)
        assert describe_slice(Progress("waiting", fraction=0.2, waits_at=0.2), 0.1)["fraction"] == 1.0

    def test_a_training_that_stops_no_more_is_described_as_a_whole(self) -> None:
        assert describe_slice(Progress("training", fraction=0.6), 0.5) == {}


@pytest.mark.django_db
class TestTheTimeLeft:
    def test_it_follows_from_the_waits_before(self) -> None:
        person = answer_sessions([(20, 30), (100, 40), (104, 44)])
        train(attempt=4)
        assert read(person).seconds_left == pytest.approx(102 + 40, abs=2)
        train(attempt=4, seconds=51, progress={"fraction": 0.5})
        assert read(person).seconds_left == pytest.approx(51 + 40, abs=2)

    def test_the_part_after_the_last_answers_is_longer_and_not_foretold_from_them(self) -> None:
        person = answer_sessions([(20, 30)] + 6 * [(100, 40)])
        train(attempt=8)
        assert read(person).seconds_left is None

    def test_skipped_pairs_are_asked_again_so_there_is_another_set(self) -> None:
        person = answer_sessions([(20, 30)] + 6 * [(100, 40)])
        PairSession.objects.get(number=7).pairs.filter(number=6).update(answer="skip")
        train(attempt=8)
        assert read(person).seconds_left == pytest.approx(140, abs=2)

    def test_while_the_pairs_are_filmed_people_read_what_they_were_told(self) -> None:
        person = answer_sessions([(20, 30), (100, 40)])
        training = Job.objects.get(kind="train")
        told = (timezone.now() - training.created_at).total_seconds()
        train(attempt=3)
        Job.objects.update(status="done", estimates=[[told, 45.0, 0]])
        request = PairSession.objects.filter(number=2).get().request
        PairSession.objects.create(request=request, number=3)
        filming = Job.objects.create(
            experiment=request.experiment, request=request, kind="pairs", percent=3, status="running"
        )
        Job.objects.filter(pk=filming.pk).update(started_at=timezone.now())
        now = read(person)
        assert (now.phase, now.late) == ("filming", False)
        assert films.describe_wait(now, 1).left == "less than a minute left"
        Job.objects.filter(pk=training.pk).update(estimates=[])
        said = films.describe_wait(read(person), 1)
        assert (said.left, said.unknown) == ("", "nobody can say yet how long it takes")


@pytest.mark.django_db
class TestLateness:
    def test_a_set_that_was_answered_is_no_failure(self) -> None:
        person = answer_sessions([(20, 30), (100, 40)])
        late = {"estimates": [[-400, 300, 0]]}
        train(attempt=3, **late)
        now = read(person)
        assert (now.late, now.late_reason) == (True, "")
        train(attempt=4, **late)
        assert read(person).late_reason == "restarted"

    def test_a_training_that_was_just_queued_again_is_not_late(self) -> None:
        person = answer_sessions([(20, 30), (100, 40)])
        earlier = timezone.now() - timedelta(hours=3)
        Job.objects.filter(kind="train").update(status="queued", created_at=earlier, estimates=[])
        assert not read(person).late
        PairSession.objects.update(answered_at=timezone.now() - timedelta(minutes=1))
        assert read(person).late


@pytest.mark.django_db
def test_a_study_that_has_not_begun_is_estimated_by_sets_and_measured_by_a_pilot() -> None:
    study = rows.study(**PLAN)
    (assumed,) = duration.estimate_arms(study)
    assert (assumed.rounds, assumed.judging_seconds, assumed.measured) == (7, pytest.approx(52.5), False)
    answer_sessions([(20, 30), (100, 40)])
    (measured,) = duration.estimate_arms(study)
    assert measured.measured and measured.training_seconds == pytest.approx(100)
    assert measured.round_seconds == pytest.approx(100 + 35)
