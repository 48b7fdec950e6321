import os
import subprocess
import sys

import pytest

from simulation.opengl import FilmError, choose_backend

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("found", [None, "EGL"])
def test_a_missing_library_is_named(monkeypatch, found):
    """A bare Debian with libegl1 has no library with OpenGL's functions, which PyOpenGL needs beside EGL."""
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: name if name == found else None)
    with pytest.raises(FilmError, match="apt-get install libegl1 libgl1-mesa-dri libopengl0"):
        choose_backend()


@pytest.mark.parametrize(("setting", "status"), [("", 0), ("glx", 1)])
def test_the_probe_renders_or_says_what_to_install(setting, status):
    environment = {**os.environ, "MUJOCO_GL": setting, "PYOPENGL_PLATFORM": "", "DISPLAY": ""}
    command = [sys.executable, "-W", "ignore", "-m", "simulation.opengl"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert ("apt-get install" in done.stderr) == bool(status)
