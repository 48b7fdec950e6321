"""The protocol of chat backends: replies, and the progress of requests.

It imports nothing slow, because every process that runs an experiment imports it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit, urlunsplit

from llm import prices
from llm.gate import Gate
from llm.records import Message, format_canonical

AT_ONCE = 0.99
"""The share of its time after which the first piece of a stream tells that something held all pieces back."""


@dataclass(frozen=True)
class Reply:
    """One answer of a model, with everything needed to account for it. Holds no credentials."""

    text: str
    finish_reason: str
    """stop, or length when the answer was cut off; LOST for one that broke off in the middle."""
    usage: prices.Usage | None
    cost: float | None
    """US dollars; None when the price is unknown."""
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
    first_token: float | None = None
    """Seconds until its first piece of text, thoughts included; None where the answer came whole."""

    @property
    def tokens_per_second(self) -> float | None:
        """How fast it was written, from its first piece of text on; None where that is unknown."""
        began = self.first_token or 0.0
        seconds = self.latency - began if began < AT_ONCE * self.latency else self.latency
        return self.usage.output_tokens / seconds if self.usage and seconds > 0 else None


def reply_to_json(reply: Reply) -> dict[str, Any]:
    """The reply as plain values, for a JSON column or file."""
    return asdict(reply)


def reply_from_json(data: Mapping[str, Any]) -> Reply:
    """The reply that `reply_to_json` wrote. Raises KeyError or TypeError where fields are missing or strange."""
    usage = prices.Usage(**data["usage"]) if data["usage"] else None
    return Reply(**{**data, "usage": usage})


def hash_images(messages: Sequence[Message]) -> list[Message]:
    """The messages with a hash in place of each image: what is saved, and what tells requests apart."""
    return [{**m, "content": _hash_images_of(m["content"])} for m in messages]


def _hash_images_of(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [_hash_image(part) if part.get("type") == "image_url" else part for part in content]


def _hash_image(part: Mapping[str, Any]) -> dict[str, Any]:
    url = part["image_url"]["url"]
    known = url.startswith("sha256:")
    return {
        "type": "image_url",
        "image_url": {"url": url if known else f"sha256:{hashlib.sha256(url.encode()).hexdigest()}"},
    }


def hash_request(request: Mapping[str, Any]) -> str:
    """SHA-256 of the canonical request."""
    return hashlib.sha256(format_canonical(request).encode()).hexdigest()


@dataclass(frozen=True)
class Underway:
    """The progress of the requests of one call of `complete`."""

    tokens: int
    """Pieces of text heard so far in answers that have not ended: about as many tokens. 0 where nothing is streamed."""
    answered: int
    asked: int
    held: bool
    """Whether a request waits for a rate limit, for its turn, or for the endpoint to recover."""


Watch = Callable[[Underway], None]
"""Receives the progress several times a second. An exception that it raises ends all requests and reaches the
caller."""


OnReply = Callable[[Reply], None]
LOST = "broken off"
"""The finish reason of a reply that was paid for and is no answer."""
MODEL_LETTERS = 120
"""Letters kept of a server's name for its model, which may be the whole path of a file."""


class ChatBackend(Protocol):
    """The interface of everything that answers a writer. `complete` asks the same question `count` times, with seeds
    seed, seed + 1, ...

    It returns the replies that arrived, ordered by seed; fewer than `count` when some requests failed. It raises a
    ModelError when none arrived, or when one failed permanently. `on_reply` is called, one call at a time, with each
    reply as it arrives, also before an error is raised, and with what came of those that ended in the middle or were
    given up: their finish reason is LOST, and they are not returned. An answer of more than `tokens` tokens (0: no
    limit) is cut off, with the finish reason "length". `watch` is told how far it is; what it raises gives the open
    requests up. Each request is let in by `gate`.
    """

    gate: Gate

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
        watch: Watch | None = None,
    ) -> list[Reply]:
        """See the class. Raises errors.ModelError, and what `on_reply` and `watch` raise."""


def strip_credentials(url: str) -> str:
    """The address without user, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
