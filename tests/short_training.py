"""A Python of its own whose robots practise briefly, filmed briefly and once. All else is unchanged."""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 1.5
"""A poster is the frame after one second."""
TRAINING = {"worlds": 16, "horizon": 16}
ITERATIONS = 4
SETTINGS = "from webapp.settings import *\nFILM_AT = (100,)\n"
CUSTOMIZE = """
import os, site, sys
from dataclasses import replace

os.environ["DJANGO_SETTINGS_MODULE"] = "brief_settings"
# What is started once a core takes longest.
os.cpu_count, os.sched_getaffinity = (lambda: {cores}), (lambda process: set(range({cores})))
site.addsitedir({packages!r})
sys.exec_prefix = {prefix!r}  # the jail lets processes read the installation: here its packages are elsewhere
sys.path.append({root!r})
from simulation import catalog

task = catalog.list_tasks()["Cartpole"]
quick = replace(task.presets["quick"], **{training!r})
catalog.list_tasks()["Cartpole"] = replace(task, clip_seconds={seconds!r}, presets=task.presets | {{"quick": quick}})
"""


def python(folder: Path, cores: int = 1, iterations: int = ITERATIONS) -> str:
    """The interpreter: every process that is started with it, jailed ones too, knows this Cartpole and no other."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    paths = {"packages": sysconfig.get_path("purelib"), "prefix": sys.prefix, "root": str(ROOT)}
    text = CUSTOMIZE.format(**paths, cores=cores, training=TRAINING | {"iterations": iterations}, seconds=SECONDS)
    (packages / "sitecustomize.py").write_text(text)
    (packages / "brief_settings.py").write_text(SETTINGS)
    return str(folder / "bin" / "python")
