"""The language model that the environment names."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from django.conf import settings

from webapp.experiments.models import LanguageModel

ENDPOINT_NAME = "From the environment"
LOCAL_NAME = "Local model"


def find_environment_model() -> LanguageModel | None:
    """The row of the endpoint in PREFINE_BASE_URL and PREFINE_MODEL, or of the file in PREFINE_LOCAL_MODEL, made when
    needed; None without them. Other values are another row: what has begun keeps the model that it began with.

    Its key stays in PREFINE_API_KEY and is not written to the database, nor is the file's place: whoever starts the
    site decides which file is read.
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


def _find_or_create(name: str, **named: str | int) -> LanguageModel:
    """The row of this name that says this; a new one, numbered where the name is taken, when there is none."""
    rows = LanguageModel.objects.filter(name__startswith=name)
    known = rows.filter(**named).first()
    if known:
        return known
    taken = set(rows.values_list("name", flat=True))
    free = next(one for number in count(1) if (one := f"{name} {number}" if number > 1 else name) not in taken)
    return LanguageModel.objects.get_or_create(name=free, defaults=named)[0]
