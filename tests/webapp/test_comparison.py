"""`./prefine compare`: arithmetic on experiments that a player finishes, the command; one real run at the end."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import QuerySet
from django.test import Client
from django.utils import timezone

from llm.replay import read_record, replay
from tests import short_training
from tests.webapp import fake_workers
from tests.webapp.comparison_plans import copy_finished_plan, plan_of
from tests.webapp.servers import embedded, have_ended, processes, wait_for
from webapp.bench.experiments import overview
from webapp.comparisons import experiment_results, foreground, judged_queries, pace
from webapp.comparisons.arms import parse_arm
from webapp.comparisons.plan import Plan
from webapp.experiments import headless, loop
from webapp.experiments.models import Candidate, Experiment, Job, LanguageModel, ModelCall, Run

pytestmark = pytest.mark.slow

# --- what is gathered ---------------------------------------------------------------------------------------------


@pytest.fixture
def finished_plan(db: None) -> Plan:
    return copy_finished_plan()


def test_scores_rounds_and_queries(finished_plan: Plan) -> None:
    first, other, second, begun = experiment_results.read_results(finished_plan)
    assert [r.finished for r in (first, other, second, begun)] == [True, True, True, False]
    assert [(r.number, r.candidates, r.best, r.mean, r.best_so_far) for r in first.rounds] == [
        (1, 3, 12.0, 11.5, 12.0),
        (2, 6, 22.0, 21.5, 22.0),
    ]
    assert (first.ts, first.failed) == (22.0, 2) and (second.ts, second.failed) == (22.0, 0)
    assert (begun.ts, begun.rounds) == (None, ())
    # 2 of 3 could be judged in each round: 1 + 1, and 1 for the winner; with 3: 3 + 3 + 1
    assert (first.queries, second.queries) == (3, 7)
    icpl, loose = experiment_results.group_scores(finished_plan, experiment_results.read_results(finished_plan))
    assert (icpl.values, icpl.fts, icpl.mean, icpl.deviation) == ([22.0, 22.0], 22.0, 22.0, 0.0)
    assert (len(loose.values), loose.deviation) == (1, None)


def test_the_bench_counts_the_queries_that_were_asked_and_says_what_was_overridden(
    db: None, admin_client: Client
) -> None:
    row = fake_workers.create_experiment(judge="human", n=2, overrides={"iterations": 7})
    loop.start(row)
    fake_workers.do_work(row, failed=(0,))  # two of three are left to compare: one query, where three would make three
    loop.answer(loop.find_waiting_request(row).pk, fake_workers.make_pick("1-2", "1-3"))
    page = admin_client.get(f"/bench/{row.public_id}/").content.decode()
    assert (
        overview.build_overview(row).queries == judged_queries.count_queries(row) == 1
        and "quick settings, iterations 7<" in page
    )


def test_the_papers_49_queries() -> None:
    def asked(kind: str, shown: int, result: Any) -> int:
        return judged_queries.count_pairs(kind, {"candidates": ["1-1"] * shown}, result)

    both, best = {"best": "1-1", "worst": "1-2"}, {"best": "1-1", "worst": None}
    assert 5 * asked("Judge", 6, both) + asked("Choose", 5, "1-1") == 49
    assert asked("Compare", 2, "first") == 1 and asked("Judge", 1, best) == 0
    assert asked("Judge", 6, best) == 5


def test_what_the_experiment_ended_with_counts_not_the_best_of_all(finished_plan: Plan) -> None:
    row = Experiment.objects.get(public_id=experiment_results.read_results(finished_plan)[2].public_id)
    row.winner = Candidate.objects.get(iteration__experiment=row, iteration__number=1, index=1)
    row.save()
    result = experiment_results.read_results(finished_plan)[2]
    assert (result.ts, result.best) == (10.0, 22.0)


def test_costs_are_added_and_an_unknown_price_is_unknown(finished_plan: Plan) -> None:
    row = Experiment.objects.get(public_id=experiment_results.read_results(finished_plan)[0].public_id)
    request = row.requests.get(step=0)
    Run.objects.create(request=row.requests.filter(kind="Train").first(), seconds=12.5)
    call = {"request": request, "model": "m", "data": {}, "prompt_tokens": 10, "completion_tokens": 4}
    ModelCall.objects.create(**call, request_hash="a", seed=1, cost=0.5)
    ModelCall.objects.create(**call, request_hash="b", seed=2, cost=0.25)
    result = experiment_results.read_results(finished_plan)[0]
    assert (result.calls, result.prompt_tokens, result.completion_tokens, result.cost) == (2, 20, 8, 0.75)
    assert result.train_seconds == 12.5
    ModelCall.objects.create(**call, request_hash="c", seed=3, cost=None)
    assert experiment_results.read_results(finished_plan)[0].cost is None


def test_how_far_it_is(finished_plan: Plan, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(4):  # however many experiments there are
        now = foreground.read_state(finished_plan)
    assert (now.finished, now.experiments, now.candidates, now.budget) == (3, 4, 18, 24)
    quick = ("Cartpole", "quick")
    taken = pace.measure_seconds_per_candidate(finished_plan, [quick])[quick]
    assert now.seconds_left == pytest.approx(6 * taken)
    wider = replace(finished_plan, tasks=("Cartpole", "Ant"))
    with django_assert_max_num_queries(4):  # nor tasks
        assert foreground.read_state(wider).seconds_left is None
    Experiment.objects.filter(
        public_id__in=[finished_plan.public_id(c) for c in finished_plan.cells() if c.index == 0]
    ).update(task="Ant")
    paces = pace.measure_seconds_per_candidate(wider, wider.settings)
    assert paces.keys() == {quick, ("Ant", "quick")}
    assert foreground.read_state(wider).seconds_left == pytest.approx(6 * paces[quick] + 24 * paces["Ant", "quick"])


def test_time_left_counts_everything_that_this_model_took_on_this_task(db: None) -> None:
    plan = plan_of(parse_arm("icpl:k=2", 6), experiments=1)
    row = plan.experiment(next(plan.cells()))
    loop.start(row)
    fake_workers.do_work(row)
    begun = timezone.now()
    for kind, seconds in (("write", 10), ("train", 60), ("ask", 4), ("film", 7), ("advance", 0)):
        jobs = row.jobs.filter(kind=kind)
        jobs.update(started_at=begun, finished_at=begun + timedelta(seconds=seconds), attempt=1, status="done")
    total = sum(
        seconds * row.jobs.filter(kind=kind).count()
        for kind, seconds in (("write", 10), ("train", 60), ("ask", 4), ("film", 7))
    )
    assert row.jobs.filter(kind="ask").exists()
    measured = pace.measure_seconds_per_candidate(plan, [("Cartpole", "quick"), ("Ant", "quick")])
    assert measured == pytest.approx({("Cartpole", "quick"): total / 6})
    other = LanguageModel.objects.create(name="slow", kind="openai", base_url="http://x.example/v1", model="m")
    slow = plan_of(parse_arm("icpl:k=2", 6), model=other)
    assert pace.measure_seconds_per_candidate(slow, slow.settings) == {}


# --- carrying it through -------------------------------------------------------------------------------------------


def test_an_error_that_nobody_foresaw_ends_one_experiment_and_no_other(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, driven = plan_of(parse_arm("open_loop:k=3", 3), experiments=2), list[str]()

    def drive(experiment: Experiment, said: Any) -> None:
        driven.append(experiment.name)
        if len(set(driven)) == 1:
            raise ValueError("a folder that holds another job")

    monkeypatch.setattr(headless, "run_to_end", drive)
    ended = [experiment.name for _, experiment in foreground.run_experiments(plan, lambda *said: None)]
    first, second = ended
    assert driven == [first] * settings.ATTEMPTS + [second]


def test_errors_between_which_steps_end_do_not_end_an_experiment(
    db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    plan, errors = plan_of(parse_arm("open_loop:k=3", 3), experiments=1), list[int]()

    def drive(experiment: Experiment, said: Any) -> None:
        if len(errors) <= settings.ATTEMPTS:
            errors.append(experiment.jobs.create(kind=Job.Kind.ADVANCE, status=Job.Status.DONE).pk)
            raise ValueError("a folder that holds another job")
        fake_workers.do_work(experiment)

    monkeypatch.setattr(headless, "run_to_end", drive)
    ((_, experiment),) = foreground.run_experiments(plan, lambda *said: None)
    assert experiment.status == "finished"


def test_what_was_finished_and_left_without_its_record_gets_it(
    finished_plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(headless, "run_to_end", lambda experiment, said: None)
    assert len(list(foreground.run_experiments(finished_plan, lambda *said: None))) == 1  # the one that had not ended
    records = list((tmp_path / "records").iterdir())
    assert len(records) == 3 and {path.suffix for path in records} == {".json"}
    assert replay(read_record(records[0])).candidate


def test_the_same_experiment_made_by_two_at_once_is_one(finished_plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell, *_), known = finished_plan.cells(), Experiment.objects.count()
    with monkeypatch.context() as faster:
        faster.setattr(QuerySet, "exists", lambda rows: False)
        assert finished_plan.experiment(cell).public_id == finished_plan.public_id(cell)
    assert Experiment.objects.count() == known


ALONE = ("--retrain", "0", "--controls")
"""The searches that are named, and nothing beside them."""

# --- the command --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "Nowhere", "--methods", "icpl"], "Nowhere"),
        (["--tasks", "HumanoidJump", "--methods", "icpl"], "has no metric by which methods could be compared"),
        (["--tasks", "Ant", "--methods", "magic"], "unknown method 'magic'"),
        (["--tasks", "Ant", "--methods", "icpl", "--budget", "30"], "write it as candidates=N"),
        (["--tasks", "Ant", "--methods", "icpl", "--judge", "human"], "people judge in the browser"),
        (["--tasks", "Ant", "--methods", "icpl", "--experiments", "0"], "at least 1"),
        (["--tasks", "Ant", "--methods", "icpl", "--iterations", "0"], "--iterations must be between 1 and"),
        (["--tasks", "Ant", "--methods", "icpl", "--model", "nobody"], "unknown language model 'nobody'"),
        (["--tasks", "Ant", "--methods", "icpl", "--judge-option", "colour=red"], "colour"),
    ],
)
def test_a_comparison_that_cannot_be_is_refused(db: None, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=re.escape(words)):
        call_command("compare", *arguments)
    assert not Experiment.objects.exists()


def test_a_plan_says_what_would_run_and_makes_nothing(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("compare", "--tasks", "cartpole", "ANT", "--methods", "ICPL", "RF-Agent", "rda", *ALONE, "--plan")
    said = capsys.readouterr().out
    assert re.search(r"Cartpole +ICPL +6 x 5 +49 +6 +0", said) and re.search(r"Ant +RF-Agent +30 +0 +6 +0", said)
    assert re.search(r"Ant +RDA +5 x 6 +0 +6 +0", said)
    assert "1080 of 1080 candidates to try; time: not known before a first round." in said
    assert not Experiment.objects.exists()


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_an_interrupted_comparison_goes_on_and_reads_what_is_finished(tmp_path: Path) -> None:
    data = embedded(tmp_path / "data", short_training.python(tmp_path / "python"))
    words = ["compare", "--tasks", "Cartpole", "--methods", "icpl:k=2", "rf_agent:k=2", "--budget", "candidates=2"]
    words += [*ALONE, "--experiments", "1", "--iterations", "2", "--out", str(tmp_path / "out")]
    process = data.python("manage.py", *words)
    runs = data.data / "runs"
    wait_for(lambda: len(list(runs.glob("*/job.json"))) == 2, "the start of the second experiment's training", 600)
    ours = {pid: command for pid, (_, command) in processes().items() if str(runs) in command}
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 130 and "The same command goes on from here." in said and "Traceback" not in said
    assert "ICPL on Cartpole, 1 of 1: 1-" in said
    wait_for(lambda: have_ended(ours), "the end of the training processes")
    first = (tmp_path / "out" / "report.md").read_text()
    assert "1 of 2 experiments finished" in first

    said = data.manage(*words)
    assert re.search(r"ICPL +2 x 1 +1 +1 +1\n", said) and "2 of 4 candidates to try" in said
    assert "RF-Agent on Cartpole, 1 of 1: 1-" in said and "ICPL on Cartpole, 1 of 1:" not in said
    text = (tmp_path / "out" / "report.md").read_text()
    assert "2 of 2 experiments finished" in text and (tmp_path / "out" / "curves-Cartpole.svg").exists()
    assert len(list(runs.glob("*/job.json"))) == 2

    other = embedded(tmp_path / "other", data.interpreter)  # a machine that knows nothing of it
    words[words.index("--out") + 1] = str(tmp_path / "read back")
    said = other.manage(*words, "--with", str(tmp_path / "out"))
    assert "Finished elsewhere: 2 experiments" in said and "0 of 4 candidates to try" in said
    for name in ("summary.csv", "experiments.csv", "rounds.csv"):
        assert (tmp_path / "read back" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    assert "2 of 2 experiments finished" in (tmp_path / "read back" / "report.md").read_text()
    assert not list((other.data / "runs").glob("*"))
