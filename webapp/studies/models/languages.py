"""What experimenters wrote, in other languages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from django.conf import settings
from django.db import models


def list_languages() -> list[tuple[str, str]]:
    """Code and own name of each language that Prefine speaks."""
    return list(settings.LANGUAGES)


class Spoken(models.Model):
    """The languages of a study or an A/B vote."""

    language = models.CharField(max_length=10, default="en", choices=list_languages)
    """The language of its own texts, and of its pages where nothing else is offered."""
    other_languages = models.JSONField(default=list, blank=True)
    """Codes of further languages; where there are any, the browser and the person choose."""
    spoken: Mapping[str, str] = {}
    """Source -> text in the language in which the row is shown (texts.localizing)."""

    class Meta:
        abstract = True

    @property
    def offered_languages(self) -> list[str]:
        known = dict(settings.LANGUAGES)
        return [self.language, *(code for code in self.other_languages if code in known and code != self.language)]


class Speaker(models.Model):
    """The language of a participant or an evaluator."""

    language = models.CharField(max_length=10, blank=True, editable=False)
    """The language of the person's pages and messages; empty before they have consented."""
    consent_language = models.CharField(max_length=10, blank=True, editable=False)
    """The language in which they read the consent text."""

    class Meta:
        abstract = True


class Translation(models.Model):
    """One text in another language. It belongs to a wording: when that changes, the text has no translation."""

    language = models.CharField(max_length=10)
    source = models.TextField()
    source_hash = models.CharField(max_length=64, editable=False)
    """SHA-256 of `source`."""
    text = models.TextField()
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        default_permissions = ()

    def __str__(self) -> str:
        return f"{self.language}: {self.source[:40]}"


def hash_source(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


class StudyTranslation(Translation):
    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="translations")

    class Meta(Translation.Meta):
        app_label = "studies"
        constraints = [
            models.UniqueConstraint(fields=["study", "language", "source_hash"], name="one_text_per_language")
        ]
