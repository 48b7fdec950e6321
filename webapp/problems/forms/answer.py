"""A written answer: the final answer in front, the rest by section."""

from __future__ import annotations

from llm import records
from llm.reasoning import answer_parts
from webapp.problems import markdown, scoring
from webapp.problems.forms.form import GIST_LETTERS, Form, Part, Text, Tried
from webapp.problems.models import Problem

REASONING = (
    "This text stands where an answer's reasoning will be. It may have formulas,\n\n$$\\sum_{k=1}^{n} k = "
    "\\frac{n (n + 1)}{2},$$\n\nlists and tables.",
    "A shorter text in place of the reasoning.",
    "Another text in place of the reasoning, with $x^2$ in a line.",
)


def text(problem: Problem, tried: Tried) -> Text:
    final = answer_parts.final_answer(tried.source, problem.sections) or ""
    named = answer_parts.final_section(tried.source, problem.sections)
    parts = [part for part in answer_parts.sections(tried.source) if part != named]
    shown = tuple(Part(part.title or "Introduction", markdown.html(part.text)) for part in parts if part.text)
    return Text(markdown.formula(final), shown)


def gist(problem: Problem, source: str) -> str:
    final = answer_parts.final_answer(source, problem.sections) or ""
    return final if len(final) <= GIST_LETTERS else final[:GIST_LETTERS] + " ..."


def sample(problem: Problem, place: int) -> Tried:
    final, *rest = problem.sections
    parts = [f"## {final}\n\n${place + 1}$", *(f"## {title}\n\n{REASONING[place % 3]}" for title in rest)]
    return Tried("\n\n".join(parts))


FORM = Form(
    name=records.ANSWER,
    text=text,
    gist=gist,
    ending=lambda problem: "md",
    sample=sample,
    stated=lambda problem: {"sections": problem.sections},
    score=lambda problem, sources, ask, seed, stop_check: scoring.answers(problem, sources, ask, seed),
)
