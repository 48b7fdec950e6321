"""The prompts of RDA."""

from __future__ import annotations

from collections.abc import Sequence

from llm.judges.panel import tags_text
from llm.messages import chat, context_text, number, problem_text, states_text, trace_text
from llm.methods.rda.subtasks import number_subtasks
from llm.prompts import render
from llm.records import Message, Outcome, Pick, Problem


def subtasks_prompt(problem: Problem) -> tuple[Message, ...]:
    """Asks for the list of subtasks."""
    return chat(render("rda_subtasks", problem=problem_text(problem)))


def reward_prompt(problem: Problem, subtasks: Sequence[str]) -> tuple[Message, ...]:
    """Asks for the first reward functions, one component a subtask."""
    return chat(render("rda_first", problem=problem_text(problem), subtasks=number_subtasks(subtasks)))


def reflection_prompt(
    problem: Problem, subtasks: Sequence[str], iteration: int, best: Outcome, analysis: str
) -> tuple[Message, ...]:
    """Asks for a better reward function than the best one, in view of the analysis of what its robot does."""
    return chat(
        render(
            "rda_reflect",
            problem=problem_text(problem),
            subtasks=number_subtasks(subtasks),
            iteration=iteration,
            source=best.candidate.annotated_source,
            trace=trace_text(best.trace),
            analysis=analysis,
        )
    )


def analysis_prompt(problem: Problem, subtasks: Sequence[str], outcome: Outcome, frames: int) -> tuple[Message, ...]:
    """The analysis of one robot, from frames of its clip or, where these are 0, from numbers alone."""
    states = f"\n# State statistics\n\n{states_text(outcome.states)}\n" if outcome.states else ""
    return chat(
        render(
            "rda_look",
            context=context_text(problem),
            subtasks=number_subtasks(subtasks),
            source=outcome.candidate.annotated_source,
            trace=trace_text(outcome.trace),
            states="" if frames else states,
            seen=render("rda_frames", frames=frames) if frames else render("rda_numbers"),
        )
    )


def revision_prompt(problem: Problem, subtasks: Sequence[str], analysis: str) -> tuple[Message, ...]:
    """Asks which one subtask, if any, is to be put differently in view of the analysis."""
    text = render("rda_revise", problem=problem_text(problem), subtasks=number_subtasks(subtasks), analysis=analysis)
    return chat(text)


def score_prompt(problem: Problem, iteration: int, best: Outcome) -> tuple[Message, ...]:
    """Asks for a better reward function than the best one, told its score: the ablation without analysis."""
    score = {"task_score": best.metric_trace} if best.metric_trace else {}
    return chat(
        render(
            "rda_scored",
            problem=problem_text(problem),
            iteration=iteration,
            source=best.candidate.annotated_source,
            trace=trace_text({**best.trace, **score}),
            score=number(best.rts),
        )
    )


def critic_text(pick: Pick, count: int, reasons: bool) -> str:
    """A judge's pick as the analysis of its best candidate, with the judge's words where they are wanted."""
    lines = [f"A judge who watched {count} robots liked this one best."]
    if reasons and pick.reason.strip():
        lines.append(f'In the judge\'s own words: "{pick.reason.strip()}"')
    if reasons and pick.tags:
        lines.append(f"Tags: {tags_text(pick.tags)}")
    return "\n".join(lines)
