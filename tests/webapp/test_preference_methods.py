"""Experiments whose policy learns its reward from answers about pairs: settings, training, figures, pages."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from llm.replay import read_record, replay
from simulation import catalog
from tests.webapp import bench_rows
from tests.webapp.dashboard_pages import html
from tests.webapp.exports import Opened
from tests.webapp.fake_workers import create_experiment, do_work, find_open_requests
from tests.webapp.forms import experiment_form
from trainer.preferences.algorithms import Preferences
from trainer.preferences.session_figures import write_sessions
from webapp.base.store import store
from webapp.comparisons import experiment_results, planned_queries, published, report
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.plan import Cell, Plan
from webapp.comparisons.plan_warnings import list_warnings
from webapp.experiments import headless, loop, repeating
from webapp.experiments.execute.train import build_job, find_candidates, save_sessions
from webapp.experiments.figures import complete_sessions, make_metric_sums_chart, make_sessions_chart
from webapp.experiments.models import Candidate, Clip, Experiment

pytestmark = pytest.mark.django_db
TINY = {"iterations": 12, "worlds": 16}


def check(**settings: Any) -> str:
    """What is wrong with an experiment of these settings, by field."""
    given = {"name": "E", "task": "Cartpole", "method": "prefppo", "judge": "proxy", "k": 1, "n": 1, **settings}
    try:
        Experiment(**given).full_clean()
    except ValidationError as error:
        return "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
    return ""


@pytest.mark.parametrize(
    ("chosen", "refusal"),
    [
        ({}, ""),
        ({"method": "pebble", "preset": "quick-sac"}, ""),
        ({"preset": "quick-sac"}, "preset: PrefPPO trains with PPO: choose “Quick: PPO, two CPU cores” or “Paper: PPO"),
        ({"method": "pebble"}, "preset: PEBBLE trains with SAC: choose “Quick with SAC: small tasks”"),
        ({"method": "surf", "task": "Ant"}, "preset: SURF trains with SAC: choose “Paper with SAC"),
        ({"judge": "model"}, "judge: A language model does not answer the pairs of PrefPPO"),
        ({"judge": "human"}, ""),
        ({"k": 2}, "k: PrefPPO trains at most 1 at once."),
        (
            {"method": "pebble", "preset": "quick-sac", "shared_experience": True},
            "shared_experience: PEBBLE trains one policy",
        ),
    ],
)
def test_settings_that_cannot_learn_from_pairs_are_refused(chosen: dict[str, Any], refusal: str) -> None:
    said = check(**chosen)
    assert said.startswith(refusal) and bool(said) == bool(refusal)


def test_the_form_says_which_settings_a_method_needs(staff: Client) -> None:
    add, values = reverse("bench:experiment_new"), {"task": "Cartpole", "method": "pebble", "k": 1, "n": 1}
    page = staff.post(add, experiment_form(**values)).text
    assert "PEBBLE trains with SAC: choose “Quick with SAC: small tasks”" in page
    assert not Experiment.objects.exists()
    assert staff.post(add, experiment_form(**values, preset="quick-sac")).status_code == 302
    assert Experiment.objects.get().model is None


def test_the_teacher_errs_as_the_judges_options_say_and_compares_the_human_reward() -> None:
    options = {"queries": 150, "segment": 25, "selection": "entropy"}
    row = create_experiment(method="prefppo", k=1, n=1, options=options, judge_options={"mistake": 0.1, "equal": 0.05})
    loop.start(row)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    job = build_job(row, request, find_candidates(request))
    assert job.sources == (catalog.read_reference_reward("Cartpole"),)
    assert job.preferences == (Preferences("prefppo", 150, "reward", 25, "entropy", mistake=0.1, equal=0.05),)


def test_an_experiment_without_pairs_trains_as_before() -> None:
    row = create_experiment(k=2, n=1)
    loop.start(row)
    do_work(row, until="Train")
    (request,) = find_open_requests(row)
    candidates = find_candidates(request)
    job = build_job(row, request, candidates)
    assert job.preferences == ()
    assert job.sources == tuple(candidate.source for candidate in candidates) and all(job.sources)


def run_to_end(method: str = "prefppo", **values: Any) -> Experiment:
    row = create_experiment(method=method, k=1, n=1, **values)
    row.full_clean()
    loop.start(row)
    headless.run_to_end(row, lambda said: None)
    row.refresh_from_db()
    assert (row.error, row.status) == ("", Experiment.Status.FINISHED)
    return row


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("short_trainings")
def test_headless_to_a_policy_a_film_and_a_replayable_record() -> None:
    row = run_to_end(overrides=TINY, options={"segment": 20})
    winner = row.winner
    assert winner is not None and winner.source == "" and winner.rts is not None
    assert replay(read_record(headless.save_record(row))).candidate == "1-1"
    assert not any(request.calls.exists() for request in row.requests.all()), "a language model was asked"
    assert Clip.objects.get(candidate=winner, percent=100).status == "ready"
    sessions = winner.sessions
    assert sessions[-1]["labels"] == sum(one["asked"] - one["skipped"] for one in sessions) == 49
    request = row.requests.get()
    with store.open(f"{request.run_key}/preferences/0.csv") as file:
        saved = list(csv.DictReader(file.read().decode().splitlines()))
    assert [int(line["asked"]) for line in saved] == [one["asked"] for one in sessions]
    assert repeating.explain_retraining_refusal(row).startswith("Its policy learned its reward from answers")


def test_the_command_line_takes_the_settings_of_the_methods_algorithm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="PEBBLE trains with SAC: choose “Paper with SAC"):
        call_command("run_experiment", task="Ant", method="pebble")
    monkeypatch.setattr(headless, "run_to_end", lambda row, report: do_work(row))
    monkeypatch.setattr(headless, "end_on_signals", lambda: None)
    call_command("run_experiment", task="Cartpole", method="pebble", iterations=1)
    assert Experiment.objects.get().preset == "quick-sac"
    assert "No program, and no answer about a pair" in capsys.readouterr().out


# --- pages and files ------------------------------------------------------------------------------------------

SORTED = {"left_out": 5, "turned": 3}


@pytest.mark.slow
def test_pages_show_sessions_and_speak_of_no_program_and_no_writer(staff: Client) -> None:
    row = bench_rows.create_learned_experiment(judge_options={"mistake": 0.1})
    for address in (f"/bench/{row.public_id}/", f"/bench/{row.public_id}/1-1/"):
        page = html(staff.get(address))
        assert "No program: this policy learned its reward from 49 answers about pairs of its segments." in page
        assert "Reward model by session" in page and ">75%</td>" in page and ">42</td>" in page
        assert "Segments of session 2" in page and "up to fifty of the last ones are drawn" in page
        assert "Segments of session 2, by the metric" in page and 'data-label="With the metric">-0.982<' in page
        for words in ("writer:", "Conversation", "conversation", "<h2>Code", "Retrain the winner", "Next round"):
            assert words not in page
    page = html(staff.get(f"/bench/{row.public_id}/"))
    assert "49 answers about pairs of segments of 50 steps" in page
    assert "a simulated teacher compares the task&#x27;s human-written reward, with mistake 0.1" in page
    assert "<dd>51</dd>" in page, "pairs asked"
    assert 'data-label="Right on held-out answers">88%<' in page and "which the teacher gives" in page
    numbers = staff.get(f"/bench/{row.public_id}/1-1/sessions.csv").content.decode()
    assert "right on new answers" in numbers and "0.75" in numbers
    assert 'right on held-out answers,answers,49.0,"share, correlation",0.875' in numbers
    points = staff.get(f"/bench/{row.public_id}/1-1/sums.csv").content.decode()
    assert '12.0,"learned sum, before it learned",0.5' in points and "34.0," in points
    beside = staff.get(f"/bench/{row.public_id}/1-1/metric-sums.csv").content.decode()
    assert '4.0,"learned sum, before it learned",0.0' in beside and beside.count("segments,") == 3, "known of three"
    Candidate.objects.update(sessions=[one | {"points": [], "held_out": None} for one in row.winner.sessions])
    page = html(staff.get(f"/bench/{row.public_id}/"))
    assert "Right on held-out" not in page and "so that they are held out, those of the last session too" in page
    assert "Segments of session" not in page and "up to fifty" not in page and "With the metric" not in page


def test_the_metric_is_drawn_where_it_says_more_than_the_true_sums() -> None:
    session = asdict(bench_rows.SESSIONS[1])
    same = session | {"metrics": [true for _, true in session["points"]]}
    earlier = {name: value for name, value in session.items() if name != "metrics"}
    drawn = [not make_metric_sums_chart([one]).empty for one in (session, same, earlier)]
    assert drawn == [True, False, False]
    series = [[one.name for one in make_sessions_chart([of]).series] for of in (session, same, earlier)]
    assert ["correlation with the metric" in names for names in series] == drawn
    correlations = [complete_sessions([one])[0]["metric_correlation"] for one in (session, same, earlier)]
    assert correlations == [pytest.approx(-0.982, abs=1e-3), pytest.approx(-0.808, abs=1e-3), None]
    few, equal = ({"metrics": known} for known in ([1.0, None, None, 2.0], [1.0] * 4))
    assert [complete_sessions([session | one])[0]["metric_correlation"] for one in (few, equal)] == [None, None]
    assert make_metric_sums_chart([session | few]).empty, "two points are no scatter"


@pytest.mark.slow
def test_a_page_counts_the_answers_that_were_not_trusted(staff: Client) -> None:
    row = bench_rows.create_learned_experiment(method="rime", preset="quick-sac")
    address = f"/bench/{row.public_id}/"
    assert "Turned round" not in html(staff.get(address))
    sessions = [{**session, **SORTED} for session in row.winner.sessions]
    Candidate.objects.update(sessions=sessions)
    page = html(staff.get(address))
    assert "Turned round" in page and re.search(r">5</td><td[^>]*>3</td>", page)


@pytest.mark.slow
def test_a_share_of_right_answers_is_a_dash_where_none_prefers_a_segment(staff: Client) -> None:
    row = bench_rows.create_learned_experiment()
    address, dash = f"/bench/{row.public_id}/", "A dash in “Right on those learned from”"
    assert dash not in html(staff.get(address))
    first, second = row.winner.sessions
    all_equal = {"asked": 7, "equal": 7, "skipped": 0, "labels": 7, "accuracy": 1.0}  # as earlier versions saved it
    Candidate.objects.update(sessions=[first | all_equal, second])
    page = html(staff.get(address))
    assert dash in page and "100%" not in page.partition("<h2>Reward model")[2].partition("</table>")[0]
    rows = staff.get(f"/bench/{row.public_id}/1-1/sessions.csv").content.decode().splitlines()
    assert not any(line.startswith("right on those learned from,7") for line in rows), rows


LATE = "The metric of Cartpole is known only where an episode ends."


@pytest.mark.parametrize(
    ("values", "warns"),
    [
        ({"options": {"truth": "metric"}}, True),
        ({"options": {"truth": "metric", "segment": 0}}, False),
        ({"options": {"truth": "metric", "segment": 500}}, False),
        ({}, False),
        ({"task": "Ant", "options": {"truth": "metric"}}, False),
    ],
)
def test_a_draft_warns_of_a_metric_that_is_known_at_the_end_alone(
    staff: Client, values: dict[str, Any], warns: bool
) -> None:
    row = create_experiment(**{"method": "prefppo", "k": 1, "n": 1, **values})
    assert (LATE in html(staff.get(f"/bench/{row.public_id}/"))) is warns


def test_a_plan_warns_of_a_metric_that_is_known_at_the_end_alone() -> None:
    arms = tuple(parse_arm(arm, 30) for arm in ("icpl", "prefppo:truth=metric"))
    plan = Plan(("Cartpole", "Ant"), arms, experiments=1, candidates=30)
    assert [words.startswith(LATE) for words in list_warnings(plan)] == [True]


def test_a_page_shows_sessions_while_the_policy_trains(staff: Client, tmp_path: Path) -> None:
    row = create_experiment(method="prefppo", k=1, n=1)
    loop.start(row)
    do_work(row, until="Train")
    address, (candidate,) = f"/bench/{row.public_id}/", Candidate.objects.all()
    assert "learns its reward from answers about pairs of its segments." in html(staff.get(address))
    write_sessions(tmp_path, 0, bench_rows.SESSIONS[:1])
    save_sessions(tmp_path, [candidate])
    page = html(staff.get(address))
    assert "segments, so far from 7." in page and "Reward model by session" in page


@pytest.mark.slow
def test_other_experiments_say_nothing_of_sessions(staff: Client) -> None:
    row = bench_rows.create_finished_experiment(k=2, n=1, clips=False)
    page = html(staff.get(f"/bench/{row.public_id}/"))
    assert "writer:" in page and "What the policy learned from answers" not in page
    assert staff.get(f"/bench/{row.public_id}/1-1/sessions.csv").status_code == 404


def test_a_draft_says_what_start_does_without_a_language_model(staff: Client) -> None:
    row = create_experiment(method="surf", k=1, n=1, preset="quick-sac", options={"segment": 0, "truth": "metric"})
    page = html(staff.get(f"/bench/{row.public_id}/"))
    assert "which learns its reward from 49 answers about pairs of whole episodes" in page
    assert "No language model is asked: a simulated teacher compares the hidden metric." in page


def test_the_winner_is_downloaded_without_a_reward(staff: Client) -> None:
    row = bench_rows.create_learned_experiment()
    content = staff.get(f"/bench/{row.public_id}/winner.zip").content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = {Path(name).name for name in archive.namelist()}
        (readme,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("README.txt"))
    assert names == {"README.txt", "policy.pt", "run.py"}
    assert "learned its reward from 49 answers" in readme and "reward.py" not in readme


@pytest.mark.slow
def test_an_export_has_the_sessions_and_no_empty_program(staff: Client) -> None:
    row = bench_rows.create_learned_experiment()
    package = Opened(io.BytesIO(staff.post(f"/bench/data/experiment/{row.public_id}/").content))
    names = set(package.namelist())
    assert {
        "preferences/1/1-1.csv",
        *(f"figures/experiment-1-1-1-{slug}.svg" for slug in ("sessions", "sums", "metric-sums")),
    } <= names
    assert "right on new answers" in package.read("figures/experiment-1-1-1-sessions.csv").decode()
    assert not [name for name in names if name.startswith("code/")]


# --- comparisons ----------------------------------------------------------------------------------------------


def plan_of(*arms: str, **values: Any) -> Plan:
    return Plan(("Cartpole",), tuple(parse_arm(arm, 30) for arm in arms), experiments=1, candidates=30, **values)


@pytest.mark.parametrize(
    ("arm", "queries"),
    [("icpl", 49), ("prefppo", 49), ("pebble:queries=150", 150), ("eureka", 0), ("open_loop:k=5", 47)],
)
def test_a_plan_says_how_many_queries_an_arm_asks(arm: str, queries: int) -> None:
    assert planned_queries.count("Cartpole", parse_arm(arm, 30)) == queries


def test_an_arm_trains_with_settings_of_its_algorithm() -> None:
    plan = plan_of("icpl", "prefppo", "pebble")
    assert plan.problems() == []
    assert [plan.draft(cell).preset for cell in plan.cells()] == ["quick", "quick", "quick-sac"]
    assert plan.settings == (("Cartpole", "quick"), ("Cartpole", "quick-sac"))
    assert parse_arm("prefppo:k=1", 30) == parse_arm("prefppo", 30)
    with pytest.raises(ValueError, match="PrefPPO tries at most 1 at once, not 3"):
        parse_arm("prefppo:k=3", 30)


def test_published_scores_are_those_of_as_many_queries() -> None:
    names = {
        arm: {row.method for row in published.find_published("Cartpole", parse_arm(arm, 30), True)}
        for arm in ("prefppo", "surf:queries=1500", "prefppo:queries=50", "prefppo:queries=150,segment=25")
    }
    assert list(names.values()) == [{"PrefPPO-49"}, {"SURF-1.5k"}, set(), {"PrefPPO-150"}]
    tables = {
        arm: [(row.table, row.value) for row in published.find_published("Ant", parse_arm(arm, 30), True)]
        for arm in ("prefppo:segment=0", "prefppo:truth=metric,segment=0", "pebble:truth=metric")
    }
    assert list(tables.values()) == [[("6", "0.743")], [("8", "0.281")], []], "by what the teacher compared"
    assert published.find_published("Cartpole", parse_arm("prefppo", 30), False) == []


def test_a_report_counts_what_was_asked_and_says_what_was_learned(tmp_path: Path) -> None:
    plan = plan_of("pebble", overrides={"iterations": 9})
    (cell,) = plan.cells()
    bench_rows.create_learned_experiment(
        method="pebble", preset="quick-sac", public_id=plan.public_id(Cell("Cartpole", plan.arms[0], 0))
    )
    Candidate.objects.update(trace={"learned_reward": {"samples": [0.1, 0.25]}, "total": {"samples": [3.0, 8.0]}})
    (result,) = experiment_results.read_results(plan)
    assert (result.queries, cell.arm.candidates) == (51, 1)
    text = report.write_report(plan, tmp_path).read_text()
    assert "| PEBBLE | 1 | 2 | 51 | 1 | 2 | 0 | 0.88 | 0.75 | 0.50 | -0.98 | 0.12 | 0.25 | 8.00 |" in text
    assert "![learned-Cartpole.svg](learned-Cartpole.svg)" in text
    assert "sum of the hidden metric" in (tmp_path / "learned-Cartpole.svg").read_text()
    assert "No language model writes for PEBBLE." in text and "no language model wrote a program" in text
    assert "Training preset: quick; PEBBLE: quick-sac; all with {'iterations': 9}." in text and "Written by" not in text
