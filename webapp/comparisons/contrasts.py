"""What a comparison claims and tests: pairs of arms, fixed before it runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from llm.methods import get_method as find_method
from webapp.comparisons.arms import AGAIN, JUDGING, LONGEST_NAME, MOST_LARGE_ROUNDS, PROMPTS, Arm, parse_arm

Claim = Literal[">", "=", "vs"]
WORDS: dict[Claim, str] = {">": "scores higher than", "=": "scores the same as", "vs": "and"}
CONTROLS = {
    "aa": "the first method again with other seeds: what chance alone makes of it",
    "inverted": "with a judge whose every answer is turned round, which must hurt",
    "blind": "with a judge who chooses blindly, beside OpenLoop with the same judge, which must be equal",
    "dose": "with a judge who errs a little, who must help more than a blind one",
}
"""What stands beside the first method of a comparison, by its name on the command line."""
INVERTED, BLIND, DOSE = f"{JUDGING}mistake=1", f"{JUDGING}beta=0", f"{JUDGING}beta=3"


@dataclass(frozen=True)
class Contrast:
    """A claim about two arms."""

    first: Arm
    second: Arm
    claim: Claim = "vs"

    @property
    def text(self) -> str:
        """The contrast as it is typed and as the record of a comparison keeps it."""
        return f"{self.first.label} {self.claim} {self.second.label}"

    @property
    def words(self) -> str:
        if self.claim == "vs":
            return f"{self.first.label} and {self.second.label} differ"
        return f"{self.first.label} {WORDS[self.claim]} {self.second.label}"


def parse_contrasts(
    texts: Iterable[str], arms: Sequence[Arm], candidates: int, most_large_rounds: int = MOST_LARGE_ROUNDS
) -> tuple[Contrast, ...]:
    """Contrasts from "A > B", "A = B" or "A vs B"; A and B are labels of arms, or written as arms are. Without any:
    every arm but controls against the first. Raises ValueError.
    """
    found = [_parse_contrast(text, arms, candidates, most_large_rounds) for text in texts]
    return tuple(dict.fromkeys(found)) or tuple(Contrast(a, arms[0]) for a in arms[1:] if not a.is_control)


def _parse_contrast(text: str, arms: Sequence[Arm], candidates: int, most_large_rounds: int) -> Contrast:
    parts = re.split(r"\s+(>|=|vs)\s+", text.strip())
    if len(parts) != 3:
        raise ValueError(f"{text!r} is no contrast: write it as 'A > B', 'A = B' or 'A vs B'")
    first, claim, second = parts
    a, b = (_find_arm(name, arms, candidates, most_large_rounds) for name in (first, second))
    if a == b:
        raise ValueError(f"{text!r} compares a method with itself")
    return Contrast(a, b, claim)  # type: ignore[arg-type]


def _find_arm(text: str, arms: Sequence[Arm], candidates: int, most_large_rounds: int) -> Arm:
    for arm in arms:
        if arm.label.casefold() == text.casefold():
            return arm
    wanted = parse_arm(text, candidates, most_large_rounds)
    for arm in arms:
        if arm == wanted:
            return arm
    raise ValueError(f"{text!r} is not compared; compared are {'; '.join(arm.label for arm in arms)}")


def name_repeated(arm: Arm) -> str:
    """What the arm's method is called where it runs again, so that a reader sees it without knowing the option."""
    name = f"{arm.label}, repeated"
    if len(name) <= LONGEST_NAME and ":" not in name:
        return name
    return f"{find_method(arm.method).title}, repeated"


def add_controls(
    methods: Sequence[str], contrasts: Sequence[str], controls: Iterable[str], arms: Sequence[Arm]
) -> tuple[list[str], list[str]]:
    """Methods and contrasts, as typed, with those that these controls of the first method need. The usual contrasts
    stand beside the controls' where none are given.
    """
    first, wanted = arms[0], list(controls)
    told = [*methods]
    claims = list(contrasts) or [f"{arm.label} vs {first.label}" for arm in arms[1:] if not arm.is_control]
    base = re.sub(r"^[^:]*=", "", methods[0])

    def vary(option: str, of: str = base, name: str = "") -> str:
        text = f"{of}{',' if ':' in of else ':'}{option}"
        told.append(name + text)
        return text

    if "aa" in wanted:
        vary(f"{AGAIN}=1", name=f"{name_repeated(first)}=")
    if "inverted" in wanted:
        claims.append(f"{base} > {vary(INVERTED)}")
    if "blind" in wanted or "dose" in wanted:
        blind = vary(BLIND)
        claims.append(f"{base} > {blind}")
    if "blind" in wanted:
        words = f",{PROMPTS}={first.prompt_set}" if first.prompt_set else ""
        claims.append(f"{blind} = {vary(BLIND, f'open_loop:k={first.k}{words}')}")
    if "dose" in wanted:
        claims.append(f"{vary(DOSE)} > {blind}")
    return list(dict.fromkeys(told)), list(dict.fromkeys(claims))
