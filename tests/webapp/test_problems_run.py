"""Whole experiments on problems: real client over HTTP, real loop, real jail; the model behind it is simulated."""

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from programs import compiling
from tests.webapp import problem_rows
from tests.webapp.problem_rows import BROKEN, GOOD, HALF, RIGHT, WRONG, run_experiment
from webapp.experiments.execute import writing_progress
from webapp.experiments.execute.writing_progress import WritingProgress
from webapp.experiments.models import Candidate, Experiment, Request
from webapp.problems import problem_sets
from webapp.problems.models import Problem

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def prompts(server):
    return [body["messages"][-1]["content"] for body in server.asked]


def test_3d_with_the_proxy_judge_feeds_back_best_and_worst_answers_alone():
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 0.4, WRONG: 0.6}) as (model, server):
        row = run_experiment(model=model, seed=3)
    assert row.status == "finished", row.error
    first, *later = dict.fromkeys(prompts(server))
    assert "# Preferred answer" not in first
    picks = row.iterations.get(number=1)
    assert {picks.best.rts, picks.worst.rts} <= {0.0, 1.0} and picks.best.rts >= picks.worst.rts
    assert len(later) == 1 and later[0].count("## Final answer") == 3, "how to write it, the good one, the bad one"
    assert picks.best.source in later[0] and picks.worst.source in later[0]
    assert not any("Use **pairs**" in text or "RTS" in text for text in prompts(server))
    last = row.iterations.get(number=2)
    assert row.winner == last.best and row.winner.rts == max(c.rts for c in last.candidates.all())


@pytest.mark.parametrize(
    ("method", "values", "expected"),
    [
        ("scaling_context", {"k": 1, "n": 1, "options": {"context": 500}}, None),
        ("scaling_batch_score", {"k": 3, "n": 2}, RIGHT),
        pytest.param("scaling_batch_vote", {"k": 5, "n": 1}, WRONG, marks=pytest.mark.exhaustive),
        pytest.param("scaling_batch_model", {"k": 3, "n": 1, "judge": "model"}, None, marks=pytest.mark.exhaustive),
        ("scaling_turn", {"k": 1, "n": 3}, None),
        ("scaling_3d", {"judge": "model", "options": {"negative": "uniform"}}, None),
    ],
)
def test_every_way_of_scaling_ends_with_an_answer(method, values, expected):
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 0.35, WRONG: 0.65}) as (model, server):
        row = run_experiment(model=model, method=method, **values)
    assert row.status == "finished", row.error
    assert row.winner.source in ((expected,) if expected else (RIGHT, WRONG))
    written = Candidate.objects.filter(iteration__experiment=row).count()
    assert written == row.k * row.n
    asked = [body for body in server.asked if "# Now: judge" not in body["messages"][-1]["content"]]
    assert len(asked) == written
    if method == "scaling_context":
        assert {body.get("max_tokens") or body.get("max_completion_tokens") for body in asked} == {500}


def test_programs_run_on_the_cases_and_the_best_score_wins():
    problem_rows.add_problem()
    with problem_rows.model({GOOD: 0.3, HALF: 0.5, BROKEN: 0.2}) as (model, server):
        row = run_experiment(task="add", model=model, method="scaling_batch_score", k=6, n=1, seed=1)
    assert row.status == "finished", row.error
    scores = {c.source: c.rts for c in Candidate.objects.filter(iteration__experiment=row)}
    assert set(scores.values()) <= {1.0, 0.3, 0.0} and row.winner.rts == max(scores.values())
    tried = row.winner.metric_trace
    assert [s["cases"] for s in tried["subtasks"]] == [1, 1] and len(tried["cases"]) == 2
    assert all("10 20" not in text for text in prompts(server))


def test_functions_are_called_by_a_grader_and_a_checker_gives_part_of_the_points():
    problem_sets.import_set(problem_sets.read_path(Path("examples/problems")))
    one_by_one = "int find_number(int highest) { for (int x = highest; x; x--) if (ask(x) == 0) return x; return 0; }"
    with problem_rows.model({f'```cpp\n#include "guess.h"\n{one_by_one}\n```': 1.0}) as (model, server):
        row = run_experiment(task="hidden-number", model=model, method="scaling_context", k=1, n=1)
    assert row.status == "finished", row.error
    assert [case["verdict"] for case in row.winner.metric_trace["cases"]] == ["ok", "part", "part", "ok"]
    worst = [30 * 7 / 64, 70 * 20 / 728173]
    assert [s["earned"] for s in row.winner.metric_trace["subtasks"]] == pytest.approx(worst, abs=0.001)
    (prompt,) = prompts(server)
    assert "int ask(int number);" in prompt and "guess.h" in prompt and "scanf" not in prompt


def test_a_grader_that_does_not_compile_stops_with_a_message_for_its_author():
    problem_sets.import_set(problem_sets.read_path(Path("examples/problems")))
    Problem.objects.filter(name="hidden-number").update(grader="int main() {")
    with problem_rows.model({'```cpp\n#include "guess.h"\n```': 1.0}) as (model, _):
        row = run_experiment(task="hidden-number", model=model, method="scaling_context", k=1, n=1)
    assert row.status == "failed" and "grader does not compile. Mend it on the problem's page" in row.error


def test_a_vote_on_programs_counts_what_they_print():
    problem_rows.add_problem()
    with problem_rows.model({GOOD: 0.2, HALF: 0.8}) as (model, _):
        row = run_experiment(task="add", model=model, method="scaling_batch_vote", k=5, n=1)
    assert row.status == "finished", row.error
    assert row.winner.rts == 0.3


def test_what_no_rule_can_compare_is_put_to_the_model_once(monkeypatch):
    problem = problem_rows.sum_problem()
    problem.answer = "all sums of pairs"
    problem.save()
    told = []
    monkeypatch.setattr(writing_progress, "SILENT_SECONDS", 0.0)
    tell = WritingProgress.set_progress

    def tell_us(self, said):
        told.append((self.lease.job.request.kind, said["text"]))
        tell(self, said)

    monkeypatch.setattr(WritingProgress, "set_progress", tell_us)
    with problem_rows.model({RIGHT.replace("$5050$", "every such pair"): 1.0}) as (model, server):
        monkeypatch.setattr(type(server.reasoner), "_judge", lambda self, prompt, rng: "Best: 1\nWorst: 2")
        say = type(server.reasoner).say
        monkeypatch.setattr(
            type(server.reasoner),
            "say",
            lambda self, messages, seed: (
                "They agree.\nSame" if "# Now: compare" in str(messages) else say(self, messages, seed)
            ),
        )
        row = run_experiment(model=model, n=1)
    assert row.status == "finished", row.error
    assert sum("# Now: compare" in text for text in prompts(server)) == 1
    assert set(Candidate.objects.values_list("rts", flat=True)) == {1.0}
    assert any(kind == "Run" and text.startswith("0 of 1 answers") for kind, text in told)


def test_a_missing_compiler_stops_with_a_clear_message_and_retry_goes_on(monkeypatch):
    problem = problem_rows.add_problem()
    problem.language = "cpp"
    problem.save()
    cpp = '```cpp\n#include <cstdio>\nint main() { int a, b; scanf("%d %d", &a, &b); printf("%d", a + b); }\n```'
    with problem_rows.model({cpp: 1.0}) as (model, server):
        with monkeypatch.context() as patched:
            patched.setattr(compiling.shutil, "which", lambda *a, **k: None)
            row = run_experiment(task="add", model=model, method="scaling_context", k=1, n=1)
        assert row.status == "failed" and "apt-get install g++" in row.error
        call_command("run_experiment", resume=str(row.public_id))
    row.refresh_from_db()
    assert row.status == "finished" and row.winner.rts == 1.0
    assert len(server.asked) == 1, "what was paid for is not bought twice"


def test_the_command_line_solves_a_problem_and_says_what_cannot_be(capsys):
    problem_rows.sum_problem()
    with problem_rows.model({RIGHT: 1.0}) as (model, _):
        call_command("run_experiment", problem="sum", method="scaling_3d", model=model.name, k=2, n=1)
    assert Experiment.objects.get().winner.rts == 1.0
    assert "5050" in capsys.readouterr().out
    with pytest.raises(CommandError, match="unknown task 'none'"):
        call_command("run_experiment", problem="none", method="scaling_3d")
    with pytest.raises(CommandError, match="solves no problems"):
        call_command("run_experiment", problem="sum", method="scaling_3d")


def test_the_bench_shows_an_experiment_on_a_problem(admin_client):
    problem_rows.add_problem()
    with problem_rows.model({GOOD: 1.0}) as (model, _):
        row = run_experiment(task="add", model=model, k=2, n=1)
    for address in (
        "/bench/",
        f"/bench/{row.public_id}/",
        f"/bench/{row.public_id}/{row.winner.key}/",
        "/bench/tasks/",
    ):
        answer = admin_client.get(address)
        assert answer.status_code == 200, address
    shown = admin_client.get(f"/bench/{row.public_id}/{row.winner.key}/").content.decode()
    assert "Test cases" in shown and "Hidden metric over training" not in shown
    Request.objects.filter(experiment=row, kind="Run").update(status="open")
    row.iterations.update(finished_at=None)
    assert "testing" in admin_client.get(f"/bench/{row.public_id}/").content.decode()
