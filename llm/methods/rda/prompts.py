"""The prompts of RDA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from llm.judges.panel import format_tags, undecided_text
from llm.messages import format_context, format_number, format_problem, format_states, format_trace, make_chat
from llm.methods.rda.subtasks import number_subtasks
from llm.prompts import render
from llm.records import Message, Outcome, Pick, Problem


def format_success(problem: Problem) -> str:
    """The environment's own success test as a section; empty where the task has none, or it is not to be shown."""
    return f"\n\n{render('rda_success', success=problem.success)}" if problem.success else ""


def state_problem(problem: Problem) -> str:
    """The problem as every method states it, with the success test."""
    return format_problem(problem) + format_success(problem)


def format_result(problem: Problem, outcome: Outcome) -> str:
    """The reward trace, with the success rate where the model knows the test."""
    rate = (
        f"\n\nSuccess rate reached: {format_number(outcome.rts)}" if problem.success and outcome.rts is not None else ""
    )
    return format_trace(outcome.trace) + rate


def make_subtasks_prompt(problem: Problem) -> tuple[Message, ...]:
    """Asks for the list of subtasks."""
    return make_chat(render("rda_subtasks", problem=state_problem(problem)))


def make_reward_prompt(problem: Problem, subtasks: Sequence[str]) -> tuple[Message, ...]:
    """Asks for the first reward functions, one component a subtask; without subtasks as other methods do."""
    if not subtasks:
        return make_chat(render("first", problem=state_problem(problem)))
    return make_chat(render("rda_first", problem=state_problem(problem), subtasks=number_subtasks(subtasks)))


def make_reflection_prompt(
    problem: Problem, subtasks: Sequence[str], iteration: int, best: Outcome, analysis: str
) -> tuple[Message, ...]:
    """Asks for a better reward function than the best one, in view of the analysis of what its robot does."""
    return make_chat(
        render(
            "rda_reflect" if subtasks else "rda_reflect_whole",
            problem=state_problem(problem),
            iteration=iteration,
            source=best.candidate.annotated_source,
            trace=format_result(problem, best),
            analysis=analysis,
            **({"subtasks": number_subtasks(subtasks)} if subtasks else {}),
        )
    )


def make_analysis_prompt(
    problem: Problem, subtasks: Sequence[str], outcome: Outcome, frames: int
) -> tuple[Message, ...]:
    """The analysis of one robot, from frames of its clip or, where these are 0, from numbers alone. Without subtasks it
    is of the whole.
    """
    states = f"\n# State statistics\n\n{format_states(outcome.states)}\n" if outcome.states else ""
    return make_chat(
        render(
            "rda_look" if subtasks else "rda_look_whole",
            context=format_context(problem) + format_success(problem),
            source=outcome.candidate.annotated_source,
            trace=format_trace(outcome.trace),
            states="" if frames else states,
            seen=render("rda_frames", frames=frames) if frames else render("rda_numbers"),
            **({"subtasks": number_subtasks(subtasks)} if subtasks else {}),
        )
    )


def merge_prompt(reasons: Mapping[int, Sequence[str]]) -> tuple[Message, ...]:
    """Asks which reasons for the failure of a subtask mean the same; `reasons` are by the subtask's number."""
    entries = [
        f"Subtask {number}\n" + "\n".join(f"{i}. {reason}" for i, reason in enumerate(listed, 1))
        for number, listed in reasons.items()
    ]
    return make_chat(render("rda_merge", entries="\n\n".join(entries)))


def make_revision_prompt(problem: Problem, subtasks: Sequence[str], analysis: str) -> tuple[Message, ...]:
    """Asks which one subtask, if any, is to be put differently in view of the analysis."""
    text = render("rda_revise", problem=state_problem(problem), subtasks=number_subtasks(subtasks), analysis=analysis)
    return make_chat(text)


def score_prompt(problem: Problem, iteration: int, best: Outcome) -> tuple[Message, ...]:
    """Asks for a better reward function than the best one, told its score: the ablation without analysis."""
    score = {"task_score": best.metric_trace} if best.metric_trace else {}
    return make_chat(
        render(
            "rda_scored",
            problem=state_problem(problem),
            iteration=iteration,
            source=best.candidate.annotated_source,
            trace=format_trace({**best.trace, **score}),
            score=format_number(best.rts),
        )
    )


def format_criticism(pick: Pick, count: int, reasons: bool) -> str:
    """A judge's pick as the analysis of its best candidate, with the judge's words where they are wanted."""
    lines = [undecided_text(pick) or f"A judge who watched {count} robots liked this one best."]
    if reasons and pick.reason.strip():
        lines.append(f'In the judge\'s own words: "{pick.reason.strip()}"')
    if reasons and pick.tags:
        lines.append(f"Tags: {format_tags(pick.tags)}")
    return "\n".join(lines)
