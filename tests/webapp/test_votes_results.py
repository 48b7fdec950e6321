"""What a vote shows once it is closed."""

import pytest

from tests.webapp import poll_rows
from webapp.votes import poll_results
from webapp.votes.models import Poll
from webapp.votes.poll_ballot import find_current_showing

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_undo")]


def voted(poll, counts, **answers):
    """This many people for each arm, on every pair."""
    for arm, count in counts.items():
        for _ in range(count):
            person = poll_rows.evaluator(poll)
            while find_current_showing(person):
                assert poll_rows.vote_for(person, arm, **answers) == ""


@pytest.mark.slow
def test_seventeen_to_three():
    poll = poll_rows.poll()
    voted(poll, {"ICPL": 17, "OpenLoop": 3})
    found = poll_results.compute_results(Poll.objects.get(status="closed"))
    [pair] = found.pairs
    assert (pair.preference.first, pair.preference.second, pair.equal) == (17, 3, 0)
    assert round(pair.preference.p, 4) == 0.0026 == round(pair.adjusted, 4) and pair.significant
    assert pair.sentence == "ICPL 17, OpenLoop 3: ICPL was preferred."
    assert found.counted == 20 and found.sides.trials == 20 and not found.ratings
    table = poll_results.write_csv(poll).splitlines()
    assert len(table) == 21 and table[0].startswith("evaluator,place,pair,left,right,choice,preferred")
    assert sum(",ICPL,," in line for line in table) == 17 and poll.evaluators.first().token not in "".join(table)


@pytest.mark.slow
def test_several_pairs_are_corrected_and_ranked():
    poll = poll_rows.poll(pairs=3, evaluators_wanted=9, allow_tie=True)
    voted(poll, {"ICPL": 8})
    person = poll_rows.evaluator(poll)
    while find_current_showing(person):
        poll_rows.vote_for(person, "ICPL", choice="same")
    found = poll_results.compute_results(Poll.objects.get())
    assert [pair.equal for pair in found.pairs] == [1, 1, 1]
    assert all(pair.adjusted == min(1, 3 * pair.preference.p) == 3 * 2 / 2**8 for pair in found.pairs)
    assert [arm for arm, _ in found.ratings] == ["ICPL", "OpenLoop", "Eureka"]
    values = [rating.value for _, rating in found.ratings]
    assert sum(values) == pytest.approx(0, abs=1e-6)


def test_strengths_are_counted_by_side_of_the_result():
    poll = poll_rows.poll(evaluators_wanted=5, ask_strength=True)
    voted(poll, {"ICPL": 3}, strength="3")
    voted(poll, {"OpenLoop": 2}, strength="1")
    [pair] = poll_results.compute_results(poll).pairs
    assert pair.by_strength == (("slightly", 0, 2), ("clearly", 0, 0), ("much", 3, 0))
    assert not pair.significant and "no significant preference" in pair.sentence
