"""The language model that the environment names."""

from __future__ import annotations

from django.conf import settings

from webapp.experiments.models import LanguageModel

NAME = "From the environment"


def environment_model() -> LanguageModel | None:
    """The row of the endpoint in PREFINE_BASE_URL and PREFINE_MODEL, made when needed; None without them.

    Its key stays in PREFINE_API_KEY and is not written to the database.
    """
    if not settings.MODEL_BASE_URL:
        return None
    endpoint = {"kind": LanguageModel.Kind.OPENAI, "base_url": settings.MODEL_BASE_URL, "model": settings.MODEL_NAME}
    return LanguageModel.objects.update_or_create(name=NAME, defaults=endpoint)[0]
