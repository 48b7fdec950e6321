"""New studies: a draft with arms, from which an experimenter goes on."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from django.db import transaction
from django.utils.translation import gettext_noop

from llm.method import Method
from llm.methods import OFFERED
from simulation import catalog
from webapp.experiments.models import LanguageModel
from webapp.experiments.models.loop_settings import TrainingStart
from webapp.problems.media import get_medium
from webapp.studies.consent import write_consent
from webapp.studies.models import Arm, Study

TITLE = gettext_noop("Watching robots learn")
METHODS_FOR_PEOPLE = [method for method in OFFERED.values() if method.asks_people]
"""The methods that a study can use."""


@transaction.atomic
def start_study(task: str, methods: Sequence[str], model: LanguageModel | None = None) -> Study:
    """A draft with an arm for each of these methods, with equally many candidates and rounds in all arms."""
    study = Study.objects.create(title=_find_free_title(), practice=True, consent_text="")
    for arm in draft_arms(task, methods, model):
        arm.study = study
        arm.save()
    study.consent_text = write_consent(study)
    study.save(update_fields=["consent_text"])
    return study


def draft_arms(task: str, methods: Sequence[str], model: LanguageModel | None) -> list[Arm]:
    """Unsaved arms, one for each method, with the K and N of the first where the others can have them. Methods that ask
    about pairs train one policy, so they have their own.
    """
    chosen = [OFFERED[name] for name in methods]
    first = next((method for method in chosen if not method.asks_pairs), chosen[0])
    arms = [
        Arm(
            name=ascii_uppercase[number],
            position=number,
            task=task,
            method=method.name,
            model=model,
            training_start=TrainingStart.BEST_SHORT,
        )
        for number, method in enumerate(chosen)
    ]
    for arm, method in zip(arms, chosen, strict=True):
        like = method if method.asks_pairs else first
        arm.k, arm.n = max(like.k, method.least_k), like.propose_rounds(task)
        arm.preset = _find_preset(task, method) or arm.preset
    return arms


def _find_preset(task: str, method: Method) -> str:
    """The task's first settings with the algorithm for which a method is defined; empty where any will do."""
    if not method.algorithm or not get_medium(task).filmed:
        return ""
    presets = catalog.get_task(task).presets
    return next((name for name, preset in presets.items() if preset.algorithm == method.algorithm), "")


def _find_free_title() -> str:
    """The title that participants see, with a number where another study has it."""
    taken = set(Study.objects.filter(title__startswith=TITLE).values_list("title", flat=True))
    return next(title for number in range(1, len(taken) + 2) if (title := _format_title(number)) not in taken)


def _format_title(number: int) -> str:
    return TITLE if number == 1 else f"{TITLE} {number}"


@transaction.atomic
def add_arm(study: Study) -> Arm:
    """Another arm, with the settings of the last one and the next free letter as its name."""
    arms = list(study.arms.all())
    arm = arms[-1] if arms else Arm(study=study)
    taken = {one.name for one in arms}
    arm.pk, arm._state.adding = None, True
    arm.name = next((letter for letter in ascii_uppercase if letter not in taken), f"Arm {len(arms) + 1}")
    arm.position = max((one.position for one in arms), default=-1) + 1
    arm.save()
    return arm
