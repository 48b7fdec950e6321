"""A/B votes on answers to a problem: what can be paired, what evaluators read, and that it stays what it was."""

import re

import pytest
from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import ProtectedError
from django.urls import reverse

from tests.webapp import bench_rows, poll_rows, problem_rows, rows
from tests.webapp.problem_rows import RIGHT, WRONG
from tests.webapp.test_races import Midway, both
from webapp.experiments.models import Candidate, Experiment
from webapp.problems import problem_sets
from webapp.problems.models import Attachment
from webapp.votes import lifecycle, poll_results, problem_pairs
from webapp.votes.models import Poll

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]


@pytest.fixture
def problem():
    return problem_rows.sum_problem()


@pytest.fixture
def two_answers(problem):
    return poll_rows.answer_of("one", RIGHT, "sum"), poll_rows.answer_of("two", WRONG, "sum")


@pytest.mark.slow
def test_what_is_read_is_a_copy_that_tells_nothing_of_where_it_came_from(client, problem, two_answers):
    poll = poll_rows.poll_of_answers(*two_answers, evaluators_wanted=1)
    assert lifecycle.open_poll(poll) == []
    person = poll_rows.evaluator(poll)
    html = poll_rows.page(client, person)
    assert "5050" in html and "5049" in html and "1 + " in html and "Use <strong>pairs</strong>" in html
    telling = "|".join(("sentinel", "Turns", "Batch", "3D", "scaling", re.escape(str(rows.RTS)), "<video"))
    assert not re.search(rf"(?<![\w-])({telling})(?![\w-])", html)  # as words: random tokens hold "3D" by chance
    problem.statement = "Another one."
    problem.save()
    Experiment.objects.all().delete()
    Candidate.objects.all().delete()
    showing = person.showings.get().token
    assert poll_rows.page(client, person).count(showing) == html.count(showing)
    assert "5050" in poll_rows.page(client, person) and "Another one." not in poll_rows.page(client, person)
    assert "Choose one of the two answers" in poll_rows.answer(client, person, choice="").content.decode()
    assert poll_rows.vote_for(person, "Batch") == ""
    poll.refresh_from_db()
    assert poll.status == "closed"
    [found] = poll_results.compute_results(poll).pairs
    assert (found.preference.first, found.preference.second) == (0, 1)
    assert poll.pairs.get().origin["second"]["method"] == "scaling_3d"


def test_pairs_that_nobody_could_judge_are_refused(problem, two_answers):
    def said(first, second, **values):
        return " ".join(lifecycle.find_problems(poll_rows.poll_of_answers(first, second, **values)))

    assert said(*two_answers) == ""
    assert "word for word" in said(two_answers[0], poll_rows.answer_of("three", RIGHT + "\n", "sum"))
    assert "different problems (add, sum)" in said(two_answers[0], poll_rows.answer_of("four", "print(1)", "add"))
    assert "about a robot" in said(*two_answers, question="Which robot walks better?")
    assert "“Video” stands in the instructions" in said(*two_answers, instructions="Watch both videos.")
    poll = poll_rows.poll_of_answers(*two_answers)
    Experiment.objects.filter(name="sentinel_experiment one").delete()
    assert "an answer was deleted" in " ".join(lifecycle.find_problems(poll))


def test_a_figure_is_for_those_who_judge_it(client, problem, two_answers):
    figure, other = (
        Attachment.objects.create(problem=problem, file=ContentFile(b"GIF89a", name=f"{name}.gif")) for name in "ab"
    )
    poll = poll_rows.poll_of_answers(*two_answers)
    other.delete()
    assert lifecycle.open_poll(poll) == []
    late = Attachment.objects.create(problem=problem, file=ContentFile(b"GIF89a", name="c.gif"))
    person = poll_rows.evaluator(poll)
    token = person.showings.get().token
    address = reverse("pair_file", args=[token, figure.pk])
    assert address in poll_rows.page(client, person)
    assert b"".join(client.get(address)) == b"GIF89a"
    assert client.get(reverse("pair_file", args=[token, late.pk])).status_code == 404
    lifecycle.close_poll(poll)
    assert client.get(address).status_code == 404


@pytest.mark.slow
def test_answers_are_chosen_in_the_form(client, problem, two_answers):
    poll_rows.answer_of("unfinished", "No.", "sum").iteration.experiment.delete()
    client.force_login(bench_rows.create_staff())
    add = reverse("votes:new")
    html = client.get(add, {"kind": "answers"}).content.decode()
    assert "You read two answers" in html
    assert "sentinel_experiment two (3D scaling, sum, seed" in html.replace("3D Scaling", "3D scaling")
    fields = {
        **{"title": "W", "contact": "a@example.org", "question": "Which?", "instructions": "Read."},
        **{"evaluators_wanted": 20, "alpha": "0.05", "correction": "holm", "consent_text": "Free."},
        **{
            "consent_version": "1",
            "pairs-TOTAL_FORMS": 1,
            "pairs-INITIAL_FORMS": 0,
            "pairs-0-purpose": "asked",
            "repeats": 0,
        },
        **{"pairs-0-first": f"answer-{two_answers[0].pk}", "pairs-0-second": f"answer-{two_answers[1].pk}"},
        **{"pairs-0-first_arm": "One", "pairs-0-second_arm": ""},
    }
    poll_page = client.post(add, fields)
    assert poll_page.status_code == 302
    pair = Poll.objects.get().pairs.get()
    assert poll_page.url == pair.poll.get_absolute_url()
    assert (pair.first_answer, pair.second_answer, pair.first) == (*two_answers, None)
    assert pair.first_arm == "One" and pair.second_arm.lower().startswith("3d")
    change = client.get(reverse("votes:setup", args=[pair.poll.public_id])).content.decode()
    assert f'value="answer-{two_answers[1].pk}" selected' in change


FIGURES = """format: 1
problems:
  - {name: sum, title: A sum, statement: s, subject: mathematics, attachments: [%s]}
"""


def figures(*names, captions=None, **contents):
    """A set with these figures, each made of its own name where no other content or caption is given."""
    said = zip(names, captions or names, strict=True)
    listed = ", ".join(f"{{file: {name}.gif, caption: {caption}}}" for name, caption in said)
    files = {f"{name}.gif": b"GIF89a" + contents.get(name, name).encode() for name in names}
    problem_sets.import_set({problem_sets.SET_FILE: (FIGURES % listed).encode(), **files})
    return [(row.caption, row.pk) for row in Attachment.objects.order_by("pk")]


def test_a_set_imported_again_leaves_the_figures_of_an_open_vote_where_they_are(client, problem, two_answers):
    before = figures("a", "b")
    poll = poll_rows.poll_of_answers(*two_answers)
    assert lifecycle.open_poll(poll) == []
    html = poll_rows.page(client, poll_rows.evaluator(poll))
    addresses = set(re.findall(r"/view/[\w-]+/file/\d+/", html))
    assert figures("a", "b", "c")[:2] == before
    assert {b"".join(client.get(address)) for address in addresses} == {b"GIF89aa", b"GIF89ab"}
    refused = ((("a",), {}), (("b", "a"), {}), (("a", "b"), {"b": "another"}), (("a", "b"), {"captions": "az"}))
    for names, contents in refused:
        with pytest.raises(problem_sets.BadSet, match="open vote “Which is better” shows a file"):
            figures(*names, **contents)
    assert len(figures("a", "b")) == 2
    lifecycle.close_poll(poll)
    assert [name for name, _ in figures("b", "a")] == ["b", "a"]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_set_imported_while_a_vote_opens_is_refused(monkeypatch, problem, two_answers):
    def replace_figures():
        with pytest.raises(problem_sets.BadSet) as refusal:
            figures("b", "a")
        return str(refusal.value)

    before = figures("a", "b")
    poll = poll_rows.poll_of_answers(*two_answers)
    midway = Midway(monkeypatch, problem_pairs, "copy_answers")
    found, said = both(midway, lambda: lifecycle.open_poll(poll), replace_figures)
    assert found == [] and "open vote “Which is better” shows a file" in said
    assert [(row.caption, row.pk) for row in Attachment.objects.order_by("pk")] == before


@pytest.mark.slow
def test_the_admin_leaves_the_figures_of_an_open_vote_alone(client, problem, two_answers):
    figures("a")
    figure = Attachment.objects.get()
    poll = poll_rows.poll_of_answers(*two_answers)
    assert lifecycle.open_poll(poll) == []
    client.force_login(bench_rows.create_staff())
    address = reverse("admin:problems_problem_change", args=[problem.pk])
    groups = ("attachments", "subtasks", "cases")
    fields = {f"{group}-{count}_FORMS": 0 for group in groups for count in ("TOTAL", "INITIAL")}
    fields |= {"title": "t", "subject": "mathematics", "form": "answer", "language": "cpp", "statement": "s"}
    fields |= {"tolerance": 0, "cpu_seconds": 2, "memory_mb": 256, "attachments-TOTAL_FORMS": 1}
    fields |= {"attachments-INITIAL_FORMS": 1, "attachments-0-id": figure.pk, "attachments-0-problem": problem.pk}
    fields |= {"attachments-0-name": figure.name, "attachments-0-caption": figure.caption}
    fields |= {"attachments-0-to_model": "on"}
    refused = client.post(address, {**fields, "attachments-0-DELETE": "on"})
    assert "The open vote “Which is better” shows this file" in refused.content.decode()
    other = {"attachments-0-file": ContentFile(b"GIF89a other", name="o.gif")}
    assert "shows this file" in client.post(address, {**fields, **other}).content.decode()
    assert "shows this file" in client.post(address, {**fields, "attachments-0-caption": "z"}).content.decode()
    assert client.post(address, {**fields, "title": "another"}).status_code == 302
    assert Attachment.objects.get().caption == "a"


def test_a_problem_that_an_open_vote_shows_is_kept(client, problem, two_answers):
    figures("a")
    poll = poll_rows.poll_of_answers(*two_answers)
    assert lifecycle.open_poll(poll) == []
    Experiment.objects.all().delete()
    client.force_login(bench_rows.create_staff())
    address = reverse("admin:problems_problem_delete", args=[problem.pk])
    html = client.post(address, {"post": "yes"}).content.decode()
    assert "is used by the open vote “Which is better”" in html
    with pytest.raises(ProtectedError, match="open vote"), transaction.atomic():
        problem.delete()
    assert Attachment.objects.exists()
    lifecycle.close_poll(poll)
    assert client.post(address, {"post": "yes"}).status_code == 302 and not Attachment.objects.exists()


def test_files_keep_their_rows_where_their_order_allows(problem):
    first = dict(figures("a", "b", "c"))
    assert dict(figures("a", "b", "c", b="other")) == first
    assert dict(figures("b", "c", b="other")) == {name: first[name] for name in "bc"}
    moved = figures("d", "b", "c", b="other")
    assert [name for name, _ in moved] == ["d", "b", "c"] and min(key for _, key in moved) > max(first.values())
