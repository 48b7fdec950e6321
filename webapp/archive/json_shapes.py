"""What the JSON columns of an export may hold. Pages rely on it, so an import refuses everything else.

A shape is a type, a tuple of alternatives, a list with the shape of its items, or a dict: names with their shapes (a
question mark behind a name: it may be missing), and under `...` the shape of all other values.
"""

from __future__ import annotations

from types import NoneType
from typing import Any

from llm import records

WHOLE = int
NUMBER = (int, float)
MAYBE = (int, float, NoneType)
PLAIN = (str, int, float, bool, NoneType)
ANYTHING = object
SETTINGS = {...: (*PLAIN, [PLAIN], {...: PLAIN})}
SERIES = {"samples": [MAYBE], "max": MAYBE, "mean": MAYBE, "min": MAYBE, "all?": [MAYBE]}
WATCHED = {"clips?": {...: {...: NUMBER}}, ...: PLAIN}
MESSAGES = [{"role": str, "content": (str, [{...: ANYTHING}])}]
MATERIAL = {"experiment?": str, "name?": str, "task?": str, "method?": str, "candidate?": str, "clip?": str, ...: PLAIN}
SHAPES: dict[str, Any] = {
    "studies.Study.other_languages": [str],
    "votes.Poll.other_languages": [str],
    "studies.Arm.options": SETTINGS,
    "studies.Arm.judge_options": SETTINGS,
    "studies.Item.shown_codes": [(int, str)],
    "studies.Response.order": [str],
    "studies.Answer.value": (*PLAIN, [PLAIN], {...: (*PLAIN, [PLAIN])}),
    "experiments.Experiment.options": SETTINGS,
    "experiments.Experiment.judge_options": SETTINGS,
    "experiments.Experiment.overrides": SETTINGS,
    "experiments.Experiment.prompts": {...: {...: str}},
    "experiments.PromptSet.texts": {...: str},
    "experiments.Iteration.tags": [str],
    "experiments.Candidate.trace": {...: SERIES},
    "experiments.Candidate.metric_trace": {
        "samples?": [MAYBE],
        "all?": [MAYBE],
        "subtasks?": [{...: PLAIN}],
        "cases?": [{...: PLAIN}],
        "final_answer?": str,
        ...: MAYBE,
    },
    "experiments.Candidate.sessions": [
        {
            **dict.fromkeys(("session", "samples", "asked", "equal", "skipped", "labels", "epochs"), WHOLE),
            **dict.fromkeys(("accuracy", "accuracy_before", "correlation_before", "disagreement"), MAYBE),
            "points?": [[NUMBER]],
            "metrics?": [MAYBE],
            "held_out?": MAYBE,
            ...: MAYBE,
        }
    ],
    "experiments.Candidate.evaluation": {...: MAYBE},
    "experiments.Request.payload": {
        "iteration?": WHOLE,
        "count?": WHOLE,
        "seed?": WHOLE,
        "messages?": MESSAGES,
        "candidates?": [(str, {"id": str, "source": str, ...: ANYTHING})],
        ...: ANYTHING,
    },
    "experiments.Request.result": (str, NoneType, bool, {...: ANYTHING}, [ANYTHING]),
    "experiments.Request.pooled": (
        NoneType,
        {"people": WHOLE, "undecided": WHOLE, "strength": {...: [MAYBE]}, "score?": {...: MAYBE}, ...: ANYTHING},
    ),
    "experiments.Run.preset": SETTINGS,
    "experiments.Job.estimates": [[NUMBER]],
    "experiments.ModelCall.data": {"text": str, "request": {"messages": MESSAGES, ...: ANYTHING}, ...: ANYTHING},
    "experiments.Event.payload": {...: ANYTHING},
    "review.Vote.tags": [str],
    "review.Vote.client": WATCHED,
    "review.Trial.client": WATCHED,
    "review.Viewing.data": WATCHED,
    "votes.Vote.client": WATCHED,
    "votes.Pair.origin": {"first?": MATERIAL, "second?": MATERIAL, ...: ANYTHING},
    "votes.Pair.answers": {
        "files?": [(WHOLE, NoneType)],
        "problem?": {...: PLAIN},
        "first?": {...: ANYTHING},
        "second?": {...: ANYTHING},
    },
    "audit.Entry.detail": {...: ANYTHING},
}


def fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and _has_shape(value, shape)
    return isinstance(value, shape) and (not isinstance(value, bool) or shape in (bool, object))


def _has_shape(value: dict[str, Any], shape: dict[Any, Any]) -> bool:
    names = {str(name).removesuffix("?"): one for name, one in shape.items() if name is not ...}
    if any(name not in value for name in shape if name is not ... and not name.endswith("?")):
        return False
    for name, item in value.items():
        one = names.get(name, shape.get(...))
        if one is None or not fits(item, one):
            return False
    return True


def is_readable_request(kind: str, payload: Any, result: Any) -> bool:
    """Whether a request, and its result if it has one, can be read as this kind."""
    try:
        if "messages" in payload:
            records.read_payload(kind, payload)
        if result is not None:
            records.result_from_json(kind, result)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError):
        return False
    return True
