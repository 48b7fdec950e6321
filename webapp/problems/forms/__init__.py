"""Forms of answers to problems. llm/forms/ says how prompts show them."""

from __future__ import annotations

from webapp.problems.forms import answer, program
from webapp.problems.forms.form import Form
from webapp.problems.models import Problem

FORMS: dict[str, Form] = {form.name: form for form in (answer.FORM, program.FORM)}


def get_form(problem: Problem) -> Form:
    return FORMS[problem.form]
