"""Test-time scaling in three dimensions: context (tokens), batch (answers), turn (revisions), and all three (3D).

A problem may be any that `llm.forms` knows: a reward to design, or a problem to solve by a written answer or a program.
At equal budget compare 3D with B=6, T=5 to a batch of 30 and to 30
turns, with B=5, T=3 to a batch of 15: the budget is the theoretical maximum of generated tokens, B x T x C.
"""

from __future__ import annotations

import random
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from llm.errors import MethodError, explain_missing_score
from llm.feedback import AS_PUBLISHED, Round, describe_prompt, write_prompt
from llm.forms import find_form
from llm.judges import model as model_judge
from llm.judges.panel import reason_text, undecided_text
from llm.method import Method, Option
from llm.prompts import render
from llm.records import ANSWER, Ask, Choose, Judge, Message, Outcome, Pick, Problem, Write
from llm.sections import Prompt
from llm.steps import Steps, by_id, make_seed, outcome_named

TRIES = 3
"""Tries of a grouping model before answers that no rule can compare count as different."""
_GROUP = re.compile(r"\[([\d,\s]+)\]")


def sample_batch(
    problem: Problem, rng: random.Random, k: int = 6, n: int = 5, *, by: str, context: int = 0, within: str = "best"
) -> Steps:
    """Best of B = K x N answers to the same question, written and tried in N rounds of K.

    `by` is "score" (the highest RTS), "model" (it is shown all and chooses) or "vote" (the commonest answer). Of a vote
    on written answers, whose reasoning counts too, the model then chooses the best `within` the largest group, or the
    first is taken. Returns the id chosen. Raises MethodError when no answer of a round can be tried.
    """
    form, answers = find_form(problem), list[Outcome]()
    for iteration in range(1, n + 1):
        candidates = yield Write(iteration, form.first_prompt, k, make_seed(rng), tokens=context)
        outcomes = yield form.trial(iteration, candidates)
        answers.extend(by_id(iteration, outcomes).values())
    two_stages = by == "vote" and within == "best" and problem.form == ANSWER
    pick = choose_by_vote_and_model if two_stages else PICKS[by]
    chosen: Outcome = yield from pick(problem, rng, n, answers)
    return chosen.candidate.id


def choose_by_score(
    problem: Problem, rng: random.Random, iteration: int, answers: Sequence[Outcome]
) -> Generator[Any, Any, Outcome]:
    """The highest score; the first of equal ones."""
    for a in answers:
        if a.rts is None:
            raise MethodError(explain_missing_score(a.candidate.id, "choose by model or vote"))
    yield from ()
    return max(answers, key=lambda a: a.rts or 0.0)


def choose_by_model(
    problem: Problem, rng: random.Random, iteration: int, answers: Sequence[Outcome]
) -> Generator[Any, Any, Outcome]:
    """The one that the model chooses of all. A record may hold answers that name none: then it is asked once more."""
    if len(answers) == 1:
        return answers[0]
    chosen: Pick | str | None = None
    while not isinstance(chosen, str):
        question = model_judge.make_question(Choose(tuple(answers)), problem, make_seed(rng))
        chosen = model_judge.read(question, (yield replace(question.ask, choices=len(answers))))
    return outcome_named({a.candidate.id: a for a in answers}, chosen)


def choose_by_vote(
    problem: Problem, rng: random.Random, iteration: int, answers: Sequence[Outcome]
) -> Generator[Any, Any, Outcome]:
    """The first answer of the largest group of equivalent ones."""
    group = yield from find_largest_group(problem, rng, iteration, answers)
    return group[0]


def choose_by_vote_and_model(
    problem: Problem, rng: random.Random, iteration: int, answers: Sequence[Outcome]
) -> Generator[Any, Any, Outcome]:
    """The one of the largest group of equivalent answers that the model chooses: the second stage of the paper."""
    group = yield from find_largest_group(problem, rng, iteration, answers)
    return (yield from choose_by_model(problem, rng, iteration, group))


def find_largest_group(
    problem: Problem, rng: random.Random, iteration: int, answers: Sequence[Outcome]
) -> Generator[Any, Any, list[Outcome]]:
    """The largest group of equivalent answers, in their order; of equally large groups, the one that began first.

    Answers are equivalent when a rule says so of their extracted final answers; those of which the rules cannot say
    whether they are another's equal are put before the model.
    """
    form = find_form(problem)
    groups: dict[str, list[Outcome]] = {}  # by the final answer of each one's first
    for a in answers:
        text = form.final_answer(a)
        groups.setdefault(next((known for known in groups if form.same_answer(known, text)), text), []).append(a)
    unsure = [
        text for text in groups if any(form.same_answer(text, other) is None for other in groups if other != text)
    ]
    merged = (yield from merge(problem, rng, iteration, unsure)) if unsure else []
    merged += [[text] for text in groups if text not in unsure]
    whole = [[a for text in same for a in groups[text]] for same in merged]
    winner = max(whole, key=lambda group: (len(group), -min(answers.index(a) for a in group)))
    return sorted(winner, key=answers.index)


def merge(
    problem: Problem, rng: random.Random, iteration: int, texts: Sequence[str]
) -> Generator[Any, Any, list[list[str]]]:
    """The texts in groups of what the model holds equivalent, in the order of their first members.

    Where it cannot be read in several tries, each stands alone.
    """
    listed = "\n\n".join(f"## Number {number}\n\n{text}" for number, text in enumerate(texts, 1))
    prompt = render("vote", problem=problem.description.strip(), entries=listed)
    messages = find_form(problem).judge_chat(prompt)
    for _ in range(TRIES):
        said = yield Ask(iteration, messages, make_seed(rng), "judge")
        groups = read_groups(said, len(texts))
        if groups is not None:
            return [[texts[number - 1] for number in group] for group in groups]
    return [[text] for text in texts]


def read_groups(said: str, count: int) -> list[list[int]] | None:
    """The groups "[1, 3] [2]" of the answer's last line that has any; numbers not named stand alone.

    None where there are no groups, or one names a number twice or one that does not exist.
    """
    lines = [line for line in said.splitlines() if _GROUP.search(line)]
    if not lines:
        return None
    groups = [[int(number[:9]) for number in re.findall(r"\d+", found)] for found in _GROUP.findall(lines[-1])]
    named = [number for group in groups for number in group]
    if len(set(named)) < len(named) or not set(named) <= set(range(1, count + 1)):
        return None
    groups += [[number] for number in range(1, count + 1) if number not in named]
    return sorted((sorted(group) for group in groups if group), key=lambda group: group[0])


PICKS = {"score": choose_by_score, "model": choose_by_model, "vote": choose_by_vote}


def revise_answer(problem: Problem, rng: random.Random, k: int = 1, n: int = 30, context: int = 0) -> Steps:
    """Reflection: one answer, revised N - 1 times, each time from the one before and what trying it showed.

    Returns the id of the last that could be tried. Raises MethodError when none could, and for K other than 1.
    """
    if k != 1:
        raise MethodError(f"turns revise one answer: K must be 1, not {k}")
    form = find_form(problem)
    last: Outcome | None = None
    final: Outcome | None = None
    for iteration in range(1, n + 1):
        prompt = form.first_prompt if last is None else make_reflection_prompt(problem, last)
        parent = last.candidate.id if last else None
        candidates = yield Write(iteration, prompt, 1, make_seed(rng), parent, tokens=context)
        (last,) = yield form.trial(iteration, candidates)
        final = last if last.ok else final
    if final is None:
        raise MethodError(f"none of the {n} answers could be tried. Last reason: {last.reason if last else 'none'}")
    return final.candidate.id


def make_reflection_prompt(problem: Problem, last: Outcome) -> tuple[Message, ...]:
    """The problem, the last answer with what trying it showed, and the instruction to revise it."""
    form = find_form(problem)
    return form.chat(form.render("turn", problem=form.statement, answer=form.format_outcome(last)))


def three_d(
    problem: Problem,
    rng: random.Random,
    k: int = 6,
    n: int = 5,
    negative: str = "judge",
    reasons: bool = True,
    context: int = 0,
    feedback: str = "traces",
) -> Steps:
    """3D: in each of N turns K answers, of which a judge keeps a positive and a negative for the next prompt.

    With `negative` "uniform" the negative is drawn from all but the positive, as the paper does where a model judges.
    With `reasons` the next prompt also holds a person's words about the picks. On robots it holds what ICPL's does:
    traces of the pair, earlier positives and how they differ; with `feedback` "programs" the pair's programs alone.
    Returns the positive of the last turn. Raises MethodError when no answer of a turn can be tried.
    """
    form = find_form(problem)
    traced = form.traced and feedback == "traces"
    turns: list[Round] = []
    for iteration in range(1, n + 1):
        prompt = make_turn_prompt(problem, turns, traced, reasons)
        parent = turns[-1].best.candidate.id if turns else None
        request = Write(iteration, prompt.messages, k, make_seed(rng), parent, tokens=context)
        candidates = yield replace(request, optional=prompt.optional)
        outcomes = yield form.trial(iteration, candidates)
        seen = by_id(iteration, outcomes)
        pick = yield Judge(iteration, tuple(seen.values()), worst=negative == "judge")
        positive = outcome_named(seen, pick.best)
        other = find_negative(rng, seen, pick, negative)
        difference = ""
        if traced and turns and iteration < n:  # no prompt follows the last turn
            question = describe_prompt(problem, turns[-1].best, positive, AS_PUBLISHED)
            difference = yield Ask(iteration, question, make_seed(rng), "describer")
        turns.append(Round(iteration, positive, other, difference, reason_text(pick), undecided_text(pick)))
    return turns[-1].best.candidate.id


def find_negative(rng: random.Random, seen: Mapping[str, Outcome], pick: Pick, negative: str) -> Outcome | None:
    """The judge's worst, or with "uniform" one of all but the positive; none where the judge could not name any."""
    if negative == "uniform":
        rest = [outcome for name, outcome in seen.items() if name != pick.best]
        drawn = rng.choice(rest) if rest else None
        return None if pick.undecided else drawn
    return outcome_named(dict(seen), pick.worst) if pick.worst and not pick.undecided else None


def make_turn_prompt(problem: Problem, turns: Sequence[Round], traced: bool, reasons: bool) -> Prompt:
    """The first prompt, or the one with the last turn's pair."""
    if not turns or traced:
        return write_prompt(problem, turns, replace(AS_PUBLISHED, reasons=reasons))
    last = turns[-1]
    words = "\n".join(filter(None, (last.undecided, last.reason if reasons else "")))
    return Prompt(make_pair_prompt(problem, last.best, last.worst, words))


def make_pair_prompt(
    problem: Problem, positive: Outcome, negative: Outcome | None, words: str = ""
) -> tuple[Message, ...]:
    """The problem with a positive and a negative example: only the answers themselves and a person's words about them,
    and nothing of earlier turns.
    """
    form = find_form(problem)
    parts = [render("negative", answer=form.format_candidate(negative.candidate))] if negative else []
    if words:
        parts.append(render("reason", reason=words))
    shown = form.format_candidate(positive.candidate)
    return form.chat(render("pair", problem=form.statement, positive=shown, rejected="\n\n".join(parts)))


_CONTEXT = Option("context", 0, "The most tokens of an answer (C); 0: as many as the model gives by itself.", low=0)
_BATCH = "Best of B answers to one question, B = K x N: "
METHODS = (
    Method(
        "scaling_context",
        "Context scaling",
        "One answer, with room for C tokens: what the model writes at once.",
        partial(sample_batch, by="model"),
        k=1,
        n=1,
        least_k=1,
        reasoning=True,
        options=(_CONTEXT,),
        asks_judge=False,
    ),
    Method(
        "scaling_batch_score",
        "Batch scaling, by score",
        f"{_BATCH}the one with the highest task score.",
        partial(sample_batch, by="score"),
        reasoning=True,
        options=(_CONTEXT,),
        uses_metric=True,
    ),
    Method(
        "scaling_batch_model",
        "Batch scaling, by model",
        f"{_BATCH}the one that the model chooses.",
        partial(sample_batch, by="model"),
        reasoning=True,
        options=(_CONTEXT,),
        asks_judge=False,
    ),
    Method(
        "scaling_batch_vote",
        "Batch scaling, by vote",
        f"{_BATCH}one of the commonest.",
        partial(sample_batch, by="vote"),
        reasoning=True,
        options=(
            _CONTEXT,
            Option(
                "within",
                "best",
                "Which of the commonest, on problems with written answers: the one that the model chooses, or the "
                "first.",
                choices=("best", "first"),
            ),
        ),
        revision=2,
        asks_judge=False,
    ),
    Method(
        "scaling_turn",
        "Turn scaling (reflection)",
        "One answer that the model revises again and again. K is 1, N the number of turns.",
        revise_answer,
        k=1,
        n=30,
        least_k=1,
        reasoning=True,
        options=(_CONTEXT,),
        asks_judge=False,
    ),
    Method(
        "scaling_3d",
        "3D scaling",
        "K answers a turn; a judge keeps a good and a bad one, and the next prompt is the problem with this pair.",
        three_d,
        reasoning=True,
        options=(
            Option(
                "negative",
                "judge",
                "Who names the bad example: the judge, or chance (as published for a model that judges, and then the "
                "default).",
                choices=("judge", "uniform"),
            ),
            Option("reasons", True, "Show the model what a person wrote about the picks (not in the paper)."),
            Option(
                "feedback",
                "traces",
                "What the next prompt holds on robots: traces, differences and earlier turns as in ICPL, or the two "
                "programs alone.",
                choices=("traces", "programs"),
            ),
            _CONTEXT,
        ),
        chooses=False,
        judged_by_model={"negative": "uniform"},
        revision=2,
    ),
)
