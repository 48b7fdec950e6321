"""Erasure of everything that a person gave."""

import errno
import json
import threading
from pathlib import Path

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import ProtectedError
from django.urls import reverse
from django.utils import timezone

from llm import replay
from llm.backend import Reply
from tests.webapp import bench_rows, finished_study, rows
from trainer import launch
from webapp.archive import erasure, retention
from webapp.archive.models import Erasure, Export, Redaction
from webapp.audit.models import Entry
from webapp.base.store import store
from webapp.experiments import leases, loop, revisions, run_folder
from webapp.experiments.execute import model_calls, train
from webapp.experiments.models import Clip, Experiment, Job
from webapp.notices.models import Address
from webapp.review import quality
from webapp.review.models import GoldSet, Screening, Trial, Vote
from webapp.studies.models import CompletionCode, Participant
from webapp.votes.models import Evaluator, Pair

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def files(*folders):
    return {path: path.read_bytes() for folder in folders for path in Path(folder).rglob("*") if path.is_file()}


def no_space(key, source):
    raise OSError(errno.ENOSPC, "No space left on device")


def traces_of(person, reason, external=""):
    """What must be found nowhere once the person is gone."""
    tokens = {
        person.token,
        *person.screenings.values_list("token", flat=True),
        *person.trials.values_list("token", flat=True),
    }
    tokens |= set(person.tickets.values_list("token", flat=True))
    return {person.label, reason, json.dumps(reason)[1:-1], *tokens, *({external} if external else ())}


def remains(person):
    """Things in files, sessions and lists that hang on a person."""
    experiment = person.experiment
    run = run_folder.get_folder(experiment.requests.get(kind="Train", step=1))
    run.mkdir(parents=True)
    (run / "job.json").write_text("{}")
    record = run.parents[1] / "records" / f"{experiment.public_id}.json"
    record.parent.mkdir(exist_ok=True)
    record.write_text(finished_study.REASON)
    export = Export.objects.create(study=person.study, by="ada", status="done")
    store.publish(export.key, person.label.encode())
    session = SessionStore()
    session["demonstration 1"] = person.token
    session.save()
    Address.objects.create(participant=person, email="sentinel@example.org")
    kind = ContentType.objects.get_for_model(Participant)
    LogEntry.objects.create(
        user=bench_rows.create_staff(),
        content_type=kind,
        object_id=person.pk,
        object_repr=person.label,
        action_flag=CHANGE,
    )


class TestErasure:
    def test_nothing_of_the_person_is_left(self, data, settings, django_capture_on_commit_callbacks):
        made = finished_study.copy_finished_study()
        remains(made.first)
        traces = traces_of(made.first, finished_study.REASON, finished_study.EXTERNAL) | {"sentinel@example.org"}
        clips = list(Clip.objects.filter(candidate__iteration__experiment=made.first.experiment, status="ready"))
        pk, other = made.first.pk, made.second
        with django_capture_on_commit_callbacks(execute=True):
            gone = erasure.erase(made.first, "ada")
        assert gone.total > 50 and gone.counts["votes"] == 3 and gone.counts["experiments"] == 1
        # The audit log is append-only: a pseudonym that is told there stays, and names nobody any more.
        held = finished_study.dump_database(without=("audit.Entry",))
        for trace in traces:
            assert trace not in held, trace
        log = "\n".join(json.dumps(row, default=str) for row in Entry.objects.values())
        for trace in traces - {"Person-A"}:
            assert trace not in log, trace
        assert "Person-A" not in str(list(Entry.objects.filter(action="erased a participant's data").values()))
        for path, content in files(data).items():
            assert not any(trace.encode() in content for trace in traces), path
        for clip in clips:
            assert store.size(clip.video) is None
        row = Participant.objects.get(pk=pk)
        assert row.deleted_at and row.withdrawn_at and row.outcome == "finished" and row.label == f"deleted {pk}"
        assert row.consented_at.time().isoformat() == "00:00:00"
        assert other.screenings.count() == 3 and Vote.objects.filter(screening__participant=other).count() == 3
        assert Experiment.objects.filter(pk=other.experiment.pk, status="finished").exists()

    def test_votes_keep_their_clip_and_forget_its_author(self):
        made = finished_study.copy_finished_study()
        pair = Pair.objects.get()
        assert "Person-A" in pair.origin["first"]["name"]
        erasure.erase(made.first, "ada")
        pair.refresh_from_db()
        assert pair.first is None and pair.origin["first"]["name"] == "deleted" and pair.origin["first"]["method"]
        assert store.size(f"votes/{pair.first_file}.mp4")

    @pytest.mark.parametrize("panel", [1, 2])
    def test_votes_on_answers_forget_the_words_in_them(self, panel):
        """Whether the experiment goes, or stays with the rest of its panel."""
        made = finished_study.copy_finished_study(panel=panel)
        Pair.objects.update(answers={"first": {"source": f"As somebody said: {finished_study.REASON}"}})
        erasure.erase(made.first)
        assert Pair.objects.get().answers == {"first": {"source": "As somebody said: [deleted]"}}

    def test_browsers_forget_what_was_answered_in_practice_and_check(self):
        made = finished_study.copy_finished_study()
        for person in (made.first, made.second):
            for name in ("practice", "check"):
                session = SessionStore()
                session[f"{name} {person.pk}"] = {"best": "A"}
                session.create()
        erasure.erase(made.first)
        left = {name for session in Session.objects.all() for name in session.get_decoded()}
        assert left == {f"practice {made.second.pk}", f"check {made.second.pk}"}

    def test_twice_is_once(self):
        made = finished_study.copy_finished_study()
        assert erasure.erase(made.first).total > 0
        assert erasure.erase(made.first).total == 0
        assert Erasure.objects.count() == 1

    def test_a_panel_goes_on_without_the_words_of_who_left(self, django_capture_on_commit_callbacks):
        made = finished_study.copy_finished_study(panel=2)
        experiment = made.first.experiment
        job = run_folder.get_folder(experiment.requests.filter(kind="Train").last()) / "job.json"
        job.parent.mkdir(parents=True, exist_ok=True)
        job.write_text(json.dumps({"sources": [f"# {finished_study.REASON}\nreturn 1"]}))
        assert experiment == made.second.experiment
        assert finished_study.REASON in finished_study.dump_database()
        traces = traces_of(made.first, finished_study.REASON)
        with django_capture_on_commit_callbacks(execute=True):
            erasure.erase(made.first)
        assert json.loads(job.read_text()) == {"sources": ["# [deleted]\nreturn 1"]}
        held = finished_study.dump_database(without=("audit.Entry",))
        for trace in traces:
            assert trace not in held, trace
        assert finished_study.OTHER_REASON in held and "[deleted]" in held
        experiment.refresh_from_db()
        assert experiment.status == "finished" and experiment.winner
        again = replay.advance(
            "icpl", loop.describe_task(experiment), experiment.seed, 3, 2, revisions.read_answered(experiment)
        )
        assert again.candidate == experiment.winner.key  # those who stay can go on: what is asked fits what was asked
        assert set(Screening.objects.values_list("participant__label", flat=True)) == {"Person-B"}
        erasure.erase(made.second)
        assert not Experiment.objects.filter(pk=experiment.pk).exists()

    def test_what_did_not_get_to_the_files_is_done_by_the_reaper(self, caplog, monkeypatch):
        """A process that is killed right after its transaction, and a file that cannot be written."""
        made = finished_study.copy_finished_study(panel=2)
        folder = run_folder.get_folder(made.first.experiment.requests.filter(kind="Train").last())
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / name for name in ("job.json", "log.txt")]
        for path in written:
            path.write_text(f"# {finished_study.REASON}")
        erasure.erase(made.first)  # what is to be done on commit is not, in this test
        assert finished_study.REASON in written[0].read_text()
        with monkeypatch.context() as full:
            full.setattr(store, "publish", no_space)
            retention.tick()
        assert written[0].read_text() == f"# {finished_study.REASON}"
        assert "taking erased words out of the files" in caplog.text
        with written[1].open("a") as log:  # a training goes on meanwhile
            retention.tick()
            log.write("\nmore")
        assert [path.read_text() for path in written] == ["# [deleted]", "# [deleted]\nmore"]
        assert finished_study.REASON not in finished_study.dump_database(without=("audit.Entry",))

    def left_undone(self):
        """A file of a training whose redaction was interrupted, and the job of that training."""
        made = finished_study.copy_finished_study(panel=2)
        job = Job.objects.filter(experiment=made.first.experiment, kind="train").last()
        path = run_folder.get_folder(job.request) / "job.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {finished_study.REASON}")
        erasure.erase(made.first)  # what is to be done on commit is not, in this test
        return path, job

    def test_the_next_start_of_the_reaper_ends_it_at_once(self):
        path, _ = self.left_undone()
        stopped = threading.Event()
        stopped.set()
        retention.run(stopped)
        assert path.read_text() == "# [deleted]" and not Redaction.objects.exists()

    def test_a_worker_ends_it_before_it_trains(self, monkeypatch):
        path, job = self.left_undone()
        found = []

        def read_and_stop(folder, *_, **__):
            found.append((folder / path.name).read_text())
            raise leases.ClaimLost

        monkeypatch.setattr(launch, "train", read_and_stop)
        monkeypatch.setattr(launch, "holds_other_job", lambda *_: False)  # the file holds no job, only words
        Job.objects.filter(pk=job.pk).update(status="queued")
        with leases.claim(job.pk) as lease:
            train.train(lease)
        assert found == ["# [deleted]"]

    def test_a_file_that_cannot_be_written_stops_nothing_else(
        self, caplog, monkeypatch, django_capture_on_commit_callbacks
    ):
        made = finished_study.copy_finished_study(panel=2)
        folder = run_folder.get_folder(made.first.experiment.requests.filter(kind="Train").last())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.json").write_text(f"# {finished_study.REASON}")
        monkeypatch.setattr(store, "publish", no_space)
        late = []
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            erasure.erase(made.first)
            transaction.on_commit(lambda: late.append(True))
        assert late and "No space left" in caplog.text and Redaction.objects.exists()

    def test_what_is_being_asked_meanwhile_brings_no_word_back(self, django_capture_on_commit_callbacks):
        """A model is answering a prompt that holds the reason."""
        made = finished_study.copy_finished_study(panel=2)
        experiment = made.first.experiment
        write = Job.objects.get(request__experiment=experiment, request__step=3, kind="write")
        assert finished_study.REASON in str(write.request.payload)
        Job.objects.filter(pk=write.pk).update(status="queued")
        lease = leases.claim(write.pk)
        arrives = model_calls.build_saver(lease)
        with django_capture_on_commit_callbacks(execute=True):
            erasure.erase(made.first)
        told = {"messages": lease.job.request.payload["messages"]}
        arrives(Reply("x", "stop", None, None, 0.1, "m", "", told, "hash", 1, "2026-01-01"))
        with pytest.raises(leases.ClaimLost), lease.lock_experiment():
            pass
        assert finished_study.REASON not in finished_study.dump_database(without=("audit.Entry",))
        write.refresh_from_db()
        assert (write.status, write.strikes) == ("queued", 0)

    def test_optional_parts_of_a_prompt_are_found_behind_the_words_that_were_taken_out(self):
        made = finished_study.copy_finished_study(panel=2)
        write = made.first.experiment.requests.get(kind="Write", step=3)
        text = write.payload["messages"][-1]["content"]
        assert text.index(finished_study.REASON) < text.index("# Now")
        write.payload["optional"] = [[text.index("# Now"), len(text)]]
        write.save()
        erasure.erase(made.first)
        write.refresh_from_db()
        ((start, end),) = write.payload["optional"]
        told = write.payload["messages"][-1]["content"]
        assert told[start:end] == text[text.index("# Now") :] and end == len(told) != len(text)

    def test_gold_sets_of_other_studies_go_and_their_answers_stay(self):
        made = finished_study.copy_finished_study()
        best, worst = made.first.screenings.first().order[:2]
        other = rows.participant(rows.study(title="Another"), label="Person-X")
        GoldSet.objects.create(study=other.study, best_id=best, worst_id=worst)
        answered = {"kind": "gold", "number": 0, "round": 1, "seed": 1, "answered_at": timezone.now()}
        trial = Trial.objects.create(
            participant=other, order=[best, worst], expected_best_id=best, best_id=best, **answered
        )
        assert quality.assess_study(other.study)[other].gold == (True,)
        with pytest.raises(ProtectedError):  # staff are told; a person's wish comes first
            made.first.experiment.delete()
        gone = erasure.erase(made.first)
        assert gone.counts["gold_sets"] == 2 and not GoldSet.objects.exists()
        entry = Entry.objects.get(action__startswith="lost gold sets", target_id=str(other.study_id))
        assert entry.detail == {"sets": 1}
        assert Trial.objects.filter(pk=trial.pk).exists()
        assert (
            quality.assess_study(other.study)[other].gold == () and quality.assess_study(other.study)[other].flags == ()
        )

    def test_the_link_leads_nowhere_then(self, client):
        person = rows.participant()
        assert client.get(person.get_absolute_url()).status_code == 200
        erasure.erase(person)
        assert client.get(person.get_absolute_url()).status_code == 404

    def test_an_evaluator_of_a_closed_vote_becomes_nobody(self):
        made = finished_study.copy_finished_study()
        person = Evaluator.objects.get(external_id=f"{finished_study.VOTER}0")
        before = finished_study.dump_database()
        assert person.token in before
        erasure.erase_evaluator(person)
        held = finished_study.dump_database()
        assert person.token not in held and f"{finished_study.VOTER}0" not in held
        assert made.poll.evaluators.count() == 3

    def test_an_evaluator_of_an_open_vote_takes_the_answers_along(self):
        made = finished_study.copy_finished_study()
        type(made.poll).objects.update(status="open")
        person = Evaluator.objects.get(external_id=f"{finished_study.VOTER}0")
        assert erasure.erase_evaluator(person).counts == {"evaluators": 1, "showings": 1, "pair_votes": 1}


class TestErasingOnTheBench:
    def test_needs_the_tick_and_the_right(self, client):
        person = rows.participant()
        address = reverse("archive:erase", args=[person.study_id])
        client.force_login(bench_rows.create_staff())
        page = client.post(address, {"participant": person.pk}, follow=True)
        assert "Tick the box" in page.content.decode()
        page = client.post(address, {"participant": person.pk, "sure": "yes"}, follow=True)
        assert "Deleted:" in page.content.decode() and "1 person" in page.content.decode()
        assert Participant.objects.get(pk=person.pk).deleted_at
        entry = Entry.objects.get(action="erased a participant's data")
        assert entry.actor == "ada" and entry.target_id == str(person.study_id)

    @pytest.mark.parametrize("nobody", ["", "P07", "1e3", "9" * 40])
    def test_what_names_nobody_is_said(self, staff, nobody):
        address = reverse("archive:erase", args=[rows.participant().study_id])
        page = staff.post(address, {"participant": nobody, "sure": "yes"}, follow=True)
        assert "Choose whose data" in page.content.decode()

    def test_not_of_another_study(self, client):
        person, other = rows.participant(), rows.study(title="Another")
        client.force_login(bench_rows.create_staff())
        page = client.post(
            reverse("archive:erase", args=[other.pk]), {"participant": person.pk, "sure": "yes"}, follow=True
        )
        assert "Choose whose data" in page.content.decode()
        assert not Participant.objects.get(pk=person.pk).deleted_at


@pytest.mark.django_db(transaction=True)
def test_sqlite_overwrites_what_it_deletes():
    """Neither the database's file nor its log of changes still holds the bytes."""
    from django.db import connection

    if connection.vendor != "sqlite":
        pytest.skip("SQLite's own way to delete")
    person = rows.participant(label="Sentinel-Label-77")
    path = Path(connection.settings_dict["NAME"])
    erasure.scrub_database()
    assert b"Sentinel-Label-77" in path.read_bytes()
    token = person.token
    erasure.erase(person)
    for file in path.parent.glob(f"{path.name}*"):
        content = file.read_bytes()
        assert token.encode() not in content and b"Robots that learn to walk: Sentinel" not in content, file


class TestLeaving:
    """The page on which somebody leaves, and may take along what they gave."""

    def test_with_the_wish_to_delete(self, client):
        person = rows.participant()
        rows.create_round(person)
        CompletionCode.objects.create(study=person.study, outcome="withdrawn", code="HALF-PAY")
        assert 'name="erase"' in client.get(reverse("leave", args=[person.token])).content.decode()
        page = client.post(reverse("leave", args=[person.token]), {"erase": "yes"})
        assert "your data is deleted" in page.content.decode() and "HALF-PAY" in page.content.decode()
        assert Participant.objects.get().deleted_at and not Experiment.objects.exists()
        assert client.get(person.get_absolute_url()).status_code == 404
        assert Erasure.objects.get().cause == "wish"

    def test_without_it_and_later(self, client):
        person = rows.participant()
        client.post(reverse("leave", args=[person.token]))
        assert Participant.objects.get().withdrawn_at and Experiment.objects.exists()
        assert "Delete what I gave" in client.get(person.get_absolute_url()).content.decode()
        client.post(reverse("leave", args=[person.token]), {"erase": "yes"})
        assert not Experiment.objects.exists()
