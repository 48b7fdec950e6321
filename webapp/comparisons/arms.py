"""The arms of a comparison: methods with their options and their share of the budget."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from llm.method import Method
from llm.methods import OFFERED
from llm.methods import get_method as find_method
from simulation.names import find_name
from webapp.experiments import prompt_sets
from webapp.experiments.models import PromptSet
from webapp.experiments.options import format_value, parse_options

MOST_ROUNDS = 20
LARGE_K, MOST_LARGE_ROUNDS = 16, 40
"""With this many candidates a round there may be more rounds: 512 candidates are 32 rounds of Eureka as published."""
LONGEST_NAME = 60
JUDGING, AGAIN, PROMPTS = "judge.", "again", "prompts"
"""How an arm's own options of the judge begin, and the options that make it the method again or choose its prompts."""


@dataclass(frozen=True)
class Arm:
    """A method with its options and its share of the budget."""

    method: str
    k: int
    n: int
    options: tuple[tuple[str, Any], ...] = ()
    """The options that differ from their defaults, without the budget."""
    budget: int = 0
    """For a method that counts its candidates itself; else 0."""
    judging: tuple[tuple[str, str], ...] = ()
    """Options of the judge that differ from the comparison's, in this arm alone: a control."""
    again: int = 0
    """Above 0: the same method again with seeds of its own, so that the two differ by chance alone (A/A)."""
    prompt_set: PromptSet | None = None
    """The words in which its language models are asked; None: as installed."""
    name: str = field(default="", compare=False)
    """The experimenter's own; empty: the method and its options."""
    difference: str = field(default="", compare=False)
    """What `name_arms` adds where arms of one comparison have the same method and options, for example "K=3"."""

    @property
    def label(self) -> str:
        """The arm's name, unique within its comparison (`name_arms`)."""
        if self.name:
            return self.name
        extra = ", ".join(
            [
                *(f"{name}={format_value(value)}" for name, value in self.options),
                *(f"{JUDGING}{name}={value}" for name, value in self.judging),
                *([f"{AGAIN}={self.again}"] if self.again else []),
                *([f"{PROMPTS}={self.prompt_set}"] if self.prompt_set else []),
            ]
        )
        title = find_method(self.method).title + (f" ({extra})" if extra else "")
        return f"{title}, {self.difference}" if self.difference else title

    @property
    def is_control(self) -> bool:
        """Whether it stands beside a method to show what chance, or its judge, does to it."""
        return bool(self.judging or self.again)

    @property
    def candidates(self) -> int:
        return find_method(self.method).candidates_of(self.k, self.n, self.settings)

    @property
    def rounds(self) -> int:
        """`n`, or what follows from the budget of a method that counts its candidates."""
        return find_method(self.method).rounds_of(self.k, self.n, self.settings)

    @property
    def settings(self) -> dict[str, Any]:
        own = {"budget": self.budget} if self.budget else {}
        return find_method(self.method).settings({**dict(self.options), **own})


def parse_arm(text: str, candidates: int, most_large_rounds: int = MOST_LARGE_ROUNDS) -> Arm:
    """An arm from "method" or "method:name=value,name=value"; k is one of the names. "Own name=" may stand before it.
    Raises ValueError.

    K stays the method's own where it divides the budget; else it is the divisor next to it. `most_large_rounds` is
    MOST_ROUNDS for what version 0.1.0 planned.
    """
    head, _, rest = text.partition(":")
    own, named, name = (part.strip() for part in head.rpartition("="))
    if named:
        _check_name(own)
    given = _parse_given(rest)
    judging = {key: given.pop(key) for key in list(given) if key.startswith(JUDGING)}
    again = _parse_whole(given.pop(AGAIN, "0"), AGAIN, least=0)
    words = given.pop(PROMPTS, "")
    arm = _parse_method(name, given, candidates, most_large_rounds)
    method = find_method(arm.method)
    if judging and (method.uses_metric or not method.asks_judge):
        raise ValueError(f"{method.title} asks no judge: {', '.join(judging)} would change nothing")
    own_judging = tuple(sorted((key.removeprefix(JUDGING), value) for key, value in judging.items()))
    chosen = prompt_sets.find_set(words) if words else None
    return replace(arm, name=own, judging=own_judging, again=again, prompt_set=chosen)


def add_usual(methods: Iterable[str], sees: bool, model_judges: bool) -> list[str]:
    """The methods as typed, with the options that have another default where a vision model is named, or a language
    model judges. Raises ValueError.
    """
    return [_add_options(text, _find_typed(text).find_usual(sees, model_judges)) for text in methods]


def add_published_k(methods: Iterable[str]) -> list[str]:
    """The methods as typed, with the candidates a round of their own papers. Raises ValueError."""
    return [_add_options(text, {"k": k} if (k := _find_typed(text).published_k) else {}) for text in methods]


def _find_typed(text: str) -> Method:
    return find_method(find_name("method", text.partition(":")[0].rpartition("=")[2].strip(), OFFERED))


def _add_options(text: str, wanted: Mapping[str, Any]) -> str:
    """The method as typed, with the given options that were not typed added."""
    head, _, rest = text.partition(":")
    given = _parse_given(rest)
    more = [f"{name}={value}" for name, value in wanted.items() if name not in given]
    return f"{head}:{','.join(filter(None, [rest, *more]))}" if more else text


def find_prompts(text: str) -> str:
    """What a method as typed calls the prompts that it chooses; empty where it chooses none."""
    return _parse_given(text.partition(":")[2]).get(PROMPTS, "")


def name_prompts(methods: Iterable[str]) -> list[str]:
    """The methods as typed, with the prompts that they choose under the names of their sets. Raises ValueError."""
    return [_name_prompts(text) for text in methods]


def _name_prompts(text: str) -> str:
    words = find_prompts(text)
    if not words:
        return text
    head, _, rest = text.partition(":")
    named = f"{PROMPTS}={prompt_sets.find_set(words)}"
    parts = (named if part.partition("=")[0].strip() == PROMPTS else part for part in rest.split(","))
    return f"{head}:{','.join(parts)}"


def _parse_given(rest: str) -> dict[str, str]:
    return parse_options(part for part in rest.split(",") if part.strip())


def _check_name(name: str) -> None:
    if not re.match(r"\w", name) or len(name) > LONGEST_NAME:
        raise ValueError(
            f"{name!r} cannot be a name: it begins with a letter or digit and has at most {LONGEST_NAME} characters"
        )


def _parse_method(typed: str, given: dict[str, str], candidates: int, most_large_rounds: int) -> Arm:
    name = find_name("method", typed, OFFERED)
    method = find_method(name)
    typed_k = given.pop("k", None)
    k = method.k if typed_k is None else _parse_whole(typed_k, "k")
    if k < method.least_k:
        raise ValueError(f"{method.title} needs at least {method.least_k} candidates a round, not {k}")
    if k > method.most_k:
        raise ValueError(f"{method.title} tries at most {method.most_k} at once, not {k}")
    if any(option.name == "budget" for option in method.options):
        options = method.settings({**given, "budget": candidates})
        return Arm(name, k, method.n, tuple((o, v) for o, v in options.items() if o != "budget"), candidates)
    if method.k * method.n == 1 and typed_k in (None, "1"):
        return Arm(name, 1, 1, tuple(method.settings(given).items()))  # this method gives one answer by definition
    most = most_large_rounds if k >= LARGE_K else MOST_ROUNDS
    if k > 1 and (candidates % k or candidates // k > most):
        k = _find_divisor(method, k, candidates)
    return Arm(name, k, candidates // k, tuple(method.settings(given).items()))


def _parse_whole(text: str, name: str, least: int = 1) -> int:
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{name}={text}: a whole number of at least {least} is needed")
    return int(text)


def _find_divisor(method: Method, k: int, candidates: int) -> int:
    """The divisor of the budget that is nearest to k and that the method can have; of two equally near, the larger."""
    least = max(method.least_k, -(-candidates // MOST_ROUNDS))
    fits = [d for d in range(least, candidates + 1) if candidates % d == 0]
    if not fits:
        raise ValueError(f"{method.title} cannot spend {candidates} candidates: it needs {method.least_k} a round")
    return min(fits, key=lambda d: (abs(d - k), -d))


def name_arms(arms: Iterable[Arm]) -> tuple[Arm, ...]:
    """Each arm once, with a label that no other has. Raises ValueError for own names that are not unique."""
    once: dict[Arm, Arm] = {}
    for arm in arms:
        known = once.setdefault(arm, arm)
        if arm.name and known.name and arm.name != known.name:
            raise ValueError(f"{known.name!r} and {arm.name!r} are the same method with the same options")
        once[arm] = arm if arm.name else known
    unnamed = [arm for arm in once.values() if not arm.name]
    named = tuple(_tell_apart(arm, [o for o in unnamed if o.label == arm.label]) for arm in once.values())
    if twice := [label for label, count in Counter(arm.label for arm in named).items() if count > 1]:
        raise ValueError(f"two arms are called {twice[0]!r}: choose another name")
    return named


def _tell_apart(arm: Arm, alike: Sequence[Arm]) -> Arm:
    """The arm with K, N or both in its label, where others are called the same without."""
    if arm.name or len(alike) < 2:
        return arm
    shape = {"K": arm.k, "N": arm.n}
    for letters in ("K", "N", "KN"):
        if len({tuple(getattr(other, letter.lower()) for letter in letters) for other in alike}) == len(alike):
            break
    return replace(arm, difference=", ".join(f"{letter}={shape[letter]}" for letter in letters))
