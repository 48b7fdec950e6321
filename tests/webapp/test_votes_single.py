"""Films that people rate and answers that experts grade, one at a time: pages, marks, results, blinding."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp import poll_rows, problem_rows, rows
from tests.webapp.blinding import FORBIDDEN_WORDS, Recorder, leaks, number_from
from tests.webapp.poll_rows import answers_to_grade, films_to_rate, open_single
from tests.webapp.test_votes_blinding import secrets_of
from webapp.archive import derived_files, erasure
from webapp.archive.row_reader import Pseudonyms
from webapp.audit.models import Entry
from webapp.base.store import store
from webapp.bench.votes import single_pages
from webapp.comparisons.models import Comparison
from webapp.experiments import alignment
from webapp.experiments.alignment import Order
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration
from webapp.problems.forms import program
from webapp.votes import film_copies, lifecycle, poll_ballot, poll_enrolment, poll_results, single_polls, single_results
from webapp.votes.models import Evaluator, Pair, Poll, Showing, Vote
from webapp.votes.single_polls import Item

pytestmark = pytest.mark.django_db


def mark(person: Evaluator, **marks: str) -> str:
    showing = poll_ballot.find_current_showing(person)
    assert showing is not None
    return poll_ballot.cast_vote(person, showing.token, poll_ballot.Answer(**marks))


def rate_all(poll: Poll, by_name: dict[str, str]) -> Evaluator:
    person = poll_rows.evaluator(poll)
    while (showing := poll_ballot.find_current_showing(person)) is not None:
        assert mark(person, rating=by_name[showing.pair.name.split(",")[0]]) == ""
    return person


# --- films ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_film_is_rated_and_the_rating_can_be_taken_back(client: Client) -> None:
    poll = films_to_rate()
    person = poll_rows.evaluator(poll)
    page = client.get(person.get_absolute_url()).text
    assert "The robot should run forward as fast as it can" in page and "Does the robot do this?" in page
    assert page.count('name="rating"') == 5 and page.count("<video") == 1 and 'name="choice"' not in page
    first = poll_ballot.find_current_showing(person)
    assert first is not None
    said = client.post(
        reverse("evaluate_vote", args=[person.token]), {"showing": first.token, "rating": "6"}, follow=True
    )
    assert "Choose a rating, then confirm." in said.text and not Vote.objects.exists()
    client.post(reverse("evaluate_vote", args=[person.token]), {"showing": first.token, "rating": "4"})
    assert [(v.choice, v.rating, v.reasoning) for v in Vote.objects.all()] == [("rated", 4.0, None)]
    client.post(reverse("evaluate_undo", args=[person.token]), {"showing": first.token})
    assert not Vote.objects.exists() and poll_ballot.find_current_showing(person) == first


def test_all_films_of_a_vote_have_one_size_and_the_right_side_leads_nowhere(client: Client) -> None:
    poll = films_to_rate()
    sizes = {
        settings.DATA_DIR / "media" / film_copies.make_copy_name(pair.first_file, "mp4") for pair in poll.pairs.all()
    }
    assert len({path.stat().st_size for path in sizes}) == 1 and len(sizes) == 3
    showing = poll_rows.evaluator(poll).showings.first()
    assert client.get(reverse("pair_clip", args=[showing.left_token])).status_code == 200
    assert client.get(reverse("pair_clip", args=[showing.right_token])).status_code == 404


def test_films_are_copied_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("open", "publish"):
        method = getattr(store, name)
        monkeypatch.setattr(store, name, lambda *given, m=method, n=name: (done.append(n), m(*given))[1])
    films_to_rate()
    assert [name for name in done if name == "open"] and done[-6:] == ["open", "publish"] * 3


def test_ratings_of_a_closed_vote_are_means_with_agreement() -> None:
    poll = films_to_rate()
    rate_all(poll, {"film 0": "5", "film 1": "4", "film 2": "1"})
    rate_all(poll, {"film 0": "5", "film 1": "3", "film 2": "1"})
    lifecycle.close_poll(poll)
    found = single_results.compute_results(poll)
    icpl, loose = found.arms
    assert (icpl.arm, icpl.items, icpl.answers, icpl.mean, icpl.rate) == ("ICPL", 2, 4, 4.25, 0.85)
    assert (loose.mean, loose.right, icpl.right) == (1.0, 0, 1)
    assert found.agreement is not None and found.agreement.alpha == pytest.approx(1 - (1 / 3) / (202 / 30)), "by hand"
    table = list(csv.DictReader(io.StringIO(poll_results.write_csv(poll))))
    assert sorted(row["rating"] for row in table) == ["1", "1", "3", "4", "5", "5"]
    assert {row["choice"] for row in table} == {"rated"} and {row["right"] for row in table} == {""}


# --- answers ------------------------------------------------------------------------------------------------------


def test_an_expert_grades_the_final_answer_and_the_reasoning_apart_beside_the_reference(client: Client) -> None:
    poll = answers_to_grade()
    person = poll_rows.evaluator(poll)
    page = client.get(person.get_absolute_url()).text
    assert "Reference solution" in page and page.count('name="rating"') == 8 and page.count('name="reasoning"') == 8
    assert "Give every part from 0 to 7 points" in mark(person, rating="7")
    assert "Give every part" in mark(person, rating="7", reasoning="3.5")
    assert mark(person, rating="7", reasoning="3") == ""
    assert mark(person, rating="0", reasoning="0") == ""
    person.refresh_from_db()
    assert person.finished_at and [(v.rating, v.reasoning) for v in Vote.objects.order_by("pk")] == [(7, 3), (0, 0)]


def test_who_grades_a_program_sees_no_result_of_its_tests(client: Client) -> None:
    problem = problem_rows.add_problem()
    row, sample = poll_rows.answer_of("ICPL", "print(3)", problem.name), program.make_sample(problem, 0)
    Candidate.objects.filter(pk=row.pk).update(metric_trace=sample.details)
    row.refresh_from_db()
    poll = open_single(single_polls.draft_grades("How good?", [Item("ICPL", "answer", row)], 7))
    page = client.get(poll_rows.evaluator(poll).get_absolute_url()).text
    assert problem.show_results and poll.pairs.get().answers["first"]["metric_trace"]["cases"], "there is what to hide"
    assert "print(3)" in page
    assert "Every case" not in page and "30 of 30" not in page and 'class="earned"' not in page


def test_many_points_are_typed_and_halves_are_points(client: Client) -> None:
    poll = answers_to_grade(most_points=20)
    person = poll_rows.evaluator(poll)
    page = client.get(person.get_absolute_url()).text
    assert page.count('type="number"') == 2 and 'max="20"' in page
    assert mark(person, rating="7,5", reasoning="20") == "" and "0 to 20" in mark(person, rating="7.3", reasoning="20")
    assert Vote.objects.get().rating == 7.5


def test_an_answer_is_right_where_both_graders_gave_all_points() -> None:
    poll = answers_to_grade()
    for reasoning in ("7", "6"):
        person = poll_rows.evaluator(poll)
        while (showing := poll_ballot.find_current_showing(person)) is not None:
            full = showing.pair.first_arm == "ICPL"
            assert mark(person, rating="7" if full else "0", reasoning="7" if full else reasoning) == ""
    lifecycle.close_poll(poll)
    found = {one.arm: one for one in single_results.compute_results(poll).arms}
    assert (found["ICPL"].right, found["OpenLoop"].right) == (1, 0)
    assert (found["OpenLoop"].reasoning, found["OpenLoop"].mean) == (6.5, 0.0)


# --- what nobody reads --------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("make", [films_to_rate, answers_to_grade])
def test_no_page_no_header_tells_what_is_rated(make: Any) -> None:
    poll_rows.vote_for(poll_rows.evaluator(poll_rows.poll()), "ICPL")
    for number, table in enumerate((Poll, Pair, Showing, Clip, Evaluator, Vote), 2):
        number_from(table, 100_001 * number)
    poll, browser = make(hypothesis="sentinel_hypothesis"), Recorder()
    person = poll_rows.evaluator(poll, consented=False)
    browser.get(person.get_absolute_url())
    poll_enrolment.accept_consent(person)
    undo, marks = reverse("evaluate_undo", args=[person.token]), {"rating": "1", "reasoning": "1"}
    while (showing := poll_ballot.find_current_showing(person)) is not None:
        browser.get(person.get_absolute_url())
        for name in ("pair_clip", "pair_poster") if poll.form == "ratings" else ():
            browser.get(reverse(name, args=[showing.left_token]))
        for fields in ({"rating": "x"}, marks):
            poll_rows.answer(browser, person, **fields)
        browser.post(undo, {"showing": showing.token}, follow=True)
        poll_rows.answer(browser, person, **marks)
    browser.get(person.get_absolute_url())
    browser.get(reverse("evaluate_leave", args=[person.token]))
    secrets = secrets_of(poll)
    assert len(browser.received) > 15 and len(secrets["primary key"]) > 7
    assert leaks(browser.received, secrets) == []
    for _, text in browser.received:
        visible = re.sub(r"<[^>]+>", " ", text.partition("}\n")[2])
        assert not re.findall(FORBIDDEN_WORDS, visible, flags=re.I)


# --- out and gone ---------------------------------------------------------------------------------------------------


class Bundle:
    """Keeps what an export would write."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def write_text(self, name: str, text: str) -> None:
        self.files[name] = text

    def write_json(self, name: str, content: Any) -> None:
        self.files[name] = json.dumps(content)

    def write_csv(self, name: str, header: list[str], rows: Any) -> None:
        self.files[name] = "\n".join(",".join(map(str, row)) for row in (header, *rows))


def test_an_export_has_the_marks_and_erasure_forgets_the_name_of_an_experiment() -> None:
    poll = films_to_rate()
    rate_all(poll, {"film 0": "5", "film 1": "4", "film 2": "1"})
    lifecycle.close_poll(poll)
    bundle = Bundle()
    derived_files._write_poll(bundle, 1, poll, Pseudonyms({}))  # type: ignore[arg-type]
    found = json.loads(bundle.files["polls/1/results.json"])
    assert [(one["arm"], one["rate"]) for one in found["arms"]] == [("ICPL", 0.9), ("OpenLoop", 0.2)]
    assert bundle.files["polls/1/votes.csv"].count(",rated,") == 3
    experiment = Experiment.objects.get(name="sentinel_experiment OpenLoop 2")
    erasure._forget_origin(experiment)
    assert poll.pairs.get(position=3).origin["first"]["name"] == erasure.DELETED


# --- staff ----------------------------------------------------------------------------------------------------------


def film_once(scored: Experiment, videos: int) -> Clip:
    """A finished order without a vision model, with one film."""
    order = alignment.draft(scored, Order(None, videos=videos))
    assert order is not None
    order.status, order.finished_at = "finished", timezone.now()
    order.save()
    film = Candidate.objects.create(iteration=Iteration.objects.create(experiment=order, number=1), index=1, source="x")
    clip = Clip.objects.create(candidate=film, percent=100, status=Clip.Status.READY)
    rows.write_clip(clip, 90)
    return clip


def unblind_rating(clip: Clip, rating: str) -> None:
    poll = open_single(single_polls.draft_ratings("Do they?", [Item("ICPL", "film", clip)]))
    rate_all(poll, {"film": rating})
    lifecycle.close_poll(poll)
    lifecycle.unblind_poll(poll, "ada")


@pytest.mark.slow
def test_of_several_orders_the_newest_that_people_rated_counts() -> None:
    scored = Experiment.objects.create(name="R", task="Cartpole", method="retrain", status="finished")
    at = Iteration.objects.create(experiment=scored, number=1)
    Candidate.objects.create(iteration=at, index=1, source="x", status="trained")
    for videos, rating in ((1, "2"), (2, "5")):
        unblind_rating(film_once(scored, videos), rating)
    film_once(scored, 3)
    found = alignment.read_alignments([scored.public_id])[scored.public_id]
    assert (found.people, found.people_answers) == (1.0, 1)


@pytest.mark.slow
def test_films_of_a_comparison_become_a_vote_whose_ratings_count_once_it_is_unblinded(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Comparison.objects.create(name="New", tasks=["Cartpole"], methods=["icpl:k=3"], candidates=6, retrain=0)
    scored = made.plan.experiment(next(made.plan.cells()))
    winner = Candidate.objects.create(
        iteration=Iteration.objects.create(experiment=scored, number=1), index=1, source="x"
    )
    Experiment.objects.filter(pk=scored.pk).update(status="finished", winner=winner)
    scored.refresh_from_db()
    film_once(scored, 1)
    page = admin_client.get(reverse("comparisons:alignment", args=[made.public_id])).text
    assert "1 film is ready" in page
    with monkeypatch.context() as fewer:
        fewer.setattr(single_pages, "MOST_ITEMS", 0)
        said = admin_client.post(reverse("votes:rate_films", args=[made.public_id]), follow=True).text
        assert "1 films are ready; a vote takes 0" in said and not Poll.objects.exists()
    said = admin_client.post(reverse("votes:rate_films", args=[made.public_id]), follow=True).text
    poll = Poll.objects.get()
    assert "Drafted with 1 film" in said and poll.form == "ratings" and poll.evaluators_wanted == 4
    assert Entry.objects.filter(action="drafted vote", target_id=str(poll.pk)).count() == 1
    open_single(poll)
    for rating in ("4", "5"):
        person = poll_rows.evaluator(poll)
        assert mark(person, rating=rating) == ""
    lifecycle.close_poll(poll)
    assert alignment.read_alignments([scored.public_id]) == {}, "sealed"
    admin_client.post(reverse("votes:unblind", args=[poll.public_id]))
    assert alignment.read_alignments([scored.public_id])[scored.public_id].people == pytest.approx(0.9)
    assert "0.900" in admin_client.get(poll.get_absolute_url()).text
    assert "people 0.900" in admin_client.get(reverse("comparisons:comparison", args=[made.public_id])).text


@pytest.mark.slow
def test_answers_of_methods_become_a_grading_and_one_can_be_taken_out(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = problem_rows.sum_problem()
    for arm in ("ICPL", "OpenLoop"):
        poll_rows.answer_of(arm, f"### Final answer ###\n{arm}", made.name)
    page = admin_client.get(reverse("votes:grading")).text
    (key,) = set(re.findall(r'value="(method-[^"]+)"', page))
    assert "Choose at least one" in admin_client.post(reverse("votes:grading"), {"most_points": 7}).text
    with monkeypatch.context() as fewer:
        fewer.setattr(single_pages, "MOST_ITEMS", 1)
        said = admin_client.post(reverse("votes:grading"), {"sources": [key], "most_points": "7"})
        assert said.status_code == 422 and "These are 2 answers; a vote takes 1" in said.text
    said = admin_client.post(reverse("votes:grading"), {"sources": [key], "most_points": "7"}, follow=True).text
    poll = Poll.objects.get()
    assert "Drafted with 2 answers" in said and poll.form == "grades" and poll.evaluators_wanted == 2
    admin_client.post(reverse("votes:take_out", args=[poll.public_id, 1]))
    assert [pair.position for pair in poll.pairs.all()] == [2]
    assert admin_client.get(reverse("votes:setup", args=[poll.public_id])).status_code == 200
    for name in ("consent", "pair-2", "thanks"):
        assert admin_client.get(reverse("vote_preview_page", args=[poll.public_id, name])).status_code == 200
    open_single(poll)
    assert not single_polls.take_out(poll, 2)
