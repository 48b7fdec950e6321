"""A local language model that designs rewards by choosing: a GGUF file that the user names, through xllamacpp.

Small models seldom write a program that runs. So the model only chooses: a grammar makes it name quantities,
transforms, weights and temperatures out of those that the offline writer derives from the prompt, and the offline
writer's renderer writes the program. Whatever else is asked, the offline writer's rules answer.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from llm import errors, extract
from llm.backend import OnReply, Reply, Underway, Watch, hash_images, hash_request
from llm.gate import Gate, Slots, enter_gate
from llm.offline import answer, count_tokens, cut
from llm.offline.drafting import FORMS, Component, write_source
from llm.offline.quantities import STAYING, Quantity, derive
from llm.offline.reading import Reading, read, read_text
from llm.prices import Usage
from llm.prompts import render
from llm.records import Message
from llm.shortening import estimate_tokens

WEIGHTS = ("0.03", "0.1", "0.2", "0.5", "1.0", "2.0", "3.0")
TEMPERATURES = ("0.25", "0.5", "1.0", "2.0", "4.0")
"""In units of the quantity's typical size."""
MOST_QUANTITIES = 24
"""Offered to the model, the most relevant ones: a small model loses its way among more."""
CONTEXT = 4096
NOTICE = (
    "Designed by {name}, a local language model that chose from what Prefine's rules offered; they wrote the program."
)
MISSING = "the local model needs the package xllamacpp: pip install -r requirements-local.txt"


class LocalWriter:
    """A ChatBackend. Answers one request at a time; `watch` is told between answers."""

    endpoint = "local"

    def __init__(self, path: Path, temperature: float = 0.8) -> None:
        self.path = path
        self.model = path.name
        self.temperature = temperature
        self.gate: Gate = Slots(8)

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
        watch: Watch | None = None,
    ) -> list[Reply]:
        """See ChatBackend. Raises errors.ModelError where file or package are missing, or it does not answer."""
        replies: list[Reply] = []
        for number in range(seed, seed + count):
            told = watch or (lambda underway: None)
            told(Underway(0, len(replies), count, held=False))
            held = partial(told, Underway(0, len(replies), count, held=True))
            with enter_gate(self.gate, estimate_tokens(messages) + tokens, held):
                replies.append(self._write_one(messages, number, tokens))
                if on_reply:
                    on_reply(replies[-1])
        return replies

    def _write_one(self, messages: Sequence[Message], seed: int, limit: int) -> Reply:
        started = time.monotonic()
        by_rules = answer(messages, seed)
        if extract.find_source(by_rules) is None:
            text, used = by_rules, Usage(sum(count_tokens(read_text(m)) for m in messages), count_tokens(by_rules))
        else:
            text, used = self._design(read(messages), seed)
        text, finish = cut(text, limit)
        request = {
            "endpoint": self.endpoint,
            "model": self.model,
            "messages": hash_images(messages),
            "seed": seed,
            "temperature": self.temperature,
        }
        return Reply(
            text=text,
            finish_reason=finish,
            usage=used,
            cost=0.0,
            latency=time.monotonic() - started,
            model=self.model,
            fingerprint="",
            request=request,
            request_hash=hash_request(request),
            seed=seed,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _design(self, reading: Reading, seed: int) -> tuple[str, Usage]:
        """A program of the components that the model chooses, and the tokens of choosing."""
        offered = derive(reading)[:MOST_QUANTITIES]
        body = {
            "messages": [{"role": "user", "content": make_question(reading, offered)}],
            "grammar": make_grammar(offered),
            "seed": int(hashlib.sha256(f"{seed}".encode()).hexdigest()[:7], 16),
            "temperature": self.temperature,
            "max_tokens": 400,
            "cache_prompt": False,  # earlier questions change the last digits, and with them the choice
        }
        said = _load_server(str(self.path)).handle_chat_completions(body)
        if "choices" not in said:
            raise errors.BadRequest(f"the local model {self.model} did not answer: {json.dumps(said)[:300]}")
        parts = read_components(said["choices"][0]["message"]["content"], offered)
        listed = ", ".join(f"{p.quantity.name} ({p.form})" for p in parts)
        code = write_source(parts, reading.inputs)
        text = f"{NOTICE.format(name=self.model)} It chose {listed}.\n\n```python\n{code}```\n"
        return text, Usage(said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"])


def make_question(reading: Reading, offered: Sequence[Quantity]) -> str:
    """The question to the model, in few words, because it may be small."""
    wants = {"more": "more is better", "less": "less is better", "staying": "paid in every step"}
    listed = "\n".join(f"- {q.name}: {wants.get(q.aim, f'best {q.aim}')}" for q in offered)
    earlier = ""
    for title, example in (("preferred", reading.preferred), ("rejected", reading.rejected)):
        if example is not None:
            earlier += (
                f"\nOf the rewards tried before, this one was {title}:\n```python\n{example.source[:2000]}\n```\n"
            )
    if reading.said:
        earlier += f"\nWhat was said about them: {reading.said[:500]}\n"
    return render("local", task=reading.task[:600], quantities=listed, earlier=earlier)


def make_grammar(offered: Sequence[Quantity]) -> str:
    """A GBNF grammar of two to five choices, each a JSON object; a quantity goes with the transforms that suit it.

    The first changes with what the robot does: from a constant alone, nothing can be learned.
    """
    every = range(len(offered))
    moving = [i for i in every if offered[i].aim != STAYING] or every
    rest = '",\\"weight\\":" w ",\\"temperature\\":" t "}"'
    lines = [
        'root ::= "[" f ("," c){1,4} "]"',
        f'f ::= "{{\\"quantity\\":" m {rest}',
        f'c ::= "{{\\"quantity\\":" q {rest}',
        f"m ::= {' | '.join(f'q{i}' for i in moving)}",
        f"q ::= {' | '.join(f'q{i}' for i in every)}",
        f"w ::= {' | '.join(json.dumps(weight) for weight in WEIGHTS)}",
        f"t ::= {' | '.join(json.dumps(temperature) for temperature in TEMPERATURES)}",
    ]
    for i, quantity in enumerate(offered):
        forms = " | ".join(json.dumps(json.dumps(form)) for form in FORMS[quantity.aim])
        name = json.dumps(json.dumps(quantity.name))
        lines.append(f'q{i} ::= {name} ",\\"transform\\":" ({forms})')
    return "\n".join(lines) + "\n"


def read_components(text: str, offered: Sequence[Quantity]) -> list[Component]:
    """What was chosen, each quantity once. Raises BadAnswer where the text ended before the grammar did."""
    known = {q.name: q for q in offered}
    try:
        chosen = json.loads(text)
    except ValueError as error:
        raise errors.BadAnswer(f"the local model's choice is cut off: {text[-80:]!r}") from error
    parts: dict[str, Component] = {}
    for choice in chosen:
        quantity, form = known[choice["quantity"]], choice["transform"]
        scale = quantity.scale**2 if form == "bell" else quantity.scale
        weight = -float(choice["weight"]) if form in ("absolute", "cost") else float(choice["weight"])
        part = Component(quantity, form, weight, float(choice["temperature"]) * scale)
        parts.setdefault(quantity.name, part)
    return list(parts.values())


@cache
def _load_server(path: str) -> Any:
    """The loaded model; each worker process loads it once, when it is first asked."""
    try:
        import xllamacpp
    except ImportError as error:
        raise errors.BadRequest(MISSING) from error
    if not Path(path).is_file():
        raise errors.BadRequest(f"there is no file {path!r}: PREFINE_LOCAL_MODEL must name a GGUF file")
    settings = xllamacpp.CommonParams()
    settings.model.path = path
    settings.n_ctx = CONTEXT
    settings.n_parallel = 1
    settings.warmup = False
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
    settings.verbosity = 0
    try:
        return xllamacpp.Server(settings)
    except RuntimeError as error:
        raise errors.BadRequest(f"{path} cannot be loaded as a model: {error}") from error
