"""Prompts that were uploaded."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from llm import prompts

NAME = r"^\w[\w .()-]*\Z"
NAME_HELP = "Letters, digits, spaces and . _ - ( ), at most 40. Variants of a comparison name it: icpl:prompts=Paper."


class PromptSet(models.Model):
    """Texts that replace prompts, under a name. They never change: other texts are another set."""

    name = models.CharField(
        max_length=40, unique=True, validators=[RegexValidator(NAME, NAME_HELP)], help_text=NAME_HELP
    )
    texts = models.JSONField()
    """Name of the prompt -> text."""
    added_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def digest(self) -> str:
        """What its texts are known by, in records and in the versions of requests."""
        return prompts.hash_texts(self.texts)

    @property
    def faults(self) -> list[str]:
        """Why this version of Prefine cannot ask with its texts; empty where it can."""
        return prompts.find_faults(self.texts)
