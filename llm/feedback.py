"""What ICPL, and 3D scaling on robots, show of earlier rounds: bests with traces, differences, a bad example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llm.forms import find_form
from llm.judges import preference_model
from llm.judges.preference_model import Judged
from llm.messages import format_trace
from llm.prompts import render
from llm.records import Message, Outcome, Problem
from llm.sections import Prompt, Text, fill_prompt, join_texts, make_prompt, mark_optional


@dataclass(frozen=True)
class Round:
    """What later prompts use of one iteration."""

    iteration: int
    best: Outcome
    worst: Outcome | None
    difference: str
    reason: str
    undecided: str = ""
    """Why best and worst were drawn by chance; empty where the judge named them."""
    ranking: str = ""
    """What a reward model that learned from the picks says; empty without one."""


@dataclass(frozen=True)
class Feedback:
    """Parts of later prompts; each published ablation leaves one out, with those above it."""

    traces: bool = True
    """The reward traces of earlier bests. Without: w/o RT."""
    differences: bool = True
    """Descriptions of what changed from one best to the next. Without: w/o RTD."""
    bad_example: bool = True
    """The worst of the round. Without: w/o RTDB."""
    reasons: bool = True
    """What a person wrote about the pick (not part of the paper's method)."""
    measures: bool = False
    """What was measured in the films of best and worst: partial metrics beside preferences (not in the paper)."""
    described_traces: bool = False
    """Whether the describer also reads the reward traces of both programs (not in the paper)."""


AS_PUBLISHED = Feedback()


def write_prompt(problem: Problem, rounds: Sequence[Round], shown: Feedback) -> Prompt:
    """The first prompt, or the one that carries history, best, worst and the judge's words."""
    if not rounds:
        return Prompt(find_form(problem).first_prompt)
    form, last = find_form(problem), rounds[-1]
    shown = shown if form.traced else replace(shown, traces=False)
    parts: list[str | Text] = []
    if history := [format_history_entry(r, shown) for r in rounds[:-1] if shown.traces or r.difference]:
        parts.append(fill_prompt("history", entries=join_texts("\n\n", map(mark_optional, history))))
    best = form.example(last.best, shown.measures)
    parts.append(form.render("best", iteration=last.iteration, difference=format_difference(last), **best))
    if last.worst and shown.bad_example:
        parts.append(form.render("worst", iteration=last.iteration, **form.example(last.worst, shown.measures)))
    said = [last.undecided, last.reason if shown.reasons else ""]
    if any(said):
        parts.append(render("reason", reason="\n".join(filter(None, said))))
    if last.ranking:
        parts.append(last.ranking)
    name = "feedback" if last.worst and shown.bad_example else "feedback_good"
    examples = join_texts("\n\n", parts)
    return make_prompt(form.chat, fill_prompt(form.prompt_name(name), problem=form.statement, examples=examples))


def format_ranking(judged: Sequence[Judged], rounds: Sequence[Round]) -> str:
    """How a reward model that learned from all picks ranks what the next prompt shows; empty where it learned nothing
    or fewer than two can be ranked.
    """
    last = rounds[-1]
    named = {one.best.candidate.id: f"the best of iteration {one.iteration}" for one in rounds}
    if last.worst:
        named[last.worst.candidate.id] = f"the worst of iteration {last.iteration}"
    shown = [one.best for one in rounds] + ([last.worst] if last.worst else [])
    ranked, among = preference_model.rank(judged, shown), preference_model.rank(judged, judged[-1].outcomes)
    if len(ranked) < 2 or last.best not in among:
        return ""
    right, count = preference_model.count_foretold(judged)
    return render(
        "ranking",
        ranked=", ".join(named[one.candidate.id] for one in ranked),
        count=len(among),
        place=among.index(last.best) + 1,
        foretold=render("foretold", right=right, count=count) if count else "",
    )


def format_history_entry(entry: Round, shown: Feedback) -> str:
    """An earlier round's best in a few lines: its trace where traces are shown, and what set it apart."""
    trace = f"Reward trace:\n{format_trace(entry.best.trace)}" if shown.traces else ""
    return render("history_entry", iteration=entry.iteration, trace=trace, difference=format_difference(entry))


def format_difference(entry: Round) -> str:
    """What set this round's best apart from the one before, on lines of its own; empty where it is unknown."""
    return "\n" + render("difference", description=entry.difference.strip()) if entry.difference else ""


def describe_prompt(problem: Problem, earlier: Outcome, later: Outcome, shown: Feedback) -> tuple[Message, ...]:
    """The question to the describer about two consecutive bests: by their programs alone, as published, unless its
    option adds their traces.
    """
    form = find_form(problem)
    return form.chat(form.describe_text(earlier, later, shown.described_traces))
