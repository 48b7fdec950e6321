"""Gold pairs: mixed among those of a training, unlike them in nothing that a browser gets, and never learned from."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp import bench_rows, rows
from tests.webapp.exports import write_export
from tests.webapp.pair_answers import answer_all, send
from webapp.archive import erasure, importer
from webapp.bench.studies import reliability
from webapp.experiments.models import Experiment, PairSession, SegmentPair
from webapp.review import gold_pairs, pairs, quality
from webapp.review.models import GoldPair, PairScreening, TrialPlan
from webapp.studies.copying import copy_study
from webapp.studies.models import Participant, Study

pytestmark = [pytest.mark.django_db, pytest.mark.slow]
PLAN = {"task": "Cartpole", "method": "prefppo", "k": 1, "n": 1}


def start_person(label: str = "P07", **options: Any) -> Participant:
    return rows.participant(rows.study(**PLAN, options={"queries": 49} | options), label=label)


def add_gold(study: Study, earlier: PairSession, count: int = 1, each: int = 1) -> list[GoldPair]:
    """Gold pairs of the pairs of an earlier session; the first segment is the better one."""
    TrialPlan.objects.update_or_create(study=study, defaults={"gold_pairs": each})
    return [GoldPair.objects.create(study=study, better=p.first, worse=p.second) for p in earlier.pairs.all()[:count]]


def start_with_gold(each: int = 7, count: int = 7, **options: Any) -> tuple[Participant, PairSession]:
    """A person in their first session of seven pairs, with gold pairs from somebody else's."""
    earlier = rows.open_pairs(start_person("P01", **options), pairs=count)
    person = start_person("P02")
    add_gold(person.study, earlier, count, each)
    return person, rows.open_pairs(person, pairs=7)


def follow_places(person: Participant, answer: str = "left") -> list[bool]:
    """Answer all; for each pair in order, whether it was a gold one."""
    tokens = answer_all(person, answer)
    return [PairScreening.objects.get(token=token).pair_id is None for token in tokens]


def test_they_are_spread_over_the_pairs_that_a_person_answers() -> None:
    draw = random.Random(1)
    for _ in range(50):
        places = gold_pairs.plan_places(7, 49, draw)
        assert [place // 7 for place in places] == list(range(7))
    assert gold_pairs.plan_places(0, 49, draw) == []


def test_each_session_of_a_person_has_its_part_and_the_count_never_jumps() -> None:
    person, session = start_with_gold()
    told = send(person)
    counts = [(told["done"], told["total"])]
    while told["pairs"]:
        told = send(person, (told["pairs"][0]["token"], "left"))
        counts.append((told["done"], told["total"]))
    assert counts == [(done, 8) for done in range(9)]
    golds = PairScreening.objects.filter(mixed_into=session)
    assert golds.count() == 1 and SegmentPair.objects.filter(session=session).count() == 7
    places = list(PairScreening.objects.filter(participant=person).values_list("pair", flat=True))
    assert places[-1] is not None, "it comes among the others, not after them"
    follow_up = rows.open_pairs(person, pairs=7, session=2)
    PairSession.objects.filter(pk=session.pk).update(status=PairSession.Status.ANSWERED)
    assert follow_places(person).count(True) == 1
    assert PairScreening.objects.get(mixed_into=follow_up).gold_id != golds.get().gold_id


def test_a_gold_pair_looks_like_every_other(client: Client) -> None:
    person, _ = start_with_gold()
    told = send(person)
    seen: dict[bool, list[set[str]]] = {True: [], False: []}
    while told["pairs"]:
        (pair, *_), gold = told["pairs"], PairScreening.objects.get(token=told["pairs"][0]["token"]).pair_id is None
        assert set(pair) == {"token", "left", "right", "left_still", "right_still"}
        answers = [client.get(pair[side]) for side in ("left", "right")]
        assert len({answer.headers["Content-Length"] for answer in answers}) == 1
        seen[gold].append(set(answers[0].headers))
        told = send(person, (pair["token"], "left"))
    assert len(seen[True]) == 1 and all(headers == seen[True][0] for headers in seen[False])


def test_nothing_is_learned_from_them_and_a_session_does_not_wait_for_them(without_undo: None) -> None:
    person, session = start_with_gold()
    told = send(person)
    while told["pairs"]:
        shown = [pair["token"] for pair in told["pairs"]]
        own = [token for token in shown if PairScreening.objects.get(token=token).pair_id is not None]
        if not own:
            break
        told = send(person, (own[0], "equal"))
    assert told["done"] == 7 and told["total"] == 8
    assert pairs.settle_due_sessions() == 1
    assert set(session.pairs.values_list("answer", flat=True)) == {"equal"}
    assert not GoldPair.objects.filter(better__session=session).exists()


def test_answers_are_judged_by_what_is_known_and_flagged() -> None:
    person, session = start_with_gold()
    answer_all(person)
    row = PairScreening.objects.get(mixed_into=session)
    PairScreening.objects.filter(pk=row.pk).update(answer="second")
    found = quality.assess_study(person.study)[person]
    assert (found.pairs, found.skipped, found.gold_pairs) == (7, 0, (False,))
    assert found.flags == ("failed 1 of 1 gold pairs",)
    PairScreening.objects.filter(pk=row.pk).update(answer="skip")
    assert quality.assess_study(person.study)[person].gold_pairs == ()
    answers = reliability.read_answers(person.study)
    assert answers.pairs is not None and (answers.pairs.count, answers.pairs.skipped) == (7, 0)
    said = {line[0] for line in reliability.build_summary_table(person.study, answers).rows}
    assert {"answers to pairs", "seconds to the answer of a pair, median"} <= said


def test_only_pairs_that_look_alike_and_are_new_to_the_person_are_shown() -> None:
    person, _ = start_with_gold(seconds=5.0)
    assert follow_places(person).count(True) == 0, "segments of another length would stand out"
    GoldPair.objects.all().delete()
    again = rows.open_pairs(person, pairs=7, session=2)
    add_gold(person.study, PairSession.objects.get(request__experiment=person.experiment, number=1), 7, each=7)
    PairSession.objects.filter(number=1, request__experiment=person.experiment).update(status="answered")
    assert follow_places(person).count(True) == 0 and again.pairs.exclude(screenings=None).count() == 7


def test_answers_to_a_gold_pair_that_is_removed_are_kept_and_no_longer_right_or_wrong() -> None:
    person, session = start_with_gold()
    answer_all(person)
    GoldPair.objects.all().delete()
    (kept,) = PairScreening.objects.filter(mixed_into=session)
    assert kept.answer and kept.gold_id is None and quality.is_gold_right(kept) is None
    assert Client().get(reverse("pair_video", args=[kept.token, "left"])).status_code == 404
    PairScreening.objects.filter(pk=kept.pk).update(answer="")
    assert send(person)["total"] == 7


def test_an_experimenter_chooses_them_by_stills() -> None:
    earlier = rows.open_pairs(start_person("P01"), pairs=2)
    study = start_person("P02").study
    staff = Client()
    staff.force_login(bench_rows.create_staff())
    address = reverse("bench:study_gold_pairs", args=[study.pk])
    page = staff.get(address).content.decode()
    first, second = list(earlier.segments.all())[:2]
    assert reverse("bench:poster", args=[first.name]) in page
    assert "Choose one better and one worse video." in staff.post(address, {"better": first.pk}).content.decode()
    assert staff.post(address, {"better": first.pk, "worse": second.pk}).status_code == 302
    gold = GoldPair.objects.get()
    assert (gold.study, gold.better, gold.worse) == (study, first, second)
    assert staff.post(address, {"better": first.pk, "worse": first.pk}).status_code == 200
    other = rows.open_pairs(start_person("P03"), pairs=1)
    Experiment.objects.filter(pk=other.request.experiment_id).update(task="Ant")
    fields = {"better": first.pk, "worse": other.segments.all()[0].pk}
    assert "Both must be of one task" in staff.post(address, fields).content.decode()
    assert copy_study(study).gold_pairs.count() == 1
    assert staff.post(address, {"remove": gold.pk}).status_code == 302 and study.gold_pairs.count() == 0


def test_the_export_says_who_was_right(tmp_path: Path) -> None:
    person, _ = start_with_gold()
    answer_all(person)
    package = write_export(person.study, tmp_path / "export.zip")
    lines = list(csv.DictReader(io.StringIO(package.read("pairs.csv").decode())))
    golds = [line for line in lines if line["pair"] == ""]
    assert len(lines) == 8 and len(golds) == 1
    row = PairScreening.objects.get(pair=None)
    assert golds[0]["gold"] == ("right" if row.answer == "first" else "wrong")
    assert golds[0]["counted"] == "0" and golds[0]["side"] == "A" and golds[0]["learned"] == ""


def test_erasure_takes_gold_pairs_of_the_films_that_go() -> None:
    person, _ = start_with_gold()
    answer_all(person)
    owner = Participant.objects.get(label="P01")
    erased = erasure.erase(owner)
    assert erased.counts["gold_pairs"] == 7 and not GoldPair.objects.exists()
    assert PairScreening.objects.get(pair=None, participant=person).answer
    assert quality.assess_study(person.study)[person].gold_pairs == ()
    erasure.erase(person)
    assert not PairScreening.objects.exists()


@pytest.mark.parametrize("own", [True, False])
def test_an_import_brings_their_answers_back(tmp_path: Path, own: bool) -> None:
    """A gold pair whose films are of another study stays there; answers to it are neither right nor wrong here."""
    if own:
        study = rows.study(**PLAN, options={"queries": 49})
        earlier = rows.open_pairs(rows.participant(study, label="P01"), pairs=7)
        person = rows.participant(study, label="P02")
        add_gold(study, earlier, 7, each=7)
        rows.open_pairs(person, pairs=7)
    else:
        person, _ = start_with_gold()
    answer_all(person)
    right = quality.assess_study(person.study)[person].gold_pairs
    write_export(person.study, tmp_path / "export.zip")
    copy = importer.restore(tmp_path / "export.zip", "ada")
    assert copy.gold_pairs.count() == (7 if own else 0)
    (found,) = (one for who, one in quality.assess_study(copy).items() if who.label == person.label)
    assert found.gold_pairs == (right if own else ()) and len(right) == 1 and found.pairs == 7
    assert bool(PairScreening.objects.get(participant__study=copy, pair=None).gold_id) == own


def test_what_an_earlier_session_left_over_is_spread_over_the_next() -> None:
    assert gold_pairs._spread_leftovers([-5, -2, 3, 20], share=10) == [2, 3, 7, 20]
    assert gold_pairs._spread_leftovers([1, 4], share=6) == [1, 4] and gold_pairs._spread_leftovers([], share=6) == []


def test_one_that_was_shown_and_not_answered_comes_in_the_next_session() -> None:
    person, session = start_with_gold()
    send(person)
    for row in PairScreening.objects.filter(participant=person, pair__isnull=False):
        row.answer = "first"
        row.save()
    PairScreening.objects.filter(participant=person, pair=None).delete()
    gold_pairs.offer(person, session, person.study.gold_pairs.all()[0])
    session.status = "answered"
    session.save()
    following = rows.open_pairs(person, pairs=7, session=2)
    assert gold_pairs.find_due(person, following, 49), "it counts as not given"
