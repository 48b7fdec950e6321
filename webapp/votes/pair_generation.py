"""Pairs of a poll made from two lists of finished experiments, such as two arms of a study."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max

from trainer.records import FINAL
from webapp.experiments.models import Candidate, Clip, Experiment
from webapp.problems.media import get_medium
from webapp.votes.lifecycle import lock_poll
from webapp.votes.models import Pair, Poll
from webapp.votes.pair_names import name_pairs

RULES = {
    "matched": "Matched by seed, else by order",
    "all": "Each with each",
    "random": "A number drawn at random",
}
MOST_PAIRS = 200


@dataclass(frozen=True)
class Winner:
    """What a finished experiment ended with."""

    experiment: Experiment
    candidate: Candidate
    clip: Clip | None
    """None for an answer to a problem."""


@dataclass(frozen=True)
class Proposal:
    """A pair that could be made."""

    pair: Pair
    """Not saved."""
    first: Winner
    second: Winner
    name: str = ""
    reason: str = ""
    """Why it is left out unless somebody asks for it; empty for others."""


def find_winners(experiments: Iterable[Experiment]) -> list[Winner]:
    """In the order given, what can be shown: final films that are ready, and answers to problems."""
    rows = {row.pk: row for row in experiments if row.status == Experiment.Status.FINISHED and row.winner_id}
    final = Clip.objects.filter(candidate__in=[row.winner_id for row in rows.values()], percent=FINAL)
    ready = final.filter(status=Clip.Status.READY).select_related("candidate__iteration__experiment")
    clips = {clip.candidate_id: clip for clip in ready}
    found = []
    for row in rows.values():
        clip = clips.get(row.winner.pk) if row.winner else None
        if row.winner and (clip or not get_medium(row.task).filmed):
            found.append(Winner(row, row.winner, clip))
    return found


def propose_pairs(
    poll: Poll,
    sides: tuple[Sequence[Winner], Sequence[Winner]],
    arms: tuple[str, str],
    rule: str,
    number: int,
    seed: int,
) -> list[Proposal]:
    """The pairs that this rule makes, each with its name and, where it should be left out, the reason."""
    chosen = list(_match(*sides) if rule == "matched" else _cross_winners(*sides))
    if rule == "random":
        chosen = random.Random(seed).sample(chosen, min(number, len(chosen)))
    existing = list(poll.pairs.all())
    known = {_identify(pair) for pair in existing}
    found = []
    for place, (first, second) in enumerate(chosen[:MOST_PAIRS], 1):
        pair = _make_pair(poll, first, second, arms)
        pair.position = len(existing) + place
        reason = _find_reason(first, second) or (
            "It is a pair of this vote already." if _identify(pair) in known else ""
        )
        found.append(Proposal(pair, first, second, reason=reason))
    return _name(existing, found)


def _match(first: Sequence[Winner], second: Sequence[Winner]) -> Iterator[tuple[Winner, Winner]]:
    """On each task the same seeds if both sides have them once; else the first with the first, and so on."""
    sides = (_group_by_task(first), _group_by_task(second))
    for task, mine in sides[0].items():
        theirs = sides[1].get(task, [])
        seeds = [{one.experiment.seed: one for one in side} for side in (mine, theirs)]
        common = [seed for seed in seeds[0] if seed in seeds[1]]
        if common and all(len(side) == len(own) for side, own in zip((mine, theirs), seeds, strict=True)):
            yield from ((seeds[0][seed], seeds[1][seed]) for seed in common)
        else:
            yield from zip(mine, theirs, strict=False)


def _cross_winners(first: Sequence[Winner], second: Sequence[Winner]) -> Iterator[tuple[Winner, Winner]]:
    theirs = _group_by_task(second)
    for one in first:
        yield from ((one, other) for other in theirs.get(one.experiment.task, []))


def _group_by_task(winners: Sequence[Winner]) -> dict[str, list[Winner]]:
    groups: dict[str, list[Winner]] = defaultdict(list)
    for one in winners:
        groups[one.experiment.task].append(one)
    return groups


def _make_pair(poll: Poll, first: Winner, second: Winner, arms: tuple[str, str]) -> Pair:
    made = Pair(poll=poll, first_arm=arms[0], second_arm=arms[1])
    made.first, made.second = first.clip, second.clip
    if first.clip is None:
        made.first_answer, made.second_answer = first.candidate, second.candidate
    return made


def _identify(pair: Pair) -> frozenset[int | None]:
    return frozenset((pair.first_id or pair.first_answer_id, pair.second_id or pair.second_answer_id))


def _find_reason(first: Winner, second: Winner) -> str:
    """Why nobody could prefer one of these two."""
    if first.candidate == second.candidate:
        return "Both sides are the same experiment's winner."
    program = first.candidate.source.strip()
    if program != second.candidate.source.strip():
        return ""
    if first.clip is None:
        return "Both answers are the same, word for word."
    names = ["seed", "preset", "overrides"]
    if not program:  # the policy learned its reward from answers about pairs
        names += ["method", "options", "judge_options"]
    trained = [[getattr(one.experiment, name) for name in names] for one in (first, second)]
    return "The same reward, trained with the same seed: the same policy." if trained[0] == trained[1] else ""


def _name(existing: Sequence[Pair], found: Sequence[Proposal]) -> list[Proposal]:
    """Each with the name that it has once it is made beside the others that are not left out."""
    made = [one for one in found if not one.reason]
    for place, one in enumerate(made, 1):
        one.pair.pk = -place  # names are known by primary key; it is removed below
        one.pair.position = len(existing) + place
    names = name_pairs([*existing, *(one.pair for one in made)])
    named = [Proposal(one.pair, one.first, one.second, names.get(one.pair.pk, ""), one.reason) for one in found]
    for one in named:
        one.pair.pk = None
    return named


@transaction.atomic
def add_pairs(poll: Poll, proposals: Iterable[Proposal]) -> int:
    """Save these pairs at the end of a poll that is still a draft. Returns how many."""
    if lock_poll(poll.pk).status != Poll.Status.DRAFT:
        return 0
    made = [one.pair for one in proposals]
    last = poll.pairs.aggregate(last=Max("position"))["last"] or 0
    for pair in made:
        pair.position = last = last + 1
        pair.save()
    return len(made)
