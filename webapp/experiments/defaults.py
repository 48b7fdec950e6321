"""The language model that the environment names."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from webapp.experiments.models import LanguageModel

NAME = "From the environment"
LOCAL = "Local model"


def environment_model() -> LanguageModel | None:
    """The row of the endpoint in PREFINE_BASE_URL and PREFINE_MODEL, or of the file in PREFINE_LOCAL_MODEL, made when
    needed; None without them.

    Its key stays in PREFINE_API_KEY and is not written to the database, nor is the file's place: whoever starts the
    site decides which file is read.
    """
    if settings.LOCAL_MODEL:
        file = {"kind": LanguageModel.Kind.OFFLINE, "base_url": "", "model": Path(settings.LOCAL_MODEL).name}
        return LanguageModel.objects.update_or_create(name=LOCAL, defaults=file)[0]
    if not settings.MODEL_BASE_URL:
        return None
    endpoint = {"kind": LanguageModel.Kind.OPENAI, "base_url": settings.MODEL_BASE_URL, "model": settings.MODEL_NAME}
    return LanguageModel.objects.update_or_create(name=NAME, defaults=endpoint)[0]
