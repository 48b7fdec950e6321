"""From a Write request to executable candidates: ask, extract, check, repair, ask again; every paid reply is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from llm import extract
from llm.backend import ChatBackend, OnReply, Reply, Watch
from llm.errors import ModelError, TooLong
from llm.messages import format_inputs
from llm.prompts import render
from llm.records import Ask, Candidate, Look, Message, Problem, Rate, Write
from llm.reply_buyer import OutOfBudget, ReplyBuyer, StopCheck, attach_images, group_replies
from llm.shortening import Attempt, Conversation

REPAIRS = 2  # at most, for each answer
ANSWERS_PER_CANDIDATE = 4  # budget: this many replies for each candidate asked for
LEAST_ANSWERS = 12  # but at least this many: one alone fails no sooner


class Checked(Protocol):
    """What the reward check says about one source."""

    @property
    def ok(self) -> bool:
        """Whether it may be trained."""

    @property
    def stage(self) -> str:
        """Where the check ended, e.g. parse, allow-list or done."""

    @property
    def reason(self) -> str:
        """What to change; empty where nothing is wrong."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the writer about a program that may be trained."""


Check = Callable[[Sequence[str]], Sequence[Checked]]


@dataclass(frozen=True)
class Refused:
    """An answer that gave no candidate, and why."""

    seed: int
    stage: str
    """cut off, no code, duplicate, or the stage of the reward check."""
    reason: str
    text: str
    """The code, or the whole answer where there was none."""


@dataclass(frozen=True)
class Written:
    """The result of writing. `error` is empty when all candidates are there."""

    candidates: tuple[Candidate, ...]
    calls: tuple[Reply, ...]
    """Every reply, also those used from `saved`, in the order of their seeds."""
    refused: tuple[Refused, ...] = ()
    error: str = ""
    permanent: bool = False
    """Whether trying again without changing something (a key, a model) is useless."""
    left_out: int = 0
    """Pieces for which the model's context had no room; of the prompt that lost most."""
    room: int = 0
    """The model's context in tokens, where a prompt was too long for it and the refusal named it."""


@dataclass(frozen=True)
class Asked:
    """A plain answer. `error` says why `text` is empty."""

    text: str
    calls: tuple[Reply, ...]
    error: str = ""
    permanent: bool = False
    room: int = 0
    """See Written.room."""


@dataclass(frozen=True)
class Answer:
    """A reply and the conversation that it answers."""

    conversation: Conversation
    reply: Reply
    thought: str = ""
    """What was said before the program of which this is a repair."""
    notes: tuple[str, ...] = ()
    """What the check noted about the program."""

    @property
    def source(self) -> str | None:
        """The reward function in the reply; None where it holds none."""
        return extract.find_source(self.reply.text)


def write(
    backend: ChatBackend,
    request: Write,
    problem: Problem,
    check: Check,
    saved: Sequence[Reply] = (),
    on_call: OnReply | None = None,
    stop_check: StopCheck | None = None,
    room: int = 0,
    watch: Watch | None = None,
) -> Written:
    """Ask for `request.count` different executable reward functions.

    Every answer that fails the check is repaired at most twice, with the verdict; then fresh answers are asked for, up
    to four replies for each candidate, but at least twelve. `check` judges a batch of sources at once. `saved` are the
    replies of earlier runs of this request, all used before others are bought; `on_call` is called with each new one as
    it arrives, so that the caller can save it. `stop_check` is called, from any thread, before answers are bought, and
    `watch` while they are waited for; what they raise ends the writing, and closes the connections of open requests.
    `room` is the model's context in tokens, 0 for unknown: optional parts of the prompt are left out where it would not
    fit. Failures are in the result, not raised.
    """
    budget = max(LEAST_ANSWERS, ANSWERS_PER_CANDIDATE * request.count)
    shared = (group_replies(saved), on_call, stop_check, request.tokens, watch, room)
    buyer = ReplyBuyer(backend, request.seed, budget, *shared)
    conversation = buyer.shorten(Conversation(request.messages, request.optional), wanted=request.count)
    messages = conversation.messages
    accepted: dict[str, Answer] = {}  # by the normalised program
    refused: list[Refused] = []
    error, permanent, named = "", False, 0
    try:
        while len(accepted) < request.count:
            seeds = buyer.take_seeds(request.count - len(accepted))
            answers = [Answer(conversation, reply) for reply in buyer.get_replies(messages, seeds)]
            for repairs_left in range(REPAIRS, -1, -1):
                failed = sort_answers(answers, check, accepted, refused)
                if not failed or not repairs_left or len(accepted) >= request.count:
                    break
                answers = repair_answers(failed, problem, buyer, may_buy=not buyer.find_unused_replies(messages))
    except OutOfBudget:
        error = explain_too_few(len(accepted), request.count, buyer.used, refused)
    except ModelError as failure:
        error, permanent, named = str(failure), failure.permanent, find_context(failure)
    good = list(accepted.values())[: request.count]
    candidates = tuple(make_candidate(request, index, answer) for index, answer in enumerate(good, request.first))
    calls = tuple(sorted(buyer.calls, key=lambda r: r.seed))
    return Written(candidates, calls, tuple(refused), error, permanent, buyer.left_out, named)


def find_context(failure: ModelError) -> int:
    """The context that a refusal named, in tokens; 0 where there was none to name, or it did not."""
    return failure.room if isinstance(failure, TooLong) else 0


def make_candidate(request: Write, index: int, answer: Answer) -> Candidate:
    """The executable program of this answer as the request's candidate of this index."""
    assert answer.source is not None
    thought = answer.thought or extract.find_thought(answer.reply.text) if request.thought else ""
    return Candidate(f"{request.iteration}-{index}", answer.source, request.parent, thought, answer.notes)


def sort_answers(
    answers: Sequence[Answer], check: Check, accepted: dict[str, Answer], refused: list[Refused]
) -> list[tuple[Answer, Refused]]:
    """Put new executable programs into `accepted`, the rest into `refused`; give back what a repair may save."""
    readable = [(answer, answer.source) for answer in answers]
    sources = [s for _, s in readable if s is not None]
    verdicts = iter(check(sources) if sources else [])
    failed = []
    for answer, source in readable:
        verdict = next(verdicts) if source is not None else None
        refusal = _find_refusal(answer.reply, source, verdict, accepted)
        if source is not None and refusal is None:
            accepted[extract.normalize_program(source)] = replace(answer, notes=verdict.notes if verdict else ())
        if refusal is not None:
            refused.append(refusal)
            if refusal.stage not in ("cut off", "duplicate"):
                failed.append((answer, refusal))
    return failed


def _find_refusal(
    reply: Reply, source: str | None, verdict: Checked | None, accepted: Mapping[str, Answer]
) -> Refused | None:
    """Why this reply gives no candidate; None when it does."""
    if verdict is not None and source is not None:
        if not verdict.ok and reply.finish_reason != "length":
            return Refused(reply.seed, verdict.stage, verdict.reason, source)
        if verdict.ok and extract.normalize_program(source) in accepted:
            return Refused(reply.seed, "duplicate", "the same program was already written in this iteration", source)
        if verdict.ok:
            return None
    if reply.finish_reason == "length":
        return Refused(
            reply.seed, "cut off", "the answer ended before it was complete: raise the token limit", reply.text
        )
    reason = "the answer has no Python function compute_reward" if reply.text.strip() else "the answer is empty"
    return Refused(reply.seed, "no code", reason, reply.text)


def repair_answers(
    failed: Sequence[tuple[Answer, Refused]], problem: Problem, buyer: ReplyBuyer, may_buy: bool
) -> list[Answer]:
    """Each failed answer asked again with what was wrong, concurrently; a call that fails costs only its repair.

    Where none may be bought, as saved first answers wait for their use, those that are saved. Raises OutOfBudget, and
    ModelError where asking on is useless.
    """
    seeds = buyer.take_seeds(len(failed))
    talks = [buyer.shorten(ask_for_repair(answer, refusal, problem)) for answer, refusal in failed[: len(seeds)]]
    sent = [talk.messages for talk in talks]
    saved = buyer.use_saved([buyer.find_unused_replies(messages) for messages in sent], seeds)
    with ThreadPoolExecutor(max_workers=len(talks)) as pool:
        replies = list(pool.map(partial(repair, buyer, may_buy), sent, seeds, saved))
    thoughts = [answer.thought or extract.find_thought(answer.reply.text) for answer, _ in failed[: len(seeds)]]
    return [Answer(talk, reply, said) for talk, reply, said in zip(talks, replies, thoughts, strict=True) if reply]


def repair(
    buyer: ReplyBuyer, may_buy: bool, messages: tuple[Message, ...], seed: int, saved: Reply | None
) -> Reply | None:
    """The saved reply, else a bought one; None where that may not be, or its call failed in a way that may pass."""
    if saved or not may_buy:
        return saved
    try:
        return next(iter(buyer.buy(messages, [seed])), None)
    except ModelError as failure:
        if failure.permanent:
            raise
        return None


def ask_for_repair(answer: Answer, refusal: Refused, problem: Problem) -> Conversation:
    """The conversation so far, the answer, and what to correct."""
    wanted = render("repair", stage=refusal.stage, reason=refusal.reason[:1500], inputs=format_inputs(problem))
    said = extract.strip_thinking(answer.reply.text).strip() or "(empty)"
    attempt = Attempt({"role": "assistant", "content": said}, {"role": "user", "content": wanted})
    return answer.conversation.add_attempt(attempt)


def explain_too_few(got: int, wanted: int, asked: int, refused: Sequence[Refused]) -> str:
    """The most frequent failures, for the person who decides what to change."""
    stage, times = Counter(r.stage for r in refused).most_common(1)[0] if refused else ("no reply", asked)
    last = next((r.reason for r in reversed(refused) if r.stage == stage), "")
    return (
        f"only {got} of {wanted} reward functions were executable after {asked} answers. Most failed at stage "
        f"{stage!r} ({times} times), for example: {last[:500]}. Try another model, or ask again."
    )


def ask(
    backend: ChatBackend,
    request: Ask | Look | Rate,
    saved: Sequence[Reply] = (),
    on_call: OnReply | None = None,
    images: Sequence[str] = (),
    accept: Callable[[str], bool] = bool,
    stop_check: StopCheck | None = None,
    watch: Watch | None = None,
) -> Asked:
    """A plain answer; one that is empty, cut off or not accepted is asked again, three times in all.

    `images` are data URLs; `stop_check` and `watch` as in `write`. The prompt is sent as it is, however long.
    """
    buyer = ReplyBuyer(backend, request.seed, 3, group_replies(saved), on_call, stop_check, watch=watch)
    messages = attach_images(request.messages, images)
    error, permanent, text, named = "", False, "", 0
    try:
        while not text:
            reply = next(iter(buyer.get_replies(messages, buyer.take_seeds(1))), None)
            said = extract.strip_thinking(reply.text).strip() if reply and reply.finish_reason != "length" else ""
            text = said if accept(said) else ""
    except OutOfBudget:
        error = f"the model gave no usable answer in {buyer.used} tries. Try another model, or ask again."
    except ModelError as failure:
        error, permanent, named = str(failure), failure.permanent, find_context(failure)
    return Asked(text, tuple(sorted(buyer.calls, key=lambda r: r.seed)), error, permanent, named)
