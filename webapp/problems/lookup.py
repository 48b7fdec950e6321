"""Find tasks by name: robots' tasks are in the catalogue, problems in the database."""

from __future__ import annotations

import base64

from django.contrib.staticfiles import finders

from llm import records
from simulation import catalog, names
from webapp.problems.forms import get_form
from webapp.problems.media import get_medium
from webapp.problems.models import Problem

NO_PROBLEMS = "none (the examples are imported by ./prefine manage import_problems examples/problems)"
TaskInfo = catalog.TaskInfo | Problem


def task_exists(task: str) -> bool:
    """Whether this task exists; a problem may have been deleted."""
    return get_medium(task).filmed or Problem.objects.filter(name=task).exists()


def find_name(text: str) -> str:
    """The name of the robot's task or the problem that a person typed in any case. Raises ValueError."""
    if text in catalog.list_tasks():
        return text
    return names.match_name(text, _list_names()) or find_problem(text).name


def _list_names() -> list[str]:
    return [*catalog.list_tasks(), *Problem.objects.values_list("name", flat=True)]


def find_problem(name: str) -> Problem:
    """The problem of this name. Raises ValueError, which says the nearest name, or all names."""
    found = Problem.objects.filter(name=name).first()
    if found is None:
        problems = ", ".join(Problem.objects.values_list("name", flat=True)) or NO_PROBLEMS
        known = f"; robots: {', '.join(catalog.list_tasks())}; problems: {problems}"
        raise ValueError(f"unknown task {name!r}{names.suggest_name(name, _list_names()) or known}")
    return found


def find_task(task: str) -> TaskInfo:
    """The robot's task or the problem of this name. Raises ValueError."""
    return catalog.get_task(task) if get_medium(task).filmed else find_problem(task)


def find_title(task: str) -> str:
    """What staff call the task: a robot's name, a problem's title."""
    titles = Problem.objects.filter(name=task).values_list("title", flat=True)
    return task if get_medium(task).filmed else titles.first() or task


def find_still(info: TaskInfo) -> str:
    """The static file with a picture of the task's robot in its scene; empty if there is none."""
    name = f"studio/robots/{info.folder}.jpg"
    return name if finders.find(name) else ""


def list_choices() -> list[tuple[str, str]]:
    """The problems, for a form's list of tasks."""
    return [(problem.name, problem.title) for problem in Problem.objects.all()]


def group_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Robots' tasks by kind, then the problems, for a form's list of tasks."""
    groups = [(kind, [(name, name) for name in tasks]) for kind, tasks in catalog.group_tasks().items()]
    problems = list_choices()
    return [*groups, ("Problems", problems)] if problems else groups


def to_record(problem: Problem) -> records.Problem:
    """What methods and models may know of a problem."""
    return records.Problem(
        problem.name,
        problem.statement.replace("\r\n", "\n"),
        form=problem.form,
        tolerance=problem.tolerance,
        **get_form(problem).build_fields(problem),
    )


def read_pictures(problem: Problem) -> list[str]:
    """The figures that the model sees, as data URLs."""
    urls = []
    for attachment in problem.attachments.filter(to_model=True):
        if attachment.is_picture:
            with attachment.file.open("rb") as file:
                urls.append(f"data:{attachment.content_type};base64,{base64.b64encode(file.read()).decode()}")
    return urls
