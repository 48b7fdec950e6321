"""RL-VLM-F: a vision model, behind a real server, answers the pairs of a policy in training."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from tests.llm.faulty import Faulty, completion, serving
from tests.webapp import bench_rows
from tests.webapp.comparison_plans import parse_arm, plan_of
from tests.webapp.dashboard_pages import html
from webapp.comparisons import estimate, planned_queries
from webapp.experiments import headless, loop
from webapp.experiments.models import Experiment, Job, LanguageModel, ModelCall, PairSession, Segment, SegmentPair

pytestmark = pytest.mark.django_db
PLAN = {"task": "Cartpole", "method": "rl_vlm_f", "judge": "proxy", "preset": "quick-sac", "k": 1, "n": 1}
TINY = {"iterations": 12, "worlds": 16}


def get_text(body: dict[str, Any]) -> str:
    said = body["messages"][-1]["content"]
    return said if isinstance(said, str) else str(said[0]["text"])


def count_pictures(body: dict[str, Any]) -> int:
    said = body["messages"][-1]["content"]
    return 0 if isinstance(said, str) else len(said) - 1


def answer(body: dict[str, Any]) -> Any:
    """Of some pairs attempt 1 is better, of the others nothing can be said; no two are described alike."""
    if count_pictures(body):
        return completion(f"In attempt 1 the pole stays up for {zlib.crc32(str(body).encode())} steps")
    return completion("1" if re.search(r"[02468] steps", get_text(body)) else "-1")


@pytest.fixture
def server() -> Iterator[Faulty]:
    with serving(answer) as running:
        yield running


def create(server: Faulty | None = None, **values: Any) -> Experiment:
    eye = None
    if server:
        eye = LanguageModel.objects.create(name="Eye", kind="openai", base_url=server.base_url, model="eye")
    row = Experiment(name="E", **{**PLAN, "vision": eye, **values})
    row.full_clean()
    row.save()
    return row


@pytest.mark.parametrize(
    ("chosen", "refusal"),
    [
        ({}, "A vision model answers the pairs of RL-VLM-F: choose one."),
        ({"judge": "human"}, "a person would only wait for its end"),
        ({"preset": "quick"}, "RL-VLM-F trains with SAC"),
        ({"options": {"segment": 10}}, "has no option 'segment'"),
    ],
)
def test_settings_that_it_cannot_do_with_are_refused(chosen: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValidationError, match=refusal):
        create(**chosen)


def test_the_offline_writer_sees_nothing(server: Faulty) -> None:
    blind = LanguageModel.objects.create(name="Blind", kind="offline")
    with pytest.raises(ValidationError, match="sees no pictures"):
        create(vision=blind)
    assert create(server).pk and create(vision=LanguageModel.objects.get(name="Eye"), judge="model").pk


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("short_trainings")
def test_a_policy_learns_from_what_it_says(server: Faulty, client: Client) -> None:
    row = create(server, options={"queries": 4, "seconds": 1.0, "pictures": 3}, overrides=TINY, status="running")
    headless.run_to_end(row, lambda said: None)
    row.refresh_from_db()
    assert (row.status, row.error) == (Experiment.Status.FINISHED, "")
    winner = row.winner
    assert winner is not None
    pairs = list(SegmentPair.objects.all())
    answers = [pair.answer for pair in pairs]
    assert set(answers) <= {"first", "second", "skip"}
    assert winner.sessions[-1]["labels"] == len(answers) - answers.count("skip")
    assert {session.status for session in PairSession.objects.all()} == {PairSession.Status.ANSWERED}
    looked = [body for body in server.seen if count_pictures(body)]
    assert len(looked) == len(pairs) and len(server.seen) == 2 * len(pairs) == ModelCall.objects.count()
    for body in looked:
        images = [part["image_url"]["url"] for part in body["messages"][-1]["content"][1:]]
        assert len(images) == 6 and "first 3 are of attempt 0" in get_text(body)
        assert all(base64.b64decode(url.partition(",")[2]).startswith(b"\xff\xd8") for url in images)
    assert not Segment.objects.exclude(status="ready").exists()
    client.force_login(bench_rows.create_staff())
    page = html(client.get(reverse("bench:experiment", args=[row.public_id])))
    assert "the vision model Eye answers, from 3 pictures of each segment" in page
    assert "Pairs asked <small>(of the vision model)" in page


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("short_trainings")
def test_a_model_that_fails_fails_the_round_and_a_retry_asks_for_the_rest_alone() -> None:
    broken: list[bool] = []

    def answer_once(body: dict[str, Any]) -> Any:
        if broken and count_pictures(body):
            return 400, {"error": {"message": "no pictures, please"}}
        if not count_pictures(body):
            broken.append(True)
        return completion("0")

    with serving(answer_once) as server:
        row = create(server, options={"queries": 14, "seconds": 1.0}, overrides=TINY, status="running")
        headless.run_to_end(row, lambda said: None)
        row.refresh_from_db()
        assert row.status == Experiment.Status.FAILED and "no pictures, please" in row.error
        assert SegmentPair.objects.exclude(answer="").count() == 1
        paid = ModelCall.objects.count()
        assert loop.retry(row)
        assert Job.objects.get(kind="answer").status == "queued" and ModelCall.objects.count() == paid


def test_a_comparison_holds_it_beside_a_method_that_a_teacher_answers(server: Faulty) -> None:
    eye = LanguageModel.objects.create(name="Eye", kind="openai", base_url=server.base_url, model="eye")
    arms = [parse_arm(f"{name}:queries=150", 6) for name in ("pebble", "rl_vlm_f")]
    plan = plan_of(*arms, vision=eye, experiments=1)
    rows = [plan.experiment(cell) for cell in plan.cells()]
    assert {row.method: row.preset for row in rows} == {"pebble": "quick-sac", "rl_vlm_f": "quick-sac"}
    for row in rows:
        row.full_clean()
    assert [planned_queries.count("Cartpole", arm) for arm in arms] == [150, 150]
    answers = {row.label: row.answers for row in estimate.list_rows(plan)}
    assert [answers[arm.label] for arm in arms] == [0, 300], "two questions about each pair"
