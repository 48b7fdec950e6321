"""A written answer: the final answer first, then its sections."""

from __future__ import annotations

from django.utils.translation import gettext as _

from llm import records
from llm.reasoning import answer_parts
from webapp.problems import answer_scores, markdown
from webapp.problems.forms.form import GIST_LETTERS, Form, Part, Text, TriedSource
from webapp.problems.models import Problem

REASONING = (
    "This text stands where an answer's reasoning will be. It may have formulas,\n\n$$\\sum_{k=1}^{n} k = "
    "\\frac{n (n + 1)}{2},$$\n\nlists and tables.",
    "A shorter text in place of the reasoning.",
    "Another text in place of the reasoning, with $x^2$ in a line.",
)


def build_text(problem: Problem, tried: TriedSource) -> Text:
    parts = answer_parts.split_sections(tried.source)
    named = answer_parts.find_final(parts, problem.sections)
    shown = tuple(
        Part(part.title or _("Introduction"), markdown.render_html(part.text))
        for part in parts
        if part.text and part != named
    )
    final = get_final(problem, tried)
    if not final and not shown and parts:  # headings alone: they are all that there is to judge
        shown = (Part(_("Introduction"), markdown.render_html(tried.source)),)
    return Text(markdown.render_formula(final), shown)


def get_final(problem: Problem, tried: TriedSource) -> str:
    """As kept when the answer was tried; read from the text before that."""
    kept = tried.details.get(answer_scores.FINAL_ANSWER)
    return kept if kept is not None else answer_parts.final_answer(tried.source, problem.sections) or ""


def summarize(problem: Problem, tried: TriedSource) -> str:
    final = get_final(problem, tried)
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
    score=lambda problem, sources, ask, seed, stop_check: answer_scores.score_answers(problem, sources, ask, seed),
)
