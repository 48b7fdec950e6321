"""What one can do with what has finished: duplicate, next seed, a vote between winners."""

import html as markup

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from tests.webapp import bench_rows, fake_workers, rows
from webapp.audit.models import Entry
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Experiment
from webapp.votes.models import Pair

pytestmark = pytest.mark.django_db


@pytest.fixture
def staff(client):
    client.force_login(bench_rows.create_staff())
    return client


def read(client, address, **values):
    return markup.unescape(client.get(address, values).content.decode())


def test_the_next_seed_is_started_by_one_confirmed_click(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False, name="walks", overrides={"iterations": 3})
    fake_workers.create_experiment(k=2, n=1, seed=4, overrides={"iterations": 3})
    page = reverse("bench:experiment", args=[row.public_id])
    assert "Start it again with seed 5?" in read(staff, page)
    answer = staff.post(reverse("bench:repeat", args=[row.public_id]))
    new = Experiment.objects.latest("pk")
    assert answer["Location"] == reverse("bench:experiment", args=[new.public_id])
    assert (new.seed, new.name, new.status, new.owner) == (5, "walks, seed 5", "running", "ada")
    assert (new.k, new.n, new.overrides, new.jobs.count()) == (2, 1, {"iterations": 3}, 1)
    entry = Entry.objects.get(action="repeated experiment")
    assert entry.detail["seed"] == 5 and entry.target_id == str(new.pk)


def test_what_people_judged_is_not_repeated_and_says_why(staff):
    person = rows.participant()
    rows.create_round(person)
    rows.finish_experiment(person)
    row = person.experiment
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert "Its study gives each new participant" in text and "Start it again" not in text
    before = Experiment.objects.count()
    staff.post(reverse("bench:repeat", args=[row.public_id]))
    assert Experiment.objects.count() == before
    form = (
        staff.get(reverse("admin:experiments_experiment_add"), {"copy": str(row.public_id)}).context["adminform"].form
    )
    assert form.initial["judge"] == "proxy"


def test_a_duplicate_fills_the_form_with_the_settings(staff):
    row = bench_rows.create_finished_experiment(
        k=4, n=1, clips=False, method="revolve", judge_options={"beta": 5.0}, name="with errors"
    )
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    address = f"{reverse('admin:experiments_experiment_add')}?copy={row.public_id}"
    assert address in text
    initial = staff.get(address).context["adminform"].form.initial
    assert (initial["name"], initial["method"], initial["k"]) == ("Copy of with errors", "revolve", 4)
    assert initial["judge_options"] == {"beta": 5.0} and "seed" not in initial
    assert staff.get(reverse("admin:experiments_experiment_add"), {"copy": "nonsense"}).status_code == 200


def test_a_vote_opens_with_both_winners_filled_in(staff):
    first = bench_rows.create_finished_experiment(k=2, n=1, name="this one")
    page = reverse("bench:experiment", args=[first.public_id])
    assert "once another experiment on Cartpole has finished" in read(staff, page)
    second = bench_rows.create_finished_experiment(k=2, n=1, name="that one", seed=8)
    bench_rows.create_finished_experiment(k=2, n=1, name="without a film", clips=False)
    bench_rows.create_finished_experiment(k=2, n=1, name="elsewhere", task="Ant")
    text = read(staff, page)
    assert f'<option value="{second.public_id}">that one (ICPL, seed 8)</option>' in text
    assert "without a film (" not in text and "elsewhere (" not in text
    address = reverse("admin:votes_poll_add")
    chosen = {"first": str(first.public_id), "second": str(second.public_id)}
    (inline,) = staff.get(address, chosen).context["inline_admin_formsets"]
    initial = inline.formset.forms[0].initial
    clips = [row.winner.clips.get().pk for row in (first, second)]
    assert [initial["first"], initial["second"]] == [str(pk) for pk in clips]
    data = {"title": "Which", "contact": "ada@example.org", "question": "Which robot runs faster?"}
    data |= {"evaluators_wanted": 5, "alpha": 0.05, "correction": "none", "repeats": 0, "checks_to_pass": 1}
    data |= {"consent_text": "Yes.", "consent_version": "1", "pairs-TOTAL_FORMS": 1, "pairs-INITIAL_FORMS": 0}
    data |= {"pairs-0-purpose": "asked", "pairs-0-first": clips[0], "pairs-0-second": clips[1]}
    fields = staff.get(address, chosen).context["adminform"].form.initial
    query = f"?first={first.public_id}&second={second.public_id}"
    answer = staff.post(address + query, {**{k: v for k, v in fields.items() if v is not None}, **data})
    errors = answer.context and answer.context["errors"]
    assert answer.status_code == 302, errors
    pair = Pair.objects.get()
    assert [pair.first_id, pair.second_id] == clips


def test_a_comparison_is_duplicated_with_its_settings(staff):
    row = Comparison.objects.create(
        name="two ways",
        tasks=["Ant"],
        methods=["Few=icpl:k=3", "eureka"],
        candidates=12,
        experiments=3,
        judge_options=["beta=5"],
    )
    page = read(staff, reverse("comparisons:comparison", args=[row.public_id]))
    address = f"{reverse('comparisons:new')}?copy={row.public_id}"
    assert address in page
    form = staff.get(address).context["form"]
    assert form.initial["variants"] == "Few=icpl:k=3" and form.initial["methods"] == ["eureka"]
    assert (form.initial["baseline"], form.initial["candidates"], form.initial["judge_options"]) == (
        "variant",
        12,
        "beta=5",
    )
    assert staff.get(reverse("comparisons:new"), {"copy": "nonsense"}).status_code == 200


def test_a_viewer_is_told_what_the_role_lacks(client):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    client.force_login(User.objects.create(username="eve", is_staff=True))
    assert "Your role reads the bench." in read(client, reverse("bench:experiment", args=[row.public_id]))
    assert client.post(reverse("bench:repeat", args=[row.public_id])).status_code == 403
    assert Experiment.objects.count() == 1
