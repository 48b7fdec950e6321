"""RDA, the reward design agent: subtasks, an analysis of what the trained robots do about them, reflection on both."""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm.errors import MethodError, explain_missing_score
from llm.method import Method, Option
from llm.methods.rda import prompts
from llm.methods.rda.analysis import (
    Summary,
    cascade_failures,
    format_summary,
    list_worded_differently,
    merge_failures,
    read_analysis,
    scores_any,
    summarise,
)
from llm.methods.rda.subtasks import read_subtasks, revise_subtasks
from llm.records import Ask, Choose, Judge, Look, Outcome, Problem, Request, Train, Write
from llm.steps import Steps, by_id, make_seed, outcome_named

Part = Generator[Request | list[Request], Any, list[Summary]]
TRIES = 3
"""Tries of an analysis that scores no subtask."""


@dataclass(frozen=True)
class Eyes:
    """Who analyses the trained robots: a vision model, by `frames` of each rollout, or numbers of one rollout."""

    analyst: str
    frames: int
    rollouts: int


def rda(
    problem: Problem,
    rng: random.Random,
    k: int = 4,
    n: int = 5,
    analyst: str = "numbers",
    frames: int = 20,
    rollouts: int = 3,
    warm_start: bool = True,
    subtasks: bool = True,
    subtask_reflection: bool = True,
    success: bool = True,
) -> Steps:
    """N times: write K rewards for the subtasks, train, analyse every robot, reflect on subtasks and rewards.

    Without `subtasks` each analysis is of the whole task: the published ablation "+ trajectory analysis".

    The best mean score of the subtasks wins an iteration; the highest of all, the latest among equals, is returned as
    the winner's id. Raises MethodError when no candidate of an iteration can be trained, or none is analysed.
    """
    problem = problem if success else replace(problem, success="")
    eyes = Eyes(analyst, frames, rollouts if analyst == "frames" else 1)
    sees = analyst == "frames"
    parts: tuple[str, ...] = ()
    if subtasks:
        question = prompts.make_subtasks_prompt(problem)
        listed = yield Ask(1, question, make_seed(rng), "vision" if sees else "writer", scene=sees)
        parts = read_subtasks(listed, problem.description)
    best: Summary | None = None
    winner: Summary | None = None
    said = ""
    for iteration in range(1, n + 1):
        parent = best.outcome.candidate.id if best else None
        messages = prompts.make_reward_prompt(problem, parts)
        if best:
            messages = prompts.make_reflection_prompt(problem, parts, iteration - 1, best.outcome, said)
        candidates = yield Write(iteration, messages, k, make_seed(rng), parent)
        outcomes = yield Train(iteration, candidates, parent if warm_start else None, eyes.rollouts)
        seen = by_id(iteration, outcomes)
        summaries = yield from analyse(problem, rng, iteration, parts, seen, eyes)
        best = max(summaries, key=lambda s: s.score)
        winner = best if winner is None or best.score >= winner.score else winner
        if iteration == n:
            break
        said = format_summary((yield from merge(rng, iteration, best)), parts)
        if parts and subtask_reflection:
            answer = yield Ask(iteration, prompts.make_revision_prompt(problem, parts, said), make_seed(rng))
            parts = revise_subtasks(parts, answer)
    assert winner is not None
    return winner.outcome.candidate.id


def merge(rng: random.Random, iteration: int, summary: Summary) -> Generator[Request | list[Request], Any, Summary]:
    """The summary with failures that mean the same joined, which the model decides where several are worded."""
    reasons = list_worded_differently(summary)
    if not reasons:
        return summary
    question = Ask(iteration, prompts.merge_prompt(reasons), make_seed(rng), about="merge")
    return merge_failures(summary, (yield question))


def analyse(
    problem: Problem,
    rng: random.Random,
    iteration: int,
    subtasks: Sequence[str],
    seen: Mapping[str, Outcome],
    eyes: Eyes,
) -> Part:
    """Every rollout of every candidate, all at once, and a summary of each candidate whose analysis can be read."""
    requests: list[Ask | Look] = []
    for name, outcome in seen.items():
        messages = prompts.make_analysis_prompt(
            problem, subtasks, outcome, eyes.frames if eyes.analyst == "frames" else 0
        )
        for rollout in range(1, eyes.rollouts + 1):
            seed = make_seed(rng)
            look = Look(iteration, messages, name, eyes.frames, seed, rollout)
            requests.append(look if eyes.analyst == "frames" else Ask(iteration, messages, seed))
    answers = yield from ask_until_scored(requests, rng, iteration, len(subtasks))
    summaries = []
    for place, outcome in enumerate(seen.values()):
        own = answers[place * eyes.rollouts : (place + 1) * eyes.rollouts]
        found = [
            cascade_failures(read_analysis(answer, len(subtasks)))
            for answer in own
            if scores_any(answer, len(subtasks))
        ]
        if found:
            summaries.append(summarise(outcome, found))
    return summaries


def ask_until_scored(
    requests: Sequence[Ask | Look], rng: random.Random, iteration: int, count: int
) -> Generator[list[Request], Any, list[str]]:
    """An answer to each, asked for up to three times where it scores no subtask. Raises MethodError if all do so."""
    answers: list[str] = list((yield list(requests)))
    for _ in range(TRIES - 1):
        unread = [i for i, answer in enumerate(answers) if not scores_any(answer, count)]
        if unread:
            again = yield [replace(requests[i], seed=make_seed(rng)) for i in unread]
            for i, answer in zip(unread, again, strict=True):
                answers[i] = answer
    if not any(scores_any(answer, count) for answer in answers):
        raise MethodError(
            f"iteration {iteration}: no analysis scores a subtask, though each was asked for {TRIES} times. The first "
            f"says: {answers[0][:300]!r}. Begin another experiment, with another model to analyse"
        )
    return answers


# --- a person, or another judge, as the critic --------------------------------------------------------------------


def rda_judged(
    problem: Problem,
    rng: random.Random,
    k: int = 4,
    n: int = 5,
    warm_start: bool = True,
    subtask_reflection: bool = True,
    reasons: bool = True,
) -> Steps:
    """RDA with the judge as its critic: best and worst, and the reasons in words, take the place of the analysis. A
    judge's method is shown neither success test nor success rate.
    """
    problem = replace(problem, success="")
    subtasks = read_subtasks((yield Ask(1, prompts.make_subtasks_prompt(problem), make_seed(rng))), problem.description)
    bests: list[Outcome] = []
    said = ""
    for iteration in range(1, n + 1):
        best = bests[-1] if bests else None
        messages = (
            prompts.make_reflection_prompt(problem, subtasks, iteration - 1, best, said)
            if best
            else prompts.make_reward_prompt(problem, subtasks)
        )
        parent = best.candidate.id if best else None
        candidates = yield Write(iteration, messages, k, make_seed(rng), parent)
        outcomes = yield Train(iteration, candidates, parent if warm_start else None)
        seen = by_id(iteration, outcomes)
        pick = yield Judge(iteration, outcomes)
        bests.append(outcome_named(seen, pick.best))
        said = prompts.format_criticism(pick, len(pick.list_seen(seen)), reasons)
        if subtask_reflection and iteration < n:
            answer = yield Ask(iteration, prompts.make_revision_prompt(problem, subtasks, said), make_seed(rng))
            subtasks = revise_subtasks(subtasks, answer)
    if n == 1:
        return bests[0].candidate.id
    winner: str = yield Choose(tuple(bests))
    return winner


# --- without trajectory analysis ----------------------------------------------------------------------------------


def rda_scored(
    problem: Problem, rng: random.Random, k: int = 4, n: int = 5, warm_start: bool = True, success: bool = True
) -> Steps:
    """The published ablation without subtasks and analysis: told the task score, as in Eureka, with warm starts."""
    problem = problem if success else replace(problem, success="")
    best: Outcome | None = None
    winner: Outcome | None = None
    for iteration in range(1, n + 1):
        messages = (
            prompts.score_prompt(problem, iteration - 1, best) if best else prompts.make_reward_prompt(problem, ())
        )
        parent = best.candidate.id if best else None
        candidates = yield Write(iteration, messages, k, make_seed(rng), parent)
        outcomes = yield Train(iteration, candidates, parent if warm_start else None)
        best = max(by_id(iteration, outcomes).values(), key=score)
        winner = best if winner is None or score(best) > score(winner) else winner
    assert winner is not None
    return winner.candidate.id


def score(outcome: Outcome) -> float:
    """The task's metric (RTS) of a candidate. Raises MethodError where it has none."""
    if outcome.rts is None:
        raise MethodError(explain_missing_score(outcome.candidate.id, "use rda or rda_judged"))
    return outcome.rts


_WARM = Option("warm_start", True, "Training goes on from the best policy of the iteration before.")


def starts_warm(options: Mapping[str, Any]) -> bool:
    """Whether the option says so."""
    return bool(options.get(_WARM.name, _WARM.default))


_SUCCESS = Option(
    "success",
    True,
    "Show the model the environment's success test, and the success rate of the best: only on tasks with such a test.",
)
_REVISE = Option("subtask_reflection", True, "After each iteration at most one subtask is revised.")
METHODS = (
    Method(
        "rda",
        "RDA",
        "The task is split into subtasks; what each robot does about them is analysed and guides the next rewards.",
        rda,
        k=4,
        least_k=1,
        options=(
            Option(
                "analyst",
                "numbers",
                "frames: the vision model sees the clips, the default where one is named. numbers: the writing model, "
                "or the offline analyst, reads reward traces and state statistics.",
                ("numbers", "frames"),
            ),
            Option("rollouts", 3, "Rollouts of each robot; the vision model analyses every one.", low=1, high=10),
            Option("frames", 20, "Pictures of each rollout that the vision model sees.", low=2, high=60),
            _WARM,
            Option("subtasks", True, "Without: one analysis of the whole task (ablation: + trajectory analysis)."),
            _REVISE,
            _SUCCESS,
        ),
        asks_judge=False,
        trains_on=starts_warm,
        looks=lambda options: options.get("analyst") == "frames",
        seeing={"analyst": "frames"},
        revision=2,
    ),
    Method(
        "rda_judged",
        "RDA with a judge as critic",
        "Subtasks and warm starts as in RDA; a judge picks best and worst in place of the analysis.",
        rda_judged,
        k=4,
        least_k=1,
        options=(_WARM, _REVISE, Option("reasons", True, "Show the model what a person wrote about the picks.")),
        trains_on=starts_warm,
    ),
    Method(
        "rda_scored",
        "RDA without trajectory analysis",
        "The published ablation: the model is told the task score as in Eureka, and training starts warm.",
        rda_scored,
        k=4,
        least_k=1,
        options=(_WARM, _SUCCESS),
        trains_on=starts_warm,
        uses_metric=True,
    ),
)
