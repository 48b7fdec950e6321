"""The bars of a study's page, and the marks of the wizard's steps."""

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from tests.webapp import arms_study, rows
from webapp.bench.studies import overview
from webapp.bench.studies.arm_progress import STAGES, build_arm_progress
from webapp.experiments.models import Experiment
from webapp.studies.models import Outcome, Participant, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


def text(answer):
    """What one reads on the page."""
    return " ".join(strip_tags(answer.content.decode()).split())


def test_bars_show_how_far_the_people_of_each_arm_are(staff):
    study = rows.study()
    study.arms.update(name="with feedback", quota=4)
    for label in ("P01", "P02"):
        rows.participant(study, label=label)
    rows.participant(study, consented=False, label="P03")
    Participant.objects.filter(label="P01").update(finished_at=timezone.now(), outcome=Outcome.FINISHED)
    with_feedback, nowhere = build_arm_progress(overview.build_overview(study).places)
    assert (with_feedback.name, with_feedback.people, with_feedback.quota) == ("with feedback", 2, 4)
    assert [(part.stage, part.people, part.start, part.width) for part in with_feedback.segments] == [
        ("finished", 1, 0, 25),
        ("taking part", 1, 25, 25),
    ]
    assert [(part.stage, part.width) for part in nowhere.segments] == [("not opened yet", 25)]
    page = text(staff.get(reverse("bench:study", args=[study.pk])))
    assert "1 finished" in page and "up to 4" in page and "no arm yet" in page


def test_who_meets_several_arms_counts_in_each():
    """`create_study` judges both arms by the same person, one after the other."""
    study = arms_study.create_study({"A": [1.0, 2.0], "B": [3.0, 4.0]}, experiments_each=2)
    study.arms.update(quota=4)

    def read():
        return [
            (arm.name, [(part.stage, part.people) for part in arm.segments])
            for arm in build_arm_progress(overview.build_overview(study).places)
        ]

    assert read() == [("A", [("finished", 2)]), ("B", [("finished", 2)])]
    Experiment.objects.filter(assignments__arm__name="B").update(status="running", winner=None)
    assert read() == [("A", [("finished", 2)]), ("B", [("taking part", 2)])]
    study.participants.first().assignments.filter(arm__name="B").update(experiment=None)
    assert dict(read())["A"] == [("finished", 2)]


def test_every_kind_of_place_has_one_stage():
    kinds = [kind for own in STAGES.values() for kind in own]
    assert sorted(kinds) == sorted([*overview.KIND_LABELS, "later"])


def test_a_long_list_of_links_is_folded_once_the_study_is_open(staff):
    study = rows.study()
    for number in range(13):
        rows.participant(study, consented=False, label=f"P{number:02d}")
    page = reverse("bench:study", args=[study.pk])
    assert "<details><summary>13 personal links" in staff.get(page).content.decode()
    Study.objects.filter(pk=study.pk).update(status="draft")
    assert "<details open><summary>13 personal links" in staff.get(page).content.decode()


def test_each_step_of_the_wizard_says_what_it_lacks(staff):
    study = Study.objects.create(title="New", consent_text="Purpose. You watch robots and say which is best." * 3)
    rows.arm(study, "A")
    address = reverse("bench:study_step", args=[study.pk, "compare"])
    marks = staff.get(address).context["missing_of"]
    assert marks == {"texts": 1, "end": 2, "compare": 0, "people": 0, "check": 3}
    assert "What they read 1 missing" in text(staff.get(address))
    Study.objects.filter(pk=study.pk).update(contact="ada@example.org")
    page = text(staff.get(address))
    assert "What they read 1 missing" not in page and "When it ends 2 missing" in page


def test_an_open_study_lacks_nothing(staff):
    study = rows.study()
    page = text(staff.get(reverse("bench:study_step", args=[study.pk, "compare"])))
    assert study.status == "open" and "missing" not in page


def test_going_on_meanwhile_is_offered_where_people_answer_pairs(staff):
    study = rows.study(status="draft")
    address = reverse("bench:study_step", args=[study.pk, "people"])
    assert "Go on meanwhile" not in text(staff.get(address))
    Study.objects.filter(pk=study.pk).update(interleaved=True)  # as it was set stays to be seen, and to be unset
    assert "Go on meanwhile" in text(staff.get(address))
    Study.objects.filter(pk=study.pk).update(interleaved=False)
    rows.arm(study, "pairs", method="prefppo", k=1, n=1)
    assert "Go on meanwhile" in text(staff.get(address))
