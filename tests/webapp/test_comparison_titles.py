"""The figures of a comparison's page."""

import pytest
from django.urls import reverse

from tests.webapp.comparison_plans import carried_through, planned
from webapp.comparisons import background

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_every_figure_says_what_it_shows(staff):
    comparison = planned()
    background.start(comparison)
    comparison.refresh_from_db()
    carried_through(comparison)
    page = staff.get(reverse("comparisons:comparison", args=[comparison.public_id])).text
    titles = [f"<h3>Cartpole: {words}</h3>" for words in ("TS of every experiment", "best RTS so far")]
    assert comparison.status == "finished" and [title for title in titles if title not in page] == []
