import numpy as np
import pytest

from simulation.rollout import write_rollout
from simulation.rollout_statistics import compute_state_statistics


def test_a_walk_with_a_fall_by_hand(tmp_path):
    steps = 11
    qpos = np.zeros((steps, 8))
    qpos[:, 3] = 1.0
    qpos[:, 0] = [0.0, 0.1, 0.2, 0.3, 0.4, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5]  # restarts at the sixth
    qpos[:, 2] = 0.5
    qpos[5, 3:7] = [np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]  # a quarter turn about x
    qpos[:, 7] = np.linspace(-1, 1, steps)
    restart = np.arange(steps) == 5
    write_rollout(tmp_path / "r.npz", "Ant", qpos, 0.02, restart)
    found = compute_state_statistics(tmp_path / "r.npz")
    assert (found["seconds"], found["falls"]) == (0.22, 1)
    x, y, height, upright, joint = found["coordinates"]
    assert [c["name"] for c in found["coordinates"]] == ["x", "y", "height", "upright", "joint 1"]
    assert (x["start"], x["end"], x["max"], x["travel"], x["speed"]) == (0.0, 0.5, 0.5, 0.9, 5.0)
    assert height["mean"] == 0.5 and y["travel"] == 0.0
    assert (upright["min"], upright["max"]) == (pytest.approx(0.0, abs=1e-6), 1.0)
    assert (joint["min"], joint["max"]) == (-1.0, 1.0)


def test_episodes_that_ended_in_time_or_at_the_goal_are_no_falls(tmp_path):
    restart = np.arange(9) % 2 == 0
    write_rollout(tmp_path / "r.npz", "Cartpole", np.zeros((9, 2)), 0.01, restart, fell=np.arange(9) == 4)
    assert compute_state_statistics(tmp_path / "r.npz")["falls"] == 1


def test_a_robot_that_is_fixed_has_joints_only(tmp_path):
    qpos = np.array([[0.0, 0.1], [0.5, 0.1]])
    write_rollout(tmp_path / "r.npz", "Cartpole", qpos, 0.01, np.zeros(2, dtype=bool))
    first, second = compute_state_statistics(tmp_path / "r.npz")["coordinates"]
    assert (first["name"], first["speed"], second["name"], second["travel"]) == ("joint 1", 50.0, "joint 2", 0.0)


def test_another_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no rollout file"):
        compute_state_statistics(tmp_path / "none.npz")
