"""A written answer: the final answer first, then its sections."""

from __future__ import annotations

from django.utils.translation import gettext as _

from llm import records
from llm.reasoning import answer_parts
from webapp.problems import markdown, scoring
from webapp.problems.forms.form import GIST_LETTERS, Form, Part, Text, TriedSource
from webapp.problems.models import Problem

REASONING = (
    "This text stands where an answer's reasoning will be. It may have formulas,\n\n$$\\sum_{k=1}^{n} k = "
    "\\frac{n (n + 1)}{2},$$\n\nlists and tables.",
    "A shorter text in place of the reasoning.",
    "Another text in place of the reasoning, with $x^2$ in a line.",
)


def build_text(problem: Problem, tried: TriedSource) -> Text:
    final = answer_parts.final_answer(tried.source, problem.sections) or ""
    named = answer_parts.final_section(tried.source, problem.sections)
    parts = [part for part in answer_parts.sections(tried.source) if part != named]
    shown = tuple(Part(part.title or _("Introduction"), markdown.render_html(part.text)) for part in parts if part.text)
    return Text(markdown.render_formula(final), shown)


def summarize(problem: Problem, source: str) -> str:
    final = answer_parts.final_answer(source, problem.sections) or ""
    return final if len(final) <= GIST_LETTERS else final[:GIST_LETTERS] + " ..."


def make_sample(problem: Problem, place: int) -> TriedSource:
    final, *rest = problem.sections
    parts = [f"## {final}\n\n${place + 1}$", *(f"## {title}\n\n{REASONING[place % 3]}" for title in rest)]
    return TriedSource("\n\n".join(parts))


FORM = Form(
    name=records.ANSWER,
    build_text=build_text,
    summarize=summarize,
    get_ending=lambda problem: "md",
    make_sample=make_sample,
    build_fields=lambda problem: {"sections": problem.sections},
    score=lambda problem, sources, ask, seed, stop_check: scoring.score_answers(problem, sources, ask, seed),
)
