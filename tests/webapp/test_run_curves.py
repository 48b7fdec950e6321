"""The curves in the table of experiments."""

import pytest
from django.urls import reverse

from tests.webapp import bench_rows, fake_workers
from webapp.bench.experiments.run_columns import COLUMNS, read_sources
from webapp.bench.templatetags.bench import sparkline
from webapp.experiments.models import Candidate, Experiment

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def read_curve(row):
    return COLUMNS["curve"].read(read_sources(Experiment.objects.filter(pk=row.pk), {"bests"})[row.pk])


def set_scores(row, number, *scores):
    for candidate, score in zip(row.iterations.get(number=number).candidates.order_by("index"), scores, strict=True):
        Candidate.objects.filter(pk=candidate.pk).update(rts=score)


def test_a_curve_is_the_best_score_so_far_after_each_round():
    row = bench_rows.create_finished_experiment(k=2, n=3, clips=False)
    set_scores(row, 1, float("inf"), 2.0)  # a score that is no number leaves the round its others
    set_scores(row, 2, 1.5, 0.5)  # a worse round leaves the best of before
    set_scores(row, 3, None, 3.0)
    assert read_curve(row) == [2.0, 2.0, 3.0]


def test_one_round_has_no_curve(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    assert read_curve(row) is None
    assert read_curve(fake_workers.create_experiment()) is None
    assert "sparkline" not in staff.get(reverse("bench:index")).content.decode()


def test_the_table_draws_it_and_says_it(staff):
    row = bench_rows.create_finished_experiment(k=2, n=2, clips=False)
    set_scores(row, 1, 1.0, 2.0)
    set_scores(row, 2, 4.0, 3.0)
    page = staff.get(reverse("bench:index")).content.decode()
    assert 'points="3.0,21.0 69.0,3.0"' in page
    assert 'aria-label="2.00 at first, 4.00 at last"' in page
    table = staff.get(reverse("bench:runs_csv"), {"col": "curve"}).content.decode()
    assert '"2.0, 4.0"' in table


def test_a_flat_curve_lies_at_the_bottom():
    assert sparkline([5.0, 5.0, 5.0]) == "3.0,21.0 36.0,21.0 69.0,21.0"
