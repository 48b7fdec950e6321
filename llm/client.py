"""Chat models behind one protocol: anything that speaks OpenAI's chat completions, and what its failures mean."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import openai

from llm import errors, prices
from llm.records import Message, canonical

MAX_RETRIES = 5
OPTIONAL = ("seed", "temperature", "max_tokens", "max_completion_tokens")  # parameters that a server may refuse


@dataclass(frozen=True)
class Reply:
    """One answer of a model, with everything needed to account for it. Holds no credentials."""

    text: str
    finish_reason: str
    """stop, or length when the answer was cut off."""
    usage: prices.Usage | None
    cost: float | None
    """US dollars; None when usage or price is unknown."""
    latency: float
    """Seconds, retries included."""
    model: str
    fingerprint: str
    """The server's system_fingerprint; empty when it gives none."""
    request: Mapping[str, Any]
    """The canonical request: endpoint, model, messages, parameters."""
    request_hash: str
    seed: int
    at: str
    """When it arrived, UTC, ISO 8601."""


def reply_to_json(reply: Reply) -> dict[str, Any]:
    return asdict(reply)


def reply_from_json(data: Mapping[str, Any]) -> Reply:
    usage = prices.Usage(**data["usage"]) if data["usage"] else None
    return Reply(**{**data, "usage": usage})


def digested(messages: Sequence[Message]) -> list[Message]:
    """The messages with a hash in place of each image: what is saved, and what tells requests apart."""
    return [{**m, "content": _digested(m["content"])} for m in messages]


def _digested(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_digest(part) if part.get("type") == "image_url" else part for part in content]


def _digest(part: Mapping[str, Any]) -> dict[str, Any]:
    url = part["image_url"]["url"]
    known = url.startswith("sha256:")
    return {
        "type": "image_url",
        "image_url": {"url": url if known else f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"},
    }


def request_hash(request: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical request."""
    return hashlib.sha256(canonical(request).encode()).hexdigest()


OnReply = Callable[[Reply], None]


class ChatBackend(Protocol):
    """What writers talk to. `complete` asks the same question `count` times, with seeds seed, seed + 1, ...

    It returns the replies that arrived, ordered by seed; fewer than `count` when some requests failed. It raises a
    ModelError when none arrived, or when one failed permanently. `on_reply` is called, one call at a time, with each
    reply as it arrives, also before an error is raised. An answer of more than `tokens` tokens (0: no limit) is cut
    off, with the finish reason "length".
    """

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
    ) -> list[Reply]: ...


class OpenAIBackend:
    """Any OpenAI-compatible endpoint: OpenAI, Azure, vLLM, Ollama, llama.cpp."""

    def __init__(
        self,
        base_url: str,
        api_key: str,
        model: str,
        price_list: Sequence[prices.Price] | None = None,
        timeout: float = 300.0,
        concurrency: int = 8,
        temperature: float = 1.0,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        """`price_list` None takes the published prices of the model; `timeout` is in seconds for each try."""
        self.model = model
        self.endpoint = _without_credentials(base_url)
        self.prices = prices.known_prices(model) if price_list is None else tuple(price_list)
        self.temperature = temperature
        self.max_retries = max_retries
        api_key = api_key.strip()
        self._strange_key = not (api_key.isascii() and (api_key + "x").isprintable())
        self._secrets = [s for s in (api_key, urlsplit(base_url).password) if s]
        self._slots = threading.BoundedSemaphore(concurrency)
        self._client = openai.OpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=max_retries
        )

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
    ) -> list[Reply]:
        replies: list[Reply] = []
        failures: list[errors.ModelError] = []
        with ThreadPoolExecutor(max_workers=count) as pool:
            pending = [pool.submit(self._one, tuple(messages), seed + i, tokens) for i in range(count)]
            for future in as_completed(pending):
                try:
                    reply = future.result()
                except errors.ModelError as error:
                    failures.append(error)
                    continue
                replies.append(reply)
                if on_reply:
                    on_reply(reply)
        permanent = [f for f in failures if f.permanent]
        if permanent or not replies:
            raise (permanent or failures)[0]
        return sorted(replies, key=lambda r: r.seed)

    def _one(self, messages: tuple[Message, ...], seed: int, tokens: int) -> Reply:
        """One request. Parameters that the endpoint refuses are left out from then on."""
        if self._strange_key:
            raise errors.Unauthorized("the API key holds characters that no key has: copy it again")
        with self._slots:
            started = time.monotonic()
            while True:
                parameters = self._parameters(seed, tokens)
                answer, failure = self._try(messages, parameters)
                if answer is not None:
                    return self._reply(messages, parameters, seed, answer, time.monotonic() - started)
                refused = _refused_parameter(failure, parameters)
                if refused is None:
                    raise self._translate(failure)
                _remember_refused(self.endpoint, self.model, refused)

    def _parameters(self, seed: int, tokens: int) -> dict[str, Any]:
        """What is asked for beside the messages. A server that refuses one name of the token limit gets the other."""
        no = refused(self.endpoint, self.model)
        wanted: dict[str, Any] = {"seed": seed, "temperature": self.temperature}
        if tokens:
            wanted["max_completion_tokens" if "max_tokens" in no else "max_tokens"] = tokens
        return {name: value for name, value in wanted.items() if name not in no}

    def _try(
        self, messages: tuple[Message, ...], parameters: Mapping[str, Any]
    ) -> tuple[Any, openai.OpenAIError | ValueError | None]:
        """The answer or the failure: returned, so that no traceback of it carries a header into a log."""
        try:
            answer = self._client.chat.completions.create(model=self.model, messages=list(messages), **parameters)  # type: ignore[arg-type]
        except (openai.OpenAIError, ValueError) as failure:
            return None, failure
        return answer, None

    def _reply(
        self, messages: tuple[Message, ...], parameters: Mapping[str, Any], seed: int, answer: Any, latency: float
    ) -> Reply:
        choices = getattr(answer, "choices", None)
        if not choices or getattr(choices[0], "message", None) is None:
            raise errors.BadAnswer(f"{self.endpoint} answered without any choices. Is it a chat completions endpoint?")
        request = {"endpoint": self.endpoint, "model": self.model, "messages": digested(messages), **parameters}
        usage, content = _usage(answer), choices[0].message.content
        now = datetime.now(UTC)
        return Reply(
            text=_storable(content) if isinstance(content, str) else "",
            finish_reason=choices[0].finish_reason or "stop",
            usage=usage,
            cost=prices.cost(usage, self.prices, now.date()),
            latency=latency,
            model=getattr(answer, "model", None) or self.model,
            fingerprint=getattr(answer, "system_fingerprint", None) or "",
            request=request,
            request_hash=request_hash(request),
            seed=seed,
            at=now.isoformat(timespec="seconds"),
        )

    def _translate(self, failure: openai.OpenAIError | ValueError | None) -> errors.ModelError:
        """The failure as one of ours, with what to do, without secrets."""
        where, said = self.endpoint, self._clean(failure)
        match failure:
            case openai.APITimeoutError():
                return errors.TimedOut(
                    f"{where} did not answer in time, tried {self.max_retries + 1} times. Is the server overloaded? "
                    "Raise the timeout or lower the concurrency."
                )
            case openai.APIConnectionError():
                return errors.Unreachable(
                    f"{where} cannot be reached. Check the address (http://... or https://...) and that it runs."
                )
            case openai.AuthenticationError() | openai.PermissionDeniedError():
                return errors.Unauthorized(
                    f"{where} refuses the API key. Check the key and that it may use {self.model}."
                )
            case openai.NotFoundError():
                return errors.UnknownModel(
                    f"{where} knows no model {self.model!r}, or the address is wrong (it often ends in /v1)."
                )
            case openai.RateLimitError():
                return errors.RateLimited(
                    f"{where} says too many requests, or the quota is used up: wait, lower the concurrency, or check "
                    f"the account. It said: {said}"
                )
            case openai.APIStatusError() if failure.status_code >= 500:
                return errors.ServerFailed(
                    f"{where} failed with status {failure.status_code}; try again later. It said: {said}"
                )
            case openai.APIStatusError():
                return errors.BadRequest(
                    f"{where} refuses the request with status {failure.status_code}. It said: {said}"
                )
        return errors.BadAnswer(f"{where} answered with something that is not a chat completion. Check the address.")

    def _clean(self, failure: Exception | None) -> str:
        """The server's words, short and without anything that looks like a key."""
        text = str(failure)
        for secret in self._secrets:
            text = text.replace(secret, "[key]")
        text = re.sub(r"\b(sk|key|Bearer)[-_ ][\w*.-]{6,}", "[key]", text)
        return text[:300]


def _storable(text: str) -> str:
    """Without what JSON can carry and files and databases cannot: lone surrogates and NUL."""
    return text.encode(errors="replace").decode().replace("\0", "")


def _usage(answer: Any) -> prices.Usage | None:
    """The tokens, where the endpoint reports them as numbers."""
    usage = getattr(answer, "usage", None)
    read, written = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    return prices.Usage(read, written) if isinstance(read, int) and isinstance(written, int) else None


def _without_credentials(url: str) -> str:
    """The address without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


_refused: dict[tuple[str, str], frozenset[str]] = {}


def refused(endpoint: str, model: str) -> frozenset[str]:
    """The parameters that this endpoint has refused for this model since the process started."""
    return _refused.get((endpoint, model), frozenset())


def _remember_refused(endpoint: str, model: str, parameter: str) -> None:
    _refused[endpoint, model] = refused(endpoint, model) | {parameter}


def _refused_parameter(failure: Exception | None, sent: Mapping[str, Any]) -> str | None:
    """Which optional parameter a 400 or 422 complains about, if any."""
    if not isinstance(failure, openai.BadRequestError | openai.UnprocessableEntityError):
        return None
    said = f"{failure.param or ''} {failure}".lower()
    return next((name for name in OPTIONAL if name in sent and name in said), None)
