"""The language models that environment variables and the command line name."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from django.conf import settings

from simulation.names import find_name
from webapp.experiments.models import LanguageModel
from webapp.experiments.options import OFFLINE

ENDPOINT_NAME = "From the environment"
LOCAL_NAME = "Local model"


def find_environment_model() -> LanguageModel | None:
    """The row of the endpoint in PREFINE_BASE_URL and PREFINE_MODEL, or of the file in PREFINE_LOCAL_MODEL; None
    without them. New values create a new row, so that running experiments keep their model.

    The key and the file's folder are not written to the database: the environment of the process decides both.
    """
    if settings.LOCAL_MODEL:
        return _find_or_create(
            LOCAL_NAME, kind=LanguageModel.Kind.OFFLINE, base_url="", model=Path(settings.LOCAL_MODEL).name
        )
    if not settings.MODEL_BASE_URL:
        return None
    limits = {"context_tokens": settings.MODEL_CONTEXT} if settings.MODEL_CONTEXT else {}
    endpoint = {"base_url": settings.MODEL_BASE_URL, "model": settings.MODEL_NAME}
    return _find_or_create(ENDPOINT_NAME, kind=LanguageModel.Kind.OPENAI, **endpoint, **limits)


def find_model(name: str | None) -> LanguageModel | None:
    """The model of this name, typed in any case; without a name, that of the environment. None for the offline writer.
    Raises ValueError for an unknown name.
    """
    if not name:
        return find_environment_model()
    known = [*LanguageModel.objects.values_list("name", flat=True), OFFLINE]
    return LanguageModel.objects.filter(name=find_name("language model", name, known)).first()


def _find_or_create(name: str, **named: str | int) -> LanguageModel:
    """The row with these values and this name; else a new one, with a number behind the name if it is names."""
    rows = LanguageModel.objects.filter(name__startswith=name)
    known = rows.filter(**named).first()
    if known:
        return known
    names = set(rows.values_list("name", flat=True))
    free = next(
        candidate for number in count(1) if (candidate := f"{name} {number}" if number > 1 else name) not in names
    )
    return LanguageModel.objects.get_or_create(name=free, defaults=named)[0]
