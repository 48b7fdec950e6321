"""Experiments that go on after an upgrade: with other prompts, and with another flow of their method."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from llm import methods, prompts
from llm.method import Method
from llm.replay import replay
from tests.webapp import rows
from tests.webapp.fake_workers import advance, do_work, find_open_requests, start_experiment
from tests.webapp.made_up_flows import (
    answer,
    filmed,
    rounds,
    stopped_by,
    stopped_while_choosing,
    thoughtful_rounds,
    to_the_end,
    warm_rounds,
)
from webapp.experiments import loop, progress, provenance, revisions, run_folder, upgrades
from webapp.experiments.models import Candidate, Experiment, Request
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import find_screening
from webapp.studies import enrolment

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def upgrade(monkeypatch, tmp_path):
    """Call it to be another version, whose prompts have a sentence more."""

    def become(version, sentence="", flow=None, revision=1):
        folder = tmp_path / version
        folder.mkdir()
        for name in prompts.list_names():
            (folder / f"{name}.txt").write_text((today / f"{name}.txt").read_text().rstrip() + sentence)
        prompts._read_template.cache_clear()
        monkeypatch.setattr(prompts, "FOLDER", folder)
        monkeypatch.setattr(provenance, "get_running_version", lambda: version)
        if flow:
            method = Method("made_up", "Made up", "", flow, revision=revision, reasoning=False)
            monkeypatch.setitem(methods.METHODS, "made_up", method)

    today = prompts.FOLDER
    yield become
    prompts._read_template.cache_clear()


def test_prompts_of_ones_own_are_kept_in_the_record(monkeypatch, tmp_path, admin_client):
    """By a name that each request carries, with their texts; before that, an experiment has none."""
    first = start_experiment(k=2, n=2)
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "first.txt").write_text("$problem\n\n# Now\n\nWrite, and take your time.")
    monkeypatch.setenv("PREFINE_PROMPTS", str(folder))
    prompts._read_template.cache_clear()
    second = start_experiment(k=2, n=2)
    advance(second)
    monkeypatch.delenv("PREFINE_PROMPTS")
    prompts._read_template.cache_clear()
    advance(first)
    (name,) = second.prompts
    (asked,) = find_open_requests(second)
    assert asked.version.endswith(f", prompts {name}") and asked.payload["messages"][1]["content"].endswith("time.")
    assert list(second.prompts[name]) == ["first"]
    assert upgrades.build_record(second).prompts == second.prompts and first.prompts == {}
    page = admin_client.get(f"/bench/{second.public_id}/").text
    assert f"Replaced prompts: first (set {name})." in page
    assert "words of your own" not in admin_client.get(f"/bench/{first.public_id}/").text


class TestOtherPrompts:
    def test_it_goes_on_and_says_who_asked(self, upgrade) -> None:
        upgrade("0.1.0")
        row = start_experiment(n=3)
        do_work(row, until="Ask")
        fingerprints = dict(row.requests.values_list("pk", "fingerprint"))
        upgrade("0.2.0", " Take your time.")
        do_work(row)
        assert row.status == Experiment.Status.FINISHED
        kept = {request.pk: request for request in row.requests.all()}
        assert all(kept[pk].fingerprint == mark for pk, mark in fingerprints.items())
        versions = [request.version for request in row.requests.all()]
        first = versions.index("0.2.0")
        assert versions == ["0.1.0"] * first + ["0.2.0"] * (len(versions) - first) and first == len(fingerprints)
        (told,) = row.events.filter(kind="upgraded")
        assert told.text == f"From step {first} on Prefine 0.2.0 asks, in other words than 0.1.0."
        assert told.payload["steps"] == [0, 3, 6]

    def test_what_is_open_is_asked_as_it_was(self, upgrade) -> None:
        upgrade("0.1.0")
        row = start_experiment(judge="human")
        advance(row)
        asked = row.requests.get()
        upgrade("0.2.0", " Take your time.")
        advance(row)
        again = row.requests.get()
        assert (again.payload, again.fingerprint, again.version) == (asked.payload, asked.fingerprint, "0.1.0")
        assert row.live

    def test_a_judge_draws_what_it_would_have_drawn(self, upgrade) -> None:
        """Its randomness hangs on the request as it was asked."""
        upgrade("0.1.0")
        row = start_experiment(judge="human")
        do_work(row)
        seed = loop.derive_seed(loop.find_waiting_request(row))
        upgrade("0.2.0", " Take your time.")
        advance(row)
        assert loop.derive_seed(loop.find_waiting_request(row)) == seed

    def test_rows_of_before_say_no_version(self, upgrade) -> None:
        upgrade("0.1.0")
        row = start_experiment()
        do_work(row, until="Train")
        row.requests.update(version="")
        upgrade("0.2.0", " Take your time.")
        do_work(row)
        assert row.status == Experiment.Status.FINISHED
        assert "in other words than an earlier version" in row.events.get(kind="upgraded").text

    def test_a_flow_that_fits_is_followed_from_there(self, upgrade) -> None:
        row = stopped_by(upgrade, rounds, kept=4, judge="human")
        assert (row.status, row.revision) == (Experiment.Status.RUNNING, 2)
        assert row.events.filter(kind="revised").count() == 1
        to_the_end(row)
        assert row.status == Experiment.Status.FINISHED
        assert list(row.requests.values_list("revision", flat=True)) == [1] * 5 + [2] * 5


class TestAnotherFlow:
    def test_it_stops_and_says_so(self, upgrade) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=4, judge="human")
        assert row.status == Experiment.Status.FAILED and row.flow_changed
        assert "revision 2; the experiment follows revision 1" in row.error
        assert "step 0: the method asks for Ask, but the saved request is Write" in row.error
        assert row.requests.filter(status=Request.Status.DONE).count() == 4

    @pytest.mark.parametrize(("judge", "kept"), [("human", 3), ("human", 6), ("human", 7), ("proxy", 2), ("proxy", 4)])
    def test_it_ends_with_what_is_there(self, upgrade, judge, kept) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=kept, judge=judge)
        judged = [i.best.key for i in row.iterations.all() if i.best]
        assert upgrades.end_early(row) and not upgrades.end_early(row)
        asked = to_the_end(row)
        assert row.status == Experiment.Status.FINISHED and row.winner.key in judged
        assert asked == (["Choose"] if judge == "human" and len(judged) > 1 else [])
        assert row.requests.exclude(status__in=("done", "aside")).count() == 0
        record = upgrades.build_record(row)
        assert record.ended_early and record.winner == row.winner.key

    def test_before_a_first_pick_it_ends_with_one_of_what_was_trained(self, upgrade) -> None:
        row = stopped_while_choosing(upgrade)
        assert upgrades.end_early(row)
        advance(row)
        assert loop.find_waiting_request(row).payload["candidates"] == ["1-1", "1-2", "1-3"]
        assert to_the_end(row) == ["Choose"]

    def test_what_failed_is_no_answer(self, upgrade) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=3, judge="human")
        row.requests.filter(status="open").update(status="failed", finished_at=timezone.now(), error="No answer.")
        assert upgrades.end_early(row) and revisions.read_set_aside(row) == []
        assert to_the_end(row) == [] and row.winner.key == "1-1"

    def test_nothing_trained_is_nothing_to_end_with(self, upgrade) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=1, judge="human")
        assert not upgrades.end_early(row)

    @pytest.mark.parametrize("kept", [1, pytest.param(3, marks=pytest.mark.exhaustive), 4, 6, 7])
    def test_it_goes_on_under_the_new_flow_with_the_answers_that_fit(self, upgrade, kept) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=kept, judge="human")
        before = {r.pk: (r.kind, r.payload, r.result) for r in row.requests.all()}
        files = {r.pk: run_folder.get_folder(r) for r in row.requests.all()}
        programs = {c.key: c.source for c in Candidate.objects.filter(iteration__experiment=row)}
        assert upgrades.follow_current_flow(row) and not upgrades.follow_current_flow(row)
        asked = to_the_end(row)
        assert row.status == Experiment.Status.FINISHED
        first_round = ["Write 1", "Train 1", "Judge 1"][max(kept, 1) :]
        assert asked[: 1 + len(first_round)] == ["Ask 1", *first_round]
        assert asked[1 + len(first_round) :][:3] == ["Ask 2", "Write 2", "Write 2"]
        after = {r.pk: r for r in row.requests.all()}
        assert {pk: (after[pk].kind, after[pk].payload) for pk in before} == {pk: x[:2] for pk, x in before.items()}
        assert all(after[pk].result == result for pk, (*_, result) in before.items() if result)
        assert {pk: run_folder.get_folder(after[pk]) for pk in files if after[pk].kind == "Train"} == {
            pk: path for pk, path in files.items() if after[pk].kind == "Train"
        }
        folders = [run_folder.get_folder(r) for r in row.requests.filter(kind="Train")]
        assert len(set(folders)) == len(folders)
        now = Candidate.objects.filter(iteration__experiment=row)
        assert {key: source for c in now if (key := c.key) in programs and (source := c.source)} == programs
        aside = [c.key for c in now.filter(status=Candidate.Status.ASIDE)]
        written_twice = kept >= 4  # the second round, which was written in one
        assert aside == (["2-1", "2-2", "2-3"] if written_twice else []) + (["3-1", "3-2", "3-3"] if kept > 6 else [])
        record = upgrades.build_record(row)
        assert (record.revision, len(record.set_aside)) == (2, max(0, kept - 3))
        assert replay(record, strict=False).candidate == row.winner.key

    def test_what_is_trained_in_another_way_is_written_again(self, upgrade) -> None:
        row = stopped_by(upgrade, warm_rounds, kept=6, judge="human")
        assert "warm 1-1, saved None" in row.error
        upgrades.follow_current_flow(row)
        assert to_the_end(row) == ["Write 2", "Train 2", "Judge 2"]
        assert row.status == Experiment.Status.FINISHED and row.winner.key == "2-4"
        assert {c.key: c.status for c in row.iterations.get(number=2).candidates.all()} == {
            **dict.fromkeys(("2-1", "2-2", "2-3"), "aside"),
            **dict.fromkeys(("2-4", "2-5", "2-6"), "trained"),
        }

    def test_an_open_choice_keeps_its_place(self, upgrade) -> None:
        """A person who is choosing goes on choosing, where the new flow asks for the same."""
        row = stopped_while_choosing(upgrade)
        waiting = row.requests.get(kind="Judge")
        upgrades.follow_current_flow(row)
        advance(row)
        assert progress.read_progress(row).iteration == 1 and loop.find_waiting_request(row) is None
        answer(row, row.requests.get(kind="Ask"))
        advance(row)
        assert loop.find_waiting_request(row) == waiting

    @pytest.mark.parametrize("status", ["queued", "running", "failed"])
    def test_a_training_that_was_dropped_is_taken_up(self, upgrade, status) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=1, judge="human")
        training = row.requests.get(kind="Train")
        training.jobs.update(status=status)
        upgrades.follow_current_flow(row)
        assert [job.status for job in training.jobs.all()] == ["cancelled"]
        advance(row)
        answer(row, row.requests.get(kind="Ask"))
        advance(row)
        assert [job.status for job in training.jobs.all()] == ["queued"]
        training.refresh_from_db()
        assert training.status == Request.Status.OPEN

    def test_a_method_that_is_gone_leaves_the_rounds(self, upgrade, monkeypatch) -> None:
        row = stopped_by(upgrade, rounds, kept=5, judge="human")
        monkeypatch.delitem(methods.METHODS, "made_up")
        advance(row)
        assert row.flow_changed and "unknown method 'made_up'" in row.error
        assert not upgrades.follow_current_flow(row)
        assert upgrades.end_early(row)
        to_the_end(row)
        assert row.status == Experiment.Status.FINISHED and row.winner.key == "2-1"

    def test_the_bench_offers_both_ways(self, upgrade, staff) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=6, judge="human")
        address = reverse("bench:experiment", args=[row.public_id])
        page = staff.get(address).text
        assert "its method has changed since it began" in page and "the saved request is Write" in page
        for name in ("confirm-follow", "confirm-end"):
            assert page.count(f'href="#{name}" data-open="{name}"') == page.count(f'<dialog id="{name}"') == 1
        told = staff.post(reverse("bench:act", args=[row.public_id, "follow"]), follow=True).text
        assert "Going on under today&#x27;s flow" in told and "its method has changed since it began" not in told
        row.refresh_from_db()
        to_the_end(row)
        page = staff.get(address).text
        assert "3 answers of an earlier flow of the method are set aside." in page
        assert page.count('<span class="badge aside">Set aside</span>') == 3
        assert "from step 1 (round 1) on by Prefine 0.1.0, from step 4 (round 2) on by Prefine 0.2.0" in page
        told = staff.post(reverse("bench:act", args=[row.public_id, "end"]), follow=True).text
        assert "Nothing was changed." in told

    def test_the_bench_waits_for_nobody_while_it_is_stopped(self, upgrade, staff) -> None:
        row = stopped_while_choosing(upgrade)
        page = staff.get(reverse("bench:experiment", args=[row.public_id])).text
        assert "Waiting for a person to pick" not in page and 'class="sub">stopped' in page

    def test_an_experiment_that_ended_early_says_so(self, upgrade, staff) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=6, judge="human")
        staff.post(reverse("bench:act", args=[row.public_id, "end"]))
        advance(row)
        page = staff.get(reverse("bench:experiment", args=[row.public_id])).text
        assert "The flow was broken off" in page
        assert [i.aside for i in row.iterations.all()] == [False, False, True]
        to_the_end(row)
        assert row.status == Experiment.Status.FINISHED

    @pytest.mark.parametrize("way", [upgrades.end_early, upgrades.follow_current_flow])
    def test_a_person_waits_and_comes_to_the_end(self, upgrade, client, way) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=4, judge="human", n=2)
        filmed(row)
        person = rows.participant()
        person.assignments.update(experiment=row)
        address = person.get_absolute_url()
        Experiment.objects.filter(pk=row.pk).update(status="waiting")
        assert "Something went wrong" not in client.get(address).text
        Experiment.objects.filter(pk=row.pk).update(status="failed")
        row.refresh_from_db()
        assert "Something went wrong on our side" in client.get(address).text
        assert enrolment.finish_due() == 0
        assert way(row)
        while row.live:
            advance(row)
            if (request := loop.find_waiting_request(row)) is None:
                for request in find_open_requests(row):
                    answer(row, request)
                continue
            filmed(row)
            shown = find_screening(request, person)
            assert 'name="best"' in client.get(address).text
            fields = {"screening": shown.token, "best": "A", "worst": "" if request.kind == "Choose" else "B"}
            client.post(reverse("vote", args=[person.token]), fields)
            Vote.objects.update(created_at=timezone.now() - timedelta(days=1))
            assert ballot.lock_due_votes() == 1
            row.refresh_from_db()
        assert row.status == Experiment.Status.FINISHED
        assert enrolment.finish_due() == 1
        person.refresh_from_db()
        assert person.outcome == "finished"

    def test_a_choice_in_a_round_that_was_set_aside_is_refused_kindly(self, upgrade, client) -> None:
        row = stopped_while_choosing(upgrade)
        filmed(row)
        person = rows.participant()
        person.assignments.update(experiment=row)
        shown = find_screening(row.requests.get(kind="Judge"), person)
        assert upgrades.follow_current_flow(row)
        fields = {"screening": shown.token, "best": "A", "worst": "B"}
        told = client.post(reverse("vote", args=[person.token]), fields, follow=True)
        assert "That round is already over" in told.text and not Vote.objects.exists()

    def test_only_an_experiment_whose_flow_changed_has_these_ways_out(self, upgrade) -> None:
        row = start_experiment()
        assert not upgrades.end_early(row) and not upgrades.follow_current_flow(row)
        do_work(row, failed=(0, 1, 2))
        assert row.status == Experiment.Status.FAILED
        assert not upgrades.end_early(row) and not upgrades.follow_current_flow(row)

    def test_the_version_of_before_goes_on_with_a_retry(self, upgrade) -> None:
        row = stopped_by(upgrade, thoughtful_rounds, kept=4, judge="human")
        upgrade("0.1.1", flow=rounds)
        assert loop.retry(row) and not row.flow_changed
        to_the_end(row)
        assert row.status == Experiment.Status.FINISHED and not revisions.read_set_aside(row)
