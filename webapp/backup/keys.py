"""The keys of a site, which a backup holds as their variables would: whether they stand there or in files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from py_vapid import Vapid02

from webapp.notices import push
from webapp.settings import env


@dataclass(frozen=True)
class Key:
    variable: str
    file: str
    """Where it lies in the data folder when the variable is not set."""
    means: str
    """What another key would cost."""
    read: Callable[[str], str]
    """The variable's value from the file's text."""
    write: Callable[[str], str]
    """The file's text from the variable's value."""


def _read_pem(text: str) -> str:
    number = Vapid02.from_pem(text.encode()).private_key.private_numbers().private_value
    return push.encode(number.to_bytes(32, "big"))


def _write_pem(value: str) -> str:
    return str(Vapid02.from_raw(value.encode()).private_pem().decode())


KEYS = (
    Key("PREFINE_SECRET_KEY", "secret_key", "everybody must sign in again", str.strip, str),
    Key("PREFINE_VAPID_KEY", "vapid.pem", "browsers get no more notices", _read_pem, _write_pem),
    Key(
        "PREFINE_ENCRYPTION_KEYS",
        "encryption_key",
        "models' keys and second factors cannot be read",
        lambda text: ",".join(text.split()),
        lambda value: "".join(f"{key.strip().rstrip('=')}=\n" for key in value.split(",")),  # as settings reads them
    ),
)


def read_keys() -> dict[str, bytes]:
    """This site's keys, by the name of their variable."""
    found = {}
    for key in KEYS:
        path = Path(settings.DATA_DIR) / key.file
        value = env.str(key.variable, default="") or (key.read(path.read_text()) if path.exists() else "")
        if value:
            found[key.variable] = value.encode()
    return found


def write_keys(values: dict[str, bytes]) -> Iterator[str]:
    """Put keys of a backup into files. Yields a warning for each that a variable keeps from being used."""
    for key in KEYS:
        value = values.get(key.variable, b"").decode()
        if not value:
            continue
        if (here := env.str(key.variable, default="")) and here.strip() != value:
            yield (
                f"{key.variable} is set, to another key than the backup's: {key.means}. The backup's key is in "
                f"{_write(f'{key.file}.from-backup', key.write(value))}."
            )
        elif not here:
            _write(key.file, key.write(value))


def _write(name: str, text: str) -> Path:
    path = Path(settings.DATA_DIR) / name
    fresh = path.with_name(f".{name}.part")
    descriptor = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)
    return path
