"""The requests a method yields and the results it receives: frozen, plain, JSON-able.

A method is a generator. Everything it yields or receives passes through `to_json` / `from_json`, so that a replay from
the database sees exactly what the first run saw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

Message = dict[str, Any]
"""{"role": "system" | "user" | "assistant", "content": text}. A message sent to a vision model may have a list of parts
as its content, in OpenAI's format; those that methods write are text."""
Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""
ROLES = ("writer", "describer", "judge", "vision")
"""The roles that answer an Ask; each may be another model."""
REWARD, ANSWER, PROGRAM = "reward", "answer", "program"
"""What a candidate is: a reward function, a written answer, a program."""


@dataclass(frozen=True)
class Problem:
    """What a method may know of its task: no reset, no metric, no score; no reference answer, no test case. The success
    test is for methods that are defined to show it.
    """

    task: str
    description: str
    observation_source: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Reward input -> type and shape in words, e.g. "Tensor (num_envs, 13)" or "float"."""
    form: str = REWARD
    sections: tuple[str, ...] = ()
    """Of a written answer: the headings that it should have; under the first stands its final answer."""
    language: str = ""
    """The language of a program: cpp or python."""
    header: str = ""
    """Of a program that implements functions: the C++ header that declares them; empty for one that reads its input."""
    header_name: str = ""
    """How it includes that header."""
    tolerance: float = 0.0
    """Relative difference up to which two numbers are the same answer."""
    success: str = ""
    """Code of a robot's success test, which is part of RDA's prompts alone; empty where the task has none."""


@dataclass(frozen=True)
class Candidate:
    """One executable reward function. `id` is "<iteration>-<index>", both from 1."""

    id: str
    source: str
    parent: str | None = None
    thought: str = ""
    """What the model wrote before the code, where the Write asked for it."""
    notes: tuple[str, ...] = ()
    """The check's notes about a program that may be trained: statements without effect."""

    @property
    def annotated_source(self) -> str:
        """The program as a writer is shown it, with the check's notes as comments at its end."""
        return "\n".join([self.source.strip(), *(f"# Note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class Outcome:
    """The result of trying a candidate: training under a reward, judging a program, checking an answer."""

    candidate: Candidate
    ok: bool
    reason: str = ""  # why it failed, when not ok
    # component name (also "total", "episode_length") -> {"samples": [about ten], "max", "mean", "min"}
    trace: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # The hidden metric. Preference methods must not read these two; the proxy judge, Eureka and the like do.
    metric_trace: Mapping[str, Any] = field(default_factory=dict)
    rts: float | None = None
    states: Mapping[str, Any] = field(default_factory=dict)
    """What the robot does in its film, in numbers: as simulation.rollout_statistics gives it; empty where that is not
    known. Of a program: {"outputs": a digest of what it printed}, which does not reveal whether that is right."""


@dataclass(frozen=True)
class Pick:
    """A judge's answer to Judge. Ids of candidates; worst is None when only one candidate was trainable."""

    best: str
    worst: str | None
    reason: str = ""
    tags: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    """Those that could not be shown, because their clips failed: the pick says nothing of them."""
    undecided: str = ""
    """equal or skip, as in ANSWERS, where the judge named nobody: best and worst were then drawn. Empty: they were
    named.
    """

    def list_seen(self, names: Iterable[str]) -> list[str]:
        """The candidates of these names that were shown."""
        return [name for name in names if name not in self.unseen]


# --- requests -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
    """Ask the writer for `count` executable reward functions. Result: tuple[Candidate, ...].

    Several of one iteration may run at once: `first` is the index of this one's first candidate.
    """

    iteration: int
    messages: tuple[Message, ...]
    count: int
    seed: int
    parent: str | None = None
    first: int = 1
    thought: bool = False
    """Keep what the model wrote before the code, as Candidate.thought."""
    tokens: int = 0
    """The largest number of tokens of an answer; 0: no limit."""
    optional: tuple[Span, ...] = ()
    """Parts of the last message that can be left out where it is too long for the model, the first to go first."""


@dataclass(frozen=True)
class Pairs:
    """What a policy asks about pairs of its own segments, to learn its reward from the answers while it trains. Who
    answers is the experiment's judge.
    """

    method: str
    """The algorithm that learns: a name in trainer.preferences.algorithms.METHODS."""
    queries: int
    """Answers in all."""
    truth: str
    """What a simulated teacher compares, summed over a segment: the task's human-written reward, or its metric."""
    segment: int
    """Control steps of a segment; 0: whole episodes."""
    selection: str
    """How pairs are selected from the second session on."""
    prior: bool = False
    """Whether the candidates have programs, to which the reward models add what they learn."""


@dataclass(frozen=True)
class Train:
    """Train the candidates in lockstep and film them. Result: tuple[Outcome, ...] in the same order."""

    iteration: int
    candidates: tuple[Candidate, ...]
    warm: str | None = None
    """The candidate whose final policy all of them start from, in place of random weights."""
    rollouts: int = 1
    """Rollouts that are recorded of each final policy, for Look."""
    own_seeds: bool = False
    """Whether each candidate trains with a seed of its own; else those of a round share one."""
    pairs: Pairs | None = None
    """What the policies learn their rewards from, in place of programs: the candidates then have none, or `prior`."""
    by_metric: bool = False
    """Whether the hidden metric itself is the reward, in place of programs: the candidates then have none."""
    episodes: int = 0
    """Whole episodes over which each final policy's mean actions are evaluated."""


@dataclass(frozen=True)
class Run:
    """Compare answers with the reference, or run programs on test cases. Result: tuple[Outcome, ...], in order."""

    iteration: int
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Judge:
    """Best and worst of one iteration. Result: Pick."""

    iteration: int
    outcomes: tuple[Outcome, ...]
    worst: bool = True
    """Whether the worst is asked for; without it a model names the best alone."""


@dataclass(frozen=True)
class Choose:
    """The winner among the iterations' bests. Result: a candidate id (str)."""

    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Compare:
    """Which of two is better. Result: one of ANSWERS."""

    iteration: int
    first: Outcome
    second: Outcome


ANSWERS = ("first", "second", "equal", "skip")
"""To a Compare: `equal` is a judgement, `skip` is none."""


@dataclass(frozen=True)
class Ask:
    """A plain answer from the model in this role. Result: str."""

    iteration: int
    messages: tuple[Message, ...]
    seed: int
    role: str = "writer"
    choices: int = 0
    """The answer must name one of this many as the best (judges.model.names_one); 0: any words will do."""
    scene: bool = False
    """Whether a picture of the task's robot in its scene stands behind the last message."""
    about: str = ""
    """Which of several questions to one role in a round; part of what an answer is about. Empty: there is one."""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"unknown role {self.role!r}; known: {', '.join(ROLES)}")


@dataclass(frozen=True)
class Look:
    """A plain answer from the vision model, which also gets images. Result: str.

    The images are `frames` evenly spaced moments of one rollout of the candidate's final policy, in order, behind the
    last message, which ends with what each component of the reward was worth at these moments.
    """

    iteration: int
    messages: tuple[Message, ...]
    candidate: str
    frames: int
    seed: int
    rollout: int = 1
    """Which of those that its Train request wanted."""


@dataclass(frozen=True)
class Perform:
    """Record episodes of a policy that another experiment trained, and film them. Result: tuple[Outcome, ...]; each
    candidate stands for one film.
    """

    iteration: int
    candidates: tuple[Candidate, ...]
    of: str
    """The public id of the experiment that trained the policy."""
    policy: str
    """The candidate of that experiment whose final policy it is."""


@dataclass(frozen=True)
class Rate:
    """How far the robot in a film does what its task says, as the vision model sees it. Result: {"rating": from 1 to 5,
    or None where the film cannot be seen; "words": the model's answer}.

    The images are as many evenly spaced moments of the candidate's film as `frames`, in order, behind the last message.
    """

    iteration: int
    messages: tuple[Message, ...]
    candidate: str
    frames: int
    seed: int
    number: int
    """Which of the answers about this film, from 1."""


Judged = Judge | Choose | Compare
"""The requests that a judge answers: the proxy, a model or a person."""
Request = Write | Train | Run | Judge | Choose | Compare | Ask | Look | Perform | Rate
KINDS: dict[str, type] = {c.__name__: c for c in (Write, Train, Run, Judge, Choose, Compare, Ask, Look, Perform, Rate)}
TRIED = ("Train", "Run", "Perform")
"""Kinds of requests whose result is the outcomes of candidates."""
_UNASKED = ("choices", "worst", "optional")
"""Fields that say which answers are taken and how a prompt is shortened, not what is asked: they are in the payload and
not in the fingerprint."""
_WORDING = ("messages", "seed", "first", "thought", "tokens", "scene", *_UNASKED)
"""Fields that say how something is asked, not what the answer is about. `first` is among them because an answer carries
the ids of its candidates itself."""
_LATER = {
    "first": 1,
    "thought": False,
    "tokens": 0,
    "warm": None,
    "choices": 0,
    "rollouts": 1,
    "own_seeds": False,
    "pairs": None,
    "by_metric": False,
    "episodes": 0,
    "rollout": 1,
    "scene": False,
    "about": "",
    "optional": (),
}
"""Fields that came later. At these values they are left out of the payload, so that older experiments still replay."""


def format_canonical(value: Any) -> str:
    """One text per value: the form that is hashed."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def make_payload(request: Request) -> dict[str, Any]:
    """The request as JSON, as saved on its row. What a judge answers carries candidate ids only."""
    match request:
        case Compare():
            return {"iteration": request.iteration, "candidates": [o.candidate.id for o in list_shown(request)]}
        case Judge():
            shown = [o.candidate.id for o in list_shown(request)]
            return {"candidates": shown, "iteration": request.iteration} | ({} if request.worst else {"worst": False})
        case Choose():
            return {"candidates": [o.candidate.id for o in list_shown(request)]}
    body = {name: value for name, value in vars(request).items() if _LATER.get(name, ()) != value}
    if isinstance(request, Train) and request.pairs:
        pairs = vars(request.pairs)
        body["pairs"] = {name: value for name, value in pairs.items() if name != "prior" or value}  # came later
    if isinstance(request, Train | Run | Perform):
        body["candidates"] = [_candidate_to_json(c) for c in request.candidates]
    return body


def _candidate_to_json(candidate: Candidate) -> dict[str, Any]:
    optional = ("thought", "notes")
    return {name: value for name, value in vars(candidate).items() if name not in optional or value}


def _candidate_from_json(data: Mapping[str, Any]) -> Candidate:
    return Candidate(**{**data, "notes": tuple(data.get("notes", ()))})


def list_shown(request: Judged) -> tuple[Outcome, ...]:
    """The outcomes that a judge is to look at, in order."""
    return (request.first, request.second) if isinstance(request, Compare) else list_trainable(request.outcomes)


def fingerprint_request(request: Request, options: Mapping[str, Any] | None = None) -> str:
    """SHA-256 of kind, payload and the method's options, where some are set; a replay that differs must stop."""
    return hash_payload(type(request).__name__, make_payload(request), options)


def hash_payload(kind: str, data: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> str:
    """The fingerprint of a request of this kind and payload."""
    body = [kind, {name: value for name, value in data.items() if name not in _UNASKED}]
    return hashlib.sha256(format_canonical([*body, dict(options)] if options else body).encode()).hexdigest()


def describe_meaning(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """What an answer to a request of this kind and payload is about, whatever the words that it was asked in: its
    round, its candidates by id, how many of them, their parent, the role.
    """
    about = {name: value for name, value in data.items() if name not in _WORDING}
    if kind in TRIED:
        about["candidates"] = [candidate["id"] for candidate in data["candidates"]]
    return about


def read_payload(kind: str, data: Mapping[str, Any]) -> Write | Ask | Look | Rate:
    """The request to a model that a row holds."""
    fields = {**data, "messages": tuple(data["messages"])}
    if "optional" in data:
        fields["optional"] = tuple((start, end) for start, end in data["optional"])
    return KINDS[kind](**fields)  # type: ignore[no-any-return]


def result_to_json(kind: str, result: Any) -> Any:
    """The result of a request of this kind, as saved on its row."""
    if kind == "Write":
        return [_candidate_to_json(c) for c in result]
    if kind in TRIED:
        return [{**asdict(o), "candidate": _candidate_to_json(o.candidate)} for o in result]
    if kind == "Judge":
        return {name: value for name, value in asdict(result).items() if value or name not in ("unseen", "undecided")}
    return result


def result_from_json(kind: str, data: Any) -> Any:
    """Inverse of result_to_json."""
    if kind == "Write":
        return tuple(map(_candidate_from_json, data))
    if kind in TRIED:
        return tuple(Outcome(**{**o, "candidate": _candidate_from_json(o["candidate"])}) for o in data)
    if kind == "Judge":
        return Pick(**{**data, **{name: tuple(data.get(name, ())) for name in ("tags", "unseen")}})
    return data


def list_trainable(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes that a judge can see."""
    return tuple(o for o in outcomes if o.ok)
