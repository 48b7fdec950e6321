"""ICPL, in-context preference learning (Algorithm 1 of the paper)."""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial

from llm.feedback import AS_PUBLISHED, Feedback, Round, describe_prompt, format_ranking, write_prompt
from llm.forms import find_form
from llm.judges.panel import reason_text, undecided_text
from llm.judges.preference_model import Judged
from llm.method import ROUNDS_WITH_PEOPLE, Method, Option
from llm.records import Ask, Candidate, Choose, Judge, Problem, Write
from llm.sections import Prompt, fill_prompt, join_texts, make_prompt, mark_optional
from llm.steps import Steps, by_id, make_seed, outcome_named


def icpl(
    problem: Problem,
    rng: random.Random,
    k: int = 6,
    n: int = 5,
    *,
    shown: Feedback = AS_PUBLISHED,
    reasons: bool = True,
    measures: bool = False,
    diverse: bool = False,
    ranks: bool = False,
    describe_traces: bool = False,
) -> Steps:
    """Algorithm 1: N times write K candidates, try them, ask for best and worst; then choose among the N bests.

    With `diverse` the first K are written one after another, each to differ from those before (not in the paper).
    Returns the winner's id. Raises MethodError when no candidate of an iteration can be tried.
    """
    form = find_form(problem)
    shown = replace(shown, reasons=reasons, measures=measures, described_traces=describe_traces)
    rounds: list[Round] = []
    judged: list[Judged] = []
    for iteration in range(1, n + 1):
        parent = rounds[-1].best.candidate.id if rounds else None
        if diverse and not rounds:
            candidates = yield from write_in_turn(problem, rng, k)
        else:
            prompt = write_prompt(problem, rounds, shown)
            candidates = yield Write(iteration, prompt.messages, k, make_seed(rng), parent, optional=prompt.optional)
        outcomes = yield form.trial(iteration, candidates)
        seen = by_id(iteration, outcomes)
        pick = yield Judge(iteration, outcomes)
        best = outcome_named(seen, pick.best)
        worst = outcome_named(seen, pick.worst) if pick.worst else None
        difference = ""
        if shown.differences and rounds and iteration < n:  # no prompt follows the last round
            question = describe_prompt(problem, rounds[-1].best, best, shown)
            difference = yield Ask(iteration, question, make_seed(rng), "describer")
        worst = None if pick.undecided else worst  # drawn: an example of nothing
        rounds.append(Round(iteration, best, worst, difference, reason_text(pick), undecided_text(pick)))
        judged.append(Judged(pick, tuple(seen.values())))
        if ranks and iteration < n:
            rounds[-1] = replace(rounds[-1], ranking=format_ranking(judged, rounds))
    if n == 1:
        return rounds[0].best.candidate.id
    winner: str = yield Choose(tuple(r.best for r in rounds))
    return winner


def write_in_turn(
    problem: Problem, rng: random.Random, k: int
) -> Generator[Write, tuple[Candidate, ...], tuple[Candidate, ...]]:
    """K first candidates, each written in view of those before it and to differ from them."""
    written: tuple[Candidate, ...] = ()
    for index in range(1, k + 1):
        prompt = make_different_prompt(problem, written) if written else Prompt(find_form(problem).first_prompt)
        written += yield Write(1, prompt.messages, 1, make_seed(rng), first=index, optional=prompt.optional)
    return written


def make_different_prompt(problem: Problem, written: Sequence[Candidate]) -> Prompt:
    """The first prompt with the candidates that are there already, from which the next one is to differ."""
    form = find_form(problem)
    entries = [mark_optional(form.format_entry(number, c)) for number, c in enumerate(written, 1)]
    listed = join_texts("\n\n", entries)
    return make_prompt(form.chat, fill_prompt(form.prompt_name("different"), problem=form.statement, programs=listed))


_OPTIONS = (
    Option("reasons", True, "Show the model what a person wrote about the picks (not in the paper)."),
    Option(
        "measures",
        False,
        "Show the model what is measured in the films: falls, height, tilt, joints; not how far it went (not in the "
        "paper).",
    ),
    Option(
        "ranks",
        False,
        "Show the model how a reward model, learned from all picks by numbers of the films, ranks bests and worst (not "
        "in the paper).",
    ),
    Option("diverse", False, "Write the first K one after another, each to differ from the others (not in the paper)."),
)


def _make_ablation(name: str, title: str, summary: str, shown: Feedback) -> Method:
    """Problems have no traces, so the ablation without them would be ICPL itself."""
    told_apart = not shown.differences
    return Method(
        name,
        title,
        summary,
        partial(icpl, shown=shown),
        options=_OPTIONS,
        reasoning=told_apart,
        rounds_on=ROUNDS_WITH_PEOPLE,
    )


METHODS = (
    Method(
        "icpl",
        "ICPL",
        "The model writes K rewards, sees which robot you liked best and worst, and writes K more.",
        icpl,
        options=(
            *_OPTIONS,
            Option(
                "describe_traces",
                False,
                "Show the describer the reward traces of both programs too (the paper's reads the programs alone).",
            ),
        ),
        reasoning=True,
        rounds_on=ROUNDS_WITH_PEOPLE,
    ),
    _make_ablation(
        "icpl_wo_rt", "ICPL w/o RT", "ICPL without the reward traces of earlier rounds.", Feedback(traces=False)
    ),
    _make_ablation(
        "icpl_wo_rtd",
        "ICPL w/o RTD",
        "ICPL without the traces of earlier rounds and without descriptions of what changed: no history.",
        Feedback(traces=False, differences=False),
    ),
    _make_ablation(
        "icpl_wo_rtdb",
        "ICPL w/o RTDB",
        "ICPL without history and without the bad example: only the best of the last round.",
        Feedback(traces=False, differences=False, bad_example=False),
    ),
)
