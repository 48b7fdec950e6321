"""Pilots go through a study, also as a draft, and leave no trace: not in quotas, results or export, nor later on."""

import json

import pytest
from django.urls import reverse

from tests.webapp import bench_rows, exports, rows
from webapp.archive import erasure, retention
from webapp.archive.models import Erasure, Export
from webapp.bench.studies import overview, reliability, results, results_tables
from webapp.experiments.models import Experiment
from webapp.review import quality, screenings
from webapp.review.models import Vote
from webapp.studies import assigning, enrolment, opening, pilots
from webapp.studies.models import Assignment, ConsentText, Participant, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def vote(person):
    """The person chooses in a round with films."""
    iteration = rows.create_round(person)
    request = rows.open_judgement(person)
    screening = screenings.find_screening(request, person)
    best, worst = iteration.candidates.order_by("index")[:2]
    made = Vote.objects.create(screening=screening, request=request, best=best, worst=worst, reason="Steady.")
    return made


def drop_count(lines):
    """The lines without the one that says how many pilots there are."""
    return [line for line in lines if not str(line[0]).startswith("pilots,")]


def read_everything(study):
    """What pages, figures and the numbers that outlive a study say of it."""
    answers = reliability.read_answers(study)
    tables = results_tables.build_tables(study, results.read_study_results(study), answers.quality)
    seen = overview.build_overview(study)
    return {
        "votes": answers.votes,
        "results": {slug: drop_count(table.rows) for slug, table in tables.items()},
        "scores": answers.scores,
        "times": answers.times,
        "quality": {person.label: one for person, one in quality.assess_study(study).items()},
        "places": [place.participant.label for place in seen.places],
        "usage": seen.usage,
        "remaining": seen.remaining.rounds,
        "numbers": retention.aggregate(study),
        "enrolled": assigning.find_enrolled(study).count(),
        "active": opening.count_active(study),
        "listed": [(row.people, row.done) for row in Study.objects.count_people()],
        "consents": ConsentText.objects.count(),
        "begun": (study.has_begun, [arm.started for arm in study.arms.all()]),
        "next label": enrolment.find_last_number(study, "P", [Participant.Source.LINK]),
    }


def read_export(study, path, **options):
    exports.write_export(study, path, clips=False, **options)
    with exports.open_zip(path) as package:
        names = [name for name in package.namelist() if not name.startswith(("versions", "manifest", "SHA256"))]
        return {name: package.read(name) for name in names}


def test_pilots_leave_no_trace_in_results_and_export(tmp_path):
    study = rows.study(task="Cartpole", k=3, n=1, quota=2)
    person = rows.participant(study, label="P01")
    vote(person)
    before, package = read_everything(study), read_export(study, tmp_path / "before.zip")
    pilot = pilots.add_pilot(study)
    assert enrolment.accept_consent(pilot) == ""
    vote(pilot)
    leaver = pilots.add_pilot(study)
    enrolment.accept_consent(leaver)
    enrolment.withdraw(leaver)
    assert read_everything(study) == before
    assert read_export(study, tmp_path / "after.zip") == package
    assert [place.votes for place in overview.build_overview(study).pilots] == [1, 0]

    wanted = read_export(study, tmp_path / "wanted.zip", pilots=True)
    people = json.loads(wanted["tables/participants.json"])
    assert {one["label"]: one["pilot"] for one in people} == {"P01": False, "Pilot 1": True, "Pilot 2": True}
    lines = wanted["choices.csv"].decode().splitlines()
    assert {tuple(line.split(",")[:2]) for line in lines[1:]} == {("P01", "0"), ("Pilot 1", "1")}

    experiments = set(Experiment.objects.filter(assignments__participant=pilot))
    Export.objects.create(study=study, by="ada")
    Export.objects.create(study=study, by="ada", pilots=True)
    assert erasure.delete_pilots(study, "ada").total > 3
    assert not Experiment.objects.filter(pk__in=[row.pk for row in experiments]).exists()
    assert list(study.participants.all()) == [person] and not Erasure.objects.exists()
    assert [row.pilots for row in Export.objects.all()] == [False], "an export without pilots stays"
    assert read_everything(study) == before


def test_a_draft_a_full_study_and_a_panel_can_be_piloted():
    study = rows.study(status="draft", task="Cartpole", k=3, n=1, quota=1, panel=3, ethics_protocol="")
    arm = rows.arm(study, "B", task="Cartpole", k=3, n=1, quota=0)
    pilot = pilots.add_pilot(study, arm)
    assert enrolment.accept_consent(pilot) == ""
    assert pilot.places.get().arm == arm and pilot.experiment.status == "running"
    assert pilot.experiment.seed >= assigning.PILOT_SEEDS
    Study.objects.filter(pk=study.pk).update(status="open", ethics_protocol="2026-17")
    alone = pilots.add_pilot(study, study.arms.first())
    enrolment.accept_consent(alone)
    assert alone.experiment.status == "running", "a pilot waits for no panel"
    real = Participant.objects.create(study=study, label="P01")
    assert enrolment.accept_consent(real) == ""
    assert real.experiment.status == "draft" and real.experiment.seed == study.seed
    assert Assignment.objects.filter(experiment=alone.experiment).count() == 1
    Study.objects.filter(pk=study.pk).update(status="closed")
    study.refresh_from_db()
    with pytest.raises(ValueError, match="closed"):
        pilots.add_pilot(study)


def test_one_click_makes_a_pilot_and_one_deletes_them(client):
    study = rows.study(status="draft", task="Cartpole", k=3, n=1)
    client.force_login(bench_rows.create_staff())
    page = client.get(reverse("bench:study", args=[study.pk])).content.decode()
    assert "Pilot it yourself" in page and "Delete all pilot data" not in page
    response = client.post(reverse("bench:pilot", args=[study.pk]))
    pilot = study.participants.get()
    assert response.url == pilot.get_absolute_url()
    assert "Agree and begin" in client.get(response.url).content.decode(), "a draft opens for its pilot"
    assert "Delete all pilot data" in client.get(reverse("bench:study", args=[study.pk])).content.decode()
    client.post(reverse("bench:delete_pilots", args=[study.pk]))
    assert not study.participants.exists()


def test_the_page_of_a_studys_data_counts_pilots_apart(staff):
    study = rows.study()
    rows.participant(study)
    pilots.add_pilot(study)
    page = staff.get(reverse("archive:study", args=[study.pk])).content.decode()
    assert "<dt>Participants</dt><dd>1 <small>and 1 pilot</small></dd>" in page
