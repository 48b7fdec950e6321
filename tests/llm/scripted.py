"""A backend whose answers a test writes, and verdicts of a reward check that it needs."""

from llm import errors
from llm.backend import Reply, hash_request
from llm.prices import Usage
from llm.records import Ask, Write
from tests.llm.experiment import FakeVerdict

REQUEST = Write(2, ({"role": "system", "content": "s"}, {"role": "user", "content": "write"}), 3, 100, parent="1-4")
QUESTION = Ask(2, ({"role": "user", "content": "what changed?"},), 50)


def program(number):
    return f'```python\ndef compute_reward(a):\n    b = {number}.5 * a\n    return b, {{"b": b}}\n```'


class Scripted:
    """A backend that answers by a function of (messages, seed); a reply, a text, or an error to raise."""

    def __init__(self, script):
        self.script, self.asked = script, []

    def complete(self, messages, count, seed, on_reply=None):
        replies, failures = [], []
        for number in range(seed, seed + count):
            self.asked.append((number, tuple(m["content"] for m in messages)))
            answer = self.script(messages, number)
            if isinstance(answer, errors.ModelError):
                failures.append(answer)
                continue
            reply = answer if isinstance(answer, Reply) else make_reply(messages, number, answer)
            replies.append(reply)
            if on_reply:
                on_reply(reply)
        if not replies or any(f.permanent for f in failures):
            raise failures[0]
        return replies


def make_reply(messages, seed, text, finish="stop"):
    request = {"messages": list(messages), "seed": seed}
    return Reply(text, finish, Usage(1, 1), None, 0.1, "m", "", request, hash_request(request), seed, "2026-01-01")


def accept(sources):
    return [FakeVerdict(True) for _ in sources]


def refuse(word, stage="run", reason="a is not defined"):
    return lambda sources: [FakeVerdict(word not in s, stage, reason) for s in sources]
