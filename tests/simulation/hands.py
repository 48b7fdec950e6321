"""Two scripted ShadowHands: moves the palms through a task's actions, without a learned policy."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np
import torch

from simulation import catalog
from simulation.environment import Environment, Step
from simulation.rewards.contract import compile_reward
from simulation.robots.two_hands import DRIVEN, FORCE, TORQUE, turn_by

Turn = tuple[float, float, float]
DRAG, SPIN_DRAG = 500.0, 1.7
"""What brakes a base, in Ns/m and Nms/rad."""
SECONDS = 0.08
"""A hand goes all of the way to where it should be in this time, if it can."""
FLAT = np.zeros(DRIVEN)
"""All hinges at 0: an open hand."""


class Hands:
    """Drives the one world of a task's environment.

    Each step also compares the task's sparse reward with its success test.
    """

    def __init__(self, task: str, seed: int = 0) -> None:
        self.env = Environment(task, worlds=1, seed=seed)
        self.step: Step | None = None
        self.sparse = compile_reward(catalog.read_sparse_reward(task), task)
        self.limits = self.env.model.actuator_ctrlrange.reshape(2, -1, 2)[0, -DRIVEN:]
        self.shapes = [FLAT, FLAT]
        """Angles in rad of the right and the left hand's driven hinges."""
        self.goals: list[Any] = [None, None]
        """Where each palm should be and how it should be turned; None: where it is."""
        self.path, self.mocap = [self.env.qpos(0)], [self.env.mocap(0)]

    def get(self, name: str) -> np.ndarray:
        """A reward input of the world, as float64."""
        return self.env.attributes[name][0].numpy().astype(float)

    @property
    def ended(self) -> bool:
        return self.step is not None and bool((self.step.truncated | self.step.terminated).item())

    @property
    def solved(self) -> bool:
        """The success test was true in this episode."""
        return bool(self.env._state.solved.item())

    def move(self, steps: int, right: Any = None, left: Any = None, shapes: Sequence[Any] = (None, None)) -> None:
        """Move each hand towards a place in m and turns in rad, its hinges to angles, until the episode ends."""
        self.goals = [now if new is None else new for new, now in zip((right, left), self.goals, strict=True)]
        self.shapes = [now if new is None else new for new, now in zip(shapes, self.shapes, strict=True)]
        for _ in range(steps):
            if not self.ended:
                self.act(np.concatenate([self._steer(0), self._steer(1)]))

    def push(self, steps: int, base: Sequence[float], shapes: Sequence[Any]) -> None:
        """Push and turn the right hand's base with these six actions, hinges to angles; the left base stays."""
        for _ in range(steps):
            if not self.ended:
                action = np.concatenate((base, self._drive(shapes[0]), np.zeros(6), self._drive(shapes[1])))
                self.act(np.clip(action, -1.0, 1.0))

    def act(self, action: np.ndarray) -> None:
        """One step of these actions."""
        self.step = self.env.step(torch.tensor(action, dtype=torch.float32)[None])
        solved = self.env._task.succeeded(self.env._state).float()
        assert torch.equal(self.sparse(self.env.attributes)[0], solved), "the sparse reward is the success test"
        self.path.append(self.env.qpos(0))
        self.mocap.append(self.env.mocap(0))

    def put(self, qpos: dict[int, float]) -> None:
        """Put entries of the world's qpos to values."""
        state = self.env.state_dict()
        for index, value in qpos.items():
            state["physics"][0, 1 + index] = value
        self.env.load_state_dict(state)

    def _drive(self, shape: np.ndarray) -> np.ndarray:
        """The actions that drive a hand's hinges to these angles in rad."""
        low, high = self.limits.T
        return 2.0 * (shape - low) / (high - low) - 1.0

    def _steer(self, hand: int) -> np.ndarray:
        """A hand's actions."""
        hinges = self._drive(self.shapes[hand])
        if len(self.path[0]) < 62 or self.goals[hand] is None:  # fixed, or to stay
            return np.clip(np.concatenate((np.zeros(self.env.info.num_actions // 2 - DRIVEN), hinges)), -1.0, 1.0)
        place, turns = self.goals[hand]
        now = self.get("right_hand_pos" if hand == 0 else "left_hand_pos")
        task = self.env._task
        speed, spin = FORCE * task.push / DRAG, TORQUE * task.turn / SPIN_DRAG
        push = shorten((np.asarray(place) - now) / (SECONDS * speed))
        turn = shorten(find_turn(self.env.qpos(0)[31 * hand + 3 : 31 * hand + 7], turns) / (SECONDS * spin))
        return np.clip(np.concatenate((push, turn, hinges)), -1.0, 1.0)


def shorten(vector: np.ndarray) -> np.ndarray:
    """The same direction, no longer than 1 along any axis."""
    return vector / max(1.0, np.abs(vector).max())


def find_turn(now: np.ndarray, turns: Turn) -> np.ndarray:
    """The rotation vector in the world from a quaternion wxyz (4,) to turns about x, y and z in rad."""
    inverse, difference, vector = np.empty(4), np.empty(4), np.empty(3)
    mujoco.mju_negQuat(inverse, now)
    mujoco.mju_mulQuat(difference, np.array(turn_by(*turns)), inverse)
    mujoco.mju_quat2Vel(vector, difference, 1.0)
    return vector


def bend(
    curl: float | Sequence[float] = 0.0,
    thumb: Sequence[float] = (0, 0, 0, 0, 0),
    wrist: Sequence[float] = (0, 0),
) -> np.ndarray:
    """Angles of a hand's 20 driven hinges: those of each finger by `curl`, the thumb's five, the wrist's two."""
    first, second = (curl, curl) if isinstance(curl, (int, float)) else curl
    finger = [0.0, first, second]
    return np.array([*wrist, *finger, *finger, *finger, 0.0, *finger, *thumb])
