"""The sentence of what a number of people can show, and where a study is planned."""

import pytest
from django.urls import reverse

from tests.webapp import rows
from tests.webapp.enrolments import text
from webapp.studies.sample_size import describe_sample_size

pytestmark = pytest.mark.django_db


def plan(arms=2, quotas=(None, None, None), panels=None, **values):
    panels = panels or [values.pop("panel", 1)] * arms
    study = rows.study(panel=panels[0], **values)
    study.arms.update(quota=quotas[0])
    for name, quota, panel in [*zip("ABC", quotas, panels, strict=False)][1:arms]:
        rows.arm(study, name, method="open_loop", panel=panel, quota=quota)
    return study


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"quota": 20},
            "With 10 people in each arm the study finds, in eight of ten cases, a difference of 1.3 standard",
        ),
        ({"quota": 20}, "1.3 standard deviations or more. (0.8 counts as large.) The standard deviation says how much"),
        ({"quota": 20, "experiments_each": 2}, "With 20 people who each judge every arm the study finds, in eight of "),
        ({"quota": 20, "experiments_each": 2}, "a difference of 0.66 standard deviations"),
        ({"quota": 5, "experiments_each": 2}, "a difference of 1.7 standard deviations"),
        (
            {"quota": 20, "panel": 5},
            "With 2 panels in each arm the study finds, in eight of ten cases, a difference of 10 ",
        ),
        ({}, "No limit is set. With 10 people in each arm"),
        ({}, "1.3 standard deviations or more; with 20, 0.91; with 40, 0.63. (0.8"),
        ({"quota": 3}, "1 person in each arm can show nothing, however different the arms are: a test needs two."),
        ({"arms": 3, "quota": 30}, "in eight of ten cases, corrected for 3 pairs of arms, a difference of 1.6 "),
        ({"quotas": (5, 5)}, "With 5 people in each arm the study finds"),
        ({"quota": 40, "quotas": (5, 5)}, "With 5 people in each arm the study finds"),
        ({"quota": 20, "quotas": (12, None)}, "With 10 people in each arm the study finds"),
        ({"quota": 20, "quotas": (8, None), "experiments_each": 2}, "With 8 people who each judge every arm"),
    ],
)
def test_the_sentence_follows_the_design(values, words):
    assert words in describe_sample_size(plan(**values))


@pytest.mark.parametrize(
    "values",
    [
        {"quotas": (5, None)},
        {"quota": 20, "quotas": (5, None)},
        {"quota": 20, "panels": (1, 5)},
        {"quota": 20, "panel": 5, "experiments_each": 2},
        {"quota": 20, "assignment": "by hand"},
        {"quota": 30, "arms": 3, "experiments_each": 2},
    ],
)
def test_nothing_is_said_where_results_are_not_of_one_kind(values):
    assert describe_sample_size(plan(**values)) == ""


def test_one_arm_compares_nothing(staff):
    study = rows.study(quota=20, status="draft")
    assert describe_sample_size(study) == ""
    page = staff.get(reverse("bench:study_step", args=[study.pk, "people"])).content.decode()
    assert '<div id="enough" data-fresh></div>' in page, "no empty paragraph"


def test_it_stands_where_the_study_is_planned(staff):
    study = plan(quota=20, status="draft")
    for step in ("people", "check"):
        assert describe_sample_size(study) in text(staff.get(reverse("bench:study_step", args=[study.pk, step])))
