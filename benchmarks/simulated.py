"""A SIMULATED reasoner, not a language model. It draws answers from a distribution, to show effects of scaling where
the truth is known; nothing about real models follows from it.

Asked without an example, it draws from its distribution. Shown a preferred and a rejected answer, it
repeats the one more often and the other less often: that is what the published method
hopes of a model. As a judge it believes what it would say.
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from llm import serve
from llm.backend import OnReply, Reply, Watch
from llm.gate import Gate, Slots
from llm.records import Message

NAME = "simulated-reasoner"
NOTICE = "(Simulated: drawn from a distribution, not written by a language model.)"


@dataclass
class SimulatedReasoner:
    """`answers` maps whole answers to their probabilities. Answers as a `ChatBackend` does."""

    answers: Mapping[str, float]
    preferred: float = 2.5
    """An answer that the prompt prefers becomes this many times as likely."""
    rejected: float = 0.25
    """One that it rejects becomes this many times as likely."""
    gate: Gate = field(default_factory=lambda: Slots(1))
    """Never shut: answers are drawn in this process."""

    def say(self, messages: Sequence[Message], seed: int) -> str:
        """One answer; the same for the same prompt and seed."""
        prompt = _text(messages[-1])
        digest = hashlib.sha256(f"{seed} {prompt}".encode()).hexdigest()
        rng = random.Random(digest)
        if "# Now: judge" in prompt:
            return self._judge(prompt, rng)
        if "# Now: compare" in prompt:
            return f"{NOTICE}\nDifferent"
        weights = [self._weight(answer, prompt) for answer in self.answers]
        return rng.choices(list(self.answers), weights)[0]

    def _weight(self, answer: str, prompt: str) -> float:
        liked, _, disliked = prompt.partition("# Preferred answer")[2].partition("# Rejected answer")
        factor = (self.preferred if answer in liked else 1.0) * (self.rejected if answer in disliked else 1.0)
        return self.answers[answer] * factor

    def _judge(self, prompt: str, rng: random.Random) -> str:
        entries = re.split(r"^## Number \d+\n", prompt.partition("# Now: judge")[0], flags=re.MULTILINE)[1:]
        beliefs = [next((w for a, w in self.answers.items() if a in entry), 0.01) for entry in entries]
        best = rng.choices(range(len(entries)), beliefs)[0]
        others = [i for i in range(len(entries)) if i != best]
        worst = min(others, key=lambda i: beliefs[i]) if others else best
        wanted = f"\nWorst: {worst + 1}" if "Worst: <number>" in prompt else ""
        return f"{NOTICE}\nBest: {best + 1}{wanted}"

    def complete(
        self,
        messages: Sequence[Message],
        count: int,
        seed: int,
        on_reply: OnReply | None = None,
        tokens: int = 0,
        watch: Watch | None = None,
    ) -> list[Reply]:
        """See llm.backend.ChatBackend."""
        request = {"messages": list(messages)}
        return [
            Reply(self.say(messages, number), "stop", None, None, 0.0, NAME, "", request, str(number), number, "")
            for number in range(seed, seed + count)
        ]


def answer(final: str, reasoning: str = "") -> str:
    """A written answer whose final answer is `final`."""
    return f"## Final answer\n\n${final}$\n\n## Reasoning\n\n{NOTICE} {reasoning}".strip()


def _text(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(p.get("text", "") for p in content)


class _Handler(serve.Handler):
    server: _Server

    def completion(self) -> serve.Body:
        body = self.body()
        self.server.asked.append(body)
        text = self.server.reasoner.say(body["messages"], body.get("seed", 0))
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or 10**6
        words = text.split(" ")
        cut = len(words) > limit
        usage = {"prompt_tokens": 10, "completion_tokens": min(len(words), limit)}
        whole = {
            "id": "simulated",
            "object": "chat.completion",
            "created": 0,
            "model": NAME,
            "system_fingerprint": "simulated",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": " ".join(words[:limit])},
                    "finish_reason": "length" if cut else "stop",
                }
            ],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }
        return serve.format_events(whole, usage=True) if body.get("stream") else whole


class _Server(serve.Server):
    def __init__(self, reasoner: SimulatedReasoner) -> None:
        super().__init__(0)
        self.RequestHandlerClass = _Handler
        self.reasoner = reasoner
        self.asked: list[dict[str, Any]] = []
        """The body of every request."""


@contextmanager
def run_server(reasoner: SimulatedReasoner) -> Iterator[_Server]:
    """The reasoner as an OpenAI-compatible server on a free port of this machine."""
    server = _Server(reasoner)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
