"""From a Write request to answers: K independent samples. None is repaired, and equal ones stay: a vote counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llm.backend import ChatBackend, OnReply, Reply
from llm.errors import ModelError
from llm.forms import find_form
from llm.forms.form import Form
from llm.records import Candidate, Problem, Write
from llm.reply_buyer import OutOfBudget, ReplyBuyer, attach_images, group_replies
from llm.shortening import Conversation
from llm.writer import (
    ANSWERS_PER_CANDIDATE,
    LEAST_ANSWERS,
    Refused,
    Written,
    find_context,
)


def write(
    backend: ChatBackend,
    request: Write,
    problem: Problem,
    saved: Sequence[Reply] = (),
    on_call: OnReply | None = None,
    images: Sequence[str] = (),
    **buyer_fields: Any,
) -> Written:
    """Ask for `request.count` answers; one without a final answer, or without a whole program, is asked afresh.

    So is one that was cut off before that: a context of C tokens that gives no answer gives another sample, as often as
    the budget of `llm.writer` allows. `images` are data URLs of the problem's figures; `buyer_fields` are fields of
    `reply_buyer.ReplyBuyer`. Failures are in the result, not raised.
    """
    budget = max(LEAST_ANSWERS, ANSWERS_PER_CANDIDATE * request.count)
    buyer = ReplyBuyer(
        backend, request.seed, budget, group_replies(saved), on_call, tokens=request.tokens, **buyer_fields
    )
    conversation = Conversation(request.messages, request.optional)
    messages = attach_images(buyer.shorten(conversation, images, request.count).messages, images)
    form = find_form(problem)
    found: list[str] = []
    refused: list[Refused] = []
    error, permanent, named = "", False, 0
    try:
        while len(found) < request.count:
            for reply in buyer.get_replies(messages, buyer.take_seeds(request.count - len(found))):
                answer = form.read(reply.text)
                if answer is None:
                    refused.append(_refuse(reply, form))
                else:
                    found.append(answer)
    except OutOfBudget:
        last = refused[-1].reason if refused else "no reply came"
        error = f"only {len(found)} of {request.count} answers were usable after {buyer.used} replies: {last}"
    except ModelError as failure:
        error, permanent, named = str(failure), failure.permanent, find_context(failure)
    candidates = tuple(
        Candidate(f"{request.iteration}-{index}", text, request.parent)
        for index, text in enumerate(found[: request.count], request.first)
    )
    calls = tuple(sorted(buyer.calls, key=lambda r: r.seed))
    return Written(candidates, calls, tuple(refused), error, permanent, buyer.left_out, named)


def _refuse(reply: Reply, form: Form) -> Refused:
    if reply.finish_reason == "length":
        reason = "the answer was cut off before it said anything final: allow more tokens (option context)"
        return Refused(reply.seed, "cut off", reason, reply.text)
    return Refused(reply.seed, "no answer", f"the answer has no {form.wanted}", reply.text)
