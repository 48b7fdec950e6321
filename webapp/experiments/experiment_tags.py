"""What staff put on experiments to keep order among them: tags, and the mark that the table hides them."""

from __future__ import annotations

from django.db.models import QuerySet
from django.db.models.functions import Now

from webapp.experiments.models import Experiment, Tag

LONGEST_TAG = 40
LIVE = (Experiment.Status.RUNNING, Experiment.Status.WAITING)


def clean_tag(text: str) -> str:
    """The tag in the form in which it is kept. Raises ValueError if it cannot be one."""
    name = " ".join(text.split())
    if not name:
        raise ValueError("Type a tag first.")
    if len(name) > LONGEST_TAG or "," in name:
        raise ValueError(f"A tag has at most {LONGEST_TAG} characters and no comma.")
    return name


def add_tag(experiments: QuerySet[Experiment], name: str) -> int:
    """Returns how many of the experiments did not have the tag."""
    new = [Tag(experiment=row, name=name) for row in experiments.exclude(tags__name=name).only("pk")]
    Tag.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def remove_tag(experiments: QuerySet[Experiment], name: str) -> int:
    """Returns how many of the experiments had the tag."""
    return Tag.objects.filter(experiment__in=experiments, name=name).delete()[0]


def archive(experiments: QuerySet[Experiment]) -> int:
    """Hide experiments from the table; nothing is deleted. Those that run stay. Returns how many are newly hidden."""
    return experiments.filter(archived_at=None).exclude(status__in=LIVE).update(archived_at=Now())


def unarchive(experiments: QuerySet[Experiment]) -> int:
    """Show experiments in the table again. Returns how many were hidden."""
    return experiments.exclude(archived_at=None).update(archived_at=None)
