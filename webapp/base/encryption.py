"""Encrypts secrets in the database (models' keys, second factors) with keys that are not in the database.

The keys stand in PREFINE_ENCRYPTION_KEYS, else in the file `encryption_key` of the data folder, one a line. The first
one encrypts; each may decrypt, so that keys can be changed.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models.functions import Cast

MARK = "encrypted:"
"""What an encrypted value begins with; other values were saved by a version that did not encrypt."""


class EncryptedField(models.TextField):
    """A text that is encrypted in the database. It cannot be searched for.

    A value that no key decrypts is read, and saved again, as it is: an API key is not lost while the key is missing.
    """

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt(text) if text and not text.startswith(MARK) else text

    def from_db_value(self, value: Any, *_: Any) -> Any:
        return decrypt(value) if value and value.startswith(MARK) else value


def encrypt(text: str) -> str:
    return MARK + _get_cipher().encrypt(text.encode()).decode()


def decrypt(value: str) -> str:
    """The text; the value itself if no key decrypts it (`is_readable`)."""
    try:
        return _get_cipher().decrypt(value.removeprefix(MARK)).decode()
    except InvalidToken:
        return value


def is_readable(text: str) -> bool:
    """Whether a text that was read from the database could be decrypted."""
    return not text.startswith(MARK)


def _get_cipher() -> MultiFernet:
    """Reads the file each time: rotation changes it while processes run."""
    keys = settings.ENCRYPTION_KEYS or _read_file(settings.DATA_DIR / "encryption_key")
    return MultiFernet([Fernet(key) for key in keys])


def _read_file(path: Path) -> list[str]:
    """The keys in the file. Without it, one is drawn; of several processes the first wins."""
    if not path.exists():
        _write_file(path, [draw_key()], replace=False)
    return path.read_text().split()


def _write_file(path: Path, keys: list[str], replace: bool) -> None:
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write("\n".join(keys) + "\n")
        file.flush()
        os.fsync(file.fileno())
    if replace:
        part.replace(path)
        return
    try:
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink()


def draw_key() -> str:
    return Fernet.generate_key().decode()


def rotate() -> tuple[int, int]:
    """Encrypt every secret with the first key, after drawing a new one where the keys are in the file.

    Returns how many values were encrypted, and how many no key decrypts. The old key leaves the file only if there is
    none of those.
    """
    path = settings.DATA_DIR / "encryption_key"
    if not settings.ENCRYPTION_KEYS:
        _write_file(path, [draw_key(), *_read_file(path)], replace=True)
    done, unreadable = 0, 0
    for model in apps.get_models():
        for field in (field for field in model._meta.local_fields if isinstance(field, EncryptedField)):
            rows = model._base_manager.annotate(sealed=Cast(field.attname, models.TextField())).exclude(sealed="")
            for pk, sealed in rows.values_list("pk", "sealed"):
                text = decrypt(sealed) if sealed.startswith(MARK) else sealed
                if is_readable(text):  # a value that somebody saves meanwhile stays
                    done += rows.filter(pk=pk, sealed=sealed).update(**{field.attname: text})
                else:
                    unreadable += 1
    if not settings.ENCRYPTION_KEYS and not unreadable:
        _write_file(path, _read_file(path)[:1], replace=True)
    return done, unreadable
