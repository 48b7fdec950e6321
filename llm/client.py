"""The backend for every server that speaks OpenAI's chat completions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from llm import errors, failures, prices
from llm.backend import LOST, MODEL_LETTERS, OnReply, Reply, Watch, hash_images, hash_request, strip_credentials
from llm.gate import Gate, Slots
from llm.records import Message
from llm.request_batch import RequestBatch, Turn, open_client
from llm.shortening import estimate_tokens
from llm.wire import Answer

MAX_RETRIES = 5
PLUMBING = ("messages", "stream", "stream_options")
"""Parts of a request that do not shape its answer."""


class OpenAIBackend:
    """Any OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama, llama.cpp."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        price_list: Sequence[prices.Price] | None = None,
        timeout: float = 300.0,
        gate: Gate | None = None,
        temperature: float = 1.0,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        """`price_list` None takes the published prices of the model; `timeout` is in seconds of silence, for each try.

        `gate` None lets eight requests at once through.
        """
        self.model = model
        self.endpoint = strip_credentials(base_url)
        self.prices = prices.find_list_prices(model) if price_list is None else tuple(price_list)
        self.temperature = temperature
        self.timeout = timeout
        self.max_retries = max_retries
        self.gate = gate or Slots(8)
        self._base_url, self._key = base_url, api_key.strip()
        self._strange_key = not (self._key.isascii() and (self._key + "x").isprintable())
        self._secrets = [s for s in (self._key, urlsplit(base_url).password) if s]

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
        watch: Watch | None = None,
    ) -> list[Reply]:
        """See ChatBackend. Each request is tried up to max_retries + 1 times where its failure may pass; one that is
        refused for good starts no others. Raises errors.ModelError where none was answered, or one refused for good.
        """
        if self._strange_key:
            raise errors.Unauthorized(f"{self.endpoint} has an API key with characters that no key has: copy it again.")
        self._check_address()
        replies: list[Reply] = []
        failed: list[errors.ModelError] = []

        def take_end(turn: Turn, result: Answer | failures.Failure) -> bool:
            if not isinstance(result, Answer):
                where = (self.endpoint, self.model, turn.tries, self._secrets)
                failed.append(failures.build_model_error(result, *where))
                return not failed[-1].permanent
            replies.append(self._reply(messages, turn, result))
            if on_reply:
                on_reply(replies[-1])
            return True

        def take_loss(turn: Turn, usage: prices.Usage | None) -> None:
            if on_reply:
                on_reply(self._reply(messages, turn, Answer("".join(turn.heard), LOST, usage, "", "")))

        batch = RequestBatch(
            gate=self.gate,
            body=lambda number: self._body(messages, number, tokens),
            on_refusal=partial(_remember_refused, self.endpoint, self.model),
            on_end=take_end,
            on_loss=take_loss,
            size=estimate_tokens(messages) + tokens,
            most_tries=self.max_retries + 1,
            watch=watch,
        )
        with open_client(self._base_url, self._key, self.timeout) as client:
            batch.run(client, range(seed, seed + count))
        permanent = [failure for failure in failed if failure.permanent]
        if permanent or not replies:
            raise (permanent or failed)[0]
        return sorted(replies, key=lambda r: r.seed)

    def _check_address(self) -> None:
        """Raises Unreachable for an invalid address, before a client fails on it."""
        try:
            parts = urlsplit(self._base_url)
            possible = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # an invalid port
            possible = False
        if not possible:
            raise failures.make_unreachable_error(self.endpoint or repr(self._base_url))

    def _body(self, messages: Sequence[Message], seed: int, tokens: int) -> dict[str, Any]:
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        wanted = {**streaming, **self._parameters(seed, tokens)}
        no = list_refused_parameters(self.endpoint, self.model)
        return {"model": self.model, "messages": list(messages)} | {k: v for k, v in wanted.items() if k not in no}

    def _parameters(self, seed: int, tokens: int) -> dict[str, Any]:
        """What shapes the answer beside the messages. A server that refuses one name of the limit gets the other."""
        no = list_refused_parameters(self.endpoint, self.model)
        wanted: dict[str, Any] = {"seed": seed, "temperature": self.temperature}
        if tokens:
            wanted["max_completion_tokens" if "max_tokens" in no else "max_tokens"] = tokens
        return wanted

    def _reply(self, messages: Sequence[Message], turn: Turn, answer: Answer) -> Reply:
        shaping = {name: value for name, value in turn.sent.items() if name not in PLUMBING}
        request = {"endpoint": self.endpoint, **shaping, "messages": hash_images(messages)}
        now = datetime.now(UTC)
        usage = answer.usage or estimate_usage(messages, turn.heard or [answer.text])
        return Reply(
            text=_strip_unstorable(answer.text),
            finish_reason=_strip_unstorable(answer.finish_reason),
            usage=usage,
            cost=prices.compute_cost(usage, self.prices, now.date()),
            latency=time.monotonic() - (turn.started or 0.0),
            first_token=None if turn.first_heard is None else turn.first_heard - (turn.started or 0.0),
            model=_strip_unstorable(answer.model)[:MODEL_LETTERS] or self.model,
            fingerprint=_strip_unstorable(answer.fingerprint),
            request=request,
            request_hash=hash_request(request),
            seed=turn.seed,
            at=now.isoformat(timespec="seconds"),
        )


def estimate_usage(messages: Sequence[Message], pieces: Sequence[str]) -> prices.Usage:
    """An estimate of what an answer in these pieces cost, where the endpoint does not say; a piece is a token or
    more.
    """
    written = max(len(pieces), estimate_tokens([{"content": "".join(pieces)}]))
    return prices.Usage(estimate_tokens(messages), written, estimated=True)


def _strip_unstorable(text: str) -> str:
    """The text without lone surrogates and NUL, which JSON allows and files and databases do not."""
    return text.encode(errors="replace").decode().replace("\0", "")


_refused: dict[tuple[str, str], frozenset[str]] = {}


def list_refused_parameters(endpoint: str, model: str) -> frozenset[str]:
    """The parameters that this endpoint has refused for this model since the process started."""
    return _refused.get((endpoint, model), frozenset())


def _remember_refused(endpoint: str, model: str, parameter: str) -> None:
    _refused[endpoint, model] = list_refused_parameters(endpoint, model) | {parameter}
