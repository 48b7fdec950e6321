"""Names of a poll's pairs. Staff alone read them: a name may say what is compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from webapp.votes.models import Pair

DISTINCTIONS = (("task",), ("seed",), ("task", "seed"))
"""What is added to the arms where pairs have the same: the first that tells all of them apart. Labels of people are not
among these, because a plan is published and an erasure could not take them out again.
"""


def name_pairs(pairs: Sequence[Pair]) -> dict[int, str]:
    """The name of each of a poll's pairs, by primary key: its own, else its arms and what differs, else its number."""
    alike: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        if not pair.name:
            alike["attention check" if pair.is_check else pair.arms].append(pair)
    names = {pair.pk: pair.name for pair in pairs if pair.name}
    taken = set(names.values())
    for arms, unnamed in alike.items():
        endings = _tell_apart(unnamed) if len(unnamed) > 1 or arms in taken else [""]
        names |= {pair.pk: f"{arms}, {end}" if end else arms for pair, end in zip(unnamed, endings, strict=True)}
    return names


def _tell_apart(pairs: Sequence[Pair]) -> list[str]:
    facts = [_read_facts(pair) for pair in pairs]
    for distinction in DISTINCTIONS if len(pairs) > 1 else ():
        endings = [", ".join(own[name] for name in distinction) for own in facts]
        if len(set(endings)) == len(pairs):
            return endings
    return [f"pair {pair.position}" for pair in pairs]


def _read_facts(pair: Pair) -> dict[str, str]:
    """Task and seeds of what is compared: as it was when the poll opened, else as it is."""
    sides = [_read_side(pair, side) for side in ("first", "second")]
    seeds = dict.fromkeys(str(side.get("seed", "?")) for side in sides)
    return {"task": str(sides[0].get("task", "?")), "seed": f"seed{'s' * (len(seeds) > 1)} {' and '.join(seeds)}"}


def _read_side(pair: Pair, side: str) -> Mapping[str, Any]:
    if pair.origin:
        return pair.origin.get(side, {})  # type: ignore[no-any-return]
    clip = getattr(pair, side)
    candidate = getattr(pair, f"{side}_answer") or (clip and clip.candidate)
    experiment = candidate and candidate.iteration.experiment
    return {"task": experiment.task, "seed": experiment.seed} if experiment else {}


def describe_pair(pair: Pair, name: str) -> str:
    """The name, with the arms where it does not say them, or with what is known of an attention check."""
    if pair.purpose == Pair.Purpose.SAME:
        return f"{name}: the same on both sides; right is “no difference”"
    if pair.purpose == Pair.Purpose.GOLD:
        arms = f" ({pair.arms})" if pair.first_arm and pair.second_arm else ""
        return f"{name}: the first is plainly better{arms}"
    return name if pair.arms in name else f"{name}: {pair.arms}"
