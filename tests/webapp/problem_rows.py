"""Problems and a simulated model behind the real client, for tests of whole experiments. It is no language model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings

from benchmarks import simulated
from benchmarks.simulated import SimulatedReasoner, answer
from webapp.experiments import headless
from webapp.experiments.models import Experiment, LanguageModel
from webapp.problems.models import Problem, Subtask, TestCase

RIGHT, WRONG = answer("5050", "Pairs of 101."), answer("5049", "By feeling.")
GOOD = "Add them.\n\n```python\na, b = map(int, input().split())\nprint(a + b)\n```"
HALF = "Small ones.\n\n```python\na, b = map(int, input().split())\nprint(a + b if a < 10 else 0)\n```"
BROKEN = "```python\nprint(\n```"


def sum_problem() -> Problem:
    return Problem.objects.create(
        name="sum", title="A sum", statement="What is $1 + \\dots + 100$?", answer="5050", reference="Use **pairs**."
    )


def add_problem() -> Problem:
    problem = Problem.objects.create(
        name="add", title="Add", subject="programming", form="program", language="python", statement="Add two numbers."
    )
    for number, points, stdin, expected in ((1, 30, "1 2", "3"), (2, 70, "10 20", "30")):
        Subtask.objects.create(problem=problem, number=number, points=points)
        TestCase.objects.create(problem=problem, subtask=number, stdin=stdin, expected=expected)
    return problem


@contextmanager
def model(answers: dict[str, float]) -> Iterator[tuple[LanguageModel, Any]]:
    """A row for a running simulated server, and the server."""
    with simulated.run_server(SimulatedReasoner(answers)) as server:
        row = LanguageModel.objects.create(
            name="simulated", kind=LanguageModel.Kind.OPENAI, base_url=server.base_url, model=simulated.NAME
        )
        yield row, server


def run_experiment(**values: Any) -> Experiment:
    """A new experiment, run in this process as far as it can."""
    from webapp.experiments import loop

    row = Experiment(**{"name": "e", "task": "sum", "method": "scaling_3d", "judge": "proxy", "k": 3, "n": 2, **values})
    row.full_clean()
    row.save()
    loop.start(row)
    headless.run_to_end(row, lambda said: None)
    row.refresh_from_db()
    return row


def open_judgement(problem: Problem, sources: list[str], details: list[dict[str, Any]] | None = None) -> str:
    """The address of a person who judges these answers, on rows as the loop makes them."""
    from llm.records import Candidate as MethodCandidate
    from llm.records import Judge, Outcome, fingerprint_request, make_payload
    from tests.webapp import rows
    from webapp.experiments.models import Candidate, Iteration, Request

    study = rows.study(task=problem.name, method="scaling_3d", judge="human", k=len(sources), n=3)
    person = rows.participant(study)
    experiment = person.experiment
    iteration = Iteration.objects.create(experiment=experiment, number=1)
    outcomes = []
    for index, source in enumerate(sources, 1):
        tried = (details or [{}] * len(sources))[index - 1]
        Candidate.objects.create(
            iteration=iteration,
            index=index,
            source=source,
            status="trained",
            metric_trace=tried,
            reason=tried.get("said", ""),
        )
        outcomes.append(Outcome(MethodCandidate(f"1-{index}", source), True))
    asked = Judge(1, tuple(outcomes))
    Request.objects.create(
        experiment=experiment, step=2, kind="Judge", fingerprint=fingerprint_request(asked), payload=make_payload(asked)
    )
    Experiment.objects.filter(pk=experiment.pk).update(status=Experiment.Status.WAITING)
    return f"/s/{person.token}/"


SET = """
format: 1
problems:
  - name: sum
    title: A sum
    subject: mathematics
    statement: |
      What is $1 + 2 + \\dots + 100$?
    reference: Pair them.
    answer: "5050"
    attachments: [{file: figures/pairs.png, caption: Pairs}]
  - name: add
    title: Add two numbers
    subject: programming
    form: program
    language: python
    statement: Read two numbers, print their sum.
    subtasks:
      - number: 1
        points: 30
        cases: [{stdin: "1 2", expected: "3"}]
      - number: 2
        points: 70
        cases:
          - {stdin_file: tests/2.in, expected_file: tests/2.out}
"""
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


def files(text: str = SET) -> dict[str, bytes]:
    return {"problems.yaml": text.encode(), "figures/pairs.png": PNG, "tests/2.in": b"10 20\n", "tests/2.out": b"30\n"}


def stored() -> list[str]:
    return [path.name for path in (settings.DATA_DIR / "media").rglob("*") if path.is_file()]
