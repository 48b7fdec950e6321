"""What a comparison takes before it has begun."""

import pytest

from tests.webapp.comparison_plans import plan_of
from webapp.comparisons import estimate
from webapp.comparisons.arms import parse_arm

pytestmark = pytest.mark.django_db


def test_an_estimate_counts_pictures_and_says_nothing_of_dollars_where_no_model_is_asked():
    arms = [parse_arm(text, 8) for text in ("rda:k=4,analyst=frames", "rda:k=4")]
    seen, told = estimate.list_rows(plan_of(*arms, candidates=8, experiments=1))
    assert (seen.answers, told.answers) == (1 + 2 * (4 + 12) + 1, 1 + 2 * (4 + 4) + 1)
    assert seen.tokens and told.tokens and "500 for each picture" in seen.tokens.source
    assert seen.tokens.read - told.tokens.read == pytest.approx(500 * 20 * 25 / 34)  # 24 films and the robot's still
    said = estimate.describe(plan_of(parse_arm("prefppo", 8), candidates=8, experiments=1))
    assert any(line.startswith("In all 0 answers") for line in said) and not any("dollars" in line for line in said)
