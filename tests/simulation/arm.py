"""A scripted Panda at a table: moves its tool centre point by damped least squares, without a learned policy."""

import math
from collections.abc import Sequence

import mujoco
import numpy as np
import torch

from simulation import catalog
from simulation.environment import Environment, Step
from simulation.rewards.contract import compile_reward

OPEN, CLOSED = 1.0, -1.0
SPEED = 3.0
"""How much of the way is asked for in one step, in units of what a full action moves a hinge."""
FASTEST = 0.8
"""Radians per second of a hinge under full actions."""


class Arm:
    """Drives the one world of a task's environment through its actions, as a policy would.

    Each step also compares the task's sparse reward with its success test.
    """

    def __init__(self, task: str, seed: int = 0, patient: bool = False) -> None:
        """`patient`: the episode's time never runs out, because a script is slower than a policy."""
        self.patient = patient
        self.env = Environment(task, worlds=1, seed=seed)
        self.data = mujoco.MjData(self.env.model)
        self.step: Step | None = None
        self.sparse = compile_reward(catalog.read_sparse_reward(task), task)
        self.path = [self.env.qpos(0)]
        self.mocap = [self.env.mocap(0)]

    def get(self, name: str) -> np.ndarray:
        """A reward input of the world, as float64."""
        return self.env.attributes[name][0].numpy().astype(float)

    @property
    def ended(self) -> bool:
        return self.step is not None and bool((self.step.truncated | self.step.terminated).item())

    @property
    def succeeded(self) -> bool:
        """The episode ended with success, before its time was over."""
        return self.ended and self.step.metric_counts.item() and self.step.metric.item() == 1.0

    def move(self, place: Sequence[float], grip: float, steps: int, turn: np.ndarray | None = None) -> None:
        """Drive the tool centre point towards a place in m until an episode ends, or for these steps.

        `turn` is the hand's rotation as a matrix; without it the fingers point down, one beside the other along y.
        """
        turn = point_down(0.0) if turn is None else turn
        for _ in range(steps):
            if self.ended:
                return
            self.act(np.append(self._find_hinges(np.asarray(place), turn), grip))

    def reach(self, place: Sequence[float], grip: float, turn: np.ndarray, most: int = 80, near: float = 0.003) -> None:
        """The same until the point and the hand's rotation are there, after this many steps at most."""
        for _ in range(most):
            off = np.linalg.norm(self.get("tcp_pos") - place)
            matrix = np.empty(9)
            mujoco.mju_quat2Mat(matrix, np.roll(self.get("tcp_pose")[3:], 1))
            if self.ended or (off < near and np.linalg.norm(find_turn(matrix, turn)) < 0.05):
                return
            self.move(place, grip, 1, turn)

    def grasp(self, place: np.ndarray, turn: np.ndarray, above: float = 0.08) -> None:
        """From above, the fingers close around what is at a place."""
        self.reach(place + [0.0, 0.0, above], OPEN, turn, near=0.02)
        self.reach(place, OPEN, turn)
        self.move(place, CLOSED, 6, turn)

    def act(self, action: np.ndarray) -> None:
        given = torch.tensor(action[: self.env.info.num_actions], dtype=torch.float32)
        if self.patient:
            self.env._state.progress_buf = torch.zeros(1, dtype=torch.int64)
        self.step = self.env.step(given[None])
        solved = self.env._task.succeeded(self.env._state).float()
        assert torch.equal(self.sparse(self.env.attributes)[0], solved), "the sparse reward is the success test"
        self.path.append(self.env.qpos(0))
        self.mocap.append(self.env.mocap(0))

    def wait(self, steps: int, grip: float = CLOSED) -> None:
        for _ in range(steps):
            if not self.ended:
                self.act(np.append(np.zeros(7), grip))

    def put(self, qpos: dict[int, float], qvel: dict[int, float] | None = None) -> None:
        """Put entries of the world's qpos and qvel to values."""
        state = self.env.state_dict()
        for index, value in qpos.items():
            state["physics"][0, 1 + index] = value
        for index, value in (qvel or {}).items():
            state["physics"][0, 1 + self.env.model.nq + index] = value
        self.env.load_state_dict(state)

    def turn_hinges(self, place: Sequence[float], turn: np.ndarray, grip: float, near: float = 0.02) -> None:
        """Turn all hinges to where the tool centre point is at a place, turned: far moves, past their limits."""
        wanted = self._plan_hinges(np.asarray(place), turn)
        for _ in range(80):
            off = wanted - self.get("robot_qpos")[:7]
            if self.ended or np.abs(off).max() < near:
                return
            self.act(np.append(limit(SPEED * off / 0.1), grip))

    def drive(self, velocity: np.ndarray, grip: float) -> None:
        """One step in which the tool centre point moves and turns by this velocity (6,), m/s and rad/s."""
        jacobian, _ = self.linearise(np.zeros(3), np.eye(3))
        self.act(np.append(limit(solve(jacobian, velocity) / FASTEST), grip))

    def linearise(self, place: np.ndarray, turn: np.ndarray, hinges: np.ndarray | None = None) -> tuple:
        """The tool centre point's Jacobian (6, 7), and how far it is from a place and a rotation (6,)."""
        model, data = self.env.model, self.data
        data.qpos[:] = self.env.qpos(0)
        if hinges is not None:
            data.qpos[:7] = hinges
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        site = model.site("tcp").id
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, site)
        left = np.concatenate((place - data.site_xpos[site], find_turn(data.site_xmat[site], turn)))
        return np.vstack((linear, angular))[:, :7], left

    def _find_hinges(self, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Actions of the seven hinges, within [-1, 1], that lead towards a place and a rotation."""
        return limit(SPEED * solve(*self.linearise(place, turn)) / 0.1)

    def _plan_hinges(self, place: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Angles within the hinges' limits at which the point is there: the nearest ones of those that are found."""
        now, (low, high) = self.env.qpos(0)[:7], self.env.model.jnt_range[:7].T
        found = []
        for start in (now, *(now + np.random.default_rng(0).normal(0.0, 0.5, (12, 7)))):
            hinges = start
            for _ in range(80):
                jacobian, left = self.linearise(place, turn, hinges)
                hinges = np.clip(hinges + np.clip(solve(jacobian, left, 1e-4), -0.3, 0.3), low, high)
            missed = np.abs(left).max()
            found.append((100 * missed * (missed > 1e-3) + np.abs(hinges - now).max(), hinges))
        return min(found, key=lambda one: one[0])[1]


def solve(jacobian: np.ndarray, wanted: np.ndarray, damping: float = 1e-3) -> np.ndarray:
    """Damped least squares: how the hinges change where the point is to change by `wanted` (6,)."""
    return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + damping * np.eye(6), wanted)


def limit(action: np.ndarray) -> np.ndarray:
    """The same direction with all entries within [-1, 1]."""
    return action / max(1.0, np.abs(action).max())


def find_turn(now: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The rotation vector in the world that turns one matrix (9,) into another (3, 3)."""
    first, second, difference, vector = np.empty(4), np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_mat2Quat(first, now)
    mujoco.mju_negQuat(first, first)
    mujoco.mju_mat2Quat(second, wanted.ravel())
    mujoco.mju_mulQuat(difference, second, first)
    mujoco.mju_quat2Vel(vector, difference, 1.0)
    return vector


def point_down(yaw: float) -> np.ndarray:
    """The fingers point straight down; the hand is turned by this angle about the vertical."""
    side, down = np.array([math.sin(yaw), -math.cos(yaw), 0.0]), np.array([0.0, 0.0, -1.0])
    return np.column_stack((np.cross(side, down), side, down))


def lean_forward(angle: float) -> np.ndarray:
    """The fingers point down where the angle is 0, and back to the robot's base at pi / 2."""
    cosine, sine = math.cos(angle), math.sin(angle)
    return np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]]) @ point_down(0.0)


def find_yaw(pose: np.ndarray, symmetry: float = math.pi / 2) -> float:
    """How far a pose (7,) is turned about the vertical, up to what a thing's symmetry leaves open."""
    yaw = 2.0 * math.atan2(pose[5], pose[6])
    return (yaw + symmetry / 2) % symmetry - symmetry / 2
