"""Pairs of an A/B vote that are made from two arms: the rules, what is left out, the page."""

import pytest
from django.urls import reverse

from tests.webapp import poll_rows, rows
from webapp.bench.votes.pair_sources import list_sources
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.studies.models import Arm, Assignment, Participant
from webapp.votes import lifecycle, pair_generation
from webapp.votes.pair_generation import propose_pairs

pytestmark = pytest.mark.django_db


def finished(arm, seed, task="Ant", number=1, source=None):
    clip = poll_rows.winner(arm, number, task, seed)
    source = f"{arm} {seed} {number}" if source is None else source
    Candidate.objects.filter(pk=clip.candidate_id).update(source=source)
    return Experiment.objects.select_related("winner").get(pk=clip.candidate.iteration.experiment_id)


def propose(poll, first, second, rule="matched", number=3, seed=0):
    sides = tuple(pair_generation.find_winners(side) for side in (first, second))
    return propose_pairs(poll, sides, ("ICPL", "OpenLoop"), rule, number, seed)


def seeds(found):
    return [(one.first.experiment.seed, one.second.experiment.seed) for one in found]


def test_rules_pair_winners_of_the_same_task_and_give_each_pair_a_name():
    poll = poll_rows.poll(0, opened=False)
    mine = [finished("ICPL", 3), finished("ICPL", 4), finished("ICPL", 9, "Cartpole")]
    theirs = [finished("OpenLoop", 4), finished("OpenLoop", 3), finished("OpenLoop", 5)]
    found = propose(poll, mine, theirs)
    assert seeds(found) == [(3, 3), (4, 4)]
    assert [one.name for one in found] == ["ICPL against OpenLoop, seed 3", "ICPL against OpenLoop, seed 4"]
    assert len(propose(poll, mine, theirs, "all")) == 6
    drawn = propose(poll, mine, theirs, "random", 3, seed=1)
    assert len({one.name for one in drawn}) == 3 and seeds(drawn) == seeds(propose(poll, mine, theirs, "random", 3, 1))
    twice = [finished("OpenLoop", 4, number=2), *theirs]  # a seed that stands twice matches nothing: by order then
    assert seeds(propose(poll, mine, twice)) == [(3, 4), (4, 4)]
    assert pair_generation.add_pairs(poll, found) == 2
    assert lifecycle.open_poll(poll) == [] and [pair.name for pair in poll.pairs.all()] == [one.name for one in found]
    assert pair_generation.add_pairs(poll, drawn) == 0  # it is open


def test_equal_policies_and_pairs_that_are_there_are_named_and_left_out():
    poll = poll_rows.poll(0, opened=False)
    mine, theirs = [finished("ICPL", 3, source="same")], [finished("OpenLoop", 3, source="same ")]
    [equal] = propose(poll, mine, theirs)
    assert "same policy" in equal.reason and not equal.name
    assert "same experiment" in propose(poll, mine, mine)[0].reason
    other = [finished("OpenLoop", 4, source="same")]
    [one] = propose(poll, mine, other)  # another seed trains another policy
    assert not one.reason
    [learned] = propose(poll, [finished("ICPL", 6, source="")], [finished("OpenLoop", 6, source="")])
    assert not learned.reason, "without programs, these learned from answers of their own"
    pair_generation.add_pairs(poll, [one])
    assert "already" in propose(poll, mine, other)[0].reason and "already" in propose(poll, other, mine)[0].reason
    Clip.objects.filter(candidate=other[0].winner).update(status="failed")
    assert propose(poll, mine, other) == []


@pytest.mark.slow
def test_a_choice_is_shown_then_made_by_one_click(staff):
    poll = poll_rows.poll(0, opened=False)
    for seed in (3, 4):
        finished("ICPL", seed), finished("OpenLoop", seed)
    address = reverse("votes:pairs", args=[poll.public_id])
    assert address in staff.get(poll.get_absolute_url()).content.decode()
    chosen = {"first": "method-icpl-Ant", "second": "method-open_loop-Ant", "rule": "matched", "number": 5, "seed": 0}
    html = staff.get(address, chosen).content.decode()
    assert "2 pairs to make" in html and "ICPL against OpenLoop, seed 4" in html and not poll.pairs.exists()
    html = staff.post(address, chosen, follow=True).content.decode()
    assert "Made 2 pairs." in html and poll.pairs.count() == 2
    again = staff.post(address, chosen)
    assert again.status_code == 422 and "It is a pair of this vote already" in again.content.decode()
    html = staff.get(address, {**chosen, "second": "method-icpl-Ant"}).content.decode()
    assert "Choose another one than the first" in html
    assert "give one another name" in staff.get(address, {**chosen, "first_arm": "OpenLoop"}).content.decode()
    lifecycle.open_poll(poll)
    assert "its pairs are fixed" in staff.post(address, chosen, follow=True).content.decode()


def test_arms_of_studies_and_variants_of_comparisons_can_be_chosen():
    person = rows.participant()
    arm = Arm.objects.get(pk=person.assignments.get().arm_id)
    experiment = finished("ICPL", 3)
    Assignment.objects.filter(participant=person).update(experiment=experiment)
    pilot = rows.participant(arm.study, label="Pilot 1")
    Participant.objects.filter(pk=pilot.pk).update(pilot=True)
    Assignment.objects.filter(participant=pilot).update(experiment=finished("ICPL", 5))
    row = Comparison.objects.create(name="C", tasks=["Cartpole"], methods=["icpl:k=3"], candidates=6, experiments=1)
    cell = next(row.plan.cells())
    made = row.plan.experiment(cell)
    Experiment.objects.filter(pk=made.pk).update(status="finished")
    found = {one.key: one for one in list_sources()}
    assert found[f"arm-{arm.pk}"].experiments == (experiment.pk,)
    assert found[f"variant-{row.pk}-0"].experiments == (made.pk,) and found["method-icpl-Cartpole"].experiments == (
        made.pk,
    )
    assert "method-icpl-Ant" not in found
