"""The OpenGL library that MuJoCo renders with on a machine without a screen.

`python -m simulation.opengl` renders one frame: its exit status is 0, or 1 with a line saying what is missing.
"""

from __future__ import annotations

import ctypes.util
import importlib
import os
import platform
import sys

import mujoco
from mujoco.rendering.classic import gl_context

INSTALL = "on Debian or Ubuntu: apt-get install libegl1 libgl1-mesa-dri libopengl0"

BESIDE_EGL = ("OpenGL", "GL", "GLESv2")
"""PyOpenGL takes the drawing functions from the first of these; with EGL alone it fails when it is imported."""


class FilmError(RuntimeError):
    """A clip cannot be made; the message says why and what to do."""


def choose_backend() -> None:
    """Choose how MuJoCo renders, unless the environment already says it: EGL, or else OSMesa; both work without a GPU.

    Raises FilmError where the machine has neither.
    """
    os.environ.setdefault("LP_NUM_THREADS", "1")
    if platform.system() != "Linux" or os.environ.get("MUJOCO_GL"):
        return
    if ctypes.util.find_library("EGL") and any(map(ctypes.util.find_library, BESIDE_EGL)):
        os.environ["MUJOCO_GL"] = "egl"
    elif ctypes.util.find_library("OSMesa"):
        os.environ["MUJOCO_GL"] = "osmesa"
    else:
        raise FilmError(f"no OpenGL library that renders without a screen; {INSTALL}")
    # MuJoCo reads the variable when it is imported, and that may have happened
    importlib.reload(gl_context)


def create_renderer(model: mujoco.MjModel, height: int, width: int) -> mujoco.Renderer:
    """A renderer of this model. Raises FilmError where nothing can be rendered here."""
    choose_backend()
    try:
        return mujoco.Renderer(model, height, width)
    except (ImportError, RuntimeError, AttributeError, mujoco.FatalError) as error:
        backend = os.environ.get("MUJOCO_GL", "")
        raise FilmError(f"cannot render with MUJOCO_GL={backend}: {error}; {INSTALL}") from error


def main() -> int:
    """Render one frame of an empty world."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    try:
        with create_renderer(model, 16, 16) as small:
            small.update_scene(mujoco.MjData(model))
            small.render()
    except FilmError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
