"""The final answer of a written answer is looked for once, when the answer is tried, and kept for all pages."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from llm.reasoning import answer_parts
from tests.webapp import bench_rows, poll_rows, problem_rows
from tests.webapp.problem_rows import RIGHT, WRONG
from webapp.experiments.execute.run import save_score
from webapp.experiments.models import Candidate, Experiment
from webapp.problems import answer_scores

pytestmark = pytest.mark.django_db


@pytest.fixture
def tried(monkeypatch):
    """Two answers that were tried, and the address of the page on which they are judged. Nobody may look again."""
    problem = problem_rows.sum_problem()
    address = problem_rows.open_judgement(problem, [RIGHT, WRONG])
    rows = list(Candidate.objects.all())
    for row, score in zip(rows, answer_scores.score_answers(problem, [RIGHT, WRONG], None, 1), strict=True):
        save_score(row, score)

    def fail(*arguments):
        raise AssertionError("a page looked for the final answer again")

    monkeypatch.setattr(answer_parts, "final_answer", fail)
    return rows, address


@pytest.mark.slow
def test_pages_show_what_was_kept(tried, client):
    (first, second), address = tried
    assert [row.metric_trace for row in (first, second)] == [{"final_answer": "$5050$"}, {"final_answer": "$5049$"}]
    assert [row.rts for row in (first, second)] == [1.0, 0.0]
    shown = client.get(address).content.decode()
    assert "5050" in shown and "5049" in shown
    client.force_login(bench_rows.create_staff())
    public_id = first.iteration.experiment.public_id
    experiment = client.get(reverse("bench:experiment", args=[public_id])).content.decode()
    assert "5050" in experiment and "Score best 1.00" in experiment and "RTS" not in experiment
    page = client.get(reverse("bench:candidate", args=[public_id, first.key])).content.decode()
    assert "5050" in page and "<h2>Answer</h2>" in page and "<dd>Tested</dd>" in page


def test_a_vote_keeps_it_too(tried):
    rows, _ = tried
    for row, name in zip(rows, ("one", "other"), strict=True):
        other = Experiment.objects.create(name=name, task="sum", method="scaling_3d", status="finished")
        row.iteration.pk, row.iteration.experiment = None, other
        row.iteration.save()
        Candidate.objects.filter(pk=row.pk).update(iteration=row.iteration)
        Experiment.objects.filter(pk=other.pk).update(winner=row)
    poll = poll_rows.poll_of_answers(*Candidate.objects.order_by("pk"))
    client = Client()
    client.force_login(bench_rows.create_staff())
    client.post(reverse("votes:open", args=[poll.public_id]))
    assert "5050" in poll_rows.page(client, poll_rows.evaluator(poll))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_answers_of_an_earlier_version_get_theirs_and_can_go_back(transactional_db):
    problem = problem_rows.sum_problem()
    problem_rows.open_judgement(problem, [RIGHT, "No answer at all."])
    Candidate.objects.filter(index=2).update(metric_trace={"subtasks": []})
    call_command("migrate", "experiments", "0015", verbosity=0)
    call_command("migrate", "experiments", verbosity=0)
    kept = {"final_answer": "$5050$"}
    assert [row.metric_trace for row in Candidate.objects.all()] == [kept, {"subtasks": []}]
    call_command("migrate", "experiments", "0015", verbosity=0)
    assert list(Candidate.objects.values_list("metric_trace", flat=True)) == [{}, {"subtasks": []}]
    call_command("migrate", "experiments", verbosity=0)
