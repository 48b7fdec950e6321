"""The look of a clip: light, projected shadow, a camera that follows smoothly. Renders a rollout to frames.

Everything here is chosen for software rendering on one core: MuJoCo's shadow map and multisampling would cost
several times the rest of a frame, so the shadow is drawn as geometry instead (see docs/decisions/0002-rendering.md).
"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from simulation.mujoco_models import build_visual_model
from simulation.opengl import create_renderer
from simulation.rollout import Rollout

WIDTH, HEIGHT = 512, 384
"""Pixels of every clip, whatever the task."""
SUN = np.array([0.22, 0.26, -1.0])
"""Direction in which the shadow falls: steep, so that a foot above the ground is apart from its shadow."""
SHADOW_COLOUR = np.array([0.52, 0.56, 0.59, 1.0], dtype=np.float32)
SHADOW_HEIGHT = 0.003
"""Metres above the ground; a lower shadow flickers against it in the depth buffer."""
MARK_HEIGHT = 0.01
"""Metres; a geom with a lower centre is a mark on the ground and has no shadow."""
FOLLOW_SECONDS = 0.4
"""Standard deviation of the Gaussian that smooths the camera's path."""
DIP_FRAMES, DIP_BRIGHTNESS = 4, 0.5
"""A new episode is shown by this many darker frames before and after, the darkest at the change."""
DIP_SPACING = 16
"""Frames between two such changes: fewer than three flashes a second (WCAG 2.2, 2.3.1), however often it restarts."""


class RolloutRenderer:
    """Renders rollouts of one task. Holds an OpenGL context: use in one thread, close after use."""

    def __init__(self, task: str) -> None:
        """Raises ValueError on an unknown task, FilmError where nothing can be rendered here."""
        self.task = task
        self.model = build_visual_model(task)
        self.data = mujoco.MjData(self.model)
        _make_cheap(self.model)
        mujoco.mj_forward(self.model, self.data)
        self.shadowless = self.model.body_mocapid[self.model.geom_bodyid] >= 0
        self.follows, self.camera, self.offset = self._camera()
        self.height = self.data.subtree_com[self.follows][2]
        self.renderer = create_renderer(self.model, HEIGHT, WIDTH)
        for flag in ("SHADOW", "REFLECTION", "HAZE", "FOG"):
            self.renderer.scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = False
        self.option = mujoco.MjvOption()
        self.option.sitegroup[:] = 0

    def frames(self, rollout: Rollout, count: int, rate: int) -> Iterator[np.ndarray]:
        """Yield `count` frames (HEIGHT, WIDTH, 3) uint8, `rate` per second; the array is reused for the next one.

        Raises ValueError where the rollout is not of this task's model, or too short.
        """
        qpos, restart, mocap = self._sample_states(rollout, count, rate)
        targets = self._targets(qpos, restart, rate)
        lights = compute_brightness(restart)
        frame = np.empty((HEIGHT, WIDTH, 3), dtype=np.uint8)
        for state, shown, target, light in zip(qpos, mocap, targets, lights, strict=True):
            self.data.qpos[:] = state
            self.data.mocap_pos[:] = shown[:, :3]
            self.data.mocap_quat[:] = np.roll(shown[:, 3:], 1, axis=1)  # xyzw to MuJoCo's wxyz
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_camlight(self.model, self.data)
            self.camera.lookat[:] = target
            self.renderer.update_scene(self.data, self.camera, self.option)
            self._add_shadow()
            self.renderer.render(out=frame)
            if light < 1:
                frame[:] = frame * light
            yield frame

    def close(self) -> None:
        """Free the OpenGL context."""
        self.renderer.close()

    def _sample_states(self, rollout: Rollout, count: int, rate: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The states to show, nearest in time: qpos (count, nq), whether an episode began since the one before
        (count,), and mocap (count, nmocap, 7).
        """
        for name, has, needs in (
            ("positions", rollout.qpos.shape[1], self.model.nq),
            ("mocap bodies", rollout.mocap.shape[1], self.model.nmocap),
        ):
            if has != needs:
                raise ValueError(f"the rollout has {has} {name} per state, {self.task} has {needs}")
        steps = np.rint(np.arange(count) / rate / rollout.control_dt).astype(int)
        if steps[-1] >= len(rollout.qpos):
            raise ValueError(
                f"the rollout lasts {len(rollout.qpos) * rollout.control_dt:.2f} s, the clip {count / rate:.2f} s"
            )
        episode = np.cumsum(rollout.restart)[steps]
        began: np.ndarray = np.diff(episode, prepend=episode[0]) > 0
        return rollout.qpos[steps], began, rollout.mocap[steps]

    def _camera(self) -> tuple[int, mujoco.MjvCamera, np.ndarray]:
        """The model's camera `track` as a free camera: (body it follows, camera, look-at point minus its centre)."""
        track = self.model.camera("track")
        body = int(track.bodyid[0])
        position = self.data.cam_xpos[track.id].copy()
        forward = -self.data.cam_xmat[track.id].reshape(3, 3)[:, 2]
        anchor = self.data.subtree_com[body].copy()
        camera = mujoco.MjvCamera()
        camera.distance = float((anchor - position) @ forward)
        camera.azimuth = float(np.degrees(np.arctan2(forward[1], forward[0])))
        camera.elevation = float(np.degrees(np.arcsin(forward[2])))
        self.model.vis.global_.fovy = track.fovy[0]
        return body, camera, position + camera.distance * forward - anchor

    def _targets(self, qpos: np.ndarray, restart: np.ndarray, rate: int) -> np.ndarray:
        """Where the camera looks in each frame (count, 3): along the smoothed path of the centre of mass.

        Its height is constant, so that a jump looks like one.
        """
        path = np.empty((len(qpos), 3))
        for step, state in enumerate(qpos):
            self.data.qpos[:] = state
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_comPos(self.model, self.data)
            path[step] = self.data.subtree_com[self.follows]
        path[:, 2] = self.height
        for episode in np.split(np.arange(len(qpos)), np.flatnonzero(restart)):
            path[episode] = smooth(path[episode], FOLLOW_SECONDS * rate)
        path += self.offset
        return path

    def _add_shadow(self) -> None:
        """Draw every geom once more, flattened onto the ground along the sun's direction; not those of mocap bodies,
        nor glass, nor marks on the ground.
        """
        scene, plane = self.renderer.scene, mujoco.mjtGeom.mjGEOM_PLANE
        flatten = np.eye(3)
        flatten[:, 2] -= SUN / SUN[2]
        flatten[2, 2] = 5e-4
        for index in range(scene.ngeom):
            geom = scene.geoms[index]
            if geom.type == plane or self.shadowless[geom.objid] or geom.rgba[3] < 1 or geom.pos[2] < MARK_HEIGHT:
                continue
            shadow, position = scene.geoms[scene.ngeom], np.array(geom.pos)
            position = position - SUN * (position[2] / SUN[2])
            position[2] = SHADOW_HEIGHT
            mujoco.mjv_initGeom(shadow, geom.type, np.ones(3), position, np.eye(3).ravel(), SHADOW_COLOUR)
            shadow.size, shadow.mat, shadow.dataid = geom.size, flatten @ geom.mat, geom.dataid
            shadow.specular = shadow.emission = 0
            scene.ngeom += 1


def _make_cheap(model: mujoco.MjModel) -> None:
    """Turn off settings that cost software rendering time and are hardly seen."""
    model.vis.global_.offwidth, model.vis.global_.offheight = WIDTH, HEIGHT
    quality = model.vis.quality
    quality.shadowsize, quality.offsamples = 1, 0
    quality.numslices, quality.numstacks, quality.numquads = 16, 10, 1
    model.light_castshadow[:] = False


def smooth(path: np.ndarray, sigma: float) -> np.ndarray:
    """Gaussian average of path (T, 3) over time, its ends continued by their mirror through the end point."""
    radius = min(int(3 * sigma), len(path) - 1)
    if radius < 1:
        return path
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    before = 2 * path[0] - path[radius:0:-1]
    after = 2 * path[-1] - path[-2 : -2 - radius : -1]
    padded = np.concatenate([before, path, after])
    return np.stack([np.convolve(axis, kernel / kernel.sum(), mode="valid") for axis in padded.T], axis=1)


def compute_brightness(restart: np.ndarray) -> np.ndarray:
    """Brightness (T,) of each frame: 1, falling to DIP_BRIGHTNESS at every restart and rising again."""
    light = np.ones(len(restart))
    last = -DIP_SPACING
    for change in np.flatnonzero(restart).tolist():
        if change - last < DIP_SPACING:
            continue
        last = change
        distance = np.abs(np.arange(len(restart)) - change + 0.5)
        light = np.minimum(light, DIP_BRIGHTNESS + (1 - DIP_BRIGHTNESS) * np.clip(distance / DIP_FRAMES, 0, 1))
    return light
