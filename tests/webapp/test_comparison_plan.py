"""Plans of comparisons: arms, budgets, and the experiments that plans share."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from tests.webapp.comparison_plans import plan_of
from webapp.comparisons.arms import parse_arm
from webapp.experiments import progress
from webapp.experiments.models import Experiment, LanguageModel

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "candidates", "expected"),
    [
        ("icpl", 30, ("icpl", 6, 5, (), 0)),
        ("icpl:k=10", 30, ("icpl", 10, 3, (), 0)),
        ("icpl:reasons=false", 12, ("icpl", 6, 2, (("reasons", False),), 0)),
        ("icpl", 7, ("icpl", 7, 1, (), 0)),
        ("icpl", 200, ("icpl", 10, 20, (), 0)),
        ("rda", 30, ("rda", 5, 6, (), 0)),
        ("rda", 20, ("rda", 4, 5, (), 0)),
        ("rf_agent", 30, ("rf_agent", 6, 11, (), 30)),
        (
            "rf_agent:search=bfs,self_verify=no",
            80,
            ("rf_agent", 6, 11, (("search", "bfs"), ("self_verify", False)), 80),
        ),
        ("scaling_context", 30, ("scaling_context", 1, 1, (), 0)),
    ],
)
def test_every_arm_spends_the_budget(text: str, candidates: int, expected: tuple[Any, ...]) -> None:
    made = parse_arm(text, candidates)
    assert (made.method, made.k, made.n, made.options, made.budget) == expected
    assert made.candidates == (1 if text == "scaling_context" else candidates)


def test_an_arm_says_what_it_is_and_sets_its_budget() -> None:
    made = parse_arm("rf_agent:search=bfs", 30)
    assert made.label == "RF-Agent (search=bfs)" and made.settings == {"budget": 30, "search": "bfs"}
    assert parse_arm("rf_agent", 80).settings == {}  # the default


def test_an_experiment_has_the_rounds_that_its_budget_pays(db: None) -> None:
    for candidates, rounds in ((6, 1), (30, 4)):
        plan = plan_of(parse_arm("rf_agent", candidates), candidates=candidates)
        assert plan.draft(next(plan.cells())).n == rounds
        options = plan.arms[0].settings
        earlier = Experiment.objects.create(method="rf_agent", k=6, n=11, options=options)  # as they were made once
        assert earlier.rounds == progress.read_all([earlier])[earlier.pk].n == rounds


@pytest.mark.parametrize(
    ("text", "candidates", "words"),
    [
        ("magic", 30, "unknown method 'magic'"),
        ("ICLP:k=3", 30, "Did you mean icpl?"),
        ("icpl:k=1", 30, "at least 2 candidates a round, not 1"),
        ("icpl:k=many", 30, "k=many: a whole number"),
        ("icpl:colour=red", 30, "has no option 'colour'"),
        ("icpl:reasons", 30, "write it as name=value"),
        ("icpl", 1, "cannot spend 1 candidates"),
    ],
)
def test_an_arm_that_cannot_be_is_refused(text: str, candidates: int, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_arm(text, candidates)


def test_repetitions_have_their_own_seeds_and_plans_share_their_experiments(db: None) -> None:
    icpl, loose = parse_arm("icpl:k=3", 6), parse_arm("open_loop:k=3", 6)
    plan, wider = plan_of(icpl), plan_of(icpl, loose, experiments=3)
    ids = [plan.public_id(cell) for cell in plan.cells()]
    assert len(set(ids)) == 2 and set(ids) <= {wider.public_id(cell) for cell in wider.cells()}
    assert [wider.draft(cell).seed for cell in wider.cells()] == [0, 0, 1, 1, 2, 2]
    for other in (
        plan_of(icpl, preset="paper"),
        plan_of(icpl, overrides={"iterations": 5}),
        plan_of(icpl, label="again"),
        plan_of(icpl, judge_options={"mistakes": 0.1}),
        plan_of(icpl, seed=7),
    ):
        assert not set(ids) & {other.public_id(cell) for cell in other.cells()}
        assert other.name != plan.name
    first = plan.experiment(next(plan.cells()))
    assert plan.experiment(next(wider.cells())).pk == first.pk
    assert Experiment.objects.count() == 1


def test_who_describes_and_judges_makes_another_experiment_only_where_it_is_named(db: None) -> None:
    """Those in docs/comparisons were made before these roles could be named."""
    with (settings.BASE_DIR / "docs" / "comparisons" / "cartpole" / "experiments.csv").open() as file:
        kept = next(csv.DictReader(file))
    plan = plan_of(parse_arm("icpl", 30), candidates=30)
    first = next(plan.cells())
    assert str(plan.public_id(first)) == kept["public_id"] == "ec51b0b2-e8bb-56b9-9e52-ca892840a997"
    writer, other = (LanguageModel(name=name, kind="openai", model="m") for name in ("A", "B"))
    ids = {
        plan_of(*plan.arms, **roles).public_id(first)
        for roles in ({}, {"describer": writer}, {"judge_model": writer}, {"judge_model": other})
    }
    assert len(ids) == 4
    draft = plan_of(*plan.arms, describer=writer, judge_model=other).draft(first)
    assert (draft.describer, draft.judge_model) == (writer, other)


def test_the_command_names_who_describes_and_who_judges(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cheap", "judge"):
        LanguageModel.objects.create(name=name, kind="openai", base_url="http://x.example/v1", model="m")
    words = ["compare", "--tasks", "Cartpole", "--methods", "icpl:k=3", "--budget", "candidates=6", "--judge", "model"]
    call_command(*words, "--describer", "cheap", "--judge-model", "judge", "--plan")
    assert "no limit of tokens" in capsys.readouterr().out
    with pytest.raises(CommandError, match="unknown language model 'nobody'"):
        call_command(*words, "--judge-model", "nobody", "--plan")


def test_problems_are_those_of_the_experiments(db: None) -> None:
    assert plan_of(parse_arm("icpl:k=3", 6)).problems() == []
    (said,) = plan_of(parse_arm("icpl:k=3", 6), tasks=("HumanoidJump",)).problems()
    assert said.startswith("ICPL on HumanoidJump: judge: HumanoidJump has no metric")
