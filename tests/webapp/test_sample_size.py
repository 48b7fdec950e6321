"""The sentence of what a number of people can show, and where a study is planned."""

import pytest
from django.urls import reverse

from tests.webapp import rows
from tests.webapp.enrolments import text
from webapp.studies.sample_size import describe_sample_size

pytestmark = pytest.mark.django_db


def plan(arms=2, **values):
    panel = values.pop("panel", 1)
    study = rows.study(panel=panel, **values)
    for name in "BC"[: arms - 1]:
        rows.arm(study, name, method="open_loop", panel=panel)
    return study


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"quota": 20}, "10 people in each arm can show a difference of 1.3 standard deviations within an arm, "),
        ({"quota": 20, "experiments_each": 2}, "20 people who each judge every arm can show a difference of 0.66 "),
        ({"quota": 20, "panel": 5}, "2 panels in each arm can show a difference of 5.7 "),
        ({}, "1.3 standard deviations within an arm, 20 one of 0.91, 40 one of 0.63, in eight of ten cases; 0.8 is"),
        ({"quota": 3}, "1 person in each arm can show nothing, however different the arms are: 2 are the fewest."),
        ({"quota": 5, "experiments_each": 2}, "5 people who each judge every arm can show nothing, however"),
        ({"arms": 3, "quota": 30}, "in eight of ten cases, corrected for 3 pairs of arms; 0.8 is called large."),
    ],
)
def test_the_sentence_follows_the_design(values, words):
    assert words in describe_sample_size(plan(**values))


def test_one_arm_compares_nothing():
    assert describe_sample_size(rows.study(quota=20)) == ""


def test_it_stands_where_the_study_is_planned(staff):
    study = plan(quota=20, status="draft")
    for step in ("people", "check"):
        assert describe_sample_size(study) in text(staff.get(reverse("bench:study_step", args=[study.pk, step])))
