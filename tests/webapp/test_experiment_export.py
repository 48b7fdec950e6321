"""The zip of one experiment, and of a comparison."""

import csv
import io

import pytest
from django.urls import reverse

from tests.webapp import bench_rows, rows
from tests.webapp.exports import Opened, rows_of
from webapp.archive import erasure, importer, tasks, work
from webapp.archive.models import Export
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.base.store import store
from webapp.bench.data import single_exports
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Candidate

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def test_one_experiment_without_the_people_who_judged_it(staff, tmp_path):
    person = rows.participant(label="Somebody")
    rows.create_round(person)
    rows.open_judgement(person)
    rows.finish_experiment(person)
    other = bench_rows.create_finished_experiment(name="another one")
    address = f"/bench/data/experiment/{person.experiment.public_id}/"
    assert address in staff.get(f"/bench/{person.experiment.public_id}/").content.decode()
    package = Opened(io.BytesIO(staff.post(address).content))
    assert package.folder.startswith(f"prefine-experiment-{person.experiment.pk}-")
    (row,) = csv.DictReader(io.StringIO(package.read("results.csv").decode()))
    winner = Candidate.objects.get(pk=person.experiment.winner_id)
    assert (row["task"], row["winner"], float(row["score"])) == ("Ant", winner.key, winner.final_score)
    assert package.read("code/1/1-1.py").decode().strip() == rows.SOURCE
    assert len(rows_of(package, "experiments")) == 1 and len(rows_of(package, "candidates")) == 6
    assert not {"tables/participants.csv", "tables/votes.csv", "tables/screenings.csv"} & set(package.namelist())
    assert other.name.encode() not in package.read("tables/experiments.csv")
    assert Entry.objects.filter(action="exported experiments").count() == 1
    (tmp_path / "one.zip").write_bytes(staff.post(address).content)
    with pytest.raises(Refused, match="no.* export of a study|does not describe an export of a study"):
        importer.restore(tmp_path / "one.zip", "ada")


def test_a_comparison_with_all_its_experiments(staff):
    comparison = Comparison.objects.create(
        tasks=["Cartpole"], methods=["icpl"], candidates=6, experiments=2, status="finished"
    )
    plan = comparison.plan
    for cell in plan.cells():
        bench_rows.create_finished_experiment(name="one of two", task="Cartpole", public_id=plan.public_id(cell))
    package = Opened(io.BytesIO(staff.post(f"/bench/data/comparison/{comparison.public_id}/").content))
    found = list(csv.DictReader(io.StringIO(package.read("results.csv").decode())))
    assert [(row["experiment"], row["status"], row["rounds"]) for row in found] == [
        ("1", "finished", "2"),
        ("2", "finished", "2"),
    ]
    assert {"replay/1.json", "replay/2.json", "figures/experiment-2-rounds.csv"} <= set(package.namelist())


@pytest.mark.django_db(transaction=True)
def test_a_large_one_is_made_by_a_worker(client, monkeypatch):
    monkeypatch.setattr(single_exports, "MOST_AT_ONCE", 5)
    called = []
    monkeypatch.setattr(work, "send_message", lambda task, arguments, queue: called.append(arguments))
    client.force_login(bench_rows.create_staff())
    experiment = bench_rows.create_finished_experiment()
    address = f"/bench/data/experiment/{experiment.public_id}/"
    page = client.post(address, follow=True)
    [task] = Export.objects.all()
    assert page.redirect_chain == [(f"/bench/data/experiments/{task.public_id}/", 302)]
    assert called == [("export", task.pk)] and "Waiting for a worker" in page.content.decode()
    assert client.post(address).url == page.redirect_chain[0][0] and Export.objects.count() == 1, "one is under way"
    assert page.redirect_chain[0][0] in client.get(reverse("archive:index")).content.decode()
    assert client.get(f"/bench/data/download/{task.public_id}/").status_code == 404
    said = []
    monkeypatch.setattr(work.Work, "report", lambda self, fraction, words: said.append((fraction, words)))
    assert tasks.carry_out_task("export", task.pk)
    assert [words for _, words in said][-1] == "Experiment 1 of 1" and said == sorted(said, key=lambda one: one[0])
    page = client.get(page.redirect_chain[0][0]).content.decode()
    download = reverse("archive:download", args=[task.public_id])
    assert download in page and "hx-get" not in page
    answer = client.get(download)
    assert f'filename="prefine-experiment-{experiment.pk}-' in answer["Content-Disposition"]
    with store.open(task.key) as file:
        package = Opened(io.BytesIO(file.read()))
    assert "replay/1.json" in package.namelist()
    assert client.post(reverse("archive:remove", args=[task.public_id])).url == reverse("archive:index")


def test_it_is_deleted_with_the_data_of_a_person_who_judged_in_it():
    """So is that of a retraining alone, whose reward may quote the person."""
    person = rows.participant(label="Somebody")
    rows.create_round(person)
    other, retraining = bench_rows.create_finished_experiment(), bench_rows.create_finished_experiment()
    retraining.retrains = Candidate.objects.filter(iteration__experiment=person.experiment).first()
    retraining.save()
    _, _, apart = (
        Export.objects.create(experiments=[row.pk], name=row.name[:80], status="done")
        for row in (person.experiment, retraining, other)
    )
    erasure.erase(person)
    assert list(Export.objects.all()) == [apart]
