"""How long people attend to a study, and how long they wait, by a simple model whose assumptions are named."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.db.models import Avg

from llm.methods import ASKING_PAIRS, METHODS
from llm.repetition_check import count_answers
from simulation import catalog
from trainer.preferences.algorithms import ASKED_UNTIL
from webapp.experiments import loop, pair_sessions
from webapp.experiments.durations import measure_slice, measure_step
from webapp.experiments.models import Experiment, LanguageModel, ModelCall, Run
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.experiments.shorter_rounds import SHARE
from webapp.studies.assigning import PLAN
from webapp.studies.models import Arm, Study
from webapp.studies.questionnaires.moments import estimate_minutes
from webapp.studies.texts.localizing import list_questions

READING_SECONDS = 180
"""Assumed for consent, instructions and the end."""
PRACTICE_SECONDS = 60
QUESTION_SECONDS = 20
"""Assumed for each comprehension question."""
SECONDS_PER_VIDEO = 12
"""Assumed for watching one candidate and thinking about it, until people were measured."""
SECONDS_PER_PAIR = 7.5
"""Assumed for comparing two segments of 2 s."""
SAMPLES_PER_SECOND = 20_000
"""Assumed for PPO on two cores, until a training was measured on this installation."""
WRITING_SECONDS, FILMING_SECONDS = 20.0, 10.0
"""Assumed for a round, until measured."""
REMEMBERED_ANSWERS = 200
"""Tokens per answer are averages over this many of the model's past answers."""


@dataclass(frozen=True)
class ArmEstimate:
    """What one experiment of an arm takes."""

    arm: Arm
    rounds: int
    round_seconds: float | None
    """Writing, training and filming of a round that nothing else delays; None if it cannot be guessed."""
    training_seconds: float | None
    """The part of it that occupies a training worker."""
    measured: bool
    """Whether the training was measured on this installation with these settings, and not assumed."""
    judging_seconds: float
    """A person's time for one round."""

    def find_wait(self, people: int, workers: int) -> float | None:
        """Seconds that each round waits while `people` are in the study, with `workers` that train.

        The bound of operational analysis for a closed queue: either the round's own time, or, once the workers are
        never idle, the time in which they train a round for each experiment less the time that people judge.
        """
        if self.round_seconds is None or self.training_seconds is None:
            return None
        experiments = -(-people // self.arm.panel)
        turn = experiments * self.training_seconds / workers
        return max(self.round_seconds, turn - self.judging_seconds)


def estimate_arms(study: Study, judged: float | None = None) -> list[ArmEstimate]:
    """judged: the seconds that people took to judge one candidate before; None if nobody has."""
    return [_estimate_arm(arm, judged) for arm in study.arms.select_related("model")]


def _estimate_arm(arm: Arm, judged: float | None) -> ArmEstimate:
    plan = _make_experiment(arm)
    if arm.asks_pairs:
        return _estimate_sessions(arm, plan)
    steps = ("writing", "training", "filming") if arm.medium.filmed else ("writing",)
    known = {step: measure_step(plan, step, {}) for step in steps}
    measured = known.get("training")
    training = measured if measured is not None else _assume_training(arm)
    if not arm.medium.filmed:
        training = 0.0
    if training is not None and arm.training_start == TrainingStart.BEST_SHORT:
        training *= (1 + SHARE * (arm.rounds - 1)) / arm.rounds
    around = (known.get("writing") or WRITING_SECONDS) + (known.get("filming") or FILMING_SECONDS)
    return ArmEstimate(
        arm=arm,
        rounds=arm.rounds,
        round_seconds=None if training is None else training + around,
        training_seconds=training,
        measured=measured is not None,
        judging_seconds=estimate_arm_judging(arm, judged) / arm.rounds,
    )


def _estimate_sessions(arm: Arm, plan: Experiment) -> ArmEstimate:
    """Of an arm whose people answer pairs: its rounds are the sessions, between which parts of one training lie."""
    sessions = pair_sessions.count_sessions(arm)
    measured, whole = measure_slice(plan, "training", {}), _assume_training(arm)
    training = ASKED_UNTIL * whole / sessions if measured is None and whole is not None else measured
    filming = measure_slice(plan, "filming", {}) or FILMING_SECONDS
    return ArmEstimate(
        arm=arm,
        rounds=sessions,
        round_seconds=None if training is None else training + filming,
        training_seconds=training,
        measured=measured is not None,
        judging_seconds=estimate_arm_judging(arm) / sessions,
    )


def _make_experiment(arm: Arm) -> Experiment:
    return Experiment(**{name: getattr(arm, name) for name in PLAN})


def _assume_training(arm: Arm) -> float | None:
    """Seconds of a round's training at the speed of this task's trainings here, else at the assumed speed."""
    if not arm.medium.filmed:
        return None
    preset = catalog.get_task(arm.task).presets.get(arm.preset)
    if preset is None or preset.algorithm != "ppo":
        return None
    before = Run.objects.filter(request__experiment__task=arm.task, seconds__gt=0, samples__gt=0)
    before = before.exclude(request__experiment__method__in=ASKING_PAIRS).order_by("-pk")[:20]
    runs = [(run.samples, run.seconds) for run in before]
    speed = sum(s for s, _ in runs) / sum(t for _, t in runs) if runs else SAMPLES_PER_SECOND
    return arm.k * preset.samples / speed


def estimate_attention(study: Study, judged: float | None = None) -> float:
    """The minutes that the busiest participant attends to the study, without waiting."""
    arms = estimate_judging(study, judged)
    most = sorted(arms, reverse=True)[: study.experiments_each]
    again = max(0, study.experiments_each - len(arms)) * (most[0] if most else 0.0)
    seconds = READING_SECONDS + sum(most) + again
    seconds += PRACTICE_SECONDS if study.practice else 0
    seconds += QUESTION_SECONDS * count_questions(study)
    return seconds / 60 + estimate_minutes(study)


def count_questions(study: Study) -> int:
    """Comprehension questions of the person who is asked most."""
    arms = list(study.arms.all())
    sequences = [[arm] for arm in arms] if study.experiments_each == 1 else [arms]
    return max((len(list_questions(study, sequence)) for sequence in sequences), default=0)


def estimate_judging(study: Study, judged: float | None = None) -> list[float]:
    """For each arm the seconds in which a person judges all rounds of an experiment."""
    return [estimate_arm_judging(arm, judged) for arm in study.arms.all()]


def estimate_arm_judging(arm: Arm, judged: float | None = None) -> float:
    """The seconds for one arm; people who share its pairs answer equally many."""
    if arm.asks_pairs:
        return SECONDS_PER_PAIR * count_pairs_each(arm)
    return arm.rounds * arm.k * (judged or SECONDS_PER_VIDEO)


def count_pairs_each(arm: Arm) -> int:
    """How many pairs each person of an experiment answers."""
    queries = int(METHODS[arm.method].value_of("queries", arm.options))
    return -(-queries * min(arm.overlap, arm.panel) // arm.panel)


@dataclass(frozen=True)
class Cost:
    """What one language model costs in one experiment of an arm."""

    arm: Arm
    model: LanguageModel
    answers: int
    tokens: int | None
    """Of all answers together; None if the model has never answered here."""
    dollars: float | None
    """None if tokens or prices are unknown."""


def estimate_costs(study: Study) -> list[Cost]:
    """For each arm and language model; the offline writer costs nothing."""
    arms = study.arms.select_related("model", "describer", "judge_model", "vision")
    return [
        _estimate_cost(arm, model, answers) for arm in arms for model, answers in _count_answers_by_model(arm).items()
    ]


def _count_answers_by_model(arm: Arm) -> Counter[LanguageModel]:
    """The answers of each language model in one experiment, by the roles that the method asks."""
    asked = count_answers(loop.describe_task(_make_experiment(arm)), (arm.method, arm.k, arm.n, arm.options))
    answers = Counter[LanguageModel]()
    for role, count in asked.items():
        model = arm.get_model(role)
        if model and not model.is_offline:
            answers[model] += count
    return answers


def _estimate_cost(arm: Arm, model: LanguageModel, answers: int) -> Cost:
    newest = ModelCall.objects.filter(model=model.model, prompt_tokens__isnull=False, completion_tokens__isnull=False)
    recent = newest.order_by("-pk").values("pk")[:REMEMBERED_ANSWERS]
    means = ModelCall.objects.filter(pk__in=[row["pk"] for row in recent]).aggregate(
        read=Avg("prompt_tokens"), written=Avg("completion_tokens")
    )
    read, written = means["read"], means["written"]
    if read is None or written is None:
        return Cost(arm, model, answers, None, None)
    dollars = None
    if model.price_input is not None and model.price_output is not None:
        dollars = answers * (read * model.price_input + written * model.price_output) / 1_000_000
    return Cost(arm, model, answers, round(answers * (read + written)), dollars)
