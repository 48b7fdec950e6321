"""What the database keeps of a recovery code."""

from __future__ import annotations

from base64 import b32encode

from django.utils.crypto import salted_hmac


def hash_code(code: str) -> str:
    """80 bits, which is as long as the column is."""
    digest = salted_hmac("recovery code", code, algorithm="sha256").digest()
    return b32encode(digest[:10]).decode().lower()
