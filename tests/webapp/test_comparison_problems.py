"""Methods compared over a set of problems: planned, run over HTTP against a simulated model, scored and reported."""

import re

import pytest
from django.core.management import CommandError, call_command

from tests.webapp import problem_rows
from tests.webapp.problem_rows import RIGHT, WRONG
from webapp.base.statistics.proportions import binomial_test
from webapp.bench.comparisons import overview
from webapp.bench.comparisons.forms import list_task_choices
from webapp.comparisons.accuracy import measure_accuracies
from webapp.comparisons.experiment_results import group_scores, read_results
from webapp.comparisons.models import Comparison
from webapp.experiments import loop
from webapp.problems.models import Problem

METHODS = ["scaling_batch_vote", "scaling_batch_score:k=3"]
CLAIM = "Batch scaling, by score > Batch scaling, by vote"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def two_problems():
    first = problem_rows.sum_problem()
    Problem.objects.create(name="sum-two", title="The same", statement="Once more.", answer="5050")
    return first


def test_a_vote_and_the_score_over_two_problems(admin_client, tmp_path, capsys, settings):
    settings.DATA_DIR = tmp_path
    two_problems()
    with problem_rows.model({RIGHT: 0.3, WRONG: 0.7}) as (model, _):
        given = {
            "tasks": ["sum", "sum-two"],
            "methods": METHODS,
            "experiments": 2,
            "model": model.name,
            "contrasts": [CLAIM],
        }
        call_command("compare", **given, budget="candidates=3", out=tmp_path / "out")
        row = Comparison.objects.create(name="C", candidates=3, **{**given, "model": model})
    said = capsys.readouterr().out
    assert "24 of 24 candidates to try" in said
    plan = row.plan
    assert len(plan.find_experiments()) == 8 and all(
        one.status == "finished" for one in plan.find_experiments().values()
    )
    vote, score = measure_accuracies(plan, group_scores(plan, read_results(plan)))
    assert len(vote.scores) == len(score.scores) == 4 and set(vote.scores.values()) <= {0.0, 1.0}
    assert score.right >= vote.right and vote.better is None and score.better.losses == 0
    assert score.better.p == binomial_test(score.right - vote.right, score.right - vote.right)
    report = (tmp_path / "out" / "report.md").read_text()
    assert "## All problems" in report and "share of points" in report and "IsaacGym" not in report
    assert "### 1. Batch scaling, by score scores higher than Batch scaling, by vote" in report, "by TS, over problems"
    assert CLAIM in (tmp_path / "out" / "plan.json").read_text() and "(share of 1)" in report
    line = re.search(r"^\| Batch scaling, by vote \|[^|]*\| (\d)/4 \(", report, re.MULTILINE)
    assert line and int(line[1]) == vote.right
    assert (tmp_path / "out" / "curves-sum.svg").exists() and "Training preset" not in report
    assert overview.build_overview(row).accuracies == (vote, score)
    page = admin_client.get(f"/bench/comparisons/{row.public_id}/").content.decode()
    assert "Claims" in page and "All problems" in page and f"{vote.right} of 4" in page


def test_a_budget_that_is_named_holds_for_what_has_begun_and_a_higher_one_goes_on(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    problem_rows.sum_problem()
    given = {"tasks": ["sum"], "methods": ["scaling_context"], "experiments": 1}
    with problem_rows.model({RIGHT: 1.0}) as (model, _):
        plan = Comparison(candidates=1, **given, model=model).plan
        row = plan.experiment(next(plan.cells()))
        loop.start(row)  # and then somebody stopped it

        def compare(**budgets):
            call_command("compare", **given, **budgets, model=model.name, budget="candidates=1", out=tmp_path / "out")

        with pytest.raises(CommandError, match="0 of 1 tokens are spent.*Raise the experiment's budget"):
            compare(token_budget=1, dollar_budget=2.0)
        with pytest.raises(CommandError, match="0 of 1 tokens are spent"):
            compare()  # names none: what it has stays
        compare(token_budget=100_000)
        compare(token_budget=5)  # over: read, and left as it is
    row.refresh_from_db()
    assert (row.status, row.token_budget, row.dollar_budget) == ("finished", 100_000, 2.0)


def test_the_form_offers_and_takes_what_solves_problems(admin_client):
    two_problems()
    address = "/bench/comparisons/new/?kind=problems"
    page = admin_client.get(address).text
    assert 'value="sum"' in page and 'value="scaling_3d"' in page
    assert (
        'value="Cartpole"' not in page
        and 'value="eureka"' not in page
        and 'value="sum"' not in admin_client.get("/bench/comparisons/new/").text
    )
    sent = {"tasks": ["sum"], "candidates": 3, "experiments": 1, "judge": "proxy", "preset": "quick", "seed": 0}
    answer = admin_client.post(address, {**sent, "methods": ["eureka"]})
    assert answer.status_code == 422 and "eureka is no method for tasks of this kind" in answer.text
    answer = admin_client.post(address, {**sent, "variants": "Own=eureka:k=3"})
    assert answer.status_code == 422 and "Own designs rewards for robots" in answer.text
    assert not Comparison.objects.exists()


def test_what_cannot_be_compared_is_said(capsys):
    two_problems()
    Problem.objects.create(name="open", title="Open", statement="Why?")
    offered = dict(list_task_choices("problems"))
    assert offered["sum"] == "A sum (sum)" and "open" not in offered and "Ant" not in offered
    for tasks, methods, words in (
        (["none"], METHODS, "unknown task 'none'"),
        (["open"], METHODS, "neither a final answer nor test cases"),
        (["sum"], METHODS, "solves no problems"),
        (["sum"], ["eureka"], "Eureka designs rewards"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("compare", tasks=tasks, methods=methods, plan=True)
