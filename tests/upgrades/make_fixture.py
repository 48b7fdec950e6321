"""Make the fixture of a version: the data folder of one of its sites in the middle of its work.

    python tests/upgrades/make_fixture.py [CHECKOUT]

runs that checkout's own code (this one's, where none is named) and writes tests/upgrades/<release>-<commit>.tar.xz.
See README.md here.
"""

from __future__ import annotations

import io
import lzma
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.upgrades import small_clips  # noqa: E402

LEFT_OUT = ("broker", "log", "static")
"""Parts of the data folder that every start creates."""
WARM = "select public_id from experiments_experiment where method like 'rda%'"
"""Of experiments whose next training starts from a policy of the last one."""
XZ = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 26}]


def main(checkout: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="prefine-fixture-") as folder:
        made = Path(folder) / "made"
        fill(checkout, Path(folder) / "python", made)
        tidy(made / "data")
        told = [word for word in (folder, str(checkout), str(HERE), sys.prefix) if names(made, word)]
        assert not told, f"the fixture names places of this machine: {told}"
        pack(made, HERE / f"{version(checkout)}.tar.xz")


def fill(checkout: Path, python: Path, made: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFINE_", "DJANGO_"))}
    settings = {
        "PREFINE_DATA": str(made / "data"),
        "PREFINE_SECRET_KEY": "of-a-fixture-and-no-secret-" + "0" * 30,
        "PREFINE_UNDO_SECONDS": f"{10**9}",  # choices that can be taken back stay so, however long this takes
        "DJANGO_SETTINGS_MODULE": "webapp.settings",
        "OMP_NUM_THREADS": "1",
    }
    run = [small_clips.python(python, checkout), str(HERE / "fill.py"), str(made)]
    subprocess.run(run, cwd=checkout, env=kept | settings, check=True)


def tidy(data: Path) -> None:
    """Leave out what a start creates and what nothing needs, and put the database into one file."""
    for name in LEFT_OUT:
        shutil.rmtree(data / name, ignore_errors=True)
    with sqlite3.connect(data / "db.sqlite3") as database:
        warm = {name for (name,) in database.execute(WARM)}
        database.execute("pragma wal_checkpoint(truncate)")
        database.execute("pragma journal_mode=delete")
        database.execute("vacuum")
    for result in (data / "runs").glob("*/result.json"):
        checkpoints = result.parent / "checkpoints"
        for shard in checkpoints.glob("shard-*/checkpoint.pt"):
            shard.unlink()
        if result.parent.name[:36].replace("-", "") not in warm:
            shutil.rmtree(checkpoints)


def names(folder: Path, word: str) -> bool:
    """Whether any file in the folder contains this."""
    return any(word.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def version(checkout: Path) -> str:
    commit = subprocess.check_output(["git", "-C", checkout, "rev-parse", "--short", "HEAD"], text=True).strip()
    release = tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"]
    return f"{release}-{commit}"


def pack(folder: Path, path: Path) -> None:
    """Everything in there, files of a kind beside each other, with no owner and no time of this machine."""
    files = sorted((file for file in folder.rglob("*") if file.is_file()), key=lambda file: (file.suffix, file.name))
    with lzma.open(path, "wb", filters=XZ) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for file in files:
            about = tarfile.TarInfo(str(file.relative_to(folder)))
            content = file.read_bytes()
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE.parents[1])
