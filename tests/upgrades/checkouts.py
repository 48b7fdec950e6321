"""Copies of this checkout, and one that becomes a version that does not exist yet.

This checkout is then the older of two versions that work side by side.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.webapp.servers import ROOT

NEWER = "99.0.0"
NUMBERED = ("pyproject.toml", "docker-compose.yml")
PROTOCOL = "webapp/experiments/protocol.py"
MIGRATIONS = "webapp/experiments/migrations"
COLUMN = """
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("experiments", "{last}")]
    operations = [
        migrations.AddField("experiment", "of_newer", models.CharField(max_length=9, default="", db_default=""))
    ]
"""


def copy_checkout(target: Path) -> None:
    """The checkout, as a person would have it who cloned it."""
    own = shutil.ignore_patterns(".git", ".venv", "var", "runs", "secrets", ".env", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, target, ignore=own)


def become_newer(checkout: Path) -> None:
    """Another number, a higher protocol, a new column."""
    number = read_number(checkout)
    for name in NUMBERED:
        text = (checkout / name).read_text()
        (checkout / name).write_text(text.replace(number, NEWER))
    path, protocol = checkout / PROTOCOL, int(read(checkout / PROTOCOL, r"^PROTOCOL = (\d+)$"))
    path.write_text(path.read_text().replace(f"PROTOCOL = {protocol}\n", f"PROTOCOL = {protocol + 1}\n"))
    last = max(path.stem for path in (checkout / MIGRATIONS).glob("0*.py"))
    (checkout / MIGRATIONS / "9999_newer.py").write_text(COLUMN.format(last=last))


def read_number(checkout: Path) -> str:
    return read(checkout / "pyproject.toml", r'^version = "(.+)"$')


def read(path: Path, pattern: str) -> str:
    [found] = re.findall(pattern, path.read_text(), re.MULTILINE)
    return str(found)
