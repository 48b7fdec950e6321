"""Judges and kinds of requests are one file each: complete, and named nowhere else."""

import ast
from pathlib import Path

import pytest

from llm import records
from webapp.experiments.execute import EXECUTORS
from webapp.experiments.job_kinds import JOB_KINDS
from webapp.experiments.judges import JUDGES
from webapp.experiments.kinds import KINDS
from webapp.experiments.models import Job
from webapp.experiments.progress import JUDGEMENT_BY_PHASE

WEBAPP = Path(__file__).parents[2] / "webapp"


def test_every_request_has_a_kind_and_every_kind_somebody_who_works_on_it():
    assert set(KINDS) == set(records.KINDS)
    assert {kind.executor for kind in KINDS.values()} <= set(EXECUTORS)
    judged = {kind.name for kind in KINDS.values() if kind.judgement}
    assert judged == {one.__name__ for one in records.Judged.__args__}
    assert len(JUDGEMENT_BY_PHASE) == len(judged)


def test_every_kind_of_job_is_described_and_somebody_works_on_it():
    assert set(JOB_KINDS) == set(Job.Kind.values)
    assert {kind.job for kind in KINDS.values()} == {name for name, kind in JOB_KINDS.items() if kind.answers_request}
    assert {name for name, kind in JOB_KINDS.items() if not kind.answers_request} <= set(EXECUTORS)


@pytest.mark.parametrize("judge", JUDGES.values(), ids=list(JUDGES))
def test_a_judge_answers_in_one_way(judge):
    assert [judge.asks_people, judge.decide is not None, judge.asks_model].count(True) == 1
    assert judge.check_options({}) == {}
    with pytest.raises(ValueError, match=f"the judge “{judge.label}” has no option 'nerve'"):
        judge.check_options({"nerve": 1})


def test_the_teachers_options_are_bounded():
    assert JUDGES["proxy"].check_options({"beta": "5", "mistake": "0"}) == {"beta": 5.0}
    with pytest.raises(ValueError, match="'2' is not between 0 and 1"):
        JUDGES["proxy"].check_options({"mistake": "2"})


@pytest.mark.slow
def test_no_other_file_compares_with_the_name_of_a_kind_a_job_or_a_judge():
    found = []
    for path in WEBAPP.rglob("*.py"):
        if {"kinds", "judges", "migrations"} & set(path.relative_to(WEBAPP).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            given = [k for k in node.keywords if k.arg] if isinstance(node, ast.Call) else []
            values = {one.value for one in (*compared, *(k.value for k in given)) if isinstance(one, ast.Constant)}
            named = [k.value for k in given if k.arg.startswith("kind")]
            jobs = [part for one in (*compared, *named) for part in ast.walk(one) if isinstance(part, ast.Attribute)]
            if values & {*KINDS, *JUDGES} or any(ast.unparse(part.value) == "Job.Kind" for part in jobs):
                found.append(f"{path.relative_to(WEBAPP)}:{node.lineno}")
    assert found == []
