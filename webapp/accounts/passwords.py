"""Refuses passwords that are the account's name, or the product's, with a little around it."""

from __future__ import annotations

import re
from typing import Any

from django.core.exceptions import ValidationError

LEAST_REST = 8
"""Letters that a password needs beside the names in it."""
LEAST_NAME = 3


class NoNames:
    def validate(self, password: str, user: Any = None) -> None:
        rest = password.lower()
        for name in sorted(_list_names(user), key=len, reverse=True):
            rest = rest.replace(name, "")
        if len(rest) < min(LEAST_REST, len(password)):
            raise ValidationError(self.get_help_text(), code="password_is_name")

    def get_help_text(self) -> str:
        return "Your password must be more than a name with a few letters or digits around it."


def _list_names(user: Any) -> set[str]:
    fields = [str(getattr(user, field, "") or "").lower() for field in ("username", "first_name", "last_name", "email")]
    parts = {part for field in fields for part in [field, *re.split(r"[\W_]+", field)]}
    return {part for part in parts | {"prefine"} if len(part) >= LEAST_NAME}
