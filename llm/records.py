"""The requests a method yields and the results it receives: frozen, plain, JSON-able.

A method is a generator (design idea 1). Everything it yields or receives passes through
`to_json` / `from_json`, so that a replay from the database sees exactly what the first run saw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Message = dict[str, str]  # {"role": "system" | "user" | "assistant", "content": text}


@dataclass(frozen=True)
class Problem:
    """A reward design problem as a method may know it: no reset, no metric, no score."""

    task: str
    description: str
    observation_source: str
    inputs: Mapping[str, str]  # reward input -> type and shape in words, e.g. "Tensor (num_envs, 13)" or "float"


@dataclass(frozen=True)
class Candidate:
    """One executable reward function. `id` is "<iteration>-<index>", both from 1."""

    id: str
    source: str
    parent: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What training under a candidate gave."""

    candidate: Candidate
    ok: bool
    reason: str = ""  # why it failed, when not ok
    # component name (also "total", "episode_length") -> {"samples": [about ten], "max", "mean", "min"}
    trace: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # The hidden metric. Preference methods must not read these two; the proxy judge, Eureka and the like do.
    metric_trace: Mapping[str, Any] = field(default_factory=dict)
    rts: float | None = None


@dataclass(frozen=True)
class Pick:
    """A judge's answer to Judge. Ids of candidates; worst is None when only one candidate was trainable."""

    best: str
    worst: str | None
    reason: str = ""
    tags: tuple[str, ...] = ()


# --- requests -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
    """Ask the writer for `count` executable reward functions. Result: tuple[Candidate, ...]."""

    iteration: int
    messages: tuple[Message, ...]
    count: int
    seed: int
    parent: str | None = None


@dataclass(frozen=True)
class Train:
    """Train the candidates in lockstep and film them. Result: tuple[Outcome, ...] in the same order."""

    iteration: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Judge:
    """Best and worst of one iteration. Result: Pick."""

    iteration: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Choose:
    """The winner among the iterations' bests. Result: a candidate id (str)."""

    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Describe:
    """Ask the (cheaper) describer model for text. Result: str."""

    iteration: int
    messages: tuple[Message, ...]
    seed: int


Request = Write | Train | Judge | Choose | Describe
KINDS: dict[str, type] = {c.__name__: c for c in (Write, Train, Judge, Choose, Describe)}


def canonical(value: Any) -> str:
    """One text per value: the form that is hashed."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def payload(request: Request) -> dict[str, Any]:
    """The request as JSON, as saved on its row. Judge and Choose carry candidate ids only."""
    if isinstance(request, Judge | Choose):
        body: dict[str, Any] = {"candidates": [o.candidate.id for o in request.outcomes if o.ok]}
        return body | {"iteration": request.iteration} if isinstance(request, Judge) else body
    return asdict(request)


def fingerprint(request: Request) -> str:
    """SHA-256 of kind and payload; a replay whose fingerprint differs must stop."""
    return hashlib.sha256(canonical([type(request).__name__, payload(request)]).encode()).hexdigest()


def result_to_json(kind: str, result: Any) -> Any:
    """The result of a request of this kind, as saved on its row."""
    if kind in ("Write", "Train"):
        return [asdict(r) for r in result]
    return asdict(result) if kind == "Judge" else result


def result_from_json(kind: str, data: Any) -> Any:
    """Inverse of result_to_json."""
    if kind == "Write":
        return tuple(Candidate(**c) for c in data)
    if kind == "Train":
        return tuple(Outcome(**{**o, "candidate": Candidate(**o["candidate"])}) for o in data)
    if kind == "Judge":
        return Pick(**{**data, "tags": tuple(data.get("tags", ()))})
    return data


def trainable(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes that a judge can see."""
    return tuple(o for o in outcomes if o.ok)
