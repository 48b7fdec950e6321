"""The description of a method, and of the options of methods and judges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm.records import ROLES
from llm.steps import Steps

Value = bool | int | float | str
_TYPES: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


@dataclass(frozen=True)
class Option:
    """One thing that can be set. Its type is that of its default."""

    name: str
    default: Value
    help: str
    """A sentence for the form and the command line."""
    choices: tuple[str, ...] = ()
    """The texts that are allowed; empty for any."""
    low: float = -math.inf
    high: float = math.inf
    listed: bool = True
    """Whether forms and the command line list it; else Prefine's pages set it."""

    def read(self, given: Any) -> Value:
        """`given`, from JSON or as text, as this option's type. Raises ValueError saying what is expected."""
        kind = type(self.default)
        value = _parse(given, kind)
        if value is None or (self.choices and value not in self.choices):
            raise ValueError(f"option {self.name}: {given!r} is not {' or '.join(self.choices) or _TYPES[kind]}")
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            raise ValueError(f"option {self.name}: {given!r} is not between {self.low:g} and {self.high:g}")
        return value


def _parse(given: Any, kind: type) -> Value | None:
    """`given` as a `kind`, or None."""
    words = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    text = str(given).strip()
    if kind is bool:
        return words.get(text.lower())
    if kind is str:
        return text
    try:
        number = float(text)
    except ValueError:
        return None
    if isinstance(given, bool) or not math.isfinite(number) or (kind is int and number != int(number)):
        return None
    return int(number) if kind is int else number


def check_options(options: Sequence[Option], given: Mapping[str, Any], whose: str) -> dict[str, Value]:
    """The values in `given` that differ from their defaults, checked. Raises ValueError for an option that `whose` does
    not have.
    """
    known = {option.name: option for option in options}
    for name in given:
        if name not in known:
            raise ValueError(f"{whose} has no option {name!r}; it has: {', '.join(known) or 'none'}")
    values = {name: known[name].read(value) for name, value in given.items()}
    return {name: value for name, value in sorted(values.items()) if value != known[name].default}


AS_ALL = -1.0
TEMPERATURES = (
    Option(
        "temperature",
        1.0,
        "At which its language models sample; the 3D scaling paper's reasoning experiments have 0.1.",
        low=0,
        high=2,
    ),
    *(
        Option(f"temperature_{role}", AS_ALL, f"The same for the {role} alone; -1: as `temperature`.", low=-1, high=2)
        for role in ROLES[1:]
    ),
)
"""Options of every method that asks a language model. They are for those who ask, not for the method's function."""


def find_temperature(options: Mapping[str, Any], role: str) -> float | None:
    """The temperature at which the model in this role samples; None where the experiment says nothing of it."""
    own = options.get(f"temperature_{role}", AS_ALL)
    found = own if own != AS_ALL else options.get("temperature")
    return None if found is None else float(found)


ROUNDS_WITH_PEOPLE = {"HumanoidJump": 6}
"""Task -> the rounds of the ICPL paper's trials with people where they are not five, for ICPL and what it is compared
with at equal candidates.
"""


@dataclass(frozen=True)
class Method:
    """A method and its defaults."""

    name: str
    title: str
    summary: str
    function: Callable[..., Steps]
    """Called as function(problem, rng, k, n, **options)."""
    k: int = 6
    """Candidates a round, by default."""
    published_k: int = 0
    """Candidates a round in its own paper, where the default is another number, to compare at; 0: the default."""
    least_k: int = 2
    """The smallest K with something to choose from."""
    most_k: int = 32
    """The largest K that it can use."""
    n: int = 5
    """Rounds, by default."""
    rounds_on: Mapping[str, int] = field(default_factory=dict)
    """Rounds, by default, on tasks for which its paper has another number."""
    options: tuple[Option, ...] = ()
    rounds: Callable[[int, Mapping[str, Any]], int] | None = None
    """The number of rounds by K and the options, for a method that ignores N."""
    writes: bool = True
    """Whether a language model writes its candidates."""
    looks_on: bool = False
    """Whether it looks at policies that another experiment trained, and has no candidates of its own."""
    asks_pairs: bool = False
    """Whether its policies learn their rewards from answers about pairs of their segments, while they train."""
    pairs_by_vision: bool = False
    """Whether the vision model answers these pairs, with every judge."""
    algorithm: str = ""
    """ppo or sac where it is defined for that alone; empty: the training settings decide."""
    uses_metric: bool = False
    """Whether by its definition the model, or the search, sees values of the hidden metric, and no judge is asked."""
    asks_judge: bool = True
    """Whether it asks a judge, who may be a person. Methods that use the metric never do."""
    hears_judge: bool = True
    """Whether later rounds go by what its judge said of earlier ones; without it the judge finds winners alone."""
    chooses: bool = True
    """Whether its judge, after several rounds, is asked for the best of the rounds' bests."""
    compares: bool = False
    """Whether its judge is also asked which of two is better."""
    looks: Callable[[Mapping[str, Any]], bool] = lambda options: False
    """Whether, with these options, a vision model is shown the clips of each round."""
    trains_on: Callable[[Mapping[str, Any]], bool] = lambda options: False
    """Whether, with these options, a round's policies go on from the best policy of the round before."""
    seeing: Mapping[str, Value] = field(default_factory=dict)
    """Values that replace the options' defaults where a vision model is named."""
    judged_by_model: Mapping[str, Value] = field(default_factory=dict)
    """Values that replace the options' defaults where a language model judges."""
    reasoning: bool = False
    """Whether it also runs on problems that are solved by written answers or programs (llm/forms/)."""
    films_all: Callable[[Mapping[str, Any]], bool] = lambda options: False
    """Whether, with these options, all its policies are filmed, though nobody judges by their films."""
    offered: bool = True
    """Whether forms, comparisons and the command line offer it; else it begins on the page of a finished experiment."""
    revision: int = 1
    """Raised whenever its flow changes: which requests it makes, in which order, about which candidates. Other words in
    a prompt need no new revision."""

    def settings(self, given: Mapping[str, Any], sees: bool = False, model_judges: bool = False) -> dict[str, Value]:
        """The options that differ from their defaults, checked. Raises ValueError.

        Where a vision model is named (`sees`), or a language model judges, options that are not given take the values
        for that, and those that are given stay, so that a later call knows them for given.
        """
        usual = self.find_usual(sees, model_judges)
        known = {option.name: option for option in self.options}
        own = {name: known[name].read(given[name]) for name in usual if name in given}
        return check_options(self.all_options, {**usual, **given}, self.title) | own

    @property
    def asks_people(self) -> bool:
        """Whether a person can answer what it asks: it asks a judge, or about pairs that no vision model answers."""
        return not self.uses_metric and (self.asks_judge or (self.asks_pairs and not self.pairs_by_vision))

    @property
    def all_options(self) -> tuple[Option, ...]:
        """Its own and, where it asks a language model, those of every such method."""
        return (*self.options, *(TEMPERATURES if self.writes else ()))

    def select_own(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The given options that the method's function takes."""
        common = {option.name for option in TEMPERATURES}
        return {name: value for name, value in given.items() if name not in common}

    def find_usual(self, sees: bool, model_judges: bool) -> dict[str, Value]:
        """The values that replace defaults, because a vision model is named or a language model judges."""
        return {**(self.seeing if sees else {}), **(self.judged_by_model if model_judges else {})}

    def value_of(self, name: str, given: Mapping[str, Any]) -> Value:
        """The value of the option `name`: the given one, else its default."""
        default = next(option.default for option in self.options if option.name == name)
        return given.get(name, default)  # type: ignore[no-any-return]

    def propose_rounds(self, task: str) -> int:
        """The number of rounds that a new experiment on this task begins with."""
        return self.rounds_on.get(task, self.n)

    def rounds_of(self, k: int, n: int, given: Mapping[str, Any]) -> int:
        """The number of rounds of an experiment with these K, N and options."""
        return self.rounds(k, given) if self.rounds else n

    def candidates_of(self, k: int, n: int, given: Mapping[str, Any]) -> int:
        """The number of candidates that an experiment may try: its option `budget`, else K in each round."""
        own = next((option for option in self.options if option.name == "budget"), None)
        return int(given.get("budget", own.default)) if own else k * self.rounds_of(k, n, given)
