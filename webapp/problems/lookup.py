"""A task is a robot's, or a problem: one name, in one field. Robots are in the catalogue, problems in the database."""

from __future__ import annotations

import base64

from django.contrib.staticfiles import finders

from llm import records
from simulation import catalog
from webapp.problems.forms import form_of
from webapp.problems.media import medium_of
from webapp.problems.models import Problem

EXAMPLES = "none (the examples are imported by ./prefine manage import_problems examples/problems)"
TaskInfo = catalog.TaskInfo | Problem


def known(task: str) -> bool:
    """Whether there is a task of this name; a problem may have been deleted."""
    return medium_of(task).filmed or Problem.objects.filter(name=task).exists()


def problem_named(name: str) -> Problem:
    """Raises ValueError naming what there is."""
    found = Problem.objects.filter(name=name).first()
    if found is None:
        problems = ", ".join(Problem.objects.values_list("name", flat=True)) or EXAMPLES
        raise ValueError(f"unknown task {name!r}; robots: {', '.join(catalog.tasks())}; problems: {problems}")
    return found


def info(task: str) -> TaskInfo:
    """The robot's task, or the problem, of this name. Raises ValueError."""
    return catalog.task(task) if medium_of(task).filmed else problem_named(task)


def still(info: TaskInfo) -> str:
    """The static file with a picture of the task's robot in its scene; empty where there is none."""
    name = f"studio/robots/{info.folder}.jpg"
    return name if finders.find(name) else ""


def choices() -> list[tuple[str, str]]:
    """The problems, for a form's list of tasks."""
    return [(problem.name, problem.title) for problem in Problem.objects.all()]


def stated(problem: Problem) -> records.Problem:
    """What a method, and thereby a model, may know of a problem."""
    return records.Problem(
        problem.name,
        problem.statement.replace("\r\n", "\n"),
        form=problem.form,
        tolerance=problem.tolerance,
        **form_of(problem).stated(problem),
    )


def pictures(problem: Problem) -> list[str]:
    """The figures that the model sees, as data URLs."""
    urls = []
    for attachment in problem.attachments.filter(to_model=True):
        if attachment.is_picture:
            with attachment.file.open("rb") as file:
                urls.append(f"data:{attachment.content_type};base64,{base64.b64encode(file.read()).decode()}")
    return urls
