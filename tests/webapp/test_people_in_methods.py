"""A person through each method that asks people, from the first page to the last: what they say steers the rewards."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from llm.methods import METHODS
from tests.webapp import rows
from tests.webapp.fake_workers import do_work
from webapp.experiments import loop
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.review import ballot
from webapp.review.models import Vote
from webapp.review.screenings import find_screening

pytestmark = pytest.mark.django_db

ASKED = [
    name
    for name, method in METHODS.items()
    if method.asks_judge and not method.uses_metric and not name.startswith("icpl_")  # ablations: prompts alone differ
]
OPTIONS = {"rf_agent_judged": {"budget": 11}}


def filmed(experiment):
    """A clip of every trained candidate that has none yet."""
    for candidate in Candidate.objects.filter(iteration__experiment=experiment, status="trained", clips=None):
        rows.write_clip(Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.READY), 40)


def chosen(browser, person, request):
    """Vote for the clip under A, against the one under B where a worst is asked for, through the page."""
    page = browser.get(person.get_absolute_url()).content.decode()
    data = {"screening": find_screening(request, person).token, "best": "A"}
    assert 'name="best"' in page and (('name="worst"' in page) is (request.kind == "Judge"))
    if request.kind == "Judge":
        data |= {"worst": "B", "reason": f"limps in vote {request.pk}", "tags": ["best: moves fast", "worst: shakes"]}
    browser.post(reverse("vote", args=[person.token]), data)
    Vote.objects.update(created_at=timezone.now() - timedelta(seconds=settings.UNDO_SECONDS + 1))
    assert ballot.lock_due_votes() == 1
    return Vote.objects.get(request=request)


@pytest.mark.slow
@pytest.mark.parametrize("method", ASKED)
def test_a_person_leads_it_to_its_end(client, method):
    person = rows.participant(rows.study(method=method, k=3, n=2, options=OPTIONS.get(method, {})))
    votes = []
    do_work(person.experiment)
    while (request := loop.find_waiting_request(person.experiment)) is not None:
        filmed(person.experiment)
        votes.append(chosen(client, person, request))
        do_work(person.experiment)
    row = Experiment.objects.get(pk=person.experiment.pk)
    assert row.status == Experiment.Status.FINISHED, row.error
    kinds = [vote.request.kind for vote in votes]
    last = [] if not METHODS[method].chooses else ["Choose"]
    assert kinds == ["Judge", "Judge", *(["Compare"] if METHODS[method].compares else []), *last]
    assert row.winner == votes[-1].best
    first, judged = votes[0], Candidate.objects.filter(iteration__experiment=row, iteration__number=2)
    writes = list(row.requests.filter(kind="Write").order_by("step", "slot"))
    prompts = [r.payload["messages"][-1]["content"] for r in writes]
    later = [prompt for r, prompt in zip(writes, prompts, strict=True) if r.payload["iteration"] == 2]
    assert len(judged) == (8 if method == "rf_agent_judged" else 3)
    if method == "open_loop":
        assert set(later) == {prompts[0]}
    else:
        assert any(first.reason in prompt for prompt in later)
    if method not in ("open_loop", "revolve_human"):  # there an island decides who has children
        assert {c.parent for c in judged} == {first.best}
