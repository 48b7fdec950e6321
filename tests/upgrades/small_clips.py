"""A Python of its own in which Cartpole's clips are short and small. Nothing else differs."""

from __future__ import annotations

import sys
import sysconfig
import venv
from pathlib import Path

CUSTOMIZE = """
import os, site, socket, sys
from dataclasses import replace

os.cpu_count, os.sched_getaffinity = (lambda: 1), (lambda process: {{0}})  # what starts up once a core takes longest
socket.gethostname = lambda: "fixture"  # leases name the machine that holds them
site.addsitedir({packages!r})
sys.exec_prefix = {prefix!r}  # the jail lets processes read the installation: here its packages are elsewhere
sys.path.append({root!r})
from simulation import catalog

tasks = (getattr(catalog, "list_tasks", None) or catalog.tasks)()  # as earlier versions named it
tasks["Cartpole"] = replace(tasks["Cartpole"], clip_seconds=1.1)  # a poster is the frame after one second
if "simulation.film" in sys.orig_argv:
    from importlib import import_module
    from pathlib import Path

    files = Path({root!r}, "simulation").glob("*.py")
    renderer = import_module(next(f"simulation.{{f.stem}}" for f in files if "WIDTH, HEIGHT = " in f.read_text()))
    renderer.WIDTH, renderer.HEIGHT = 128, 96
"""


def python(folder: Path, checkout: Path) -> str:
    """An interpreter for the code of this checkout; every process that it starts is one, too."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    paths = {"packages": sysconfig.get_path("purelib"), "prefix": sys.prefix, "root": str(checkout)}
    (packages / "sitecustomize.py").write_text(CUSTOMIZE.format(**paths))
    return str(folder / "bin" / "python")
