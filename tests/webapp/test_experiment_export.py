"""The zip of one experiment, and of a comparison."""

import csv
import io

import pytest

from tests.webapp import bench_rows, rows
from tests.webapp.exports import Opened, rows_of
from webapp.archive import restore
from webapp.archive.unpack import Refused
from webapp.audit.models import Entry
from webapp.comparisons.models import Comparison
from webapp.experiments.models import Candidate

pytestmark = pytest.mark.django_db


def test_one_experiment_without_the_people_who_judged_it(client, tmp_path):
    client.force_login(bench_rows.create_staff())
    person = rows.participant(label="Somebody")
    rows.create_round(person)
    rows.open_judgement(person)
    rows.finish_experiment(person)
    other = bench_rows.create_finished_experiment(name="another one")
    address = f"/bench/data/experiment/{person.experiment.public_id}.zip"
    assert address in client.get(f"/bench/{person.experiment.public_id}/").content.decode()
    package = Opened(io.BytesIO(client.get(address).content))
    assert package.folder.startswith(f"prefine-experiment-{person.experiment.pk}-")
    (row,) = csv.DictReader(io.StringIO(package.read("results.csv").decode()))
    winner = Candidate.objects.get(pk=person.experiment.winner_id)
    assert (row["task"], row["winner"], float(row["score"])) == ("Ant", winner.key, winner.final_score)
    assert package.read("code/1/1-1.py").decode().strip() == rows.SOURCE
    assert len(rows_of(package, "experiments")) == 1 and len(rows_of(package, "candidates")) == 6
    assert not {"tables/participants.csv", "tables/votes.csv", "tables/screenings.csv"} & set(package.namelist())
    assert other.name.encode() not in package.read("tables/experiments.csv")
    assert Entry.objects.filter(action="exported experiments").count() == 1
    (tmp_path / "one.zip").write_bytes(client.get(address).content)
    with pytest.raises(Refused, match="no.* export of a study|does not describe an export of a study"):
        restore.restore(tmp_path / "one.zip", "ada")


def test_a_comparison_with_all_its_experiments(client):
    client.force_login(bench_rows.create_staff())
    comparison = Comparison.objects.create(
        tasks=["Cartpole"], methods=["icpl"], candidates=6, experiments=2, status="finished"
    )
    plan = comparison.plan
    for cell in plan.cells():
        bench_rows.create_finished_experiment(name="one of two", task="Cartpole", public_id=plan.public_id(cell))
    package = Opened(io.BytesIO(client.get(f"/bench/data/comparison/{comparison.public_id}.zip").content))
    found = list(csv.DictReader(io.StringIO(package.read("results.csv").decode())))
    assert [(row["experiment"], row["status"], row["rounds"]) for row in found] == [
        ("1", "finished", "2"),
        ("2", "finished", "2"),
    ]
    assert {"replay/1.json", "replay/2.json", "figures/experiment-2-rounds.csv"} <= set(package.namelist())


def test_it_takes_the_right_to_export(client):
    experiment = bench_rows.create_finished_experiment()
    assert client.get(f"/bench/data/experiment/{experiment.public_id}.zip").status_code == 302
