"""While the store is away, every page that needs it says in plain words to wait, and tries again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, poll_rows, problem_rows, rows
from webapp.archive.models import Export, Import
from webapp.base import store as chosen
from webapp.base.store_interface import StoreError
from webapp.bench.experiments import example_problems
from webapp.experiments.kinds import train
from webapp.experiments.models import Clip, Experiment, Request
from webapp.problems.models import Attachment, Problem
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
SET = "format: 1\nproblems:\n- {name: one, title: One, statement: Say it., attachments: [{file: a.png}]}\n"
ADMIN = "/admin/problems/problem/"


class AwayStore:
    """Answers nothing, or refuses."""

    def __init__(self, permanent: bool = False) -> None:
        self.permanent = permanent

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*arguments: Any, **named: Any) -> Any:
            raise StoreError("the store s3.secret.example does not answer", self.permanent)

        return fail


@pytest.fixture
def staff() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(bench_rows.create_staff())
    return client


@pytest.fixture
def person() -> Any:
    found = rows.participant()
    rows.create_round(found)
    return found


def send(client: Client, monkeypatch: pytest.MonkeyPatch, address: str, data: Any = None, permanent: bool = False):
    """The answer to this request, a POST where it has data, while the store is away."""
    with monkeypatch.context() as patch:
        patch.setattr(chosen.store, "_wrapped", AwayStore(permanent))
        return client.get(address) if data is None else client.post(address, data)


def check(answer: Any, tries_again: bool) -> None:
    page = answer.content.decode()
    assert answer.status_code == 503 and answer["Retry-After"] == "10" and "no-store" in answer["Cache-Control"]
    assert "Please wait a moment" in page and "Nothing that was saved is lost" in page and "secret" not in page
    assert ("tries again by itself" in page) == (answer.get("Refresh") == "10") == tries_again
    assert not answer.has_header("Content-Disposition")


def wait_for_round(someone: Any) -> str:
    rows.create_round(someone, percent=50)
    rows.open_training(someone)
    return str(someone.get_absolute_url())


def judge(someone: Any) -> str:
    rows.open_judgement(someone)
    return str(someone.get_absolute_url())


@pytest.mark.parametrize("prepare", [judge, wait_for_round])
def test_a_participants_page_waits(person, monkeypatch, prepare):
    address, client = prepare(person), Client(raise_request_exception=False)
    check(send(client, monkeypatch, address), tries_again=True)
    german = Client(raise_request_exception=False, headers={"accept-language": "de"})
    person.study.other_languages = ["de"]
    person.study.save()
    assert "Bitte warten Sie einen Moment" in send(german, monkeypatch, address).content.decode()
    assert client.get(address).status_code == 200


def test_a_store_that_refuses_stays_an_error(person, monkeypatch):
    """A wrong key does not mend itself."""
    answer = send(Client(raise_request_exception=False), monkeypatch, judge(person), permanent=True)
    assert answer.status_code == 500 and "Refresh" not in answer


def test_clips_wait_without_a_page(person, staff, monkeypatch):
    judge(person)
    page = Client().get(person.get_absolute_url()).content.decode()
    poll = poll_rows.poll()
    vote = poll_rows.page(Client(), poll_rows.evaluator(poll))
    clip = Clip.objects.first()
    preview = reverse("vote_preview_clip", args=[poll.public_id, 1, "first", "mp4"])
    own = [reverse("bench:clip", args=[clip.name]), reverse("bench:poster", args=[clip.name]), preview]
    shown = set(re.findall(r'"(/clip/[^"]+|/view/[^"]+)"', page + vote))
    assert len(shown) == 2 * (person.experiment.k + 2)
    for address in [*shown, *own]:
        answer = send(staff, monkeypatch, address)
        assert answer.status_code == 503 and answer["Retry-After"] and not answer.content, address


def test_files_of_problems_wait(staff, monkeypatch):
    problem = problem_rows.sum_problem()
    row = Attachment(problem=problem, name="figure.png")
    row.file.save("figure.png", ContentFile(b"\x89PNG"))
    page = problem_rows.open_judgement(problem, [problem_rows.RIGHT])
    check(send(staff, monkeypatch, f"{page}attachment/{row.pk}/"), tries_again=True)
    check(send(staff, monkeypatch, f"{ADMIN}attachment/{row.pk}/"), tries_again=True)
    check(send(staff, monkeypatch, ADMIN, {"action": "export", "_selected_action": [problem.pk]}), tries_again=False)
    one = poll_rows.answer_of("ICPL", problem_rows.RIGHT, "sum")
    other = poll_rows.answer_of("OpenLoop", problem_rows.WRONG, "sum")
    poll = poll_rows.poll_of_answers(one, other)
    assert staff.post(reverse("votes:open", args=[poll.public_id])).status_code == 302
    shown = poll_rows.page(Client(), poll_rows.evaluator(poll))
    [address] = re.findall(r'src="(/view/[^"]+/file/[^"]+)"', shown)
    check(send(staff, monkeypatch, address), tries_again=True)
    check(send(staff, monkeypatch, reverse("votes:file", args=[poll.public_id, 1, 1])), tries_again=True)
    check(send(staff, monkeypatch, reverse("vote_preview_file", args=[poll.public_id, 1, row.pk])), tries_again=True)


def test_uploads_wait_and_leave_nothing(staff, monkeypatch):
    upload = {"file": SimpleUploadedFile("set.yaml", SET.encode())}
    check(send(staff, monkeypatch, f"{ADMIN}upload/", upload), tries_again=False)
    page = staff.post(f"{ADMIN}upload/", {"file": SimpleUploadedFile("set.yaml", SET.encode())}).url
    check(send(staff, monkeypatch, page), tries_again=True)
    check(send(staff, monkeypatch, page, {"files": [SimpleUploadedFile("a.png", b"x")]}), tries_again=False)
    check(send(staff, monkeypatch, reverse("bench:example_problems"), {}), tries_again=False)
    study = {"file": SimpleUploadedFile("study.zip", b"zip")}
    check(send(staff, monkeypatch, reverse("archive:import"), study), tries_again=False)
    assert not Problem.objects.exists() and not Import.objects.exists()
    assert example_problems.FOLDER.is_dir()


def test_downloads_wait(staff, monkeypatch, person):
    export = Export.objects.create(study=person.study, by="ada", status="done")
    check(send(staff, monkeypatch, reverse("archive:download", args=[export.public_id])), tries_again=True)
    check(send(staff, monkeypatch, reverse("archive:remove", args=[export.public_id]), {}), tries_again=False)
    assert Export.objects.exists(), "or nobody would delete its file"


def test_what_reads_a_training_waits(staff, monkeypatch):
    row = bench_rows.create_finished_experiment(clips=False)
    assert train.find_training(row, row.winner.key) and Request.objects.filter(kind="Train").exists()
    for name in ("bench:experiment", "bench:download_winner"):
        check(send(staff, monkeypatch, reverse(name, args=[row.public_id])), tries_again=True)
    check(send(staff, monkeypatch, reverse("archive:experiment", args=[row.public_id]), {}), tries_again=False)
    assert Experiment.objects.get(pk=row.pk).status == Experiment.Status.FINISHED


def test_a_vote_opens_with_its_clips_or_not_at_all(staff, monkeypatch):
    poll = poll_rows.poll(opened=False)
    check(send(staff, monkeypatch, reverse("votes:open", args=[poll.public_id]), {}), tries_again=False)
    poll.refresh_from_db()
    assert poll.status == Poll.Status.DRAFT
