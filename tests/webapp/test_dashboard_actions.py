"""What the pages of an experiment do: charts, live updates, actions, downloads; what they cost, and their words."""

import io
import uuid
import zipfile
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.webapp import bench_rows, fake_workers
from tests.webapp.dashboard_pages import html, page, versions
from webapp.base.store import store
from webapp.bench.experiments import event_log
from webapp.bench.templatetags.bench import compact, duration, left, score
from webapp.experiments import events, loop
from webapp.experiments.kinds import train
from webapp.experiments.models import Clip, Experiment, ModelCall, Run

pytestmark = pytest.mark.django_db


# --- charts ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_charts_come_as_svg_and_csv(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2)
    wanted = [page("rounds_figure", row, e) for e in ("svg", "csv")]
    slugs = ("metric", "components", "component-upright")
    wanted += [page("candidate_figure", row, "1-2", slug, e) for slug in slugs for e in ("svg", "csv")]
    for address in wanted:
        answer = staff.get(address)
        text = html(answer)
        assert "attachment" in answer["Content-Disposition"]
        assert text.startswith("<svg" if address.endswith("svg") else "chart,series")
    rounds = html(staff.get(page("rounds_figure", row, "csv")))
    assert "best of the round,round,1.0,RTS (episode duration in steps),12.0" in rounds
    for slug, ending in (("nonsense", "svg"), ("metric", "png")):
        assert staff.get(page("candidate_figure", row, "1-2", slug, ending)).status_code == 404


# --- live -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_live_sends_only_what_changed(staff):
    row = bench_rows.create_training_experiment()
    have = [f"{name}.{version}" for name, version in versions(html(staff.get(page("experiment", row))))]
    assert len(have) == len(set(have)) >= 6 + 2 + 6
    assert html(staff.get(page("live", row), {"have": have})) == ""

    job = row.jobs.get(kind="train", status="running")
    job.progress["candidates"][1]["fraction"] = 0.9
    job.save()
    changed = html(staff.get(page("live", row), {"have": have}))
    assert [name for name, _ in versions(changed)] == ["c2-2"]
    assert 'hx-swap-oob="true"' in changed and "90%" in changed


@pytest.mark.slow
def test_live_sends_all_rounds_when_there_is_a_new_candidate(staff):
    row = bench_rows.create_training_experiment()
    have = [f"{name}.{version}" for name, version in versions(html(staff.get(page("experiment", row))))]
    row.iterations.get(number=2).candidates.create(index=9, source="x")
    names = [name for name, _ in versions(html(staff.get(page("live", row), {"have": have})))]
    assert names.count("rounds") == names.count("c2-9") == names.count("c1-1") == 1


@pytest.mark.slow
def test_the_log_is_filtered_by_text_and_kind(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2, clips=False)
    text = html(staff.get(page("live", row), {"q": "round 2"}))
    assert "Round 2: 3 rewards written" in text and "Round 1: 3 rewards written" not in text
    text = html(staff.get(page("live", row), {"kind": "picked"}))
    assert "Winner of winners" in text and "rewards written" not in text
    assert "No events to show." in html(staff.get(page("live", row), {"q": "nonsense"}))
    assert "locked" not in event_log.list_event_kinds(row)
    events.emit(row, "judge", "Round 3: choose the best and the worst")
    text = html(staff.get(page("live", row), {"q": "asked to"}))
    assert ">asked to judge<" in text and ">judge<" not in text


# --- what it does ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_actions_go_through_the_loop(staff):
    row = fake_workers.create_experiment()

    def act(action):
        text = html(staff.post(page("act", row, action), follow=True))
        row.refresh_from_db()
        return text

    assert "Started." in act("start") and row.status == "running"
    assert "Nothing was changed." in act("start")
    assert "Paused." in act("pause") and row.paused
    assert "Resumed." in act("resume") and not row.paused
    Experiment.objects.update(status="failed")
    assert "Going on from the step that failed." in act("retry") and row.status == "running"
    text = act("cancel")
    assert "Cancelled." in text and row.status == "cancelled"
    assert "cancelled before the first candidates were written" in text and "as soon as they are written" not in text
    assert "It has ended already." in act("cancel")
    assert staff.post(page("act", row, "explode")).status_code == 404
    assert staff.get(page("act", row, "cancel")).status_code == 405
    assert staff.post(reverse("bench:act", args=[uuid.uuid4(), "pause"])).status_code == 404


@pytest.mark.parametrize("action", ["start", "pause", "cancel", "close"])
def test_an_action_on_what_was_deleted_a_moment_ago_says_so(staff, monkeypatch, action):
    row, lock = fake_workers.create_experiment(), loop.lock

    def late(pk):
        Experiment.objects.filter(pk=pk).delete()
        return lock(pk)

    monkeypatch.setattr(loop, "lock", late)
    assert "Somebody has just deleted this experiment" in html(staff.post(page("act", row, action), follow=True))


@pytest.mark.slow
def test_a_failed_clip_is_filmed_again(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1)
    clip = Clip.objects.first()
    Clip.objects.filter(pk=clip.pk).update(status="failed", error="no OpenGL")
    assert "no OpenGL" in html(staff.get(page("experiment", row)))
    assert "is being filmed again" in html(staff.post(reverse("bench:refilm", args=[clip.pk]), follow=True))
    clip.refresh_from_db()
    assert clip.status == "pending" and row.jobs.filter(kind="film", status="queued").exists()
    assert "did not fail" in html(staff.post(reverse("bench:refilm", args=[clip.pk]), follow=True))


@pytest.mark.django_db(transaction=True)
async def test_clips_come_in_ranges(async_client):
    from asgiref.sync import sync_to_async

    row = await sync_to_async(bench_rows.create_finished_experiment)(k=2, n=1)
    await async_client.aforce_login(await sync_to_async(bench_rows.create_staff)())
    clip = await Clip.objects.filter(candidate__iteration__experiment=row).afirst()
    answer = await async_client.get(reverse("bench:clip", args=[clip.name]), headers={"Range": "bytes=0-99"})
    assert answer.status_code == 206 and answer["Content-Type"] == "video/mp4"
    assert len(b"".join([chunk async for chunk in answer])) == 100
    answer = await async_client.get(reverse("bench:poster", args=[clip.name]))
    assert answer["Content-Type"] == "image/jpeg" and b"".join([chunk async for chunk in answer])[:2] == b"\xff\xd8"
    answer = await async_client.get(reverse("bench:clip", args=[uuid.uuid4()]))
    assert answer.status_code == 404


@pytest.mark.slow
def test_a_winner_is_downloaded_where_its_policy_is_kept(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    address = reverse("bench:download_winner", args=[row.public_id])
    assert staff.get(address).status_code == 404 and address not in html(staff.get(page("experiment", row)))
    request, position = train.find_training(row, row.winner.key)
    store.publish(f"{request.run_key}/checkpoints/policies/{position}.pt", b"weights")
    assert address in html(staff.get(page("experiment", row)))
    with zipfile.ZipFile(io.BytesIO(staff.get(address).content)) as archive:
        held = {Path(name).name: archive.read(name).decode() for name in archive.namelist()}
    assert held["policy.pt"] == "weights" and held["reward.py"] == row.winner.source
    assert row.winner.key in held["README.txt"] and "load_policy" in held["run.py"]


# --- cost -----------------------------------------------------------------------------------------------------


def queries(staff, address):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        html(staff.get(address))
    return len(captured)


@pytest.mark.slow
def test_queries_do_not_grow_with_the_rounds(staff):
    small, large = (
        bench_rows.create_finished_experiment(k=2, n=1, clips=False),
        bench_rows.create_finished_experiment(k=6, n=5, clips=False, name="large"),
    )
    staff.get(reverse("bench:tasks"))  # the first page of a session notes when it was used
    for name, most in (("experiment", 35), ("live", 32)):
        few, many = queries(staff, page(name, small)), queries(staff, page(name, large))
        assert many <= few <= most, name
    assert queries(staff, page("candidate", large, "5-6")) <= 14


# --- words ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seconds, text",
    [
        (None, "–"),
        ("", "–"),
        (0, "0 s"),
        (0.42, "0.4 s"),
        (42, "42 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "seconds, text",
    [(None, ""), (1, "about 5 s left"), (43, "about 45 s left"), (95, "about 2 min left"), (5400, "about 1.5 h left")],
)
def test_time_left_is_as_coarse_as_it_is_known(seconds, text):
    assert left(seconds) == text


def test_numbers():
    assert [compact(v) for v in (None, 0, 9_999, 12_345, 4_500_000, 2e9)] == [
        "–",
        "0",
        "9 999",
        "12.3 k",
        "4.5 M",
        "2 G",
    ]
    assert [score(v) for v in (None, 0.0, 0.52, 12.345, 499.0, 1234.5)] == ["–", "0", "0.520", "12.3", "499", "1234"]


@pytest.mark.slow
def test_what_the_store_cost_a_training_is_shown(staff):
    row = bench_rows.create_finished_experiment(clips=False)
    assert "Waited for the store" not in html(staff.get(page("candidate", row, "1-1")))
    Run.objects.update(store_seconds=7.0, store_bytes=8 << 20)
    shown = html(staff.get(page("candidate", row, "1-1")))
    assert "Waited for the store" in shown and "7.0 s, 8.0\xa0MB uploaded" in shown


@pytest.mark.slow
def test_a_candidate_that_nobody_had_to_look_at_is_not_promised_a_clip(staff):
    row = bench_rows.create_finished_experiment(k=4, n=1, clips=False)
    said = staff.get(reverse("bench:experiment", args=[row.public_id])).content.decode()
    assert said.count("Not filmed") == 2 and said.count("To be filmed") == 2  # neither best nor worst; those two
    page = staff.get(reverse("bench:candidate", args=[row.public_id, "1-2"])).content.decode()
    assert "Not filmed" in page and "No clip yet" not in page


def test_a_reply_with_a_very_long_sum_is_shown_like_any_other(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    source = f"def compute_reward(dof_pos):\n    return {' + '.join(['1.0'] * 1500)}, {{}}"
    call = ModelCall.objects.filter(request__experiment=row).earliest("seed")
    call.data = {**call.data, "text": f"```python\n{source}\n```"}
    call.save()
    page = staff.get(reverse("bench:candidate", args=[row.public_id, "1-1"]))
    assert page.status_code == 200 and "1.0 + 1.0 + 1.0" in page.content.decode()
