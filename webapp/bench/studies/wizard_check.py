"""The wizard's last step: what is missing, what to know, and what the study will take."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils import timezone

from webapp.base.http import get_site_address
from webapp.experiments.job_kinds import TRAINING_KINDS
from webapp.experiments.models import Job, LanguageModel
from webapp.review.models import Vote
from webapp.studies import duration, opening, pilots, preflight, sample_size
from webapp.studies.duration import ArmEstimate
from webapp.studies.models import Study

STEP_OF_CAUTION = {
    **dict.fromkeys(("writer", "arms", "starts"), "compare"),
    "codes": "people",
    **dict.fromkeys(("practice", "languages"), "texts"),
}
"""Where a caution is mended; the others are no matter of the study."""
REMEMBERED_VOTES = 200
PEOPLE = 10
LONG_WAIT = 600.0
"""The page warns of a wait for a round that is longer than these seconds."""


class LoadForm(forms.Form):
    """For how many people at once, and with how many training workers, the waiting is estimated."""

    people = forms.IntegerField(min_value=1, max_value=10_000)
    workers = forms.IntegerField(min_value=1, max_value=1000)


@dataclass(frozen=True)
class Waiting:
    """The waiting for a round of one arm."""

    estimate: ArmEstimate
    alone: float | None
    together: float | None


def make_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    address = get_site_address(request)
    draft = {"people": min(study.quota or PEOPLE, PEOPLE), "workers": count_training_workers()}
    form = LoadForm(request.GET if "people" in request.GET else None, initial=draft)
    load = form.cleaned_data if form.is_bound and form.is_valid() else draft
    judged = measure_judging()
    estimates = duration.estimate_arms(study, judged)
    waiting = [_find_waiting(estimate, load) for estimate in estimates]
    missing = opening.find_problems_by_part(study) if study.status != Study.Status.OPEN else {}
    cautions = preflight.list_cautions(study, address)
    return {
        "missing": [(part, words) for part, texts in missing.items() for words in texts],
        "cautions": [(caution, STEP_OF_CAUTION.get(caution.name, "")) for caution in cautions],
        "pilot_refusal": pilots.find_refusal(study),
        "load_form": form,
        "load": load,
        "waiting": waiting,
        "long_waits": [row for row in waiting if row.together and row.together > LONG_WAIT],
        "attention": duration.estimate_attention(study, judged),
        "judged": judged,
        "assumed": judged is None,
        "asks_pairs": any(estimate.arm.asks_pairs for estimate in estimates),
        "enough": sample_size.describe_sample_size(study),
        "arm_limits": any(estimate.arm.quota is not None for estimate in estimates),
        "costs": [_scale_cost(study, cost) for cost in duration.estimate_costs(study)],
        "cost_people": study.quota or PEOPLE,
        "models": LanguageModel.objects.filter(pk__in=_list_models(study), kind=LanguageModel.Kind.OPENAI),
        "assumptions": duration,
    }


def _find_waiting(estimate: ArmEstimate, load: dict[str, int]) -> Waiting:
    return Waiting(
        estimate, estimate.find_wait(1, load["workers"]), estimate.find_wait(load["people"], load["workers"])
    )


def _scale_cost(study: Study, cost: duration.Cost) -> tuple[duration.Cost, float | None]:
    """The cost of one experiment, and that of all people in this arm alone."""
    people = study.quota or PEOPLE
    share = people * study.experiments_each / max(1, study.arms.count()) / cost.arm.panel
    return cost, None if cost.dollars is None else cost.dollars * share


def _list_models(study: Study) -> list[int]:
    roles = study.arms.values_list("model", "describer", "vision")
    return sorted({pk for row in roles for pk in row if pk})


def count_training_workers() -> int:
    """The workers that trained on the last day; at least one."""
    since = timezone.now() - timedelta(days=1)
    jobs = Job.objects.filter(kind__in=TRAINING_KINDS, heartbeat__gte=since).exclude(owner="")
    machines = {owner.partition(":")[0] for owner in jobs.values_list("owner", flat=True).distinct()}
    return max(1, len(machines))


def measure_judging() -> float | None:
    """The seconds that people took here to judge one candidate, from opening the page to the choice; a median."""
    votes = Vote.objects.filter(undone_at=None, cannot_tell=False).select_related("screening").order_by("-pk")
    each = sorted(
        (vote.created_at - vote.screening.opened_at).total_seconds() / len(vote.screening.order)
        for vote in votes[:REMEMBERED_VOTES]
        if vote.screening.order
    )
    return each[len(each) // 2] if len(each) >= 10 else None
