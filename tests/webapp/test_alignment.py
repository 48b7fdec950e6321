"""RDA's alignment rate: films of policies, a vision model's ratings, and what reports and pages make of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from llm.judges.alignment import read_rating
from simulation import catalog
from tests.llm.faulty import completion, serving
from tests.trainer.test_lockstep import CARTPOLE, SHORT, trained
from tests.webapp.comparison_plans import plan_of, run_all
from tests.webapp.fake_workers import advance, create_experiment, do_work
from trainer.records import TrainJob
from webapp.base.store import store
from webapp.bench.comparisons.alignment_pages import list_rows
from webapp.bench.experiments.next_steps import find_next_steps
from webapp.bench.votes.pair_sources import list_sources
from webapp.comparisons import alignments, csv_tables, experiment_results, report
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.management.commands.align import find_targets
from webapp.comparisons.models import Comparison
from webapp.experiments import alignment, execute, loop, repeating, request_results
from webapp.experiments.alignment import Alignment, Order
from webapp.experiments.execute.train import read_outcomes
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, Job, LanguageModel, Request

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_heartbeat"), pytest.mark.slow]
REWARD = catalog.read_reference_reward("Cartpole")


@pytest.fixture(autouse=True)
def own_folder(settings: LazySettings, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def retrained(policies: int = 2) -> Experiment:
    """A finished retraining, whose policies are not kept."""
    options = {"reward": REWARD, "episodes": 2, "films": False}
    row = create_experiment(name="Retrained", method="retrain", options=options, k=policies, n=1)
    loop.start(row)
    do_work(row)
    return row


def rate(of: Experiment, ratings: list[list[int | None]], model: LanguageModel | None = None) -> Experiment:
    """The films of the first policy with these ratings each, as the order's jobs would leave them."""
    model = model or LanguageModel.objects.get_or_create(name="Eye", defaults={"kind": "openai", "model": "eye"})[0]
    row = alignment.draft(of, Order(model, videos=len(ratings), answers=len(ratings[0])))
    assert row is not None
    row.status = Experiment.Status.FINISHED
    row.save()
    for film, given in enumerate(ratings, 1):
        for number, rating in enumerate(given, 1):
            payload = {
                "iteration": 1,
                "candidate": f"1-{film}",
                "number": number,
                "messages": [],
                "frames": 50,
                "seed": 1,
            }
            Request.objects.create(
                experiment=row,
                step=2,
                slot=20 * film + number,
                kind="Rate",
                payload=payload,
                status="done",
                result={"rating": rating, "words": "It swings."},
            )
    return row


def trained_once(name: str, **values: object) -> Experiment:
    """A finished retraining with one policy, which nobody trained."""
    options = {"reward": REWARD, "episodes": 2, "films": False}
    given = {"method": "retrain", "options": options, "k": 1, "n": 1, "status": "finished", **values}
    row = create_experiment(name=name, **given)
    at = Iteration.objects.create(experiment=row, number=1)
    Candidate.objects.create(iteration=at, index=1, source=REWARD, status="trained")
    return row


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("It runs.\n\nRating: 4", 4),
        ("**Rating: 5/5**", 5),
        ("Rating: <2>", 2),
        ("A rating of 3 would be kind.\nRating: 1", 1),
        ("A rating of 3 would be kind.", None),
        ("Rating: 6", None),
        ("Rating: 45", None),
        ("", None),
    ],
)
def test_the_rating_is_a_line_of_its_own(text: str, rating: int | None) -> None:
    assert read_rating(text) == rating


def test_every_film_counts_alike_and_unseen_ones_do_not_count() -> None:
    row = retrained()
    rate(row, [[5, 5, 5, 4], [1, None, None, None], [None, None, None, None]])
    found = alignment.read_alignments([row.public_id])
    assert found == {row.public_id: Alignment((4.75 + 1) / 2 / 5, "Eye", films=2, answers=5)}


def test_the_newest_order_counts_and_one_for_films_alone_changes_nothing() -> None:
    row, other = retrained(), LanguageModel.objects.create(name="Sharp", kind="openai", model="sharp")
    rate(row, [[5]])
    rate(row, [[2]], other)
    assert alignment.read_alignments([row.public_id])[row.public_id].by == "Sharp"
    films = alignment.draft(row, Order(None))
    assert films is not None and films.options["answers"] == 0 and (films.k, films.n) == (5, 2)
    films.status = Experiment.Status.FINISHED
    films.save()
    assert alignment.read_alignments([row.public_id])[row.public_id].rate == pytest.approx(0.4)


def test_films_that_were_cancelled_can_be_ordered_again() -> None:
    target = trained_once("R")
    first = alignment.draft(target, Order(None))
    assert first is not None
    first.save()
    loop.start(first)
    assert (same := alignment.draft(target, Order(None))) and same.public_id == first.public_id
    loop.cancel(first)
    assert (again := alignment.draft(target, Order(None))) and again.public_id != first.public_id
    again.save()
    loop.start(again)
    assert (same := alignment.draft(target, Order(None))) and same.public_id == again.public_id


def test_the_page_asks_the_database_as_often_for_three_experiments_as_for_one() -> None:
    for number in range(3):
        films = alignment.draft(trained_once(f"R{number}"), Order(None))
        assert films is not None
        films.status = Experiment.Status.FINISHED
        films.save()
        at = Iteration.objects.create(experiment=films, number=1)
        film = Candidate.objects.create(iteration=at, index=1, source="x")
        Clip.objects.create(candidate=film, percent=100, status=Clip.Status.READY)
    targets, asked = list(Experiment.objects.filter(method="retrain")), []
    for some in (targets[:1], targets):
        with CaptureQueriesContext(connection) as seen:
            found = list_rows(some)
        asked.append(len(seen))
        assert [(row.policies, row.films) for row in found] == [(1, 1)] * len(some)
    assert asked[0] == asked[1]


def test_of_a_report_the_retraining_counts_that_its_comparison_began(tmp_path: Path) -> None:
    made = Comparison.objects.create(name="New", tasks=["Cartpole"], methods=["icpl:k=3"], candidates=6, retrain=2)
    search = made.plan.experiment(cell := next(made.plan.cells()))
    winner = Candidate.objects.create(
        iteration=Iteration.objects.create(experiment=search, number=1), index=1, source=REWARD
    )
    Experiment.objects.filter(pk=search.pk).update(status="finished", winner=winner)
    (tmp_path / "experiments.csv").write_text(f"public_id\n{search.public_id}\n")
    assert find_targets([str(tmp_path)]) == [search]
    trained_once("By hand", retrains=winner)
    assert find_targets([str(tmp_path)]) == [search]
    own = trained_once("Own", retrains=winner, public_id=made.plan.retraining_id(cell))
    trained_once("By hand later", retrains=winner)
    trained_once("Learned on", retrains=winner, method="pebble")
    assert find_targets([str(tmp_path)]) == [own]


def test_films_of_an_experiment_that_people_judged_do_not_carry_its_name() -> None:
    row = retrained()
    row.name, row.judge = "Person-A, P07", "human"
    films = alignment.draft(row, Order(None))
    assert films is not None and films.name.startswith("Films of Retraining on Cartpole, ") and "P07" not in films.name


def put_policy(row: Experiment, folder: Path) -> None:
    """A policy that has hardly learned, in the place of the first one."""
    job = TrainJob("Cartpole", CARTPOLE[:1], overrides=SHORT | {"iterations": 1}, film_at=())
    lockstep, _ = trained(folder, job)
    key = f"{row.requests.get(kind='Train').run_key}/checkpoints/policies/0.pt"
    store.publish(key, lockstep.job_dir / "checkpoints" / "policies" / "0.pt")


@pytest.mark.exhaustive
def test_the_command_films_a_policy_and_asks_the_vision_model_of_each_film_several_times(
    tmp_path: Path,
) -> None:
    row, said = retrained(policies=1), iter(["It swings.\nRating: 4", "no line", "Rating: 2"])
    put_policy(row, tmp_path / "run")
    words = ["--model", "Eye", "--videos", "1", "--answers", "2", "--pictures", "3"]
    out = io.StringIO()
    with serving(lambda body: completion(next(said))) as server:
        LanguageModel.objects.create(name="Eye", kind="openai", base_url=server.base_url, model="eye", concurrency=1)
        call_command("align", str(row.public_id), *words, stdout=out)
        call_command("align", str(row.public_id), *words, stdout=out)
        assert len(server.seen) == 3, "what was rated is not asked again"
    text, *images = server.seen[0]["messages"][-1]["content"]
    assert len({image["image_url"]["url"] for image in images}) == 3
    info = catalog.get_task("Cartpole")
    assert info.description in text["text"] and "3 pictures" in text["text"]
    assert "metric" not in text["text"] and REWARD.strip()[:40] not in text["text"]
    assert alignment.read_alignments([row.public_id])[row.public_id] == Alignment(0.6, "Eye", 1, 2)
    assert "Retrained" in out.getvalue() and "0.600" in out.getvalue()
    (clip,) = alignment.find_films([row.public_id])[row.public_id]
    assert store.size(clip.video)


def test_a_policy_that_is_gone_says_so_and_the_offline_writer_is_no_eye() -> None:
    row = retrained(policies=1)
    with pytest.raises(CommandError, match="The policy 1-1 is gone"):
        call_command("align", str(row.public_id), "--model", "none", stdout=io.StringIO())
    with pytest.raises(CommandError, match="sees no pictures"):
        call_command("align", str(row.public_id), "--model", "offline", stdout=io.StringIO())
    with pytest.raises(CommandError, match="neither the folder of a report nor an id"):
        call_command("align", "nowhere", "--model", "none", stdout=io.StringIO())


def test_the_page_of_a_rating_says_that_episodes_are_recorded(admin_client: Client) -> None:
    row = alignment.draft(retrained(policies=1), Order(None))
    assert row is not None
    row.save()
    loop.start(row)
    advance(row)
    row.jobs.filter(kind="perform").update(status=Job.Status.RUNNING, progress={"fraction": 0.25})
    page = admin_client.get(reverse("bench:experiment", args=[row.public_id])).content.decode()
    assert "recording 25%" in page.lower()


def test_nobody_is_asked_about_a_film_that_cannot_be_seen() -> None:
    row = alignment.draft(retrained(policies=1), Order(LanguageModel.objects.create(name="Eye", kind="openai"), 1, 1))
    assert row is not None
    row.save()
    loop.start(row)
    advance(row)
    recording = row.requests.get(kind="Perform")
    candidate = Iteration.objects.get(experiment=row).candidates.get()
    candidate.status = "trained"
    candidate.save()
    Clip.objects.create(candidate=candidate, percent=100, status=Clip.Status.FAILED)
    request_results.complete(recording, read_outcomes(recording))
    advance(row)
    assert execute.run_job(row.requests.get(kind="Rate").jobs.get().pk)
    advance(row)
    assert row.status == "finished" and row.requests.get(kind="Rate").result == {"rating": None, "words": ""}


def rated_comparison() -> Comparison:
    values = {"tasks": ["Cartpole"], "methods": ["icpl:k=3", "open_loop:k=3"], "candidates": 6, "experiments": 1}
    row = Comparison.objects.create(name="New", retrain=2, **values)
    run_all(row.plan)
    for name, ratings in (("ICPL on Cartpole, 1 of 1, retrained", [[5, 4]]), ("Human on Cartpole", [[3, 3]])):
        rate(Experiment.objects.get(name=name), ratings)
    return row


def test_films_are_no_winners_that_are_trained_again_or_voted_on() -> None:
    row = rate(retrained(), [[5]])
    for explain in (
        repeating.explain_refusal,
        repeating.explain_retraining_refusal,
        repeating.explain_learning_refusal,
    ):
        assert explain(row) == repeating.LOOKS_ON
    steps = find_next_steps(row)
    assert steps is not None and not steps.can_vote and not steps.presets
    assert not [one for one in list_sources() if "Alignment" in one.name]


def test_reports_and_pages_show_alignment_beside_the_score(tmp_path: Path, admin_client: Client) -> None:
    row = rated_comparison()
    text = report.write_report(row.plan, tmp_path / "report").read_text()
    assert "| ICPL | 0.900 | 2 | 0.900 | " in text and "| Human | 0.600 | 2 | 0.600 | 1.500 |" in text
    assert "![alignment-Cartpole.svg](alignment-Cartpole.svg)" in text and "(Eye)" in text
    assert (tmp_path / "report" / "alignment-Cartpole.svg").exists()
    read = csv_tables.read_reports(row.plan, [tmp_path / "report"])
    held = [read[number].alignment for number in row.plan.public_ids]
    assert sorted(one.answers for one in held) == [0, 2] and Alignment(0.9, "Eye", answers=2) in held
    page = admin_client.get(f"/bench/comparisons/{row.public_id}/").text
    assert ">Alignment</th>" in page and 'data-label="Alignment">0.900' in page


def test_the_page_orders_films_and_looks_again_until_they_are_there(admin_client: Client) -> None:
    row, eye = rated_comparison(), LanguageModel.objects.get(name="Eye")
    address = f"/bench/comparisons/{row.public_id}/alignment/"
    assert 'id="rated"' in (page := admin_client.get(address).text) and "hx-trigger" not in page
    asked = {"model": eye.pk, "videos": 3, "answers": 1, "pictures": 9}
    assert "greater than or equal to 1" in admin_client.post(address, {**asked, "videos": 0}).text
    page = admin_client.post(address, asked, follow=True).text
    assert "Ordered for 4 experiments" in page and 'id="rated"' in page and 'hx-select="#rated"' in page
    orders = Experiment.objects.filter(method="align", status="running")
    assert [(one.k, one.n, one.vision) for one in orders] == [(3, 2, eye)] * 4
    admin_client.post(address, asked)
    assert Experiment.objects.filter(method="align", status="running").count() == 4, (
        "the same order is carried out once"
    )


def test_without_ratings_nothing_is_said_of_alignment(tmp_path: Path, admin_client: Client) -> None:
    plan = plan_of(parse_arm("icpl:k=3", 6), retrain=2, experiments=1)
    run_all(plan)
    text = report.write_report(plan, tmp_path / "report").read_text()
    assert "lignment" not in text and not (tmp_path / "report" / "alignment-Cartpole.svg").exists()
    assert all(one.alignment == Alignment() for one in experiment_results.read_results(plan))


def test_the_papers_rates_stand_beside_its_own_methods() -> None:
    def printed(*texts: str) -> str:
        plan = plan_of(*(parse_arm(text, 20) for text in texts), tasks=("PickCube",))
        return alignments.find_printed(experiment_results.group_scores(plan, []))

    its_eureka = "rda_scored:k=4,warm_start=false"
    assert "RDA 0.95 (ManiSkill (12 tasks))" in printed("rda:k=4,analyst=frames") == printed("rda:k=4")
    assert "Eureka 0.87 (ManiSkill (12 tasks))" in printed(its_eureka) and not printed("eureka")
    assert "+ checkpoint 0.35" in printed("rda_scored") and "analysis 0.82" in printed("rda:subtasks=false")
    assert "RDA, 2 candidates 0.58" in printed("rda:k=2") and "candidates 0" not in printed("rda:k=4")
    assert not printed("rda:frames=10")
