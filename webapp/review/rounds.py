"""Which rounds a person has judged."""

from __future__ import annotations

from llm.methods import METHODS
from webapp.experiments.kinds import choose
from webapp.experiments.models import Experiment
from webapp.review.models import Vote
from webapp.studies.models import Participant


def find_last_judged(participant: Participant, experiment: Experiment) -> int:
    """The last round that is over and in which the person's choice counts; 0 before the first."""
    votes = Vote.objects.filter(screening__participant=participant, request__experiment=experiment, undone_at=None)
    counted = votes.exclude(locked_at=None).exclude(request__kind=choose.KIND.name)
    judged = sorted(set(counted.values_list("request__payload__iteration", flat=True)))
    return next((number for number in reversed(judged) if _is_over(experiment, number)), 0)


def _is_over(experiment: Experiment, number: int) -> bool:
    """Whether nothing more of this round is asked. A method that compares pairs asks several times in a round."""
    if experiment.status == Experiment.Status.FINISHED or choose.find_requests(experiment).exists():
        return True
    rounds = experiment.iterations.filter(aside=False)
    if not METHODS[experiment.method].compares:
        return rounds.filter(number=number).exclude(finished_at=None).exists()
    asked = experiment.requests.values_list("payload__iteration", flat=True)
    return any(isinstance(other, int) and other > number for other in asked)
