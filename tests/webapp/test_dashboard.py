"""The pages of an experiment on the bench, and who may look."""

import re
from datetime import datetime, timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone

from simulation import catalog
from tests.webapp import bench_rows, fake_workers, rows
from tests.webapp.dashboard_pages import html, page
from tests.webapp.servers import ROOT
from webapp.experiments import loop, request_results
from webapp.experiments.execute import reuse
from webapp.experiments.execute.train import read_outcomes
from webapp.experiments.models import Candidate, Clip, Experiment, Iteration, LanguageModel, ModelCall

pytestmark = pytest.mark.django_db


# --- who may look ---------------------------------------------------------------------------------------------


def test_a_signed_out_live_page_is_sent_to_the_sign_in(client):
    answer = client.get(
        page("live", bench_rows.create_finished_experiment(n=1, clips=False)), headers={"HX-Request": "true"}
    )
    assert answer.status_code == 401 and answer["HX-Refresh"] == "true" and not answer.content


# --- pages ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pages_without_rows(staff):
    index = html(staff.get(reverse("bench:index")))
    assert "Nothing has run here yet" in index
    assert f"Prefine {settings.VERSION}" in index
    assert "HumanoidJump" in html(staff.get(reverse("bench:tasks")))
    for task in ("Ant", "Cartpole", "Humanoid", "HumanoidJump"):
        text = html(staff.get(reverse("bench:task", args=[task])))
        assert "compute_observations" in text and "compute_reward" in text
    assert staff.get(reverse("bench:task", args=["Nonsense"])).status_code == 404
    text = html(staff.get(page("experiment", fake_workers.create_experiment())))
    assert "Not started" in text and page("act", Experiment.objects.get(), "start") in text


@pytest.mark.slow
def test_a_finished_experiment_shows_everything(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2, failed=(1,))
    text = html(staff.get(page("experiment", row)))
    assert all(f'id="open-{n}-{i}"' in text for n in (1, 2) for i in (1, 2, 3))
    assert "Winner of 2 rounds" in text and f"Candidate {row.winner.key}" in text
    assert text.count('class="badge worst"') == 2
    assert "it produced NaN &lt;b&gt;in 3 worlds&lt;/b&gt;" in text
    assert "2 min 3 s" in text and "2 M" in text  # training time, samples
    assert "$0.07" in text  # 6 answers of 1.25 cents
    assert "from <a" in text
    assert "Cancel for good" in text and 'formaction="/bench' in text


@pytest.mark.slow
def test_open_loop_shows_its_rounds_without_parents(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2, method="open_loop")
    text = html(staff.get(page("experiment", row)))
    assert "OpenLoop" in text and f"Candidate {row.winner.key}" in text and "from <a" not in text
    assert "Difference to its parent" not in html(staff.get(page("candidate", row, row.winner.key)))


@pytest.mark.slow
def test_every_state_has_its_words_and_controls(staff):
    row = bench_rows.create_training_experiment()
    text = html(staff.get(page("experiment", row)))
    assert "Round 2 of 3" in text and "40%" in text and "about 2 min left" in text
    assert page("act", row, "pause") in text and page("act", row, "resume") not in text
    row.jobs.filter(status="running").update(progress={})
    assert "Round 2 of 3" in html(staff.get(page("experiment", row)))
    assert "Round 2 of 3" in html(staff.get(page("live", row)))
    html(staff.get(reverse("bench:index")))
    loop.pause(row)
    text = html(staff.get(page("experiment", row)))
    assert page("act", row, "resume") in text and "Resume goes on from the last checkpoint" in text
    Experiment.objects.update(status="failed", paused=False, error="The endpoint answered 401.")
    text = html(staff.get(page("experiment", row)))
    assert "The endpoint answered 401." in text and page("act", row, "retry") in text
    Experiment.objects.update(status="cancelled", error="")
    Candidate.objects.filter(iteration__number=2).update(status="training")
    text = html(staff.get(page("experiment", row)))
    assert "Training stopped" in text and ">stopped<" in text


@pytest.mark.parametrize("kind, number, words", [("Write", 1, "writing in round 1"), ("Choose", None, "picking")])
def test_a_step_that_failed_is_named_though_its_round_has_no_rows(staff, kind, number, words):
    row = fake_workers.create_experiment(status="failed", error="The disk is full.")
    payload = {"iteration": number} if number else {}
    row.requests.create(step=0, kind=kind, fingerprint="f", payload=payload, status="failed")
    assert f"It stopped while {words}.</strong> The disk is full." in html(staff.get(page("experiment", row)))


def test_an_endpoint_that_failed_is_one_step_from_its_test(staff):
    row = fake_workers.create_experiment(status="failed")
    for role, address in (("model", "http://x.example/v1"), ("vision", "http://y.example/v1")):
        setattr(row, role, LanguageModel.objects.create(name=role, kind="openai", base_url=address, model="m"))
    row.error = "Writing rewards for round 1 failed: http://x.example/v1 refuses the API key."
    row.save()
    text = html(staff.get(page("experiment", row)))
    form = reverse("bench:model_edit", args=[row.model_id])
    assert f'<a href="{form}#test-connection">Open model and test its connection</a>' in text
    assert "Open vision" not in text and "data-no-models" not in text
    staff.force_login(User.objects.create(username="eve", is_staff=True))
    text = html(staff.get(page("experiment", row)))
    assert "data-no-models" in text and "Its language model is model: ask somebody who may" in text


@pytest.mark.parametrize(
    "kind, payload, judge, expected",
    [
        ("Write", {}, "proxy", "model"),
        ("Ask", {"role": "describer"}, "proxy", "describer"),
        ("Ask", {"role": "judge"}, "proxy", "model"),
        ("Look", {}, "proxy", "vision"),
        ("Judge", {"candidates": []}, "model", "model"),
        ("Judge", {"candidates": []}, "proxy", ""),
        ("Train", {"candidates": []}, "proxy", ""),
    ],
)
def test_a_failed_step_links_to_the_model_that_it_asks(staff, kind, payload, judge, expected):
    row = fake_workers.create_experiment(status="failed", error="No answer could be used.", judge=judge)
    for role in ("model", "describer", "vision"):
        setattr(row, role, LanguageModel.objects.create(name=role, kind="openai", base_url="http://x/v1", model="m"))
    row.save()
    row.requests.create(step=0, kind=kind, fingerprint="f", payload={"iteration": 1, **payload}, status="failed")
    text = html(staff.get(page("experiment", row)))
    assert re.findall("Open (.*?) and test its connection", text) == ([expected] if expected else [])


@pytest.mark.parametrize("kind", ["Judge", "Choose", "Compare", "Write", "Train", "Ask"])
def test_a_result_that_is_missing_is_named_and_stops_no_page(staff, kind):
    row = fake_workers.create_experiment(status="cancelled", judge="human")
    payload = {"iteration": 1, "candidates": ["1-1", "1-2"]} if kind in ("Judge", "Choose", "Compare") else {}
    row.requests.create(step=0, kind=kind, fingerprint="f", payload=payload, status="done")
    named = f"{kind} of round 1" if payload else kind
    assert f"The result of {named} is missing" in html(staff.get(page("experiment", row)))


@pytest.mark.slow
def test_time_stands_still_after_a_failure_and_in_a_pause(staff):
    row = fake_workers.start_experiment()
    begin = timezone.now() - timedelta(minutes=41)
    fake_workers.do_work(row, until="Write")
    Experiment.objects.update(started_at=begin)
    row.events.update(created_at=begin)
    row.requests.update(created_at=begin)
    request_results.fail(row, "no such key", row.requests.get())
    row.events.filter(kind="failed").update(created_at=begin + timedelta(seconds=23))
    row.requests.update(finished_at=begin + timedelta(seconds=23))

    def read_times():
        text = html(staff.get(page("experiment", row)))
        took = re.search(r"<span>(writing failed after|written in) (\d+) s</span>", text)
        return re.search("<dt>Time</dt><dd>(.*?)</dd>", text)[1], took and (took[1], int(took[2]))

    assert read_times() == ("23 s", ("writing failed after", 23))
    again = timezone.now()
    loop.retry(row)
    since = datetime.fromisoformat(re.search('data-since="(.*?)"', read_times()[0])[1])
    assert again <= since + timedelta(seconds=24) and since + timedelta(seconds=22) <= timezone.now()
    loop.pause(row)
    assert "data-since" not in read_times()[0]
    loop.resume(row)
    fake_workers.finish_request(row, row.requests.get())
    verb, seconds = read_times()[1]
    assert verb == "written in" and 23 <= seconds <= 24 + (timezone.now() - again).total_seconds()
    loop.cancel(row)
    assert "data-since" not in read_times()[0]


@pytest.mark.slow
def test_the_list_shows_the_queues_and_what_runs(staff):
    bench_rows.create_training_experiment()
    loop.start(fake_workers.create_experiment(name="second"))
    text = html(staff.get(reverse("bench:index")))
    assert re.search(r"Training</strong> <span>1 running on host</span>", text)
    assert re.search(r"Writing</strong> <span>0 running, 2 queued, the first <time", text)
    assert re.search(r"Filming</strong> <span>idle", text)
    assert "training 40%, about 2 min left" in text and "half way" in text and "second" in text


@pytest.mark.slow
def test_a_card_has_first_the_score_of_what_its_film_shows(staff):
    row = bench_rows.create_finished_experiment(k=3, n=1)
    Candidate.objects.update(rts=499, final_score=100)
    Candidate.objects.filter(index=2).update(final_score=330)
    Candidate.objects.filter(index=3).update(final_score=660)
    text = html(staff.get(page("experiment", row)))
    card = re.search('<a id="open-1-2".*?</a>', text, re.DOTALL)[0]
    assert card.index(">final 330<") < card.index(">best in training 499<") and 'width="50.0"' in card
    for part in (
        re.search('<section class="champion".*?</section>', text, re.DOTALL)[0],
        html(staff.get(page("candidate", row, "1-3"))),
    ):
        first = part.index("<dt>Final policy <small>(in the film)</small></dt><dd>660</dd>")
        assert first < part.index("<dt>Best in training <small>(RTS)</small></dt><dd>499</dd>")


@pytest.mark.slow
def test_picks_among_equal_scores_are_called_tied(staff, monkeypatch):
    def make_equal_outcomes(request, failed):
        fake_workers.make_outcomes(request, failed)
        Candidate.objects.update(rts=5.0)
        Candidate.objects.filter(index=2).update(rts=4.0)
        return read_outcomes(request)

    monkeypatch.setitem(fake_workers.RESULTS, "Train", make_equal_outcomes)
    row = fake_workers.start_experiment(k=4, n=2)
    fake_workers.do_work(row)
    iteration = row.iterations.get(number=1)
    assert (iteration.best.key, iteration.worst.key, row.winner.key) == ("1-1", "1-2", "1-1")
    said = [event.text for event in row.events.filter(kind="picked")]
    assert said[0] == "Round 1: best 1-1, worst 1-2. Tied in score: 1-1, 1-3, 1-4."
    assert said[-1] == "Winner of winners: 1-1. Tied in score: 1-1, 2-1."
    text = html(staff.get(page("experiment", row)))
    assert "<span>Tied in score: 1-1, 1-3, 1-4.</span>" in text and "Tied in score: 1-1, 2-1." in text
    assert text.count("Best, tied") == 2 and "Worst, tied" not in text
    Experiment.objects.update(judge="human")
    assert "tied" not in html(staff.get(page("live", row))).partition('id="log"')[0]


@pytest.mark.slow
def test_a_training_that_was_copied_names_where_it_comes_from(staff):
    first, row = (
        bench_rows.create_finished_experiment(k=2, n=2, clips=False, name=name) for name in ("first", "other")
    )
    reuse.report(row, row.requests.get(kind="Train", payload__iteration=2), first)
    link = f'taken from <a href="{page("experiment", first)}">first</a>, where an equal training with the same seed'
    for address in (page("experiment", row), page("candidate", row, "2-1")):
        assert html(staff.get(address)).count(link) == 1
    assert "Not trained here" not in html(staff.get(page("candidate", row, "1-1")))
    assert "in first; taken from there" in html(staff.get(page("live", row)))
    first.delete()
    assert "taken from an experiment that was deleted" in html(staff.get(page("experiment", row)))


@pytest.mark.slow
def test_a_round_that_is_filmed_says_how_many_clips_are_there(staff):
    row = bench_rows.create_finished_experiment(k=4, n=1)
    Clip.objects.filter(candidate__index=1).update(status="pending")
    Clip.objects.filter(candidate__index__in=(2, 3)).delete()
    row.jobs.filter(kind="film").update(status="running", progress={"fraction": 0.0})
    text = html(staff.get(page("experiment", row)))
    assert "Filming 50%, 1 of 2 clips" in text and "Done 0%" not in text


def test_waiting_work_is_told_in_words(staff):
    row = fake_workers.create_experiment()
    loop.start(row)
    text = html(staff.get(page("live", row)))
    assert "<strong>Next step</strong>" in text and "Advance" not in text


def test_a_task_shows_its_still_and_its_newest_winner(staff):
    address = reverse("bench:task", args=["Cartpole"])
    page = html(staff.get(address))
    assert "studio/robots/cartpole.jpg" in page and "<video" not in page
    row = bench_rows.create_finished_experiment(k=2, n=1, name="balances")
    page = html(staff.get(address))
    film = row.winner.clips.get(percent=100)
    assert reverse("bench:clip", args=[film.name]) in page and ">balances</a>" in page
    Experiment.objects.update(archived_at=row.finished_at)
    assert "<video" not in html(staff.get(address))


def test_the_presets_of_a_task_have_no_empty_cells(staff):
    text = html(staff.get(reverse("bench:task", args=["Ant"])))
    table = text[text.index("<h2>Presets</h2>") : text.index("Observation source")]
    cells = [cell.strip() for cell in re.findall("<td[^>]*>(.*?)</td>", table)]
    assert len(cells) == 8 * len(catalog.get_task("Ant").presets) and not {"", "×", ","} & set(cells)
    assert "16 batches of 256" in cells and "actor 1 × 128, critic 2 × 512" in cells


def test_every_page_marks_its_place_in_the_navigation():
    texts = {path: path.read_text() for path in (ROOT / "templates/bench").rglob("*.html")}
    pages = [path for path, text in texts.items() if '{% extends "bench/base.html" %}' in text]
    assert len(pages) > 20 and [path.name for path in pages if "{% block at_" not in texts[path]] == ["account.html"]


def test_work_that_nobody_takes_is_said(staff):
    row = fake_workers.create_experiment()
    loop.start(row)
    assert "Is the worker running?" not in html(staff.get(page("experiment", row)))
    row.jobs.update(created_at=timezone.now() - timedelta(minutes=1))
    assert "Is the worker running?" in html(staff.get(page("experiment", row)))


def test_what_holds_work_up_is_said_once_and_instead_of_a_missing_worker(staff):
    row = fake_workers.start_experiment(n=1)
    fake_workers.do_work(row, until="Train")
    minute_ago = timezone.now() - timedelta(minutes=1)
    row.jobs.filter(kind="train").update(error="No disk space on lab", held_up_at=minute_ago, created_at=minute_ago)
    shown = html(staff.get(page("experiment", row)))
    assert shown.count("No disk space on lab") == 1 and "goes on by itself" in shown
    assert "Is the worker running?" not in shown


def test_a_task_without_a_metric_shows_no_scores(staff):
    person = rows.participant(rows.study(task="HumanoidJump"))
    rows.create_round(person)
    text = html(staff.get(page("experiment", person.experiment)))
    assert "HumanoidJump has no hidden metric" in text
    assert "P07" in text


@pytest.mark.slow
def test_the_candidate_page_shows_code_difference_traces_and_conversation(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2)
    text = html(staff.get(page("candidate", row, "2-3")))
    assert "Difference to its parent 1-3" in text and 'class="changed"' in text
    assert "upright" in text and "episode length" in text and "Hidden metric over training" in text
    assert "You write rewards." in text and "Balance the pole." in text and "writer-1" in text
    assert "2 other answers of the round" in text
    panel = html(staff.get(page("candidate", row, "2-3"), headers={"HX-Request": "true"}))
    assert "<html" not in panel and "Difference to its parent" in panel
    assert "Difference to its parent" not in html(staff.get(page("candidate", row, "1-1")))
    for key in ("9-9", "1-9", "nonsense", "1", "1-x", "²-1"):
        assert staff.get(page("candidate", row, key)).status_code == 404


@pytest.mark.slow
def test_code_and_prompts_are_escaped(staff):
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    hostile = "<script>alert(1)</script>"
    first = row.iterations.get().candidates.first()
    first.source = f"def compute_reward():\n    return '{hostile}'"
    first.trace = {hostile: {"samples": [1.0, 2.0]}}
    first.save()
    ModelCall.objects.update(data=bench_rows.make_call(hostile)["data"])
    row.iterations.update(reason=hostile, difference=hostile, tags=[hostile])
    Experiment.objects.update(name=hostile)
    for address in (page("experiment", row), page("candidate", row, "1-1"), reverse("bench:index")):
        text = html(staff.get(address))
        assert hostile not in text and "&lt;script&gt;" in text


@pytest.mark.slow
def test_no_inline_script_or_style(staff):
    row = bench_rows.create_finished_experiment(n=1, failed=(1,))
    for address in (page("experiment", row), page("candidate", row, "1-1"), reverse("bench:index")):
        text = html(staff.get(address))
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
        assert set(re.findall(r"<script(?![^>]*src)([^>]*)>", text)) <= {' type="application/json"'}
        assert not re.search(r'(?:src|href)="(?:https?:)?//', text)


@pytest.mark.slow
def test_the_timeline_has_the_score_of_what_was_picked(staff):
    row = bench_rows.create_finished_experiment(k=3, n=2)
    first = Iteration.objects.get(experiment=row, number=1)
    low = first.candidates.order_by("rts")[0]
    assert low.rts < first.candidates.order_by("-rts")[0].rts
    Iteration.objects.filter(pk=first.pk).update(best=low)
    timeline = re.search(r'<nav class="timeline".*?</nav>', html(staff.get(page("experiment", row))), re.DOTALL)[0]
    picked = re.search(r"best 1-(\d).*?RTS ([\d.]+)", timeline, re.DOTALL)
    assert (int(picked[1]), float(picked[2])) == (low.index, pytest.approx(low.rts, abs=0.01))
