"""Keeps the final answer of each written answer beside it, so that no page looks for it again."""

from django.db import migrations

from llm.reasoning import answer_parts
from webapp.problems.models import SECTIONS

FINAL_ANSWER = "final_answer"


def keep_final_answers(apps, schema_editor):
    """One row at a time, and only where nothing is kept: the site may be running."""
    candidates = apps.get_model("experiments", "Candidate").objects
    for problem in apps.get_model("problems", "Problem").objects.filter(form="answer"):
        titles = SECTIONS.get(problem.subject, SECTIONS["mathematics"])
        rows = candidates.filter(iteration__experiment__task=problem.name, status="trained", metric_trace={})
        for pk, source in rows.values_list("pk", "source").iterator(200):
            final = answer_parts.final_answer(source, titles) or ""
            candidates.filter(pk=pk, source=source, metric_trace={}).update(metric_trace={FINAL_ANSWER: final})


def forget_final_answers(apps, schema_editor):
    kept = apps.get_model("experiments", "Candidate").objects.filter(metric_trace__has_key=FINAL_ANSWER)
    kept.update(metric_trace={})


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("experiments", "0015_training_start"),
        ("problems", "0001_squashed_0002_cases_as_they_are"),
    ]
    operations = [migrations.RunPython(keep_final_answers, forget_final_answers)]
