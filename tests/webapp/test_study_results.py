"""The results of a study: arms compared, who was left out, figures and tables, from rows that a study leaves."""

import csv
import io

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.webapp import arms_study, bench_rows, questionnaire_rows, rows
from webapp.archive.study_results import read_results
from webapp.bench.studies import results, results_charts, results_tables
from webapp.review import quality
from webapp.studies.models import Outcome, Participant

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

APART = {"ICPL": (310.0, 290.0, 330.0, 300.0), "OpenLoop": (240.0, 270.0, 255.0)}


@pytest.fixture
def staff_client(client):
    client.force_login(bench_rows.create_staff())
    return client


def tables_of(study):
    return results_tables.build_tables(study, results.read_study_results(study), quality.assess_study(study))


def test_two_arms_are_compared_on_the_page(staff_client):
    study = arms_study.create_study(APART)
    found = results.read_study_results(study)
    (score, choosing) = found.outcomes
    assert score.groups["OpenLoop"] == {"OpenLoop1": 240, "OpenLoop2": 270, "OpenLoop3": 255}
    assert {arm: one.mean for arm, one in score.means.items()} == {"ICPL": 307.5, "OpenLoop": 255}
    (one,) = score.comparisons
    assert (one.design, one.counts, one.difference) == ("independent", (4, 3), -52.5)
    assert (one.interval.low, one.interval.high, one.p) == pytest.approx(
        (-84.21798701, -20.78201299, 0.008438026847), rel=1e-6
    )
    assert set(choosing.groups["ICPL"].values()) == {arms_study.SECONDS}
    (curve,) = found.curves
    assert {number: one.mean for number, one in curve.means["ICPL"].items()} == {1: 297.5, 2: 307.5}
    page = staff_client.get(f"/bench/studies/{study.pk}/").content.decode()
    assert "OpenLoop minus ICPL: -52.5 (95% interval -84.2 to -20.8), n = 4 and 3" in page
    places = [page.index(f'id="{name}"') for name in ("results-title", "answers-title", "people-title", "links")]
    assert places == sorted(places), "what one comes for stands first"
    assert "p = 0.0084" in page and "Few participants: 3 in the smallest arm" in page
    figure = staff_client.get(f"/bench/studies/{study.pk}/arms-score.csv").content.decode()
    points = [row for row in csv.DictReader(io.StringIO(figure)) if row["series"] == "one participant"]
    assert [(row["x"], float(row["y"])) for row in points] == [
        (arm, value) for arm, values in APART.items() for value in values
    ]
    for name, start in (
        ("arms-rounds.svg", b"<svg"),
        ("arms-choosing.pdf", b"%PDF"),
        ("comparisons.tex", rb"\begin{table}"),
        ("time.csv", b"time of,arm"),
        ("flow.tex", rb"\begin{table}"),
    ):
        response = staff_client.get(f"/bench/studies/{study.pk}/{name}")
        assert response.status_code == 200 and response.content.startswith(start), name
    times = {row[0]: row[3] for row in tables_of(study)["time"].rows if row[1] == "ICPL"}
    assert times["waiting in an experiment (min)"] == pytest.approx(2 * arms_study.WAIT / 60)
    assert times["an experiment, from start to winner (min)"] == pytest.approx(4)


def test_people_who_judged_every_arm_are_compared_with_themselves():
    study = arms_study.create_study({"A": (300.0, 310.0, 290.0), "B": (280.0, 295.0, 281.0)}, experiments_each=2)
    outcome = results.read_study_results(study).outcomes[0]
    (one,) = outcome.comparisons
    assert (one.design, one.counts, one.difference) == ("paired", (3, 3), pytest.approx(-44 / 3))
    assert "within each participant (paired t test)" in " ".join(outcome.notes)
    lines = [series for series in results_charts.build_arms_chart(outcome).series if series.quiet]
    assert [series.y for series in lines] == [(300, 280), (310, 295), (290, 281)]


def test_three_arms_are_compared_in_pairs_with_correction(staff_client):
    study = arms_study.create_study({**APART, "Eureka": (200.0, 210.0, 190.0)})
    found = results.read_study_results(study)
    pairs = found.outcomes[0].comparisons
    assert [(one.first, one.second) for one in pairs] == [
        ("ICPL", "OpenLoop"),
        ("ICPL", "Eureka"),
        ("OpenLoop", "Eureka"),
    ]
    assert all(one.adjusted > one.p for one in pairs[:1])
    assert "effects-score" in {chart.slug for chart in results_charts.build_charts(found)}
    page = staff_client.get(f"/bench/studies/{study.pk}/").content.decode()
    assert "Holm-corrected: p" in page and "covers these 3 pairs of arms" in page


def test_who_is_left_out_and_why():
    study = arms_study.create_study({"A": (300.0, 310.0), "B": (280.0, 290.0)})
    arm = study.arms.get(name="A")
    gone = arms_study.add_person(study, "gone", outcome=Outcome.WITHDRAWN, withdrawn_at=timezone.now())
    arms_study.judge_experiment(gone, arm, 1, 999.0)
    arms_study.judge_experiment(arms_study.add_person(study, "cannot"), arm, 1, 999.0, drawn=True)
    arms_study.judge_experiment(arms_study.add_person(study, "tries", pilot=True), arm, 1, 999.0)
    arms_study.add_person(study, "fails", outcome=Outcome.FAILED)
    arms_study.add_person(study, "erased", outcome=Outcome.WITHDRAWN, deleted_at=timezone.now())
    Participant.objects.create(study=study, label="never came")
    rows.participant(study, label="plays")
    assert {(r.unit, r.left_out) for r in read_results(study, pilots=True) if r.left_out} == {
        ("gone", "left the study"),
        ("cannot", "no choice"),
        ("tries", "pilot"),
        ("plays", "not finished"),
    }
    assert results.read_study_results(study).outcomes[0].means["A"].mean == 305
    flow = {row[0]: row[1:] for row in tables_of(study)["flow"].rows}
    assert flow == {
        "people": (10, 5, 2),
        "has not opened the link, or not agreed yet": (1, 0, 0),
        "left out: left the study": (1, 1, 0),
        "left out: failed the check": (1, 0, 0),
        "left out: data erased": (1, 0, 0),
        "left out: could not judge in any round": (1, 1, 0),
        "still taking part: no finished experiment yet": (1, 1, 0),
        "counted in the results": (4, 2, 2),
        "pilots, in none of these numbers": (1, None, None),
    }


def test_scores_of_questionnaires_are_compared_like_other_measures(staff_client):
    study = arms_study.create_study(APART)
    made = questionnaire_rows.scored(study, placement="after")
    between = questionnaire_rows.scored(study, placement="rounds")
    for person in study.participants.all():
        better = person.label.startswith("ICPL")
        questionnaire_rows.answer_scored(made, person, (3 if better else 2) + int(person.label[-1]) % 2)
        experiment = person.assignments.get().experiment
        for number in (1, 2):
            questionnaire_rows.answer_scored(between, person, 2 * number, experiment=experiment, round=number)
    found = {outcome.measure.slug: outcome for outcome in results.read_study_results(study).outcomes}
    one = found["sus-score-2"]
    assert one.measure.title == "System Usability Scale (sus_score_2): How usable, and why?"
    assert one.groups == {
        "ICPL": {"ICPL1": 62.5, "ICPL2": 50, "ICPL3": 62.5, "ICPL4": 50},
        "OpenLoop": {"OpenLoop1": 50, "OpenLoop2": 37.5, "OpenLoop3": 50},
    }
    (compared,) = one.comparisons
    assert compared.test == "Welch's t test" and compared.p is not None and compared.effect is not None
    assert set(found["sus-score"].groups["ICPL"].values()) == {50}, "the mean of 37.5 and 62.5"
    [first] = [one for one in read_results(study) if one.unit == "ICPL1"]
    assert [one.scores for one in first.rounds] == [{"sus_score": 37.5}, {"sus_score": 62.5}]
    curves = {curve.slug: curve for curve in results.read_study_results(study).curves}
    assert curves.keys() == {"arms-rounds", "rounds-sus-score"}, "that after the rounds has none"
    over_rounds = {number: one.mean for number, one in curves["rounds-sus-score"].means["OpenLoop"].items()}
    assert over_rounds == {1: 37.5, 2: 62.5} and curves["rounds-sus-score"].covers == (0, 100)
    page = staff_client.get(f"/bench/studies/{study.pk}/").content.decode()
    assert "after each round by arm: mean with 95% interval</h3>" in page
    assert "(sus_score_2): How usable, and why?</h3>" in page and "Welch&#x27;s t test: p" in page
    figure = staff_client.get(f"/bench/studies/{study.pk}/arms-sus-score-2.svg").content.decode()
    assert "score, 0 to 100" in figure


def test_scales_between_rounds_without_a_score_have_a_curve_each():
    study = arms_study.create_study({"A": (300.0, 310.0), "B": (280.0, 290.0)})
    made = questionnaire_rows.rated(study, placement="rounds")
    for person in study.participants.all():
        for number in (1, 2):
            about = {"experiment": person.assignments.get().experiment, "round": number}
            questionnaire_rows.answer_rating(made, person, number + (person.label[0] == "B"), **about)
    found = results.read_study_results(study)
    slow, calm = (curve for curve in found.curves if curve.slug.startswith("rounds-"))
    assert (slow.slug, slow.label, slow.covers) == ("rounds-felt-1", "1 = no; 5 = yes", (1, 5))
    assert {arm: [one.mean for one in rounds.values()] for arm, rounds in slow.means.items()} == {
        "A": [1, 2],
        "B": [2, 3],
    }
    assert [one.mean for one in calm.means["B"].values()] == [4, 3], "as given"
    assert {chart.slug for chart in results_charts.build_charts(found)} >= {"rounds-felt-1", "rounds-felt-2"}


def test_a_score_given_once_is_of_the_only_arm():
    study = arms_study.create_study({"A": (300.0, 310.0), "B": (280.0, 290.0)}, experiments_each=2)
    made = questionnaire_rows.scored(study, placement="after")
    for person in study.participants.all():
        questionnaire_rows.answer_scored(made, person, 3)
    assert all(not one.scores for one in read_results(study)), "both arms were judged before it was asked"


def test_a_study_without_results_says_so(staff_client):
    page = staff_client.get(f"/bench/studies/{rows.study(recruiting=True).pk}/").content.decode()
    assert "Nobody has come yet. People come by the" in page
    assert page.index('id="people-title"') < page.index('id="results-title"')
    assert "from the first finished experiment on" in page


def test_more_people_cost_no_more_queries(django_assert_num_queries):
    few = arms_study.create_study(APART)
    with CaptureQueriesContext(connection) as queries:
        results.read_study_results(few)
    many = arms_study.create_study({arm: scores * 3 for arm, scores in APART.items()}, title="Many")
    with django_assert_num_queries(len(queries)):
        results.read_study_results(many)
