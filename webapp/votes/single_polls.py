"""Drafts of polls in which films are rated, or answers graded, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction

from webapp.experiments.models import Candidate, Clip
from webapp.problems.media import answers, films
from webapp.votes.lifecycle import lock_poll
from webapp.votes.models import Pair, Poll
from webapp.votes.proposals import write_texts

RATERS, GRADERS = 4, 2
"""People who are wanted: as many as answers of the vision model about a film; two who grade each answer."""
LONGEST_ARM = Pair._meta.get_field("first_arm").max_length or 0
LONGEST_NAME = Pair._meta.get_field("name").max_length or 0


@dataclass(frozen=True)
class Item:
    """A film or an answer, with what it stands for in plan and results."""

    arm: str
    name: str
    shown: Clip | Candidate


def draft_ratings(title: str, items: Sequence[Item]) -> Poll:
    """A draft in which people rate these films."""
    return _draft(title, Poll.Form.RATINGS, RATERS, write_texts(films.MEDIUM, single=True), items)


def draft_grades(title: str, items: Sequence[Item], most_points: int) -> Poll:
    """A draft in which people grade these answers."""
    texts = write_texts(answers.MEDIUM, single=True)
    return _draft(title, Poll.Form.GRADES, GRADERS, texts, items, most_points)


@transaction.atomic
def _draft(
    title: str, form: str, wanted: int, texts: dict[str, str], items: Iterable[Item], most_points: int = 7
) -> Poll:
    poll = Poll.objects.create(title=title, form=form, evaluators_wanted=wanted, most_points=most_points, **texts)
    for position, item in enumerate(items, 1):
        shown = {"first" if isinstance(item.shown, Clip) else "first_answer": item.shown}
        named = {"first_arm": item.arm[:LONGEST_ARM], "name": f"{item.name[: LONGEST_NAME - 8]}, {position}"}
        Pair.objects.create(poll=poll, position=position, **named, **shown)
    return poll


@transaction.atomic
def take_out(poll: Poll, position: int) -> bool:
    """Take a film or an answer out of a draft; False where there is none, or the poll was opened."""
    if lock_poll(poll.pk).status != Poll.Status.DRAFT or not poll.is_single:
        return False
    return bool(poll.pairs.filter(position=position).delete()[0])
