"""What one can do with what has finished: duplicate, next seed, a vote between winners."""

import html as markup
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from simulation import catalog
from tests.webapp import bench_rows, fake_workers, rows
from trainer.preferences.algorithms import Preferences
from trainer.records import CandidateResult, TrainResult
from webapp.archive import redaction
from webapp.audit.models import Entry
from webapp.comparisons.models import Comparison
from webapp.experiments import leases, loop, progress, repeating, request_results
from webapp.experiments.execute import train, warm_start
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.votes.models import Pair

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


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
    form = staff.get(reverse("bench:experiment_new"), {"copy": str(row.public_id)}).context["form"]
    assert form.initial["judge"] == "proxy"


def test_a_duplicate_fills_the_form_with_the_settings(staff):
    row = bench_rows.create_finished_experiment(
        k=4, n=1, clips=False, method="revolve", judge_options={"beta": 5.0}, name="with errors"
    )
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    address = f"{reverse('bench:experiment_new')}?copy={row.public_id}"
    assert address in text
    initial = staff.get(address).context["form"].initial
    assert (initial["name"], initial["method"], initial["k"]) == ("Copy of with errors", "revolve", 4)
    assert initial["judge_options"] == {"beta": 5.0} and "seed" not in initial
    assert staff.get(reverse("bench:experiment_new"), {"copy": "nonsense"}).status_code == 200


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
    address = reverse("votes:new")
    chosen = {"first": str(first.public_id), "second": str(second.public_id)}
    initial = staff.get(address, chosen).context["pairs"].forms[0].initial
    clips = [row.winner.clips.get().pk for row in (first, second)]
    assert [initial["first"], initial["second"]] == [str(pk) for pk in clips]
    data = {"title": "Which", "contact": "ada@example.org", "question": "Which robot runs faster?"}
    data |= {"evaluators_wanted": 5, "alpha": 0.05, "correction": "none", "repeats": 0, "checks_to_pass": 1}
    data |= {"consent_text": "Yes.", "consent_version": "1", "pairs-TOTAL_FORMS": 1, "pairs-INITIAL_FORMS": 0}
    data |= {"pairs-0-purpose": "asked", "pairs-0-first": clips[0], "pairs-0-second": clips[1]}
    fields = staff.get(address, chosen).context["form"].initial
    query = f"?first={first.public_id}&second={second.public_id}"
    answer = staff.post(address + query, {**{k: v for k, v in fields.items() if v is not None}, **data})
    assert answer.status_code == 302, answer.context and answer.context["form"].errors
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


def retrain(staff, row, **values):
    return staff.post(reverse("bench:retrain", args=[row.public_id]), {"preset": "quick", "count": "3", **values})


def test_the_winners_reward_is_trained_again_with_other_seeds(staff):
    row = bench_rows.create_finished_experiment(
        k=2, n=2, name="walks", seed=4, judge="proxy", overrides={"iterations": 3}
    )
    page = reverse("bench:experiment", args=[row.public_id])
    text = read(staff, page)
    assert "Retrain the winner" in text and "./prefine train" not in text and "trained again" not in text
    answer = retrain(staff, row)
    new = Experiment.objects.latest("pk")
    assert answer["Location"] == reverse("bench:experiment", args=[new.public_id])
    assert (new.status, new.owner, new.k, new.rounds, new.overrides) == ("running", "ada", 3, 1, {"iterations": 3})
    assert (new.name, new.retrains) == ("walks, retrained, seed 5", row.winner)
    fake_workers.advance(new)
    (request,) = new.requests.all()
    assert (request.kind, [job.queue for job in request.jobs.all()]) == ("Train", ["train"])
    job = train.build_job(new, request, train.find_candidates(request))
    assert job.seeds == (5001, 5002, 5003) and set(job.sources) == {row.winner.source.strip()}
    assert progress.read_progress(new).fraction == 0, "nothing was written before"
    text = read(staff, page)
    assert "walks, retrained, seed 5" in text and "training" in text and 'data-busy="yes"' in text
    seeds = [read(staff, reverse("bench:candidate", args=[new.public_id, f"1-{n}"])) for n in (1, 3)]
    assert ["<dd>5001</dd>" in seeds[0], "<dd>5003</dd>" in seeds[1]] == [True, True]


def test_a_retraining_stands_beside_the_search_and_films_every_policy(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, name="walks")
    row.winner.final_score, row.winner.rts = 90.0, 95.0
    row.winner.save()
    retrain(staff, row)
    new = Experiment.objects.latest("pk")
    fake_workers.advance(new)
    (request,) = new.requests.all()
    results = [
        CandidateResult(i, True, rts=10.0 * i, final_score=20.0 + i, evaluation={"score": 30.0 + i}) for i in range(3)
    ]
    with leases.claim(request.jobs.get().pk) as lease, lease.settle() as locked:
        train.save_result(locked, request, train.find_candidates(request), TrainResult(tuple(results), 60, 10**6))
    assert (
        new.jobs.filter(kind="film", percent=100).exists()
        and Clip.objects.filter(candidate__iteration__experiment=new, percent=100).count() == 3
    )
    request.refresh_from_db()
    request_results.complete(request, train.read_outcomes(request), advance=False)
    fake_workers.advance(new)
    assert (new.status, new.winner.key) == ("finished", "1-3")
    for one in (row, new):
        text = read(staff, reverse("bench:experiment", args=[one.public_id]))
        table = text[text.index('id="retrainings-title"') :]
        assert "candidate 1-" in table and ">90.0</td>" in table and ">21.0<br>" in table and "18.5 to 23.5" in table
        assert ">31.0<br><small>28.5 to 33.5<" in table
    text = read(staff, reverse("bench:experiment", args=[new.public_id]))
    assert "Duplicate</a>" not in text and "Retrain the winner" not in text and "writer:" not in text
    assert "Train that with further seeds on the page of the search." in text
    retrain(staff, row, preset="long")
    assert "settings of Cartpole" in read(staff, reverse("bench:experiment", args=[row.public_id]))
    retrain(staff, row)
    assert Experiment.objects.latest("pk").seed == new.seed + 1, "seeds that no earlier retraining has used"


@pytest.mark.parametrize(
    ("start", "preset", "then"),
    [("upright", "quick", "upright"), ("upright", "paper", "random"), ("best", "quick", "random")],
)
def test_a_retraining_starts_as_the_search_did_or_says_that_it_does_not(staff, start, preset, then):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False, task="Humanoid", training_start=start)
    retrain(staff, row, preset=preset)
    new = Experiment.objects.latest("pk")
    assert new.training_start == then
    said = "so the scores are not comparable" in read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert said == (then != start)


@pytest.mark.parametrize("values", [{"count": "400"}, {"count": "many"}, {"preset": "none"}])
def test_a_retraining_with_other_values_than_offered_is_refused(staff, values):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    retrain(staff, row, **values)
    assert Experiment.objects.count() == 1
    viewer = User.objects.create(username="vera", is_staff=True)
    staff.force_login(viewer)
    assert retrain(staff, row).status_code == 403


def test_words_that_are_erased_are_gone_from_retrainings_too(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    row.winner.source += "\n# because it hops like a hare"
    row.winner.save()
    retrain(staff, row)
    new = Experiment.objects.latest("pk")
    fake_workers.advance(new)
    with transaction.atomic():
        redaction.redact(loop.lock(row.pk), ["hops like a hare"], [])
    new.refresh_from_db()
    held = [new.options, *new.requests.values_list("payload", flat=True)]
    held += Candidate.objects.filter(iteration__experiment=new).values_list("source", flat=True)
    assert "hare" not in str(held) and "[deleted]" in str(new.options)
    fake_workers.do_work(new)
    assert new.status == "finished", "its requests still fit"


def learn_on(staff, row, **values):
    return staff.post(
        reverse("bench:learn_on", args=[row.public_id]), {"method": "prefppo", "queries": "150", **values}
    )


def test_the_winners_policy_learns_on_from_pairs_with_its_program(staff):
    row = bench_rows.create_finished_experiment(
        k=2, n=1, name="walks", seed=4, judge="proxy", overrides={"iterations": 3}
    )
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert "Learn on from pairs" in text and ">PrefPPO</option>" in text and ">PEBBLE</option>" not in text
    learn_on(staff, row)
    new = Experiment.objects.latest("pk")
    assert (new.name, new.retrains, new.status, new.owner) == ("walks, PrefPPO, seed 5", row.winner, "running", "ada")
    assert Entry.objects.get(action="learned on").detail["queries"] == 150
    fake_workers.advance(new)
    (request,) = new.requests.all()
    job = train.build_job(new, request, train.find_candidates(request))
    assert job.preferences == (Preferences("prefppo", 150, "metric", 0, selection="disagreement", prior=True),)
    assert (job.sources, job.warm, job.episodes) == ((row.winner.source.strip(),), True, 100)
    start = warm_start.find_start(request)
    assert (start.candidate, start.experiment) == (row.winner.key, row)
    for one in (row, new):
        text = read(staff, reverse("bench:experiment", args=[one.public_id]))
        assert "retrainings-title" not in text, "it is no retraining"
    assert "150 answers about pairs of whole episodes, added to its winner’s program" in text
    fake_workers.do_work(new)
    text = read(staff, reverse("bench:experiment", args=[new.public_id]))
    assert "Duplicate</a>" not in text and "Learn on from pairs" not in text
    assert repeating.copy_settings(new).retrains == row.winner, "the next seed goes on from there too"


def test_learning_on_from_a_winner_that_is_gone_fails_with_the_reason(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    learn_on(staff, row)
    new = Experiment.objects.latest("pk")
    fake_workers.advance(new)
    row.delete()
    (request,) = new.requests.all()
    request.experiment.refresh_from_db()
    start = warm_start.find_start(request)
    assert start is not None and not warm_start.fetch_start(request, start)


def test_learning_on_with_settings_that_are_gone_is_refused(staff, monkeypatch):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    cartpole = catalog.get_task("Cartpole")
    others = {name: preset for name, preset in cartpole.presets.items() if name != row.preset}
    monkeypatch.setitem(catalog.list_tasks(), "Cartpole", replace(cartpole, presets=others))
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert "Retrain the winner" in text and "Learn on from pairs" not in text
    learn_on(staff, row)
    assert "has no settings “quick” any more" in read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert Experiment.objects.count() == 1


@pytest.mark.parametrize("values", [{"method": "pebble"}, {"method": "icpl"}, {"queries": "7"}, {"queries": "many"}])
def test_learning_on_with_other_values_than_offered_is_refused(staff, values):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    learn_on(staff, row, **values)
    assert Experiment.objects.count() == 1
    text = read(staff, reverse("bench:experiment", args=[row.public_id]))
    assert "Choose one of PrefPPO, and one of 49, 150, 1,500, 15,000 answers." in text
    staff.force_login(User.objects.create(username="vera", is_staff=True))
    assert learn_on(staff, row).status_code == 403


def test_forms_and_comparisons_do_not_offer_retraining_as_a_method(staff):
    for address in (reverse("bench:experiment_new"), reverse("comparisons:new")):
        text = read(staff, address)
        assert "ICPL" in text and 'value="retrain"' not in text
