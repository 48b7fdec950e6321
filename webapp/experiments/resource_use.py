"""What experiments have used up: answers of their writers and training."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import astuple, dataclass, replace

from django.db.models import Count, Q, QuerySet, Sum

from llm.offline import MODEL
from webapp.experiments.models import Experiment, ModelCall, Run


@dataclass(frozen=True)
class Usage:
    calls: int = 0
    """Answers of language models and of the offline writer."""
    offline_calls: int = 0
    """Answers of the offline writer alone, which is no language model."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    estimated: int = 0
    """Answers whose tokens are counted from their letters, because their endpoint did not say."""
    cost: float = 0.0
    """US dollars, of the answers whose price is known."""
    unknown_costs: int = 0
    """Answers whose price is not known: they are counted, never guessed."""
    train_seconds: float = 0.0
    samples: int = 0
    nan_worlds: int = 0

    @property
    def model_calls(self) -> int:
        """Answers of language models."""
        return self.calls - self.offline_calls

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


def read_usage(experiments: QuerySet[Experiment] | Collection[int]) -> dict[int, Usage]:
    """Usage by primary key of the experiment, in two queries; without experiments that have used nothing."""
    calls = ModelCall.objects.filter(request__experiment__in=experiments).order_by().values("request__experiment")
    usage = {
        row["request__experiment"]: Usage(
            calls=row["answers"],
            offline_calls=row["offline"],
            prompt_tokens=row["tokens_in"],
            completion_tokens=row["tokens_out"],
            estimated=row["counted"],
            cost=row["known"],
            unknown_costs=row["unknown"],
        )
        for row in calls.annotate(
            answers=Count("pk"),
            offline=Count("pk", filter=Q(model=MODEL)),
            tokens_in=Sum("prompt_tokens", default=0),
            tokens_out=Sum("completion_tokens", default=0),
            counted=Count("pk", filter=Q(estimated=True)),
            known=Sum("cost", default=0.0),
            unknown=Count("pk", filter=Q(cost=None)),
        )
    }
    runs = Run.objects.filter(request__experiment__in=experiments).order_by().values_list("request__experiment")
    sums = runs.annotate(Sum("seconds", default=0.0), Sum("samples", default=0), Sum("nan_worlds", default=0))
    for pk, seconds, samples, nan_worlds in sums:
        trained = replace(usage.get(pk, Usage()), train_seconds=seconds, samples=samples, nan_worlds=nan_worlds)
        usage[pk] = trained
    return usage


def sum_usage(experiments: QuerySet[Experiment] | Collection[int]) -> Usage:
    return sum(read_usage(experiments).values(), Usage())
