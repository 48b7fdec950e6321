"""A scripted H1: stands by hand-written feedback, or is carried by its pelvis, and brings its hands to places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mujoco
import numpy as np
import torch

from simulation import catalog
from simulation.environment import Environment, Step
from simulation.rewards.contract import compile_reward
from simulation.robots.h1 import CROUCH

AHEAD, FASTER, BEHIND = 14.0, 4.0, 0.05
"""Radians that the ankles turn for a metre and a metre a second of the body's mass, which belongs this far ahead of
them in m: above the middle of the feet."""
PULL = 0.15
"""Metres per second by which a pelvis that is carried changes its velocity within a step at most: some 400 N."""
SOON, STIFFNESS = 0.1, 0.25
"""Seconds after which a hand is to be in its place, and the part of the gap that a step is to close."""
ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
Place = Sequence[float] | np.ndarray | Callable[[], Sequence[float] | np.ndarray]
"""Metres, or a function that says them at each step."""


def turn_ankles(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    """The angle in rad of both ankles' drives that keeps the body's mass above the feet."""
    mujoco.mj_subtreeVel(model, data)
    pelvis = model.body("pelvis").id
    feet = 0.5 * (data.site("left_foot").xpos + data.site("right_foot").xpos)
    ahead = data.subtree_com[pelvis][0] - feet[0] - BEHIND
    return float(CROUCH["ankle"] + AHEAD * ahead + FASTER * data.subtree_linvel[pelvis][0])


class ScriptedH1:
    """Drives the one world of a task's environment. Each step also compares the sparse reward with the success test."""

    def __init__(self, task: str, seed: int = 0) -> None:
        self.env = Environment(task, worlds=1, seed=seed)
        self.model = self.env.model
        self.step: Step | None = None
        self.data = mujoco.MjData(self.model)
        self.sparse = compile_reward(catalog.read_sparse_reward(task), task)
        self.joints = [self.model.joint(int(i)).name for i in self.model.actuator_trnid[:, 0]]
        self.start = self.get("default_joint_angles")
        self.targets = dict(zip(self.joints, self.start, strict=True))
        """Angle in rad that each joint's drive holds."""
        self.path, self.mocap = [self.env.qpos(0)], [self.env.mocap(0)]
        self.look()

    def get(self, name: str) -> np.ndarray:
        """A reward input of the world, or a constant, as float64."""
        value = self.env.attributes[name]
        return (value[0] if "num_envs" in self.env.info.inputs[name] else value).numpy().astype(float)

    @property
    def ended(self) -> bool:
        return self.step is not None and bool((self.step.truncated | self.step.terminated).item())

    @property
    def solved(self) -> bool:
        """The success test was true in this episode."""
        return self.step is not None and bool(self.step.metric.item())

    @property
    def pelvis(self) -> np.ndarray:
        return self.data.qpos[:3].copy()

    def put(self, qpos: dict[int, float], qvel: dict[int, float] | None = None) -> None:
        """Put entries of the world's qpos and qvel to values."""
        state = self.env.state_dict()
        for index, value in qpos.items():
            state["physics"][0, 1 + index] = value
        for index, value in (qvel or {}).items():
            state["physics"][0, 1 + self.model.nq + index] = value
        self.env.load_state_dict(state)
        self.look()

    def stand(self, steps: int, stride: float = 0.03, **hands: Place) -> None:
        """Keep balance, and move the knuckles of `left` and `right` to places, at most `stride` metres a step."""
        for _ in range(steps):
            if not self.ended:
                self._move_hands(hands, stride)
                self.act(self.targets | self._keep_balance())

    def carry(self, steps: int, speed: float = 0.0, height: float = 0.98, **hands: Place) -> None:
        """Pull the pelvis along x at a speed in m/s, upright at a height in m; hands as in `stand`."""
        for _ in range(steps):
            if not self.ended:
                self._move_hands(hands, 0.03)
                self._pull(speed, height)
                self.act(self.targets)

    def act(self, targets: dict[str, float]) -> None:
        """One step with these angles as the drives' targets."""
        turns = np.array([targets[name] for name in self.joints]) - self.start
        lower, upper = self.model.actuator_ctrlrange.T
        spans = np.where(turns > 0, upper - self.start, self.start - lower)
        action = np.clip(turns / np.maximum(spans, 1e-6), -1.0, 1.0)
        self.step = self.env.step(torch.tensor(action, dtype=torch.float32)[None])
        solved = self.env._task.succeeded(self.env._state).float()
        assert torch.equal(self.sparse(self.env.attributes)[0], solved), "the sparse reward is the success test"
        self.path.append(self.env.qpos(0))
        self.mocap.append(self.env.mocap(0))
        self.look()

    def look(self) -> None:
        """Bring MuJoCo's data of the world up to date."""
        model, data = self.model, self.data
        state = self.env.state_dict()["physics"][0].numpy()
        data.qpos[:], data.qvel[:] = np.split(state[1 : 1 + model.nq + model.nv], [model.nq])
        mujoco.mj_forward(model, data)

    def _keep_balance(self) -> dict[str, float]:
        """Targets of the ankles that keep the body's mass above the feet."""
        ankle = turn_ankles(self.model, self.data)
        return {"left_ankle": ankle, "right_ankle": ankle}

    def _pull(self, speed: float, height: float) -> None:
        """Change the pelvis' velocity for a step: along x and y by a limited pull, up and upright as it should."""
        qpos, qvel = self.data.qpos, self.data.qvel
        pulled = qvel[:2] + np.clip([speed, 0.0] - qvel[:2], -PULL, PULL)
        turn = np.empty(3)
        mujoco.mju_quat2Vel(turn, qpos[3:7], 1.0)
        self.put({}, dict(enumerate([*pulled, 5.0 * (height - qpos[2]) + 0.1, *(-5.0 * turn)])))

    def _move_hands(self, hands: dict[str, Place], stride: float) -> None:
        for side, place in hands.items():
            self._bend_arm(side, np.asarray(place() if callable(place) else place), stride)

    def _bend_arm(self, side: str, place: np.ndarray, stride: float) -> None:
        """Turn an arm's targets a step towards the angles with which its knuckles are at the place."""
        names = [f"{side}_{joint}" for joint in ARM]
        knuckles = self.data.body(f"{side}_fingers")
        jacobian = np.zeros((3, self.model.nv))
        mujoco.mj_jacBody(self.model, self.data, jacobian, None, knuckles.id)
        arm = jacobian[:, [self.model.joint(name).dofadr[0] for name in names]]
        moving = arm @ np.array([self.data.joint(name).qvel[0] for name in names])
        gap = place - knuckles.xpos - SOON * moving
        gap *= min(STIFFNESS, stride / max(1e-9, float(np.linalg.norm(gap))))
        turns = arm.T @ np.linalg.solve(arm @ arm.T + 0.003 * np.eye(3), gap)
        for name, turn in zip(names, turns, strict=True):
            low, high = self.model.joint(name).range
            now = self.data.joint(name).qpos[0]
            self.targets[name] = float(np.clip(self.targets[name] + turn, max(low, now - 0.5), min(high, now + 0.5)))
